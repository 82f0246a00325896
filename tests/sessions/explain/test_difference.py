from typing import Any

import pytest
from msgspec.structs import replace

from benchtui.sessions.explain.cases import ExplainedCase
from benchtui.sessions.explain.difference import difference
from benchtui.sessions.explain.sentences import gap_sentences, profiling_notes
from benchtui.sessions.explain.tables import difference_tables
from benchtui.sessions.profiles import KernelTime
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.sweep import Config


def kernels(**ms: float) -> tuple[KernelTime, ...]:
    return tuple(KernelTime(name=name, family="matmul", ms=value, count=1.0) for name, value in ms.items())


@pytest.fixture
def pair(make_profile: Any) -> tuple[ExplainedCase, ExplainedCase]:
    """Two cases, a slow operator planted in the second. Measured steps are shorter than profiled ones."""
    base = make_profile({"matmul": 8.0, "python": 2.0}, kernels=kernels(mm=7.0, addmm=1.0))
    new = make_profile({"matmul": 14.0, "python": 2.5}, kernels=kernels(mm=7.1, addmm=1.0, slow=5.9))
    return (
        ExplainedCase(CaseState(0, Config(device="cpu")), base, 9.0),
        ExplainedCase(CaseState(1, Config(device="cpu")), new, 15.0),
    )


def test_planted_operator_is_listed_first_with_its_share(pair: Any) -> None:
    found = difference(*pair)
    assert [part.name for part in found.kernels[:2]] == ["slow", "mm"]
    assert found.share(found.kernels[0]) == pytest.approx(5.9 / 6.0)
    assert found.kernels[0].base_ms is None


def test_families_and_remainder_sum_to_the_measured_difference(pair: Any) -> None:
    found = difference(*pair)
    assert found.measured_gap_ms == pytest.approx(6.0)
    assert sum(part.gap_ms for part in found.families) + found.remainder_ms == pytest.approx(6.0)
    assert found.remainder_ms == pytest.approx(-0.5)
    families, operators = difference_tables(found)
    assert families is not None and operators is not None
    assert [row[0] for row in families.rows][-2:] == ["remainder: not in the profiles", "measured difference"]
    assert operators.rows[0] == ("slow", None, "5.90", "+5.90", "98")


def test_sentences_name_the_gap_and_what_makes_it_up(pair: Any) -> None:
    assert list(gap_sentences(difference(*pair))) == [
        "A step of case 2 is 6.00 ms longer than one of case 1 (67%).",
        "It comes from matrix products (+6.00 ms, 100% of it) and Python and launch gaps (+0.500 ms, 8% of"
        " it).",
        "The operator with the largest difference is slow: +5.90 ms.",
    ]
    assert "6.00 ms shorter than one of slow" in next(
        gap_sentences(difference(*reversed(pair)), ("slow", "fast"))
    )


def test_steps_of_unlike_batches_are_compared_per_sample(pair: Any) -> None:
    """A batch of four takes 15 ms where one sample takes 9: each sample is faster."""
    base, new = pair
    new = replace(new, case=CaseState(1, Config(device="cpu", batch_size=4)))
    found = difference(base, new)
    assert found.per_sample
    assert found.measured_gap_ms == pytest.approx(15 / 4 - 9)
    assert sum(part.gap_ms for part in found.families) + found.remainder_ms == pytest.approx(15 / 4 - 9)
    assert next(gap_sentences(found)) == "A sample of case 2 is 5.25 ms shorter than one of case 1 (58%)."
    families, _ = difference_tables(found)
    assert families is not None and families.titles[-2] == "difference, ms per sample"
    assert not difference(base, base).per_sample


def test_equal_steps_have_no_explanation(pair: Any) -> None:
    assert list(gap_sentences(difference(pair[0], pair[0]))) == [
        "The steps of case 1 and case 1 take about the same time."
    ]


def test_what_the_profiler_and_the_machine_changed_is_said(make_profile: Any) -> None:
    profile = make_profile({"matmul": 30.0}, plain_ms=20.0)
    case = ExplainedCase(CaseState(0, Config(device="cpu")), profile, 16.0, changed=("Python: 3.11 → 3.12",))
    slowed, drifted, changed = profiling_notes(case)
    assert slowed.startswith("Profiling lengthened the step by 50%: 30.0 ms instead of 20.0 ms.")
    assert "25% longer than the measured 16.0 ms" in drifted
    assert changed == "Changed since the case was measured: Python: 3.11 → 3.12."
    another = ExplainedCase(case.case, profile, 10.0)  # the first sentence of the page says that
    assert not any("than the measured" in note for note in profiling_notes(another))
    near = ExplainedCase(CaseState(0, Config(device="cpu")), make_profile({"matmul": 10.5}, plain_ms=10.0), 9.9)
    assert list(profiling_notes(near)) == []


def test_a_difference_that_the_profiles_do_not_show_has_no_cause(make_profile: Any) -> None:
    fast, slow = (make_profile({"matmul": ms}) for ms in (10.0, 30.0))
    cases = [CaseState(index, Config(device="cpu")) for index in range(2)]
    found = difference(ExplainedCase(cases[0], fast, 12.0), ExplainedCase(cases[1], slow, 9.0))
    assert list(gap_sentences(found)) == [
        "A step of case 2 is 3.00 ms shorter than one of case 1 (25%).",
        "The profiles don't show this difference: their own steps differ by +20.0 ms. Profile both cases again"
        " while the machine is idle.",
    ]
