"""The option table and the records of its options agree, and what is derived from it covers every option."""

import msgspec
import pytest

from benchtui.sessions.analysis import applied_options
from benchtui.sessions.analysis.applied_options import unapplied_options
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.metrics.case_rows import IN_OTHERS
from benchtui.sessions.payloads import Effective
from benchtui.sessions.sweep import Axes, Baseline, Config, Sweep, cases
from benchtui.sessions.sweep.options import AXES, BY_NAME, OPTIONS, READ_BACK, SHOWN
from benchtui.sessions.sweep.toml_reader import parse_sweep


def test_config_axes_and_baseline_have_a_field_for_every_option_and_no_other() -> None:
    assert set(Config.__struct_fields__) - {"repeat", "label", "group", "unset"} == set(AXES) == set(SHOWN)
    assert Axes.__struct_fields__ == (*AXES, "batch_size_auto", "batch_size_most", "unset")
    assert set(Baseline.__struct_fields__) == set(AXES)


def test_options_with_fields_of_their_own_are_those_with_a_check_or_a_field_of_their_name() -> None:
    named_alike = set(Effective.__struct_fields__) & set(BY_NAME)
    assert {each.name for each in OPTIONS if each.own_fields} == set(applied_options._CHECKS) | named_alike
    assert not {each.name for each in IN_OTHERS} & {"attention", "threads"}, "these have columns of their own"


@pytest.mark.parametrize("option", READ_BACK)
def test_a_default_left_to_a_library_agrees_with_any_actual_value(option: str) -> None:
    if BY_NAME[option].free:
        assert unapplied_options(Config(device="cpu"), Effective(threads=7, others={option: 7})) == ()


def test_an_option_without_a_check_of_its_own_is_compared_with_the_actual_value() -> None:
    config = Config(device="cpu", tokenizer_threads=2)
    assert unapplied_options(config, Effective(others={"tokenizer_threads": 2})) == ()
    assert unapplied_options(config, Effective()) == ()
    (mark,) = unapplied_options(config, Effective(others={"tokenizer_threads": 1}))
    assert mark.startswith("tokenizer_threads 2 ")


def test_a_config_recorded_before_there_was_the_option_has_a_dynamic_cache() -> None:
    old = msgspec.json.decode(b'{"device": "cpu", "batch_size": 8}', type=Config)
    assert old == Config(device="cpu", batch_size=8, cache="dynamic")
    assert unapplied_options(old, Effective()) == ()
    assert "cache" not in old.name


def test_options_of_texts_are_skipped_with_synthetic_tokens() -> None:
    rules = ("dataset=synthetic", "padding=max,longest", "tokenizer_threads=0,2")
    sweep: Sweep = parse_sweep('model = "m"', "test", rules)
    reasons = [case.skip for case in cases(sweep)]
    assert reasons[0] is None
    assert all(reason and "no text to tokenize or pad" in reason for reason in reasons[1:])


@pytest.mark.parametrize(
    ("task", "options", "reason"),
    [
        ("classify", ("precision=int8", "quantization=bnb-int8"), "int8 already quantizes the weights"),
        ("classify", ("quantization=torchao-fp8",), "torchao-fp8 needs a CUDA device"),
        ("classify", ("attention=sdpa-cudnn",), "attention sdpa-cudnn needs a CUDA device"),
        ("classify", ("attention=flash2",), "flash attention needs a CUDA device"),
        ("classify", ("attention=kernel:kernels-community/flash-attn2@v1",), "needs a CUDA device"),
        ("classify", ("padding=packed",), "packed is for tasks lm-forward and lm-train"),
        ("classify", ("draft=lookup:2",), "draft is for task generate only"),
        ("generate", ("draft=lookup:2", "batch_size=4"), "one sample at a time"),
        ("generate", ("draft=lookup:2", "cache=static"), "removes tokens from the cache"),
        ("generate", ("optimizer=sgd,adamw",), "optimizer is for task lm-train only"),
        ("lm-train", ("quantization=bnb-nf4",), "quantized weights can't be trained"),
        ("lm-train", ("quantization=torchao-int8", "lora=r8"), "quantized weights can't be trained"),
        ("lm-train", ("liger=true",), "liger's layers need a CUDA device"),
        ("step.py:make", ("quantization=bnb-nf4",), "quantization doesn't apply to a step of your own"),
    ],
)
def test_an_option_that_can_not_be_applied_is_skipped(task: str, options: tuple[str, ...], reason: str) -> None:
    sweep = parse_sweep(f'model = "m"\ntask = "{task}"', "test", options)
    skips = [case.skip for case in cases(sweep)]
    assert all(skip is not None and reason in skip for skip in skips)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("attention=kernel:nowhere", "allowed: .*kernel:ORG/NAME@REVISION"),
        ("draft=lookup:0", "allowed: off, lookup:N, or a model"),
        ("quantization=bnb-nf5", r"did you mean 'bnb-nf4'\?"),
    ],
)
def test_a_word_outside_list_and_form_is_named(word: str, message: str) -> None:
    with pytest.raises(BenchtuiError, match=message):
        parse_sweep('model = "m"', "test", [word])


@pytest.mark.parametrize(
    ("requested", "actual", "applied"),
    [
        ("sdpa-math", "sdpa-math", True),
        ("sdpa-math", "sdpa", False),
        ("flex", "flex_attention", True),
        ("kernel:a/b@v1", "a/b@v1", True),
        ("kernel:a/b@v1", "sdpa", False),
    ],
)
def test_requested_attention_is_compared_with_the_actual_one(
    requested: str, actual: str, applied: bool
) -> None:
    config = Config(device="cpu", attention=requested)
    assert (unapplied_options(config, Effective(attention=actual)) == ()) is applied
