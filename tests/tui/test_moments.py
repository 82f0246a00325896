"""Moments of sweeps: the question that a user has at each, and its answer on the first ten lines."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from benchtui.sessions.events import (
    CaseAdded,
    CaseRepeated,
    CaseStarted,
    Paused,
    SessionFinished,
    Telemetry,
    Waiting,
)
from benchtui.sessions.payloads import HostReadings
from benchtui.tui.replay.player import ReplayTarget, Start

LINES = 10


class Moment(NamedTuple):
    """A moment of a recorded sweep."""

    name: str
    question: str
    record: Callable[[Any], Any]
    """Writes the record up to the moment."""
    answers: tuple[str, ...]
    """Words that answer the question."""
    then: Callable[[Any], Any] = lambda story: story.wait(60.0).end()
    """Writes what follows."""


def over(story: Any) -> None:
    """Nothing follows: the moment is the end."""


def neighbor(story: Any) -> Any:
    """Write readings of a process that uses one and a half processors."""
    story.t += 1
    at_s = [story.t - 1 + quarter / 4 for quarter in range(4)]
    return story._add(Telemetry(t=story.t, at_s=at_s, host=HostReadings(others_cpu_percent=[150.0] * 4)))


def three(story: Any, *times_ms: float, rounds: int = 3, **begun: Any) -> Any:
    """Write a sweep of three cases, measured in these times."""
    story.begin(rounds=rounds, **begun)
    for case, ms in enumerate(times_ms):
        story.case(case, ms, rounds=rounds)
    return story


def unsteady(story: Any) -> Any:
    """Write cases whose rounds differ by half."""
    for case, ms in enumerate((10.0, 19.0, 37.0)):
        story.rounds(case, ms, 1.5 * ms)
    return story


MOMENTS = (
    Moment("starting", "has it started?", lambda s: s.begin().wait(1.0).say("hello"), ("0/3 cases", "left")),
    Moment(
        "waiting for another sweep",
        "why does nothing happen?",
        lambda s: s.begin().wait(1.0).say("waiting until another sweep on this machine has ended: quick-77"),
        ("starting", "waiting until another sweep", "quick-77"),
    ),
    Moment(
        "simulated",
        "was this measured?",
        lambda s: s.begin(simulated="computed by a model").start(0).prepare(0).steps(0, [10.0] * 8),
        ("SIMULATED",),
    ),
    Moment(
        "waiting for quiet",
        "why does no case run?",
        lambda s: waiting(s.begin().case(0)),
        ("bs 2", "waiting", "for quiet: alice: python 340% CPU"),
    ),
    Moment(
        "disturbed",
        "why is it measured again?",
        lambda s: disturbed(measured(s)),
        ("measured again", "other processes used 634% CPU"),
    ),
    Moment(
        "all crashed",
        "why is there no result?",
        lambda s: ended(s, "failed", "the worker exited with 1: CUDA error: device-side assert triggered"),
        ("device-side assert triggered", "e change and run again"),
        over,
    ),
    Moment(
        "loading",
        "what does it wait for?",
        lambda s: s.begin(gpus=0, device="cpu").start(0).wait(2.0).say("x"),
        ("loading model",),
    ),
    Moment(
        "compiling",
        "why are there no steps yet?",
        lambda s: s.begin(gpus=0, device="cpu", compile=("default",)).start(0).prepare(0).wait(2.0).say("x"),
        ("compiling", "fp32 compiled"),
    ),
    Moment(
        "warm-up",
        "do these steps count?",
        lambda s: s.begin(gpus=0, device="cpu").start(0).prepare(0).steps(0, [20.0, 10.0], "warmup"),
        ("warm-up",),
    ),
    Moment(
        "measuring",
        "how far is this case?",
        lambda s: s.begin(gpus=0, device="cpu").start(0).prepare(0).steps(0, [10.0] * 8),
        ("measuring", "8/20"),
    ),
    Moment("first results", "which is best so far?", lambda s: three(s, 10.0, 11.0), ("so far", "bs 2")),
    Moment(
        "neighbor arrives",
        "does somebody disturb it?",
        lambda s: neighbor(s.begin().start(0).prepare(0).telemetry().steps(0, [10.0] * 8)),
        ("noisy", "150% CPU"),
    ),
    Moment(
        "throttling starts",
        "is the GPU slowed down?",
        lambda s: s.begin().start(0).prepare(0).steps(0, [10.0] * 8).telemetry(throttle="hw_thermal"),
        ("THROTTLED",),
    ),
    Moment(
        "random weights",
        "can I trust the answers?",
        lambda s: s.begin().case(0, 10.0, 20, "random weights").start(1).prepare(1, "random weights"),
        ("random",),
    ),
    Moment("paused", "does it go on?", lambda s: paused(s.begin().case(0)), ("paused",)),
    Moment(
        "second round",
        "how far is the sweep?",
        lambda s: s.begin(rounds=2).round(0).round(1).round(2).start(2, round_index=1).wait(1.0),
        ("round 2/2",),
    ),
    Moment("node lost", "is a machine missing?", lambda s: lost(s.begin(gpus=0)), ("1 lost",)),
    Moment(
        "winner decided",
        "what do I run?",
        lambda s: three(s, 10.0, 11.0, 12.0).end(),
        ("★ bs 4", "completed"),
        over,
    ),
    Moment(
        "tie",
        "is the best surely better?",
        lambda s: three(s, 10.0, 20.0, 40.0).end(),
        ("indistinguishable",),
        over,
    ),
    Moment(
        "not decided",
        "is the best surely better?",
        lambda s: unsteady(s.begin(rounds=2)).end(),
        ("≈ bs 4", "undecided"),
        over,
    ),
    Moment(
        "out of memory",
        "did all of it fit?",
        lambda s: three(s, 10.0, 11.0).start(2).finish(2, "oom", reason="full").end(),
        ("2 ok", "1 oom"),
        over,
    ),
    Moment(
        "stopped",
        "how do I go on?",
        lambda s: three(s, 10.0).end("interrupted"),
        ("interrupted", "2 queued", "r continue"),
        over,
    ),
    Moment(
        "engine gone",
        "is anything lost?",
        lambda s: three(s, 10.0),
        ("engine gone", "measurements are kept"),
        over,
    ),
    Moment(
        "stopped before the first result",
        "what now?",
        lambda s: s.begin().start(0).end("interrupted"),
        ("interrupted", "r continue"),
        over,
    ),
    Moment(
        "result with a mark",
        "can I trust the winner?",
        lambda s: s.begin().case(0, 10.0).case(1, 11.0).case(2, 12.0, 20, "random weights").end(),
        ("⚑ random", "marked"),
        over,
    ),
    Moment(
        "timed out",
        "was all of it measured?",
        lambda s: three(s, 10.0, 11.0).start(2).finish(2, "timeout", reason="after 10 m").end(),
        ("1 timeout",),
        over,
    ),
    Moment(
        "no baseline",
        "how much faster is it?",
        lambda s: s.begin().finish(0, "failed", reason="gone").case(1, 10.0).case(2, 11.0).end(),
        ("baseline   none",),
        over,
    ),
    Moment(
        "synthetic text",
        "was it measured with my text?",
        lambda s: s.begin().start(0).prepare(0, "synthetic tokens").steps(0, [10.0] * 8),
        ("⚑ synthetic",),
    ),
    Moment(
        "memory almost full",
        "how much memory is left?",
        lambda s: measured(s).telemetry(differing={0: {"memory_used_mb": 79_000.0}}),
        ("74/75GiB",),
    ),
    Moment(
        "GPU of others",
        "does somebody else use a GPU?",
        lambda s: measured(s, gpus=2).wait(3).telemetry(2).telemetry(2).telemetry(2),
        ("⚑1",),
    ),
    Moment(
        "base pending",
        "how much faster is it?",
        lambda s: s.begin(rounds=2, gpus=0, device="cpu").round(1, 11.0).start(0).wait(1.0).say("on"),
        ("bs 2", "base pending"),
    ),
    Moment("rerun", "is this the second time?", lambda s: rerun(three(s, 10.0, 11.0, 12.0)), ("3/4",)),
    Moment(
        "further rounds",
        "why does it measure on?",
        lambda s: s.begin(auto=True).round(0).round(1, 10.1).plan_rounds(0, 1, settled={2: "slower"}),
        ("48 s left of 1 m 00 s",),
    ),
    Moment(
        "resumed",
        "where does it go on?",
        lambda s: three(s, 10.0).end("interrupted").resume(1, 2).start(1).wait(1.0).say("on"),
        ("1/3", "bs 2"),
    ),
    Moment(
        "shared GPU", "was the GPU mine alone?", lambda s: shared(s).end(), ("⚑ shared GPU", "marked"), over
    ),
    Moment(
        "killed",
        "who ended it?",
        lambda s: s.begin().start(0).finish(0, "failed", reason="killed by SIGKILL", signal="SIGKILL").end(),
        ("failed", "killed by SIGKILL"),
        over,
    ),
    Moment(
        "all out of memory",
        "why is there no result?",
        lambda s: ended(s, "oom", "tried to allocate 62 GiB"),
        ("3 oom", "tried to allocate 62 GiB", "e change and run again"),
        over,
    ),
    Moment(
        "nothing can run here",
        "why is there no result?",
        lambda s: ended(s, "skipped", "bf16 needs a newer GPU"),
        ("3 skipped", "bf16 needs a newer GPU"),
        over,
    ),
    Moment(
        "engine failed",
        "what went wrong?",
        lambda s: three(s, 10.0)._add(SessionFinished(t=s.t, outcome="failed", reason="disk is full")),
        ("failed", "disk is full", "r continue"),
        over,
    ),
    Moment(
        "single case",
        "how fast is it?",
        lambda s: s.begin(batch_sizes=(1,), rounds=3).case(0, 10.0, rounds=3).end(),
        ("1 ok", "99.8 samples/s"),
        over,
    ),
    Moment(
        "two lengths",
        "what do I run for each?",
        lambda s: lengths(s).end(),
        ("★ bs 4 seq 32", "★ bs 4 seq 512"),
        over,
    ),
)


def measured(story: Any, **begun: Any) -> Any:
    """Write a case in its measured steps."""
    return story.begin(**begun).start(0).prepare(0).steps(0, [10.0] * 8)


def waiting(story: Any) -> Any:
    """Write that the second case waits for the end of another process."""
    reason = "waiting for quiet: alice: python 340% CPU"
    return story._add(Waiting(t=story.t, case=1, reason=reason, most_s=60.0)).wait(2.0).say("on")


def disturbed(story: Any) -> Any:
    reason = "other processes used 634% CPU"
    return story._add(CaseRepeated(t=story.t, case=0, reason=reason, pause_s=5.0)).wait(1.0).say("on")


def rerun(story: Any) -> Any:
    story._add(CaseAdded(t=story.t, case=3, config=story.plan[0], why="again", of=0))
    return story._add(CaseStarted(t=story.t, case=3, config=story.plan[0], pid=1)).wait(1.0).say("on")


def shared(story: Any) -> Any:
    """Write a sweep whose winner shared its GPU."""
    story.begin(rounds=3).case(0, 10.0, rounds=3).case(1, 11.0, rounds=3)
    return story.case(2, 12.0, 20, "shared GPU with 1 other process", rounds=3)


def ended(story: Any, outcome: Any, reason: str) -> Any:
    story.begin()
    for case in range(3):
        story.finish(case, outcome, reason=reason)
    return story.end()


def lengths(story: Any) -> Any:
    """Write two sequence lengths, in each of which the largest batch has the highest rate."""
    story.begin(rounds=3, sequence_length=(32, 512))
    for case, config in enumerate(story.plan):
        story.case(case, config.sequence_length / 32 * (9 + config.batch_size), rounds=3)
    return story


def paused(story: Any) -> Any:
    return story._add(Paused(t=story.t))


def lost(story: Any) -> Any:
    story.join("n1").join("n2").start(0, node="n1").wait(1.0)
    return story.lose("n2", "connection lost")


@pytest.mark.parametrize("size", [(80, 24), pytest.param((120, 40), marks=pytest.mark.long)])
@pytest.mark.parametrize("moment", MOMENTS, ids=lambda moment: moment.name)
async def test_the_first_lines_answer_the_question(
    opened: Any, story: Any, moment: Moment, size: tuple[int, int]
) -> None:
    moment.record(story)
    target = ReplayTarget(percent=100) if moment.then is over else ReplayTarget(seconds=story.t)
    moment.then(story)
    async with opened(story.path, size=size, start=Start(target=target)) as seen:
        for _ in range(2):
            await seen.settle()
        first = "\n".join(seen.text.splitlines()[:LINES])
        missing = [words for words in moment.answers if words not in first]
        assert not missing, f"{moment.question} {missing}\n{first}"


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)])
async def test_the_answer_stays_while_a_case_is_selected(
    opened: Any, story: Any, size: tuple[int, int]
) -> None:
    lengths(story).end()
    async with opened(story.path, size=size) as seen:
        await seen.settle("end")
        first = "\n".join(seen.text.splitlines()[:LINES])
        assert all(f"★ bs 4 seq {length}" in first and "samples/s" in first for length in (32, 512))
        assert not seen.app.screen.query_one("#machine").size, "gauges of a sweep that is over"
