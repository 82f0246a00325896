"""Sessions drawn at random: rounds, disturbed cases, an A/A pair, sources without steps, interrupted sweeps."""

from collections.abc import Iterator
from itertools import product
from random import Random

from benchtui.sessions.events import (
    AnyEvent,
    CaseFinished,
    CasePrepared,
    CaseStarted,
    RoundFinished,
    Runtime,
    SessionFinished,
    SessionStarted,
    Steps,
)
from benchtui.sessions.payloads import Environment, Host, Memory, Model, ProcessSpread, Reported
from benchtui.sessions.sweep import Baseline, Config, Measure, Sweep


def random_events(seed: int, again: int = 0, slower: float = 1.0) -> list[AnyEvent]:
    """The events of a session; ``again`` draws other times for the same plan, ``slower`` multiplies them."""
    rounds = (1, 3, 5)[seed % 3]
    imported, disturbed, aa = seed % 6 == 5, seed % 2 == 1, seed % 4 == 0
    dice = Random(seed)
    device = dice.choice(("cpu", "cuda:0"))
    axes = product((16, 32), ("fp32", "bf16"), (1, 4))
    plan = [
        Config(device=device, precision=precision, batch_size=size, sequence_length=length)
        for length, precision, size in axes
    ]
    plan += [Config(device=device, batch_size=1, sequence_length=16, repeat=1)] if aa else []
    pace = {config: dice.choice((1.0, 1.0, 1.001, 0.7, 1.03)) for config in plan}
    noise, jitter = dice.choice((0.0003, 0.001, 0.03)), dice.choice((0.001, 0.02))
    skipped = 4 if seed % 5 == 2 else None  # the first case of the second length
    dice.seed(f"{seed} {again}")
    baseline = Baseline(batch_size=1, precision="fp32") if seed % 3 else None
    start = SessionStarted(
        t=0.0,
        id=f"drawn {seed} {again}",
        created="2026-11-21T10:00:00Z",
        sweep=Sweep(name="drawn", model="tiny", measure=Measure(rounds=rounds, baseline=baseline, aa=aa)),
        plan=tuple(plan),
        host=Host(hostname="box", platform="Linux", cpu_count=4),
        source="a tool: its file" if imported else None,
        process_spread={"cpu": ProcessSpread(between=0.004, freedom=12)} if seed % 7 == 3 else {},
    )
    events: list[AnyEvent] = [start, Runtime(t=0.0, torch="2.9")]
    for index, config in enumerate(plan):
        if index == skipped:
            events.append(CaseFinished(t=1.0, case=index, outcome="skipped", reason="dropped from the queue"))
            continue
        middle_ms = 0.4 * config.batch_size * config.sequence_length * pace[config] * slower
        mine = dice.random() < 0.5 if disturbed else False
        one = (middle_ms * dice.lognormvariate(0, noise) for _ in range(rounds))
        times = [[each * dice.lognormvariate(0, jitter) for _ in range(40)] for each in one]
        events += _reported(index, config, times) if imported else run(index, config, times, mine)
    whole: list[AnyEvent] = [*events, SessionFinished(t=99.0, outcome="completed")]
    return _cut_off(whole) if seed % 9 == 4 else whole


def _cut_off(events: list[AnyEvent]) -> list[AnyEvent]:
    """Return the events of a session that was interrupted in a round which only its first cases ended."""
    ends = {event.case: event for event in events if isinstance(event, CaseFinished)}
    kept: list[AnyEvent] = [event for event in events if not isinstance(event, CaseFinished | SessionFinished)]
    for index, end in ends.items():
        if index % 3 == 0:
            kept.append(end)
        elif index % 3 == 1:  # the others have been queued again
            kept.append(CaseFinished(t=end.t, case=index, outcome="interrupted", reason="stopped"))
    return [*kept, SessionFinished(t=99.0, outcome="interrupted")]


def run(index: int, config: Config, times: list[list[float]], disturbed: bool) -> Iterator[AnyEvent]:
    """Yield the events of a case, whose rounds have these step times in milliseconds."""
    t = float(index)
    others = Environment(others_cpu_percent=60.0 if disturbed else 0.0, processors=4)
    marks = ("disturbed: other processes used 60% CPU",) if disturbed else ()
    yield CaseStarted(t=t, case=index, config=config)
    yield CasePrepared(t=t, case=index, model=Model(name="tiny", weights="pretrained"))
    for turn, each in enumerate(times):
        yield Steps(t=t, case=index, phase="measure", round=turn, wall_ms=each)
        if turn < len(times) - 1:
            yield RoundFinished(t=t, case=index, round=turn, environment=others, marks=marks)
    memory = Memory(peak_rss_mb=100.0 + config.batch_size, peak_allocated_mb=50.0 + config.batch_size)
    yield CaseFinished(t=t, case=index, outcome="ok", memory=memory, environment=others, marks=marks)


def _reported(index: int, config: Config, times: list[list[float]]) -> Iterator[AnyEvent]:
    means = [sum(each) / len(each) for each in times]
    mean = sum(means) / len(means)
    figures = Reported(
        steps=40,
        latency_mean_ms=mean,
        samples_per_s=1000 * config.batch_size / mean,
        repeats_mean_ms=tuple(means) if index % 2 and len(means) > 1 else (),
    )
    yield CaseStarted(t=float(index), case=index, config=config)
    yield CaseFinished(t=float(index), case=index, outcome="ok", reported=figures)
