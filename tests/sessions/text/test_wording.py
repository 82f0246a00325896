from typing import Any

import pytest

from benchtui.sessions.text.wording import costs


@pytest.mark.parametrize(("compiled", "named"), [(True, True), (None, True), (False, False)])
def test_compile_time_is_no_cost_of_a_case_that_never_compiled(
    bench: Any, compiled: bool | None, named: bool
) -> None:
    """The first steps of any case are slower than the others."""
    effective = bench.effective(compiled=compiled)
    made = bench.case(1, 10.0, compile="default", effective=effective, warmup_ms=[500.0, 10.0])
    (result,) = bench.results(made)
    assert ("s of compile time" in (costs(result, None) or "")) is named
