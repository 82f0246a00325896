from typing import Any

import pytest

from benchtui.sessions.advice.find_sweep import LEAST_STEPS, DeviceSupport, FindRequest, find_sweep, parse_vary
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.stats.quantiles import LEAST_FOR_P99
from benchtui.sessions.sweep import Find, cases
from benchtui.sessions.sweep.toml_reader import parse_sweep
from benchtui.sessions.sweep.toml_writer import toml_of

CPU = DeviceSupport(device="cpu", processors=8)
GPU = DeviceSupport(device="cuda:0", flash=True)


def request(task: str = "embed", overrides: tuple[str, ...] = (), **fields: Any) -> FindRequest:
    settings = (f"task={task}", *overrides)
    return FindRequest(
        **{"model": "org/model", "within_s": 900.0, "find": Find(), "overrides": settings} | fields
    )


def test_search_tries_what_a_processor_supports() -> None:
    axes = find_sweep(request(), CPU).axes
    assert (axes.precision, axes.attention, axes.compile) == (
        ("fp32", "bf16"),
        ("sdpa", "eager"),
        ("off", "default"),
    )
    assert (axes.threads, axes.batch_size) == ((0, 4), (1, 2, 4, 8, 16, 32, 64))


def test_search_leaves_out_what_this_machine_lacks() -> None:
    axes = find_sweep(request(), DeviceSupport(device="cpu", bf16=False, compiler=False)).axes
    assert (axes.precision, axes.compile, axes.threads) == (("fp32",), ("off",), (0,))


def test_search_on_a_gpu_tries_its_options() -> None:
    axes = find_sweep(request(), GPU).axes
    assert axes.device == ("cuda:0",)
    assert axes.precision == ("fp32", "tf32", "fp16", "bf16")
    assert axes.attention == ("sdpa", "eager", "flash")
    assert axes.compile == ("off", "default", "reduce-overhead")


def test_values_that_no_case_can_run_with_are_left_out() -> None:
    axes = find_sweep(request(task="generate"), GPU).axes
    assert axes.compile == ("off", "default")  # CUDA graphs need a static cache
    with_cache = request(task="generate", vary=("compile", "cache"))
    assert "reduce-overhead" in find_sweep(with_cache, GPU).axes.compile


def test_baseline_is_the_plainest_case_and_comes_first() -> None:
    sweep = find_sweep(request(), CPU)
    first = cases(sweep)[0].config
    assert sweep.measure.baseline is not None
    assert sweep.measure.baseline.matches(first)
    assert sum(sweep.measure.baseline.matches(case.config) for case in cases(sweep)) == 1
    assert (first.precision, first.compile, first.batch_size, first.threads) == ("fp32", "off", 1, 0)


def test_search_is_a_sweep_that_a_file_can_hold() -> None:
    wanted = Find(objective="latency", max_p99_ms=50.0, min_samples_per_s=10.0, answers="identical", steps=500)
    sweep = find_sweep(request(find=wanted), CPU)
    assert (sweep.measure.rounds_auto, sweep.run.budget_s, sweep.find) == (True, 900.0, wanted)
    assert sweep.measure.caches == "shared"  # further rounds don't compile again
    assert parse_sweep(toml_of(sweep), "file") == sweep


def test_rounds_are_short_unless_a_p99_is_limited() -> None:
    assert find_sweep(request(), CPU).measure.iterations == LEAST_STEPS
    assert find_sweep(request(find=Find(max_p99_ms=9.0)), CPU).measure.iterations == LEAST_FOR_P99


@pytest.mark.parametrize(("within_s", "wait_s"), [(1.0, 0.1), (300.0, 30.0), (900.0, 60.0)])
def test_search_waits_for_quiet_for_a_part_of_its_time(within_s: float, wait_s: float) -> None:
    assert find_sweep(request(within_s=within_s), CPU).run.wait_for_quiet_s == wait_s


def test_entries_of_the_user_win() -> None:
    settings = ("precision=bf16", "sequence_length=64", "iterations=9", "weights=random")
    sweep = find_sweep(request(overrides=settings), CPU)
    assert (sweep.axes.precision, sweep.axes.sequence_length) == (("bf16",), (64,))
    assert (sweep.measure.iterations, sweep.weights) == (9, "random")
    assert sweep.measure.baseline is not None
    assert "precision" not in sweep.measure.baseline.named


def test_search_without_a_case_that_can_run_is_refused() -> None:
    with pytest.raises(BenchtuiError, match="find: no case can run: int8 is torch's dynamic quantization"):
        find_sweep(request(overrides=("precision=int8",)), GPU)


def test_hostile_model_is_only_a_name() -> None:
    name = 'x"\n[env]\nLD_PRELOAD = "a.so"\n#'
    sweep = find_sweep(request(model=name), CPU)
    assert (sweep.model, sweep.env) == (name, {})


def test_options_to_vary_may_have_the_names_of_libraries() -> None:
    assert parse_vary("dtype,attn_implementation,bs") == ("precision", "attention", "batch_size")


def test_options_to_vary_are_named() -> None:
    assert parse_vary("precision, batch_size,precision") == ("precision", "batch_size")
    with pytest.raises(BenchtuiError, match=r"no option 'prcision' \(did you mean 'precision'\?\)"):
        parse_vary("prcision")


def test_limit_that_is_no_number_is_refused_in_one_line() -> None:
    with pytest.raises(BenchtuiError, match=r"find\.max_p99_ms: 'fast' is not a number above 0$"):
        find_sweep(request(overrides=("find.max_p99_ms=fast",)), CPU)
