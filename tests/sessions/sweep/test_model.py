import json

import msgspec
import pytest

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sweep import (
    Axes,
    Baseline,
    Config,
    Measure,
    Run,
    Sweep,
    cases,
    custom_task,
    expand_gpus,
    expand_node_kinds,
    incompatible_reason,
    unsupported_reason,
)


def sweep(**axes: tuple[str, ...] | tuple[int, ...]) -> Sweep:
    return Sweep(name="s", model="m", axes=Axes(**axes))  # type: ignore[arg-type]


def test_every_kind_of_node_stands_where_the_sign_for_all_of_them_stood() -> None:
    axes = Axes(machine=("B200", "*"))
    assert expand_node_kinds(sweep_of(axes), ("H100", "B200")).axes.machine == ("B200", "H100")
    assert expand_node_kinds(sweep_of(Axes()), ("H100",)).axes.machine == ("",)


def test_kinds_that_make_too_many_cases_are_counted() -> None:
    axes = Axes(machine=("*",), batch_size=tuple(range(1, 501)), sequence_length=tuple(range(1, 10)))
    with pytest.raises(BenchtuiError, match=r"axes\.machine: 2 kinds of nodes make 9,000 cases; at most 5,000"):
        expand_node_kinds(sweep_of(axes), ("H100", "B200"))


def sweep_of(axes: Axes) -> Sweep:
    return Sweep(name="s", model="m", axes=axes, run=Run(executor="ray"))


def test_the_device_is_outermost_and_the_batch_size_innermost() -> None:
    planned = cases(sweep(batch_size=(4, 1), sequence_length=(32, 64), device=("cuda:0", "cpu")))
    assert [case.name for case in planned] == [
        "cuda:0 fp32 compile=off bs=4 seq=32",
        "cuda:0 fp32 compile=off bs=1 seq=32",
        "cuda:0 fp32 compile=off bs=4 seq=64",
        "cuda:0 fp32 compile=off bs=1 seq=64",
        "cpu fp32 compile=off bs=4 seq=32",
        "cpu fp32 compile=off bs=1 seq=32",
        "cpu fp32 compile=off bs=4 seq=64",
        "cpu fp32 compile=off bs=1 seq=64",
    ]
    assert [case.index for case in planned] == list(range(8))


def test_attention_is_named_only_where_it_was_chosen() -> None:
    assert Config(device="cpu", attention="sdpa").name == "cpu fp32 compile=off attn=sdpa bs=1 seq=128"


def test_threads_and_padding_are_named_only_where_they_were_chosen() -> None:
    config = Config(device="cpu", threads=2, padding="longest")
    assert config.name == "cpu fp32 compile=off threads=2 pad=longest bs=1 seq=128"


def test_int8_means_nothing_on_a_gpu() -> None:
    assert unsupported_reason(Config(device="cpu", precision="int8")) is None
    assert "runs only on cpu" in str(unsupported_reason(Config(device="cuda:0", precision="int8")))


@pytest.mark.parametrize("precision", ["fp32", "tf32"])
def test_flash_attention_has_no_float32(precision: str) -> None:
    assert "only fp16 and bf16" in str(
        unsupported_reason(Config(device="cuda:0", attention="flash", precision=precision))
    )
    assert unsupported_reason(Config(device="cuda:0", attention="flash", precision="amp-fp16")) is None


@pytest.mark.parametrize(
    ("task", "options", "word"),
    [
        ("lm-train", {"precision": "fp16"}, "amp-fp16 trains"),
        ("lm-train", {"precision": "int8"}, "can't be trained"),
        ("generate", {"device": "cuda:0", "compile": "reduce-overhead"}, "use cache = static"),
        ("generate", {"device": "cuda:0", "compile": "max-autotune"}, "use cache = static"),
        ("classify", {"padding": "longest"}, "padding=max again"),
    ],
)
def test_what_a_task_can_not_do_is_planned_as_skipped(task: str, options: dict[str, str], word: str) -> None:
    axes = Axes(**{axis: (value,) for axis, value in options.items()})  # type: ignore[arg-type]
    (case,) = cases(Sweep(name="s", model="m", task=task, dataset="synthetic", axes=axes))
    assert case.skip is not None and word in case.skip
    other = Sweep(name="s", model="m", task="lm-forward", axes=axes)
    assert incompatible_reason(case.config, other) is None


@pytest.mark.parametrize("task", ["classify", "lm-forward", "lm-train", "my_step.py:make"])
def test_a_static_cache_is_for_generation_alone(task: str) -> None:
    (case,) = cases(Sweep(name="s", model="m", task=task, axes=Axes(cache=("static",))))
    assert case.skip == "cache is for task generate only; cache=static would measure cache=dynamic again"


@pytest.mark.parametrize("mode", ["off", "default", "reduce-overhead", "max-autotune"])
def test_every_compile_mode_generates_with_a_static_cache(mode: str) -> None:
    axes = Axes(device=("cuda:0",), compile=(mode,), cache=("dynamic", "static"))
    dynamic, static = cases(Sweep(name="s", model="m", task="generate", dataset="synthetic", axes=axes))
    assert static.skip is None
    assert (dynamic.skip is None) is (mode in ("off", "default"))


@pytest.mark.parametrize("attention", ["flash", "flash3"])
def test_flash_attention_has_no_static_cache(attention: str) -> None:
    config = Config(device="cuda:0", precision="bf16", attention=attention, cache="static")
    assert "use attention = sdpa" in str(unsupported_reason(config))
    assert unsupported_reason(msgspec.structs.replace(config, cache="dynamic")) is None


@pytest.mark.parametrize(
    ("task", "code"),
    [
        ("my_step.py:make", ("my_step.py", "make")),
        ("a:b/my_step.py:make_2", ("a:b/my_step.py", "make_2")),
        ("my_step.py:", None),
        ("my_step.py:2nd", None),
        ("my_step.py:a.b", None),
        (".py:make", None),
        ("my_step:make", None),
        ("generate", None),
    ],
)
def test_a_step_of_the_users_own_is_a_file_and_a_function(task: str, code: tuple[str, str] | None) -> None:
    assert custom_task(task) == code


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"precision": "tf32"}, "tf32"),
        ({"compile": "reduce-overhead"}, "CUDA graphs"),
        ({"attention": "flash", "precision": "fp16"}, "flash attention"),
    ],
)
def test_what_means_nothing_on_a_cpu_is_planned_as_skipped(options: dict[str, str], word: str) -> None:
    reason = unsupported_reason(Config(device="cpu", **options))  # type: ignore[arg-type]
    assert reason is not None and word in reason
    assert unsupported_reason(Config(device="cuda:1", **options)) is None  # type: ignore[arg-type]
    (case,) = cases(sweep(**{axis: (value,) for axis, value in options.items()}))
    assert case.skip == reason


def test_a_baseline_matches_by_the_options_it_names() -> None:
    baseline = Baseline(precision="fp32", batch_size=8)
    assert baseline.matches(Config(device="cpu", batch_size=8))
    assert baseline.matches(Config(device="cuda:0", batch_size=8, compile="default"))
    assert not baseline.matches(Config(device="cpu", batch_size=1))
    assert not baseline.matches(Config(device="cpu", batch_size=8, precision="bf16"))
    assert Baseline().matches(Config(device="cpu"))


def test_options_are_written_out_with_their_defaults() -> None:
    """Another version may have other defaults, and scripts know none."""
    written = json.loads(msgspec.json.encode(Sweep(name="s", model="m")))
    assert written["measure"]["iterations"] == Measure().iterations
    assert written["axes"]["precision"] == ["fp32"]
    assert json.loads(msgspec.json.encode(Config(device="cpu"))) == {
        "machine": "",
        "model": "",
        "device": "cpu",
        "precision": "fp32",
        "batch_size": 1,
        "sequence_length": 128,
        "quantization": "off",
        "attention": "auto",
        "compile": "off",
        "cache": "dynamic",
        "draft": "off",
        "lora": "off",
        "liger": "off",
        "optimizer": "auto",
        "activation_checkpointing": "auto",
        "accumulation": 0,
        "new_tokens": 0,
        "backend": "torch",
        "pooling": "auto",
        "audio_seconds": 0,
        "env": "",
        "parameters": "",
        "repeat": 0,
        "threads": 0,
        "tokenizer_threads": 0,
        "padding": "max",
        "label": "",
        "group": "",
        "unset": [],
    }


def test_an_aa_pair_repeats_the_baseline_or_the_first_case_that_can_run() -> None:
    axes = Axes(precision=("tf32", "fp32"), batch_size=(1, 8))
    rules = Measure(aa=True, baseline=Baseline(batch_size=8))
    named = cases(Sweep(name="s", model="m", axes=axes, measure=rules))
    assert [case.config.repeat for case in named] == [0, 0, 0, 0, 1]
    assert named[4].name == "cpu fp32 compile=off bs=8 seq=128 again"
    assert named[4].index == 4
    first = cases(Sweep(name="s", model="m", axes=axes, measure=Measure(aa=True)))
    assert first[4].config == Config(device="cpu", batch_size=1, repeat=1)


def test_all_gpus_are_put_in_the_place_of_their_word_each_once() -> None:
    axes = Axes(device=("cuda:1", "cuda:*", "cpu"))
    assert expand_gpus(Sweep(name="s", model="m", axes=axes), 3).axes.device == (
        "cuda:1",
        "cuda:0",
        "cuda:2",
        "cpu",
    )


def test_without_a_gpu_there_is_one_for_torch_to_refuse() -> None:
    axes = Axes(device=("cuda:*",))
    assert expand_gpus(Sweep(name="s", model="m", axes=axes), 0).axes.device == ("cuda:0",)


def test_too_many_gpus_for_a_plan_are_refused() -> None:
    sweep = Sweep(name="s", model="m", axes=Axes(device=("cuda:*",), batch_size=tuple(range(1, 501))))
    assert expand_gpus(sweep, 10).planned == 5_000
    with pytest.raises(BenchtuiError, match=r"axes\.device: 11 GPUs make 5,500 cases; at most 5,000"):
        expand_gpus(sweep, 11)
