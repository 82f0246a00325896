"""A file decoded by several processes, held against the same one decoded by this one."""

from contextlib import closing
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
import pytest

from benchtui.sessions import journal, side_by_side
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import Steps
from benchtui.sessions.journal import Journal
from benchtui.sessions.session import Session


@pytest.fixture
def path(bench: Any, tmp_path: Path) -> Path:
    written = Journal(tmp_path / "session.json")
    wide = {"tokens": [7, 70_000], "padded_tokens": [128, 2**40], "loss": [1.0, None], "device_ms": [1.0, 2.0]}
    for event in bench.events(*(bench.case(size, ms=10.0 * size) for size in range(1, 20))):
        if isinstance(event, Steps) and event.case == 3:
            event = Steps(t=event.t, case=3, phase="measure", wall_ms=[1.0, 2.0], **wide)
        written.append(event)
    written.close()
    return tmp_path / "session.json"


def listed(event: journal.Read) -> Any:
    """An event with its arrays as lists."""
    plain = msgspec.json.encode(event, enc_hook=list)
    return msgspec.json.decode(plain, type=Steps) if isinstance(event, Steps) else event


@pytest.mark.parametrize("slice_bytes", [61, 997, 20_000, 2**22])
def test_the_events_are_the_same_whatever_the_slices(path: Path, slice_bytes: int) -> None:
    with closing(side_by_side.slices(path, slice_bytes)) as slices:
        found = [(event, torn) for events, torn in slices for event in events]
    assert [listed(event) for event, _ in found] == journal.read(path).events
    assert not any(torn for _, torn in found)


def test_an_unfinished_last_line_is_left_out_and_said(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])
    with closing(side_by_side.slices(path, 5_000)) as slices:
        *_, (_, torn) = slices
    assert torn and journal.read(path).torn


def test_a_broken_line_is_refused(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"event":"case_finished"', b'"event":"case_finished', 1))
    with closing(side_by_side.slices(path, 5_000)) as slices, pytest.raises(BenchtuiError, match="not lines"):
        list(slices)


def test_a_large_session_is_the_same_as_a_small_one(path: Path) -> None:
    small = Session.load(path, keep_steps=False)
    with mock.patch.object(side_by_side, "LEAST_BYTES", 0):
        large = Session.load(path, keep_steps=False)
        whole = Session.load(path)
    assert large.cases == small.cases and (large.done, large.now_s) == (small.done, small.now_s)
    kept = [repr(case.measured) for case in Session.load(path).cases]  # repr: no number is another NaN
    assert [repr(case.measured) for case in whole.cases] == kept
