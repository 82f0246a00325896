import pytest
from msgspec.structs import replace

from benchtui.themes.symbols import ASCII, UNICODE, Symbols
from benchtui.tui.monitor.status_line import STOP
from benchtui.tui.panels.answer_card import Answer, WorkAnswer
from benchtui.tui.panels.case_panel import Current, PanelMetrics
from benchtui.tui.panels.compact import Compact, compact_lines
from benchtui.tui.panels.gauges import Machines
from benchtui.tui.panels.header import SweepHeading
from benchtui.tui.panels.machine_rows import Gauge, Machine
from benchtui.tui.panels.step_axis import Axis, Spread
from benchtui.tui.panels.step_band import Band

HEADING = SweepHeading("sweep", "", "", 9, 16, 0.56, "running", None, "")
CURRENT = Current(
    "cuda:0 bf16 bs 8", "", "measuring", "accent", 7, 20, metrics=PanelMetrics(7, 314.0, None, None, 25.5)
)
STEPS = [314.0] * 7
ANSWER = Answer("so far", "muted", "", "", over=False)
BAND = Band([], STEPS, (0, 7), 20, Axis.of(Spread(7, 314.0, 314.0, 314.0, None), None), 314.0)


def machines(count: int) -> Machines:
    gauges = (
        Gauge("utilization", "94%", 0.94, "accent", 4),
        Gauge("memory", "41/82G", 0.5, "good", 7),
        Gauge("power", "659/700W", 0.94, "good", 8),
    )
    gpus = [Machine(f"{index}", "H100", gauges) for index in range(count)]
    return Machines(count, gpus.__getitem__, None)


def text(width: int, height: int, *, gpus: int = 8, word: str = "", symbols: Symbols = UNICODE) -> list[str]:
    lines = compact_lines(Compact(HEADING, CURRENT, machines(gpus), BAND, ANSWER, word), width, height, symbols)
    return ["".join(piece for piece, _ in line) for line in lines]


def test_the_best_case_so_far_follows_the_progress() -> None:
    work = WorkAnswer("bs 4", ("190 samples/s",), "clearly ahead of the next, by 9 %", decided=True)
    made = Compact(HEADING, CURRENT, machines(1), BAND, replace(ANSWER, works=(work,)), "")
    rows = ["".join(piece for piece, _ in line) for line in compact_lines(made, 59, 15, UNICODE)]
    assert rows[0].startswith("sweep   9/16  56 %")
    assert "so far bs 4  190 samples/s  clearly ahead of the next" in rows[:4]


@pytest.mark.parametrize("gpus", [0, 1, 2, 8])
@pytest.mark.parametrize("size", [(20, 1), (30, 8), (39, 19), (40, 8), (60, 15), (58, 19), (200, 10)])
def test_no_line_exceeds_the_terminal(size: tuple[int, int], gpus: int) -> None:
    for symbols in (UNICODE, ASCII):
        rows = text(*size, gpus=gpus, word="stop it?  y: stop", symbols=symbols)
        assert len(rows) <= size[1] and max(map(len, rows)) <= size[0]
        assert rows[-1].startswith("stop it?")
        assert symbols is UNICODE or all(row.isascii() for row in rows)


def test_a_question_is_wrapped_so_that_its_answers_are_shown() -> None:
    rows = text(39, 8, word=STOP)
    assert " ".join(rows[-2:]).split() == STOP.split()
    assert rows[0].startswith("sweep")
