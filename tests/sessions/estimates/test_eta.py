import pytest
from msgspec.structs import replace

from benchtui.sessions.estimates.eta import (
    SETTLING_STEPS,
    Estimate,
    RoundSoFar,
    StepsLeft,
    StepTimeModel,
    case_left,
    queue_left,
    remaining_time,
    steps_left,
)
from benchtui.sessions.events import CaseFinished, CaseStarted, RoundFinished, Steps
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.sweep import Config, Measure

MEASURE = Measure(warmup=5, iterations=20)


def config(batch: int = 1, device: str = "cpu", precision: str = "fp32") -> Config:
    return Config(device=device, batch_size=batch, sequence_length=100, precision=precision)


def running(batch: int, *, warmup: int = 0, measured: int = 0, step_ms: float = 10.0) -> CaseState:
    case = CaseState(0, config(batch), started=CaseStarted(t=100.0, case=0, config=config(batch)))
    for phase, count in (("warmup", warmup), ("measure", measured)):
        steps = Steps(t=101.0, case=0, phase=phase, wall_ms=[step_ms] * count)  # type: ignore[arg-type]
        (case.warmup if phase == "warmup" else case.measured).extend(steps)
    return case


def finished(batch: int, step_ms: float, preparation_s: float = 2.0, **options: str) -> CaseState:
    case = running(batch, measured=20, step_ms=step_ms)
    case.config = config(batch, **options)
    end_s = 100.0 + preparation_s + 20 * step_ms / 1000
    case.finished = CaseFinished(t=end_s, case=0, outcome="ok")
    return case


def queued(batch: int, **options: str) -> CaseState:
    return CaseState(1, config(batch, **options))


def test_no_estimate_before_a_case_has_ended() -> None:
    nothing = StepTimeModel([queued(1), running(1, measured=3)])
    assert nothing.step(config()) is None
    assert queue_left([queued(2)], MEASURE, nothing) is None
    assert case_left(queued(1), MEASURE, nothing, 0.0) is None


def test_step_time_is_scaled_by_work_from_the_nearest_case() -> None:
    experience = StepTimeModel([finished(1, 10.0), finished(8, 40.0)])
    assert experience.step(config(16)) == Estimate(0.08)
    assert experience.step(config(2)) == Estimate(0.02)


def test_cases_between_rounds_have_their_other_rounds_left_and_predict_others() -> None:
    rounds = Measure(warmup=0, iterations=20, rounds=3)
    waiting = running(1, measured=20, step_ms=10.0)
    waiting.rounds, waiting.between_rounds = (RoundFinished(t=102.2, case=0, round=0),), True
    experience = StepTimeModel([waiting])
    assert experience.step(config(4)) == Estimate(0.04)
    found = queue_left([waiting], rounds, experience)
    assert found is not None and found.seconds == pytest.approx(2 * (2.0 + 20 * 0.01))
    other = queue_left([waiting, queued(2)], rounds, experience)
    assert other is not None and other.seconds == pytest.approx(2 * 2.2 + 3 * (2.0 + 20 * 0.02))


def test_other_options_make_an_estimate_rough() -> None:
    experience = StepTimeModel([finished(1, 10.0)])
    assert experience.step(config(1, precision="bf16")) == Estimate(0.01, rough=True)
    assert experience.step(config(1, device="cuda:0")) == Estimate(0.01, rough=True)
    quantized = replace(config(1), quantization="bnb-nf4")
    assert experience.step(quantized) == Estimate(0.01, rough=True)


def test_same_device_is_preferred_over_another() -> None:
    experience = StepTimeModel([finished(1, 500.0), finished(1, 3.0, device="cuda:0")])
    estimate = experience.step(config(1, device="cuda:0", precision="fp16"))
    assert estimate == Estimate(0.003, rough=True)


def test_queued_case_takes_its_steps_plus_the_mean_preparation() -> None:
    experience = StepTimeModel([finished(1, 10.0, 2.0), finished(1, 10.0, 4.0)])
    estimate = queue_left([queued(1)], MEASURE, experience)
    assert estimate is not None
    assert round(estimate.seconds, 6) == 3.25
    assert not estimate.rough


def test_time_limits_cap_the_estimate() -> None:
    experience = StepTimeModel([finished(1, 1000.0, 0.0)])
    short = experience.case(config(1), Measure(warmup=0, iterations=20, max_time_s=5))
    assert short is not None and short.seconds == 5
    cut = experience.case(config(1), Measure(warmup=0, iterations=20, timeout_s=7))
    assert cut is not None and cut.seconds == 7


def test_running_case_is_estimated_from_its_own_steps() -> None:
    case = running(1, warmup=5, measured=10, step_ms=100.0)
    assert case_left(case, MEASURE, StepTimeModel(), 200.0) == Estimate(1.0)


def test_first_warmup_step_does_not_count() -> None:
    case = running(1, warmup=3, step_ms=100.0)
    case.warmup.wall_ms[0] = 60_000.0
    left = case_left(case, MEASURE, StepTimeModel(), 200.0)
    assert left is not None and round(left.seconds, 6) == 2.2


def test_remaining_time_is_unknown_if_any_part_is() -> None:
    assert remaining_time([Estimate(1.0)], Estimate(2.0, rough=True)) == Estimate(3.0, rough=True)
    assert remaining_time([None], Estimate(1.0)) is None
    assert remaining_time([Estimate(1.0)], None) is None
    assert remaining_time([], Estimate(2.0)) == Estimate(2.0)


def test_parallel_cases_share_the_queue() -> None:
    assert remaining_time([Estimate(2.0), Estimate(4.0)], Estimate(6.0)) == Estimate(6.0)
    assert remaining_time([Estimate(2.0), Estimate(40.0)], Estimate(6.0)) == Estimate(40.0)


def so_far(steps: int, percent: float | None = None, step_s: float = 0.01, on_host: bool = True) -> RoundSoFar:
    return RoundSoFar(steps, steps * step_s, percent, on_host)


def test_interval_twice_too_wide_needs_four_times_the_steps() -> None:
    until = Measure(iterations=20, until_percent=1.0)
    assert steps_left(so_far(50, 2.0), until) == StepsLeft(150, 1.0, rough=True)
    assert steps_left(so_far(50, 0.9), until).steps == 1
    assert steps_left(so_far(3), until) == StepsLeft(17, 1.0, rough=True)


def test_auto_measuring_ends_once_the_noise_has_settled() -> None:
    auto = Measure(iterations=20, until_auto=True)
    assert steps_left(so_far(60, 30.0), auto) == StepsLeft(SETTLING_STEPS - 60, 1.0, rough=True)
    assert steps_left(so_far(60, 1.1), auto).steps == 13
    assert steps_left(so_far(60, 1.1, on_host=False), auto) == StepsLeft(SETTLING_STEPS - 60, rough=True)


def test_unreachable_width_is_cut_by_the_time_limit() -> None:
    until = Measure(iterations=20, until_percent=1.0, max_time_s=10)
    assert steps_left(so_far(50, 70.0, step_s=0.1), until) == StepsLeft(50, 1.0, rough=True, limited=True)


def test_steps_left_decide_the_time_of_a_round() -> None:
    case = running(1, warmup=5, measured=100, step_ms=100.0)
    until = Measure(iterations=20, until_percent=1.0, max_time_s=15)
    assert case_left(case, until, StepTimeModel(), 200.0, StepsLeft(30, 1.0, rough=True)) == Estimate(
        3.0, rough=True
    )
    left = case_left(case, until, StepTimeModel(), 200.0, StepsLeft(300, 1.0, rough=True))
    assert left is not None and round(left.seconds, 6) == 5.0


def test_open_ended_cases_are_assumed_to_need_the_mean_steps_of_others() -> None:
    long = running(1, measured=200, step_ms=10.0)
    long.finished = CaseFinished(t=102.0, case=0, outcome="ok")
    estimate = StepTimeModel([long]).case(config(1), Measure(warmup=0, iterations=20, until_percent=1.0))
    assert estimate is not None and round(estimate.seconds, 6) == 2.0


def test_minimum_times_of_a_gpu_are_part_of_the_estimates() -> None:
    by_device = Measure(warmup=5, iterations=20, min_warmup_s=None, min_time_s=None)
    experience = StepTimeModel([finished(1, 10.0, device="cuda:0"), finished(1, 10.0)])
    on_gpu = experience.case(config(1, device="cuda:0"), by_device)
    assert on_gpu is not None and on_gpu.seconds == pytest.approx(2.0 + 1.01 + 2.5)
    assert experience.case(config(1), by_device) == experience.case(config(1), MEASURE)
    rules = by_device.for_device("cuda:0")
    assert steps_left(so_far(20, on_host=False), rules) == StepsLeft(230, rough=True, min_time_s=2.5)
    assert steps_left(so_far(5, step_s=1.0, on_host=False), rules) == StepsLeft(15)
    assert steps_left(so_far(250, on_host=False), rules) == StepsLeft(0)
    case = running(1, warmup=3)
    case.config = config(1, device="cuda:0")
    left = case_left(case, by_device, experience, 101.0)
    assert left is not None and left.seconds == pytest.approx(1.01 - 0.03 + 2.5)
