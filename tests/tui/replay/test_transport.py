"""Transport line at every width."""

import pytest

from benchtui.sessions.replay.markers import TimelineEvent
from benchtui.themes.symbols import UNICODE
from benchtui.tui.drawing.styled_text import Line
from benchtui.tui.replay.transport import State, TransportPosition, transport_lines

ORIGINS = ("demo, recorded 2026-11-21 on box", "demo, recorded 2026-11-21", "demo 2026-11-21")


def transport(
    state: State = "playing", position_s: float = 30.0, end_s: float | None = 120.0, *marks: TimelineEvent
) -> TransportPosition:
    return TransportPosition(state, position_s, end_s, 4.0, marks, ORIGINS)


def text(line: Line) -> str:
    return "".join(piece for piece, _ in line)


@pytest.mark.parametrize("width", [60, 78, 118, 198])
def test_the_transport_line_fits_and_shows_the_recording_date(width: int) -> None:
    first, second = transport_lines(transport(), width, 2, UNICODE)
    assert text(first).startswith("▶ playing    4x  0:30.0 / 2:00.0  ━")
    assert len(text(first)) <= width and len(text(second)) <= width
    assert text(first).endswith("2026-11-21 on box" if width > 80 else "2026-11-21")
    assert text(first).split()[-2:] != ["on", "box"] or width > 80


def test_marks_are_below_their_position_and_the_most_severe_wins() -> None:
    marks = [
        TimelineEvent(0.0, "begin", 0),
        TimelineEvent(60.0, "begin", 1),
        TimelineEvent(60.0, "oom", 1),
        TimelineEvent(60.0, "message"),
        TimelineEvent(120.0, "ok", 1),
    ]  # type: ignore[arg-type]
    first, second = transport_lines(transport("playing", 0.0, 120.0, *marks), 118, 2, UNICODE)
    begin = text(first).index("─")
    length = text(first).count("─")
    assert text(second)[begin] == "│"
    assert text(second)[begin + length // 2] == "▲"
    assert len(text(second).split()) == 2
