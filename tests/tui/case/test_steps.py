from array import array

import pytest

from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.columns import Columns
from benchtui.sessions.sweep import Config
from benchtui.themes.symbols import UNICODE
from benchtui.tui.case.steps import StepTable


def columns(*rounds: list[float]) -> Columns:
    made = Columns()
    for turn, times_ms in enumerate(rounds):
        made.rounds.append((turn, len(made)))
        made.wall_ms.extend(times_ms)
    made.parts_ms = {"forward": made.wall_ms}
    return made


def case(warmup: Columns, measured: Columns) -> CaseState:
    made = CaseState(0, Config(device="cpu"))
    made._columns = {"warmup": warmup, "measure": measured}
    return made


def rows(table: StepTable, at: int, height: int = 8) -> list[str]:
    return ["".join(text for text, _ in line) for line in table.lines(at, 80, height, UNICODE)]


def test_each_round_starts_with_its_warm_up() -> None:
    table = StepTable(case(columns([9.0], [8.0]), columns([1.0, 2.0], [3.0])), ())
    assert table.count == 5
    said = [row.split()[-4:] for row in rows(table, 0)[1:]]
    assert [(phase, turn) for phase, turn, *_ in said] == [
        ("warm-up", "0"),
        ("measure", "0"),
        ("measure", "0"),
        ("warm-up", "1"),
        ("measure", "1"),
    ]
    assert [wall for *_, wall, _ in said] == ["9.000", "1.000", "2.000", "8.000", "3.000"]


def test_next_outlier_is_found_from_any_row() -> None:
    table = StepTable(case(columns([9.0], [8.0]), columns([1.0, 50.0], [3.0, 60.0])), (1, 3))
    assert [table.next_outlier(at, 1) for at in range(6)] == [2, 2, 5, 5, 5, None]
    assert [table.next_outlier(at, -1) for at in range(6)] == [None, None, None, 2, 2, 2]
    assert [row.endswith("▴") for row in rows(table, 0)[1:]] == [False, False, True, False, False, True]


def test_only_visible_rows_of_ten_million_steps_are_read() -> None:
    many = Columns()
    many.wall_ms = array("d", bytes(8 * 10_000_000))
    many.rounds = [(0, 0)]
    table = StepTable(case(Columns(), many), (9_999_998,))
    assert "9,999,999" in rows(table, table.count - 1)[-1]
    assert table.next_outlier(0, 1) == 9_999_998


@pytest.mark.parametrize("turns", [[10**18, 0, 10**18], list(range(500, 0, -1))])
def test_implausible_rounds_do_not_crash_the_table(turns: list[int]) -> None:
    odd = columns([1.0] * len(turns))
    odd.rounds = [(turn, place) for place, turn in enumerate(turns)]
    table = StepTable(case(Columns(), odd), ())
    assert table.count == len(turns)
    assert len(rows(table, table.count - 1, 5)) == min(5, len(turns) + 1)


def test_host_times_are_listed_beside_device_times() -> None:
    measured = columns([9.0])
    measured.device_ms.append(8.0)
    measured.host_ms.append(2.5)
    titles, row = rows(StepTable(case(Columns(), measured), ()), 0)[:2]
    assert "device ms" in titles and titles.index("device ms") < titles.index("host ms")
    assert row.split()[-3:-1] == ["8.000", "2.500"]
