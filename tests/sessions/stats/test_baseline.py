from dataclasses import dataclass
from typing import Any

import pytest

from benchtui.sessions.state.judging import SWEEP_DEFAULTS, VerdictSettings
from benchtui.sessions.stats.baseline import (
    NOT_MEASURED,
    answer_baseline,
    baseline_of,
    baselines,
    explain_missing_baseline,
)
from benchtui.sessions.sweep import Baseline, Config


@dataclass(frozen=True)
class Measured:
    config: Config


def case(batch_size: int = 1, sequence_length: int = 128, **options: Any) -> Measured:
    return Measured(Config(device="cpu", batch_size=batch_size, sequence_length=sequence_length, **options))


CASES = (
    case(1, 32),
    case(1, 128, repeat=1),
    case(2, 128),
    case(1, 128, precision="bf16"),
    case(1, 128),
    case(4, 128),
)


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        (None, 2),
        (Baseline(), 2),
        (Baseline(batch_size=1), 3),
        (Baseline(batch_size=1, precision="fp32"), 4),
        (Baseline(batch_size=4), 5),
        (Baseline(batch_size=8), None),
        (Baseline(sequence_length=32), None),
    ],
)
def test_the_baseline_is_the_first_case_of_the_same_work_that_matches(
    named: Baseline | None, expected: int | None
) -> None:
    """Whatever else the case has in common with others: a table has one baseline for a sequence length."""
    wanted = None if expected is None else CASES[expected]
    for config in (case(64, 128).config, case(1, 128, precision="bf16").config, CASES[5].config):
        assert baseline_of(config, CASES, named) is wanted


def test_another_sequence_length_is_other_work() -> None:
    assert baseline_of(case(8, 32).config, CASES, None) is CASES[0]
    assert baseline_of(case(8, 32).config, CASES, Baseline(batch_size=2)) is None
    assert baseline_of(case(8, 64).config, CASES, None) is None


def test_other_models_and_other_numbers_of_new_tokens_are_other_work() -> None:
    mine = case(model="gpt2", new_tokens=8)
    assert baseline_of(mine.config, (case(model="other", new_tokens=8), case(model="gpt2")), None) is None
    assert baseline_of(mine.config, (case(model="gpt2", new_tokens=8, batch_size=2), mine), None) is not mine


def test_losses_are_compared_over_the_same_samples() -> None:
    plain, twice = case(2), case(2, accumulation=2)
    mine, known = case(2, accumulation=2, lora="r8").config, (plain, twice)
    assert answer_baseline(mine, known, None, "lm-train") is twice
    assert answer_baseline(mine, known, Baseline(accumulation=0, lora="off"), "lm-train") is twice
    assert answer_baseline(mine, known, None, "lm-forward") is plain


def test_the_second_case_of_an_aa_pair_is_no_baseline() -> None:
    assert baseline_of(CASES[1].config, CASES[1:2], None) is None
    assert baseline_of(CASES[1].config, CASES, Baseline(batch_size=1, precision="fp32")) is CASES[4]


def test_why_there_is_none_tells_an_unplanned_case(bench: Any) -> None:
    cases = bench.session(bench.case(1, 10.0, sequence_length=2048), bench.case(2, 10.0)).cases
    config = case(1, 4096).config
    assert explain_missing_baseline(config, cases, None) == "no case with any was planned at 4,096 tokens"
    named = Baseline(batch_size=1, compile="off")
    assert (
        explain_missing_baseline(config, cases, named)
        == "no case with batch_size=1, compile=off was planned at 4,096 tokens"
    )
    assert explain_missing_baseline(cases[1].config, cases, named).endswith("was planned at 128 tokens")


@pytest.mark.parametrize("outcome", ["oom", "skipped", "failed", "timeout", "interrupted"])
def test_why_there_is_none_tells_what_became_of_it(outcome: str, bench: Any) -> None:
    cases = bench.session(bench.case(1, outcome=outcome), bench.case(2, 10.0)).cases
    why = f"the baseline, cpu fp32 compile=off bs=1 seq=128, {NOT_MEASURED[outcome]}"
    assert explain_missing_baseline(cases[1].config, cases, None) == why


def test_why_there_is_none_yet(bench: Any) -> None:
    cases = bench.session(bench.case(1, outcome=None), bench.case(2, 10.0)).cases
    assert explain_missing_baseline(cases[1].config, cases, None).endswith(", hasn't been measured yet")
    cases = bench.session(bench.case(1), bench.case(2, 10.0)).cases
    assert explain_missing_baseline(cases[1].config, cases, None).endswith(", has no figures")


def test_judging_is_left_to_the_sweep() -> None:
    assert VerdictSettings(baseline=None, same_within=None) == SWEEP_DEFAULTS


@pytest.mark.parametrize("named", [None, Baseline(batch_size=2), Baseline(batch_size=1, precision="fp32")])
def test_baselines_are_those_that_each_case_would_find(named: Baseline | None) -> None:
    found = baselines(CASES, named)
    for case in CASES:
        assert found.get(case.config.work) is baseline_of(case.config, CASES, named)
