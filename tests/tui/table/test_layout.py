from msgspec.structs import replace

from benchtui.sessions.sweep import Config
from benchtui.themes.symbols import ASCII, UNICODE
from benchtui.tui.drawing.styled_text import Span
from benchtui.tui.table.case_names import CaseNames
from benchtui.tui.table.columns import BY_KEY, DEFAULT_COLUMN_SET, GRAPH_RANK, columns_of
from benchtui.tui.table.layout import Arrangement, Rows, Sorting, TableRow, table_subtitle, table_title


def titles(width: int, case_width: int = 21) -> list[str]:
    return [column.key for column in Arrangement.of(width, case_width).columns]


def test_the_most_important_columns_get_space_first() -> None:
    assert titles(77) == ["state", "p50", "samples", "memory", "base"]
    assert titles(65) == ["state", "p50", "samples", "base"], "the ratio before what a step costs"
    assert titles(121) == ["state", "p50", "p99", "samples", "memory", "power", "base", "answer", "accepted"]
    assert titles(159)[-2:] == ["accepted", "notes"]
    assert "trace" not in titles(170) and titles(171)[-4:] == ["trace", "answer", "accepted", "notes"]
    assert titles(30) == []


def graphs(width: int) -> dict[str, int]:
    return {column.key: column.graph for column in Arrangement.of(width, 21).columns if column.graph}


def test_numbers_get_space_before_their_bars_and_bars_before_notes() -> None:
    for width in range(40, 200):
        shown, bars = titles(width), graphs(width)
        assert all(5 <= bar <= 13 for bar in bars.values())
        if "base" in bars or "notes" in shown:
            assert {"state", "p50", "p99", "samples", "memory", "power", "base"} <= {*shown}
        if "notes" in shown:
            assert set(bars) == {"samples", "base"}
    assert graphs(196) == {"samples": 13, "base": 13}


def test_a_number_wider_than_its_column_uses_the_gap_and_is_not_cut() -> None:
    row = TableRow(("cpu", "plain"), {"power": ("12,345", "plain")})
    line = "".join(text for text, _ in Arrangement.of(40, 10, [BY_KEY["power"]]).line(row, 40, UNICODE))
    assert line == " cpu        12,345"


def test_a_custom_selection_keeps_its_columns_and_order() -> None:
    keys = ("notes", "power", "trace", "p50")
    shown = Arrangement.of(100, 10, columns_of(keys)).columns
    assert tuple(column.key for column in shown) == keys


def plain(spans: list[Span]) -> str:
    return "".join(text for text, _ in spans)


def test_the_title_names_what_all_cases_share_and_the_rows_leave_out() -> None:
    plan = [Config(device="cpu", precision=precision, batch_size=4) for precision in ("fp32", "bf16")]
    names = CaseNames.of(plan)
    rows = Rows(2, lambda place: TableRow(("", "plain"), {}, config=plan[place]), names, None, None, total=2)
    assert plain(table_title(rows, replace(Arrangement.of(77, 21), names=names))) == "cases [2]"
    brief = replace(Arrangement.of(77, 21), names=names.without_shared())
    assert plain(table_title(rows, brief)) == "cases [2]  all cpu, bs 4"


def test_the_subtitle_names_the_sort_order_of_a_hidden_column() -> None:
    for width, text in ((60, "sorted by p99 ms ▾"), (120, "")):
        arrangement = Arrangement.of(width, 21, sorting=Sorting("p99", True))
        assert plain(table_subtitle(arrangement, UNICODE)) == text
    arrangement = Arrangement.of(60, 21, sorting=Sorting("interval"))
    assert plain(table_subtitle(arrangement, ASCII)) == "sorted by +- % ^"
    assert not table_subtitle(Arrangement.of(60, 21, sorting=Sorting("case")), UNICODE)


def test_a_row_without_metrics_shows_why_in_their_place() -> None:
    row = TableRow(
        ("cpu", "plain"), {"state": ("✗ failed", "bad")}, instead="worker killed by SIGKILL, after a while"
    )
    line = "".join(text for text, _ in Arrangement.of(50, 10).line(row, 50, UNICODE))
    assert line.endswith("worker killed by SIGK…") and len(line) == 50


def long_names() -> CaseNames:
    modes = ("off", "reduce-overhead", "max-autotune")
    return CaseNames.of(
        [
            Config(device=device, attention=attention, compile=mode, sequence_length=length, batch_size=256)
            for device in ("cuda:0", "cuda:1")
            for attention in ("eager", "flash")
            for mode in modes
            for length in (128, 4096)
        ]
    )


def test_names_make_room_for_median_and_throughput() -> None:
    names = long_names()
    for width in range(58, 200):
        made = Arrangement.of_cases(width, names, DEFAULT_COLUMN_SET)
        assert {"state", "p50", "samples"} <= {column.key for column in made.columns}
        assert made.names is not None
        assert made.names.width <= made.case_width or width < 62
        room = width - 3 - sum(column.width + column.graph + 2 for column in made.columns)
        graphs = any(column.graph for column in made.columns)
        brief = made.names == names.without_shared() and graphs
        assert made.names == names or room < names.width or brief, "no shorter than needed"
    assert Arrangement.of_cases(200, names, DEFAULT_COLUMN_SET).names == names
    own = columns_of(("energy", "p50", "state", "notes"))
    assert [column.key for column in Arrangement.of_cases(60, names, own).columns][:2] == ["energy", "p50"]


def test_names_leave_out_what_all_cases_share_if_that_makes_room_for_a_column_or_a_bar() -> None:
    names = CaseNames.of([Config(device="cuda:0", batch_size=size) for size in (1, 64)])
    for width in (*range(78, 84), *range(116, 124)):
        made = Arrangement.of_cases(width, names, DEFAULT_COLUMN_SET)
        whole = Arrangement.of(width, names.width, lead=made.lead)
        shown, fewer = (
            sum(1 + bool(column.graph) for column in each.columns if column.rank < GRAPH_RANK)
            for each in (made, whole)
        )
        assert made.names == names or shown > fewer
    short, tall = (Arrangement.of_cases(width, names, DEFAULT_COLUMN_SET).names for width in (78, 140))
    assert (short, tall) == (names.without_shared(), names)
