from benchtui.sessions.events import CasePrepared
from benchtui.sessions.payloads import Model
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.sweep import Axes, Config, Sweep, cases
from benchtui.themes.symbols import UNICODE
from benchtui.tui.table.columns import rate
from benchtui.tui.table.layout import Arrangement, CaseNames, TableRow


def titles(width: int, case_width: int = 21) -> list[str]:
    return [column.key for column in Arrangement.of(width, case_width).columns]


def names(**axes: tuple[object, ...]) -> list[str]:
    plan = [case.config for case in cases(Sweep(name="s", model="m", axes=Axes(**axes)))]  # type: ignore[arg-type]
    made = CaseNames.of(plan)
    assert {len(made.text(config)) for config in plan} == {made.width}
    return [made.text(config) for config in plan]


def test_the_most_important_columns_get_space_first() -> None:
    assert titles(77) == ["state", "p50", "samples", "memory", "power"]
    assert titles(118) == ["state", "p50", "p99", "samples", "memory", "power", "base", "notes"]
    assert titles(30) == []


def test_numbers_are_aligned_with_their_titles() -> None:
    arrangement = Arrangement.of(100, 10)
    row = TableRow(("cpu", "plain"), {"state": ("✓ ok", "good"), "p50": ("1.84", "plain")})
    header, line = (
        "".join(text for text, _ in made)
        for made in (arrangement.header(100, UNICODE), arrangement.line(row, 100, UNICODE))
    )
    assert header.index("p50 ms") + len("p50 ms") == line.index("1.84") + len("1.84")


def test_a_row_without_metrics_shows_why_in_their_place() -> None:
    row = TableRow(
        ("cpu", "plain"), {"state": ("✗ failed", "bad")}, instead="worker killed by SIGKILL, after a while"
    )
    line = "".join(text for text, _ in Arrangement.of(50, 10).line(row, 50, UNICODE))
    assert line.endswith("worker killed by SIGK…") and len(line) == 50


def test_options_that_never_differ_are_omitted() -> None:
    assert names(batch_size=(1, 16)) == ["cpu fp32 bs  1", "cpu fp32 bs 16"]


def test_options_that_differ_are_aligned() -> None:
    assert names(device=("cpu", "cuda:0"), compile=("off", "default"), sequence_length=(32, 128))[0] == (
        "cpu    fp32 off     seq  32 bs 1"
    )


def test_different_cases_have_different_names() -> None:
    """An A/A pair, threads, padding and the labels of an import are options like the others."""
    plain = Config(device="cpu")
    for other in (
        Config(device="cpu", threads=2),
        Config(device="cpu", padding="batch"),
        Config(device="cpu", repeat=1),
        Config(device="cpu", label="a command"),
    ):
        made = CaseNames.of([plain, other])
        texts = [made.text(config) for config in (plain, other)]
        assert len(set(texts)) == 2
        assert {len(text) for text in texts} == {made.width}


def test_a_rate_needs_samples_and_time() -> None:
    """A source with steps but no sample count gives no rate, as in the report."""
    case = CaseState(0, Config(device="cpu"))
    assert rate(case, 10, 100.0) == 100.0
    assert rate(case, 10, 0.0) is rate(case, 0, 0.0) is None
    case.prepared = CasePrepared(t=0.0, case=0, model=Model(name="m"), samples_per_step=0)
    assert rate(case, 10, 100.0) is None
