from pathlib import Path

import pytest

from benchtui.sessions.importers import session_writer
from benchtui.sessions.importers.imported import Imported, Measurement
from benchtui.sessions.payloads import Reported
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Config
from benchtui.sessions.sweep.options import NUMERIC


@pytest.mark.parametrize("axis", NUMERIC)
def test_numbers_of_an_axis_are_ascending_whatever_their_order_in_the_file(axis: str, tmp_path: Path) -> None:
    rows = tuple(
        Measurement(config=Config(device="cpu", **{axis: value}), reported=Reported(latency_mean_ms=1.0))
        for value in (64, 8, 16)
    )
    session_writer.write(Imported(kind="tool", measurements=rows), tmp_path / "session.json")
    session = Session.load(tmp_path / "session.json")
    assert getattr(session.start.sweep.axes, axis) == (8, 16, 64)
    assert [getattr(case.config, axis) for case in session.cases] == [64, 8, 16]
