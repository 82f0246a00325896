"""Transport line at every width."""

import pytest

from benchtui.sessions.replay.markers import TimelineEvent
from benchtui.themes.symbols import ASCII, UNICODE
from benchtui.tui.drawing.styled_text import Line
from benchtui.tui.replay.transport import State, TransportPosition, clock_text, most_severe, transport_lines

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


def test_the_bar_is_filled_up_to_the_position() -> None:
    shares = []
    for position_s in (0.0, 30.0, 60.0, 120.0):
        pieces = transport_lines(transport("paused", position_s), 118, 2, UNICODE)[0]
        filled, empty = (
            sum(len(part) for part, role in pieces[1:] if role == wanted) for wanted in ("accent", "faint")
        )
        shares.append(round(filled / (filled + empty), 1))
    assert shares == [0.0, 0.3, 0.5, 1.0]


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


def test_only_the_most_severe_mark_per_time_slot_is_kept() -> None:
    begins = [TimelineEvent(t / 10, "begin", t) for t in range(100_000)]
    kept = most_severe(sorted([*begins, TimelineEvent(5000.0, "failed", 1)], key=lambda mark: mark.t), 10_000.0)
    assert 900 <= len(kept) <= 1001
    assert [mark.t for mark in kept if mark.kind == "failed"] == [5000.0]
    assert most_severe([TimelineEvent(0.0, "ok", 0)], 0.0) == ()


def test_the_bar_is_empty_until_the_end_is_known() -> None:
    first, second = transport_lines(
        transport("seeking", 5.0, None, TimelineEvent(1.0, "begin", 0)), 100, 2, ASCII
    )
    assert text(first).startswith("# seeking    4x  0:05.0 / - ")
    assert text(second).strip() == ""


@pytest.mark.parametrize(
    ("seconds", "said"), [(0, "0:00.0"), (61.26, "1:01.2"), (3600, "1:00:00.0"), (36_123.9, "10:02:03.9")]
)
def test_clock_text_formats_times(seconds: float, said: str) -> None:
    assert clock_text(seconds) == said
