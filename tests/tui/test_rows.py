from benchtui.sessions.sweep import Axes, Sweep, cases
from benchtui.themes import UNICODE
from benchtui.tui.widgets.rows import Arrangement, CaseNames, Row


def titles(width: int, case_width: int = 21) -> list[str]:
    return [column.key for column in Arrangement.of(width, case_width).columns]


def names(**axes: tuple[object, ...]) -> list[str]:
    plan = [case.config for case in cases(Sweep(name="s", model="m", axes=Axes(**axes)))]  # type: ignore[arg-type]
    made = CaseNames.of(plan)
    assert {len(made.text(config)) for config in plan} == {made.width}
    return [made.text(config) for config in plan]


def test_what_matters_most_gets_room_first() -> None:
    assert titles(77) == ["state", "p50", "samples", "memory", "power"]
    assert titles(118) == ["state", "p50", "p99", "samples", "memory", "power", "base", "notes"]
    assert titles(30) == []


def test_figures_end_below_their_titles() -> None:
    arrangement = Arrangement.of(100, 10)
    row = Row(("cpu", "plain"), {"state": ("✓ ok", "good"), "p50": ("1.84", "plain")})
    header, line = (
        "".join(text for text, _ in made)
        for made in (arrangement.header(100, UNICODE), arrangement.line(row, 100, UNICODE))
    )
    assert header.index("p50 ms") + len("p50 ms") == line.index("1.84") + len("1.84")


def test_a_row_without_figures_says_why_in_their_place() -> None:
    row = Row(
        ("cpu", "plain"), {"state": ("✗ failed", "bad")}, instead="worker killed by SIGKILL, after a while"
    )
    line = "".join(text for text, _ in Arrangement.of(50, 10).line(row, 50, UNICODE))
    assert line.endswith("worker killed by SIGK…") and len(line) == 50


def test_options_that_never_differ_are_left_to_the_heading() -> None:
    assert names(batch_size=(1, 16)) == ["cpu fp32 bs  1", "cpu fp32 bs 16"]


def test_options_that_differ_are_aligned() -> None:
    assert names(device=("cpu", "cuda:0"), compile=("off", "default"), sequence_length=(32, 128))[0] == (
        "cpu    fp32 off     seq  32 bs 1"
    )
