"""The simulated demo: written by its script from a seed, complete, and with something of everything to show."""

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from simulated.make_demo import EXPLAINED, SWEEP, events, write_demo

from benchtui.sessions.events import AnyEvent, CaseFinished, RoundFinished, SessionStarted, Telemetry
from benchtui.sessions.explain.cases import explained_cases
from benchtui.sessions.explain.difference import difference
from benchtui.sessions.explain.findings import findings
from benchtui.sessions.library.paths import DEMO, demo_path, resolve
from benchtui.sessions.replay.timeline import Timeline
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.sessions.stats.disturbance import mark_kind
from benchtui.sessions.sweep import Axes, Baseline, Generate

MOST_BYTES = 1_500_000
SHORT = structs.replace(
    SWEEP,
    axes=Axes(device=("cuda:0",), precision=("bf16",), sequence_length=(512,), batch_size=(1, 64)),
    measure=structs.replace(SWEEP.measure, rounds=1),
    exclude=(),
)


@pytest.fixture(scope="module")
def demo() -> Session:
    return Session.load(demo_path())


def readings(found: list[AnyEvent], gpu: int, name: str) -> list[Any]:
    """Return a column of one GPU's readings over the whole session."""
    telemetry = [event for event in found if isinstance(event, Telemetry)]
    columns = [getattr(each, name) for event in telemetry for each in event.gpus if each.index == gpu]
    return [value for column in columns for value in column]


def test_bundled_demo_is_what_its_script_writes(tmp_path: Path) -> None:
    write_demo(tmp_path / "demo.json")
    assert (tmp_path / "demo.json").read_bytes() == demo_path().read_bytes(), (
        "write it again: PYTHONPATH=tests/bench python -m simulated.make_demo"
    )
    assert resolve(DEMO) == demo_path() and demo_path().stat().st_size < MOST_BYTES


def test_another_seed_makes_another_session() -> None:
    assert events(sweep=SHORT, seed=1) == events(sweep=SHORT, seed=1)
    assert events(sweep=SHORT, seed=1)[1:] != events(sweep=SHORT, seed=2)[1:]


def test_demo_is_complete_and_simulated(demo: Session) -> None:
    assert demo.finished is not None and demo.finished.outcome == "completed" and not demo.torn
    assert demo.start.simulated is not None and demo.left == 0
    assert [case.state for case in demo.cases].count("ok") == 30
    assert [case.state for case in demo.cases].count("oom") == 2
    assert all(len(case.ends) == 2 for case in demo.cases if case.state == "ok")
    assert 300 < demo.now_s < 900


def test_demo_has_a_case_of_every_kind_of_trouble(demo: Session) -> None:
    kinds = {mark_kind(mark) for case in demo.cases for mark in case.marks}
    assert {"throttled", "disturbed", "shared GPU"} <= kinds
    assert (
        sum(
            any(mark_kind(mark) in kinds - {"SIMULATED", "random weights"} for mark in case.marks)
            for case in demo.cases
        )
        == 3
    )
    healed = [case for case in demo.cases if case.repeated and len(case.marks) == 2]
    assert len(healed) == 1, "one disturbance is gone when measured again"
    hot = [span for span in demo.throttle_spans[0] if "sw_thermal" in span.reasons]
    assert sum(span.end_s - span.start_s for span in hot) > 3


def test_out_of_memory_comes_at_the_largest_batch_of_the_longest_sequences(demo: Session) -> None:
    lost = [case.config for case in demo.cases if case.state == "oom"]
    assert {(config.batch_size, config.sequence_length) for config in lost} == {(64, 2048)}


def test_modeled_steps_keep_to_the_limits_of_the_gpu(demo: Session) -> None:
    peaks = {peak.precision: peak for peak in demo.peaks}
    for case in demo.cases:
        found, work = metrics(case), case.finished.work if case.finished else None
        if found is None or work is None or work.flops is None:
            continue
        assert found.device_ms is not None and found.device_ms.median is not None
        peak = peaks[case.config.precision].flops_per_s
        assert peak is not None and work.flops / (found.device_ms.median / 1000) <= peak, case.name
        assert found.mean_power_w is not None and found.mean_power_w <= 705, case.name
    assert max(demo.gpus[0].columns["temperature_c"]) < 92


def test_longer_and_larger_work_takes_longer(demo: Session) -> None:
    typical = {case.config: found.latency_ms.median for case in demo.cases if (found := metrics(case))}
    for config, ms in typical.items():
        larger = structs.replace(config, batch_size=config.batch_size * 4)
        longer = structs.replace(config, sequence_length=2048)
        for other in {larger, longer} & typical.keys() - {config}:
            assert typical[other] > ms, (config.name, other.name)


@pytest.mark.parametrize("gpus", [1, 2, 4, 8])
def test_server_has_the_requested_gpus_and_others_use_one_of_them(gpus: int, tmp_path: Path) -> None:
    found = events(gpus=gpus, sweep=SHORT)
    start = found[0]
    assert isinstance(start, SessionStarted) and len(start.host.gpus) == gpus
    assert all("(simulated)" in gpu.name for gpu in start.host.gpus)
    use = [readings(found, gpu, "utilization_percent") for gpu in range(gpus)]
    busy = min(2, gpus - 1)
    assert max(use[0]) > 90 and min(use[0]) == 0
    for gpu in range(1, gpus):
        assert (min(use[gpu]) > 85) if gpu == busy else (max(use[gpu]) == 0)
    write_demo(tmp_path / "s.json", gpus=gpus, sweep=SHORT)
    assert len(Session.load(tmp_path / "s.json").gpus) == gpus


def test_generation_has_a_time_to_first_token_and_a_cache(tmp_path: Path) -> None:
    sweep = structs.replace(SHORT, task="generate", generate=Generate(new_tokens=32))
    write_demo(tmp_path / "s.json", sweep=sweep)
    first_ms, rates = [], []
    for case in Session.load(tmp_path / "s.json").cases:
        found, end = metrics(case), case.finished
        assert found is not None and found.time_to_first_token_ms and found.time_per_output_token_ms
        assert found.time_to_first_token_ms.mean < found.latency_ms.mean and found.new_tokens_per_s
        assert end is not None and end.memory is not None and end.memory.kv_cache_mb
        first_ms.append(found.time_to_first_token_ms.mean)
        rates.append(found.new_tokens_per_s)
    assert first_ms[1] > 5 * first_ms[0] and rates[1] > 10 * rates[0]


def test_energy_is_power_over_time() -> None:
    ends = [event for event in events(sweep=SHORT) if isinstance(event, CaseFinished | RoundFinished)]
    for end in ends:
        assert end.energy is not None and end.energy.energy_j and end.energy.mean_power_w and end.measured_s
        span_s = end.measured_s[1] - end.measured_s[0]
        assert end.energy.energy_j / span_s == pytest.approx(end.energy.mean_power_w, rel=0.01)


def test_every_moment_of_the_demo_can_be_replayed() -> None:
    timeline = Timeline(demo_path())
    while not timeline.complete:
        timeline.read()
    assert timeline.problem is None
    kinds = {mark.kind for mark in timeline.marks.all}
    assert {"begin", "oom", "throttled", "repeated"} <= kinds
    timeline.close()


def test_demo_has_profiles_that_sum_to_their_steps(demo: Session) -> None:
    cases = explained_cases(demo)
    assert len(cases) == sum(EXPLAINED.matches(case.config) for case in demo.cases) == 16
    for case in cases:
        assert sum(each.ms for each in case.profile.families) == pytest.approx(case.profile.step_ms)
        assert case.drift is not None and abs(case.drift) < 0.15
    small = Baseline(sequence_length=512, batch_size=1)
    pair = [case for case in cases if small.matches(case.case.config)]
    plain, compiled = sorted(pair, key=lambda case: case.case.config.compile != "off")
    assert "idle GPU" in [each.rule for each in findings(plain)]
    assert difference(plain, compiled).families[0].name == "Python and launch gaps"
