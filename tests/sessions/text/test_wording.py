from typing import Any

import pytest

from benchtui.sessions.stats.sampling import Bounds
from benchtui.sessions.stats.verdicts import Ratio
from benchtui.sessions.text.wording import costs, doubt_phrase, kind_of_doubt, why_unsure


@pytest.mark.parametrize(("compiled", "named"), [(True, True), (None, True), (False, False)])
def test_compile_time_is_no_cost_of_a_case_that_never_compiled(
    bench: Any, compiled: bool | None, named: bool
) -> None:
    """The first steps of any case are slower than the others."""
    effective = bench.effective(compiled=compiled)
    made = bench.case(1, 10.0, compile="default", effective=effective, warmup_ms=[500.0, 10.0])
    (result,) = bench.results(made)
    assert ("s of compile time" in (costs(result, None) or "")) is named


def test_interval_that_decided_is_shown_where_the_other_excludes_one() -> None:
    leaning = Ratio(1.1, Bounds(1.1, 1.01, 1.2, 0.99, 1.25), same_within=0.02)
    assert doubt_phrase(leaning) == "leans faster (95 %), not at 99 %"
    assert (why_unsure(leaning) or "").startswith("leans faster (95 %), not at 99 %: 0.990 to 1.25 ×")
    wide = Ratio(1.1, Bounds(1.1, 0.9, 1.3, 0.8, 1.5), same_within=0.02)
    assert doubt_phrase(wide) == "can't resolve below 38 %"


@pytest.mark.parametrize("high", [2.2, 4.4])
def test_fast_steps_are_named_if_only_their_interval_is_too_wide(high: float) -> None:
    """The interval next to the word lies far from 1, whatever its shape."""
    sure = Bounds(2.0, 1.9, 2.1, 1.8, high)
    found = Ratio(2.0, sure, fast=Bounds(1.9, 0.95, 3.8, 0.8, 4.5), same_within=0.02)
    assert doubt_phrase(found) == kind_of_doubt(found) == "interval of fast steps too wide"
    assert why_unsure(found) == "interval of fast steps too wide: 0.950 to 3.80 ×"
