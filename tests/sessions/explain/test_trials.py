"""Trials: remedies as cases of the session, and what they gain."""

from typing import Any

import pytest
from explained import SLOW, profile
from msgspec.structs import replace

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import Explained
from benchtui.sessions.explain.cases import explained_cases
from benchtui.sessions.explain.trials import all_trials, chosen, trial_sentence, trial_sweep, trials
from benchtui.sessions.profiles import FamilyName, KernelTime
from benchtui.sessions.report.document import markdown
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.evidence import LEAST_ALTERNATING
from benchtui.sessions.sweep import Axes, Sweep
from benchtui.sessions.sweep.plan import included_configs

SWEEP = Sweep(name="hand", model="tiny", task="lm-forward", axes=Axes(threads=(1,)))


@pytest.fixture
def session(bench: Any) -> Any:
    """A case on one of two processors, whose remedy is ``threads=2``, and further cases."""

    def make(*others: Any) -> Session:
        one = replace(profile(SLOW), threads=1, plain_ms=30.0)
        event = Explained(t=98.0, case=0, created="", profile=one)
        base = bench.steady(1, 30.0, threads=1, prepared={"task": "lm-forward"})
        made: Session = bench.session(base, *others, sweep=SWEEP, more=[event])
        return made

    return make


def test_remedy_that_was_not_measured_is_only_predicted(session: Any) -> None:
    made = session()
    (trial, *_) = (
        each for each in trials(made, explained_cases(made)[0]) if each.finding.rule == "few threads"
    )
    assert (trial.options, trial.tried, trial.ratio, trial_sentence(trial)) == ("threads=2", None, None, None)
    saved_s = trial.finding.bound_s
    assert saved_s is not None and trial.bound == pytest.approx(0.030 / (0.030 - saved_s))
    assert trial.predicted == trial.bound
    assert all_trials(made) == ()
    assert "## Tried" not in markdown(made)


def test_measured_remedy_has_its_gain_beside_the_bound(bench: Any, session: Any) -> None:
    made = session(bench.steady(1, 24.0, threads=2))
    (trial,) = all_trials(made)
    assert trial.tried is made.cases[1] and trial.ratio is not None
    assert trial.ratio.value == pytest.approx(1.25)
    assert trial.predicted is not None and trial.bound is not None
    assert trial_sentence(trial) == (
        f"tried threads=2: 1.25x (1.25 to 1.25) FASTER, predicted {trial.predicted:.2f}x,"
        f" at most {trial.bound:.2f}x"
    )
    assert str(trial_sentence(replace(trial, predicted=None))).endswith(f"predicted at most {trial.bound:.2f}x")
    row = next(line for line in markdown(made).partition("## Tried")[2].splitlines() if "few threads" in line)
    cells = [cell.strip() for cell in row.split("|")]
    bounds = f"{trial.bound:.2f}", f"{trial.predicted:.2f}"
    assert cells[2:7] == ["few threads", "threads=2", *bounds, "1.25"]
    assert cells[-2] == "FASTER"


def test_remedied_case_that_failed_has_its_reason(bench: Any, session: Any) -> None:
    made = session(bench.case(1, outcome="oom", threads=2, end={"reason": "out of memory"}))
    (trial,) = all_trials(made)
    assert trial.ratio is None
    assert str(trial_sentence(trial)).startswith("tried threads=2: out of memory (out of memory), predicted")


def test_trial_sweep_has_the_case_and_its_remedies_in_alternating_rounds(session: Any) -> None:
    made = session()
    wanted = chosen(made, explained_cases(made), ["few threads"])
    sweep = trial_sweep(made, wanted)
    assert [config.threads for config in included_configs(sweep)] == [1, 2]
    assert (sweep.name, sweep.measure.rounds, sweep.measure.rounds_auto) == (
        "hand-try",
        LEAST_ALTERNATING,
        False,
    )


def test_tried_remedies_are_not_chosen_again(bench: Any, session: Any) -> None:
    made = session(bench.steady(1, 24.0, threads=2))
    assert "few threads" not in [each.finding.rule for each in chosen(made, explained_cases(made))]
    assert chosen(made, explained_cases(made), ["few threads"]) == []


def test_rule_without_a_remedy_is_refused_with_those_that_have_one(session: Any) -> None:
    made = session()
    refused = "rule 'copies': its finding says what to change, which no option does; can be tried: few threads"
    with pytest.raises(BenchtuiError, match=refused):
        chosen(made, explained_cases(made), ["copies"])


def test_rule_without_a_finding_says_so(session: Any) -> None:
    made = session()
    with pytest.raises(BenchtuiError, match="rule 'input': found nothing here; can be tried: few threads"):
        chosen(made, explained_cases(made), ["input"])
    with pytest.raises(BenchtuiError, match=r"rule 'input': found nothing here; no finding here can be tried$"):
        chosen(made, [], ["input"])


def test_remedy_of_two_findings_is_bounded_by_both(bench: Any) -> None:
    """Compiling fuses operators and saves most of their calls."""
    families: dict[FamilyName, float] = {"matmul": 11.0, "copy": 0.0, "elementwise": 10.0, "python": 9.0}
    short = KernelTime(name="aten::mul", family="elementwise", ms=10.0, count=2500.0)
    made = replace(profile(families), plain_ms=30.0, kernels=(short,), launches=2500.0)
    base = bench.steady(1, 30.0, prepared={"task": "lm-forward"})
    event = Explained(t=98.0, case=0, created="", profile=made)
    session = bench.session(base, sweep=SWEEP, more=[event])
    both = [each for each in trials(session, explained_cases(session)[0]) if each.options == "compile=default"]
    saved_s = sum(each.finding.bound_s or 0.0 for each in both)
    assert [each.finding.rule for each in both] == ["many operators", "unfused"]
    assert [each.bound for each in both] == [pytest.approx(0.030 / (0.030 - saved_s))] * 2
