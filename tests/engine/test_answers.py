"""Answers of the cases as a session records them: real processes, and steps of one's own."""

from collections.abc import Callable

from watching import Watched

from benchtui.sessions.events import Answered, CaseFinished
from benchtui.sessions.sweep import Sweep

BODY = """
step = Step(lambda: None)
noise = torch.randn(100, generator=torch.Generator().manual_seed(1))
answers = {"fp32": lambda: torch.linspace(-1, 1, 100), "bf16": lambda: noise, "fp16": lambda: os._exit(3)}
if case.precision in answers:
    step.answer = answers[case.precision]
return step"""


def test_case_answers_once_and_succeeds_whatever_it_answers(
    start: Callable[[Sweep], Watched], own: Callable[..., Sweep]
) -> None:
    """Noise is BROKEN, the second case of the A/A pair IDENTICAL; a worker that dies has measured its case."""
    watched = start(own(BODY, "precision=fp32,bf16,fp16,amp-bf16", "rounds=2", "aa=true", "iterations=2"))
    session = watched.until_ended()
    assert watched.states == ["ok"] * 5
    found = [each.comparison and (each.comparison.baseline, each.comparison.verdict) for each in session.cases]
    assert found == [None, (0, "broken"), None, None, (0, "identical")]
    answered = [event.case for event in watched.events if isinstance(event, Answered)]
    assert answered == [0, 1, 3, 4]
    first = [type(event) for event in watched.events].index(CaseFinished)
    assert all(not isinstance(event, Answered) for event in watched.events[first:])
    without = session.cases[3].answered
    assert without is not None and without.absent == "the step has no method answer()"
