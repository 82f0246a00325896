"""Case rows, compared with the report's own computation."""

from pathlib import Path
from typing import Any

import pytest

from benchtui.sessions.events import RoundFinished
from benchtui.sessions.journal.reader import read
from benchtui.sessions.payloads import Energy, Environment, Memory
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.baseline import baseline_of
from benchtui.sessions.stats.ratios import throughput_ratio
from benchtui.sessions.stats.results import measured
from benchtui.sessions.stats.verdicts import Verdict
from benchtui.sessions.sweep import Baseline
from benchtui.sessions.text.formatting import ratio_text
from benchtui.themes.symbols import UNICODE
from benchtui.tui.model.case_rows import CaseRows
from benchtui.tui.model.row_cells import state_text
from benchtui.tui.table.columns import CATALOGUED

DISTURBED = "disturbed: other processes used 400% CPU"


def case_rows(path: Path) -> tuple[Session, CaseRows]:
    session = Session.load(path)
    made = CaseRows(session, UNICODE)
    made.refresh(case for case in session.cases if case.finished)
    return session, made


SIGNED = {Verdict.SAME: "≈{}x", Verdict.UNSURE: "{}x?"}


@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize("baseline", [Baseline(batch_size=1), Baseline(batch_size=4), Baseline(device="cpu")])
def test_baseline_and_ratio_equal_the_report(story: Any, baseline: Baseline, rounds: int) -> None:
    story.begin(baseline=baseline, rounds=rounds)
    for case, ms in enumerate((10.0, 20.05, 35.0)):
        story.case(case, ms, rounds=rounds)
    story.end()
    session, made = case_rows(story.path)
    results = measured(session)
    for result in results:
        base = baseline_of(result.config, results, baseline)
        shown = made.row(result.case.index).cells["base"][0]
        ratio = throughput_ratio(base, result) if base else None
        if base is result:
            assert shown == "base"
        elif ratio is None:
            assert shown == "no base"
        else:
            assert shown == SIGNED.get(ratio.verdict, "{}x").format(ratio_text(ratio.value))


def test_a_ratio_has_the_sign_and_color_of_its_verdict(story: Any) -> None:
    story.begin(batch_sizes=(1, 2, 4, 8), rounds=3).case(0, 10.0, rounds=3).case(1, 20.0, rounds=3)
    story.case(2, 20.0, rounds=3).case(3, 120.0, rounds=3).end()
    _, made = case_rows(story.path)
    shown = [made.row(case).cells["base"] for case in range(4)]
    assert shown == [("base", "muted"), ("≈1.001x", "plain"), ("2.00x", "good"), ("0.668x", "bad")]


def test_a_row_without_a_baseline_of_its_length_says_why(story: Any) -> None:
    story.begin(batch_sizes=(1, 4), sequence_length=(16, 32))
    places = {(each.sequence_length, each.batch_size): place for place, each in enumerate(story.plan)}
    for (length, size), place in places.items():
        if (length, size) == (32, 1):
            story.finish(place, "skipped", reason="dropped from the queue")
        else:
            story.case(place, 10.0 * size)
    _, made = case_rows(story.end().path)
    cells = made.row(places[32, 4]).cells
    assert cells["base"] == ("no base", "muted")
    assert cells["notes"][0] == "no ratio: the baseline, cuda:0 fp32 bs 1 seq 32, was skipped"
    assert made.row(places[16, 1]).cells["base"][0] == "base"
    assert made.row(places[16, 4]).cells["base"][0] == "1.001x?"
    assert made.row(places[32, 1]).cells["base"][0] == "–"


def test_a_ratio_is_pending_until_the_baseline_has_been_measured(story: Any) -> None:
    story.begin(batch_sizes=(1, 2), rounds=2).round(1).start(0)
    _, made = case_rows(story.path)
    assert made.row(1).cells["base"] == ("pending", "muted")
    _, made = case_rows(story.round(0, 20.0).start(1).path)
    assert made.row(1).cells["base"][0].rstrip("?*").endswith("x")


def test_a_row_shows_all_metrics(story: Any) -> None:
    story.begin().case(0, 10.0, 100, "random weights").case(1, 10.0, 20, "random weights", "throttled")
    _, made = case_rows(story.path)
    cells = {key: text for key, (text, _) in made.row(1).cells.items()}
    assert cells == {
        "state": "⚑ throttled",
        "p50": "10.0",
        "p99": "–",
        "samples": "200",
        "memory": "668 MiB",
        "power": "210",
        "base": "2.00x",
        "answer": "–",
        "accepted": "–",
        "trace": "▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄",
        "notes": "throttled",
        "steps": "20",
        "interval": "7.05",
        "outliers": "0",
        "tokens": "–",
        "energy": "1,250",
        "node": "",
        **dict.fromkeys(CATALOGUED, "–"),
    }
    assert made.row(0).cells["p99"][0] == "10.0"


def test_an_interval_wider_than_the_median_has_no_number(story: Any) -> None:
    story.begin().start(0).prepare(0).steps(0, [1.0, 1.0, 1.5, 2.0, 50.0, 60.0, 70.0]).finish(0)
    _, made = case_rows(story.path)
    assert made.row(0).cells["interval"][0] == ">100"


def test_a_running_case_shows_its_progress(story: Any) -> None:
    story.begin(iterations=20).start(0)
    states = []
    for add in (
        lambda: None,
        lambda: story.prepare(0),
        lambda: story.steps(0, [9.0], "warmup"),
        lambda: story.steps(0, [9.0] * 25),
    ):
        add()
        session, _ = case_rows(story.path)
        states.append(state_text(session.cases[0], session.start.sweep.measure, UNICODE))
    assert states == ["▶ loading", "▶ first step", "▶ warm-up", "▶ 25/25"]


def test_the_axis_of_a_running_case_is_chosen_after_the_warm_up_and_then_only_grows(story: Any) -> None:
    story.begin(iterations=100).start(0).prepare(0).steps(0, [100.0 + step % 3 for step in range(50)], "warmup")
    session, made = case_rows(story.path)
    case, measure = session.cases[0], session.start.sweep.measure
    warming = made.band(case, measure).axis
    assert warming is not None and warming.narrow is None
    axes = []
    case.measured.rounds.append((0, 0))
    for step in range(100):
        case.measured.wall_ms.append(900.0 if step == 0 else 100.0 + step % 7 + (12 if step > 60 else 0))
        axes.append(made.band(case, measure).axis)
    assert [axis is not None and axis.narrow is not None for axis in axes] == [False] * 39 + [True] * 61
    assert all(axis.top <= 200.0 for axis in axes[19:] if axis)
    highs = [axis.narrow.high for axis in axes if axis and axis.narrow]
    assert highs == sorted(highs) and highs[0] < highs[-1]


@pytest.mark.parametrize(
    ("rounds_ms", "last_ms", "state", "rate"),
    [
        ((10.0, 40.0, 90.0), 0.0, "⚑ unsteady", "≈21"),
        ((10.0, 10.1, 10.0), 0.0, "✓ ok", "99.7"),
        ((10.0, 10.1, 10.0), 40.0, "⚑ unsteady", "≈87"),
    ],
)
def test_a_case_whose_interval_is_wide_or_mean_far_from_typical_is_unsteady_and_its_rate_about(
    story: Any, rounds_ms: tuple[float, ...], last_ms: float, state: str, rate: str
) -> None:
    story.begin(rounds=3)
    for round_index, ms in enumerate(rounds_ms):
        steps = [ms] * 19 + [last_ms or ms]
        story.start(0, round_index=round_index).prepare(0).steps(0, steps, round_index=round_index)
    story.finish(0).end()
    session, made = case_rows(story.path)
    cells = made.row(0).cells
    assert (cells["state"][0], cells["samples"][0]) == (state, rate)
    panel = made.metrics(session.cases[0])
    assert panel is not None and panel.unsteady == (state != "✓ ok"), "the panel next to the table agrees"


def test_a_row_drawn_while_its_rounds_are_read_has_the_final_figures_at_the_end(story: Any) -> None:
    story.begin(rounds=3).round(0, 10.0)
    session = Session.load(story.path)
    early = CaseRows(session, UNICODE)
    assert early.metrics(session.cases[0]) and early.row(0).cells["samples"]
    seen = len(read(story.path).events)
    story.round(0, 14.0, 1).start(0, round_index=2).prepare(0).steps(0, [15.0] * 20, round_index=2).finish(0)
    for event in read(story.end().path).events[seen:]:
        session.apply(event)
    early.refresh(case for case in session.cases if case.finished)
    _, fresh = case_rows(story.path)
    assert dict(early.row(0).cells) == dict(fresh.row(0).cells)
    assert early.metrics(session.cases[0]) == fresh.metrics(session.cases[0])


def test_between_two_rounds_a_row_counts_them(story: Any) -> None:
    story.begin(rounds=2).round(0).round(1)
    _, made = case_rows(story.path)
    assert [made.row(index).cells["state"][0] for index in (0, 1, 2)] == ["· 1/2 rounds"] * 2 + ["· queued"]


def test_a_case_in_its_second_round_shows_memory_and_power_of_the_first(story: Any) -> None:
    story.begin(rounds=2).start(0).prepare(0).steps(0, [10.0] * 20)
    memory, energy = Memory(peak_reserved_mb=700.0), Energy(energy_j=50.0, mean_power_w=210.0, source="counter")
    story._add(RoundFinished(t=story.t, case=0, round=0, memory=memory, energy=energy))
    for running in (False, True):
        if running:
            story.start(0, round_index=1).prepare(0).steps(0, [11.0] * 8, round_index=1)
        session = Session.load(story.path)
        made = CaseRows(session, UNICODE)
        made.refresh([case for case in session.cases if case.rounds])
        cells = made.row(0).cells
        assert (session.cases[0].state == "running") is running
        assert (cells["memory"], cells["power"]) == (("668 MiB", "plain"), ("210", "plain"))


def test_rounds_next_to_a_neighbor_count_as_in_exports(story: Any) -> None:
    story.begin(rounds=2).start(0).prepare(0).steps(0, [30.0] * 20)
    others = Environment(others_cpu_percent=400.0, processors=4)
    story._add(RoundFinished(t=story.t, case=0, round=0, environment=others, marks=(DISTURBED,)))
    story.start(0, round_index=1).steps(0, [10.0] * 20, round_index=1)
    story.finish(0, environment=Environment(others_cpu_percent=0.0, processors=4)).end()
    session, made = case_rows(story.path)
    (result,) = measured(session)
    cells = made.row(0).cells
    assert (cells["p50"][0], cells["samples"][0]) == ("10.0", "100")
    assert result.metrics.samples_per_s == pytest.approx(100.0)
