"""Decoding of long ``steps`` lines, compared with that of msgspec."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import Steps
from benchtui.sessions.journal import reader, step_arrays
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.evidence import summarize

AMOUNT = 3
TIMES = st.lists(st.floats(0, 1e18), min_size=AMOUNT, max_size=AMOUNT)
COUNTS = st.none() | st.lists(st.integers(0, 10**18), min_size=AMOUNT, max_size=AMOUNT)
STEPS = st.builds(
    Steps,
    t=st.floats(0, 1e9),
    case=st.integers(0, 10**6),
    phase=st.sampled_from(["warmup", "measure"]),
    round=st.integers(0, 99),
    wall_ms=TIMES,
    device_ms=st.none() | TIMES,
    host_ms=st.none() | TIMES,
    parts_ms=st.dictionaries(
        st.text(st.characters(exclude_characters="[\x00", codec="utf-8"), max_size=5), TIMES, max_size=3
    ),
    tokens=COUNTS,
    padded_tokens=COUNTS,
    loss=st.none() | st.lists(st.none() | st.floats(-9, 9), min_size=AMOUNT, max_size=AMOUNT),
)


def listed(event: reader.AnyRecord | None) -> Any:
    """Return an event with its arrays as lists."""
    plain = msgspec.json.encode(event, enc_hook=list)
    return msgspec.json.decode(plain, type=Steps) if isinstance(event, Steps) else event


@given(STEPS)
def test_decoded_line_equals_that_of_msgspec(steps: Steps) -> None:
    found = step_arrays.decode_steps(msgspec.json.encode(steps))
    assert listed(found) == steps


@pytest.mark.parametrize(
    "change",
    [
        (b"1.5", b"-1.5"),
        (b"1.5", b"null"),
        (b"1.5", b'"a"'),
        (b"1.5", b"1e300"),
        (b"1.5", b"1e999"),
        (b"1.5", b"NaN"),
        (b"1.5", b"[1.5]"),
        (b"7", b"-7"),
        (b"7", b"7.5"),
        (b"7", b"1" + b"0" * 19),
        (b'"measure"', b'"lunch"'),
        (b'"case":0', b'"case":-1'),
        (b'"case":0', b'"case":"a"'),
        (b'"t":0.0', b'"t":null'),
        (b'"tokens"', b'"more"'),
        (b'"loss":null', b'"loss":{}'),
        (b'"parts_ms":{}', b'"parts_ms":[]'),
        (b'"parts_ms":{}', b'"parts_ms":{"[":[1.5,2.0]}'),
        (b"}", b""),
    ],
    ids=lambda change: change[1].decode(),
)
def test_invalid_line_is_left_to_msgspec(change: tuple[bytes, bytes]) -> None:
    steps = Steps(t=0.0, case=0, phase="measure", wall_ms=[1.5, 2.0], tokens=[7, 7])
    line = msgspec.json.encode(steps)
    assert change[0] in line and step_arrays.decode_steps(line)
    assert step_arrays.decode_steps(line.replace(*change, 1)) is None


@pytest.fixture
def path(bench: Any, tmp_path: Path) -> Path:
    written = Journal(tmp_path / "session.json")
    for event in bench.events(*(bench.case(size, ms=10.0 * size) for size in range(1, 5))):
        written.append(event)
    written.close()
    return tmp_path / "session.json"


def columns(session: Session) -> Sequence[str]:
    return [repr(case.measured) for case in session.cases]  # repr: no number is another NaN


def test_session_is_the_same_whichever_decoder_reads_its_lines(path: Path) -> None:
    usual, usual_figures = Session.load(path), Session.load(path, summarize)
    with mock.patch.object(reader, "LONG_LINE", 0):
        assert columns(Session.load(path)) == columns(usual)
        assert Session.load(path, summarize).cases == usual_figures.cases


def test_broken_long_line_is_reported_with_its_number(path: Path) -> None:
    text = path.read_bytes()
    number = text[: text.index(b'{"event":"steps"')].count(b"\n") + 1
    path.write_bytes(text.replace(b'"wall_ms":[', b'"wall_ms":[-', 1))
    with (
        mock.patch.object(reader, "LONG_LINE", 0),
        pytest.raises(BenchtuiError, match=f"line {number}: invalid"),
    ):
        Session.load(path)
