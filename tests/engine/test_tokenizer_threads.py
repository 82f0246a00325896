from collections.abc import Callable

import pytest
from watching import Watched

from benchtui.sessions.analysis.applied_options import was_applied
from benchtui.sessions.sweep import Sweep


def test_the_tokenizer_has_the_requested_threads_or_else_as_many_as_torch(
    start: Callable[[Sweep], Watched], tiny_sweep: Callable[..., Sweep]
) -> None:
    session = start(tiny_sweep("tokenizer_threads=1,3", "threads=0,2", "iterations=1")).until_ended()
    found = {(case.config.threads, case.config.tokenizer_threads): case for case in session.cases}
    assert {case.state for case in session.cases} == {"ok"}
    assert all(was_applied(case, "tokenizer_threads") for case in session.cases)
    for (_, requested), case in found.items():
        assert case.effective is not None
        assert case.effective.others["tokenizer_threads"] == requested


@pytest.mark.long
def test_torch_threads_limit_the_tokenizer_where_nothing_else_is_requested(
    start: Callable[[Sweep], Watched], tiny_sweep: Callable[..., Sweep]
) -> None:
    (case,) = start(tiny_sweep("threads=2", "iterations=1")).until_ended().cases
    assert case.effective is not None
    assert case.effective.others["tokenizer_threads"] == 2
