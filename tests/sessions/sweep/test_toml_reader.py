import re
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sweep import (
    MEASURE_DEFAULTS,
    Axes,
    Baseline,
    Config,
    Generate,
    Measure,
    Run,
    Sweep,
    Train,
    cases,
)
from benchtui.sessions.sweep.model import GPU_MIN_TIME_S, GPU_MIN_WARMUP_S
from benchtui.sessions.sweep.toml_reader import load_sweep, parse_sweep, validate_config
from benchtui.sessions.sweep.toml_writer import toml_of

FULL = """
name = "mine"
model = "gpt2"
weights = "random"
task = "classify"
dataset = "texts.txt"

[axes]
device = ["cpu", "cuda"]
precision = ["fp32", "amp-fp16"]
attention = "sdpa"
compile = "off, default"
threads = [0, 2]
padding = "longest"
sequence_length = 64
batch_size = "1..4*2"

[measure]
warmup = 0
iterations = 7
until = "1.5%"
max_time = "1m30s"
timeout = 90
baseline = { precision = "fp32", batch_size = 1, device = "cuda", threads = 0 }

[train]
accumulation = 4
learning_rate = 1e-3
optimizer = "foreach"
activation_checkpointing = true

[generate]
new_tokens = 8
"""
BY_DEVICE = MEASURE_DEFAULTS
PLAIN = Sweep(name="sweep", model="m", measure=BY_DEVICE, run=Run(wait_for_quiet_s=60.0))
HOSTILE = [
    "true",
    "-1",
    "0",
    "1.5",
    "inf",
    "nan",
    "9223372036854775808",
    "9" * 400,
    "9" * 5000,
    '""',
    '"\\u001b[2J"',
]
HOSTILE += [
    "[]",
    "[[]]",
    "[[1]]",
    "{}",
    "{ x = 1 }",
    "2020-01-01",
    "[" * 5000 + "]" * 5000,
    '"' + "9" * 5000 + '"',
]


def parse(*lines: str, overrides: tuple[str, ...] = ()) -> Sweep:
    return parse_sweep("\n".join(('model = "m"', *lines)), "my.toml", overrides)


def refused(*lines: str, overrides: tuple[str, ...] = ()) -> str:
    with pytest.raises(BenchtuiError) as caught:
        parse(*lines, overrides=overrides)
    return str(caught.value)


def test_every_entry_is_read() -> None:
    assert parse_sweep(FULL, "my.toml") == Sweep(
        name="mine",
        model="gpt2",
        weights="random",
        dataset="texts.txt",
        axes=Axes(
            device=("cpu", "cuda:0"),
            precision=("fp32", "amp-fp16"),
            attention=("sdpa",),
            compile=("off", "default"),
            threads=(0, 2),
            padding=("longest",),
            sequence_length=(64,),
            batch_size=(1, 2, 4),
        ),
        measure=Measure(
            warmup=0,
            iterations=7,
            until_percent=1.5,
            max_time_s=90.0,
            timeout_s=90.0,
            baseline=Baseline(precision="fp32", batch_size=1, device="cuda:0", threads=0),
        ),
        train=Train(accumulation=4, learning_rate=1e-3, optimizer="foreach", activation_checkpointing=True),
        run=Run(wait_for_quiet_s=60.0),
        generate=Generate(new_tokens=8),
    )


def test_the_file_names_a_sweep_that_has_no_name(tmp_path: Path) -> None:
    path = tmp_path / "night.toml"
    path.write_text('model = "m"\n')
    assert load_sweep(str(path)).name == "night"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("wieghts = 1", "wieghts: unknown entry (did you mean 'weights'?); allowed: name, model, weights"),
        (
            "axes.batch_sise = 1",
            "axes.batch_sise: unknown entry (did you mean 'batch_size'?); allowed: machine",
        ),
        ("measure.zzz = 1", "measure.zzz: unknown entry; allowed: warmup, iterations, min_warmup, min_time"),
        ("measure.baseline.seed = 1", "measure.baseline.seed: unknown entry"),
        ("name = 3", "name: 3 is not text; write it in quotes"),
        ('name = " "', "name: ' ' is not text"),
        ('weights = "none"', "weights: 'none' is not recognized; allowed: pretrained, random"),
        ("weights = ['random']", "weights: ['random'] is not text"),
        ("axes = 3", "axes: 3 is not a table of entries"),
        (
            "axes.precision = 'fp61'",
            "axes.precision: 'fp61' is not recognized (did you mean 'fp16'?); allowed: ",
        ),
        ("axes.device = 'npu'", "axes.device: 'npu' is not a device; allowed: cpu, cuda, cuda:N"),
        ("axes.device = 'cuda:01'", "axes.device: 'cuda:01' is not a device"),
        ("axes.batch_size = '1..8*1'", "axes.batch_size: '1..8*1' never advances"),
        ("measure.warmup = -1", "measure.warmup: -1 is not a whole number from 0 to"),
        ("measure.iterations = 0", "measure.iterations: 0 is not a whole number from 1 to"),
        ("measure.iterations = true", "measure.iterations: True is not a whole number"),
        ("measure.iterations = '20'", "measure.iterations: '20' is not a whole number"),
        (
            "measure.baseline = { batch_size = '1..2' }",
            "measure.baseline.batch_size: '1..2' is not a single value",
        ),
        ("measure.baseline = 'fp32'", "measure.baseline: 'fp32' is not a table"),
        ("task = 'clasify'", "task: 'clasify' is not recognized (did you mean 'classify'?)"),
        ("axes.threads = -1", "axes.threads: -1 is not a whole number from 0 to 4096"),
        ("axes.threads = 5000", "axes.threads: 5000 is not a whole number from 0 to 4096"),
        ("axes.threads = '0..8*2'", "axes.threads: '0..8*2' never advances; a factor leaves 0 as it is"),
        ("axes.padding = 'none'", "axes.padding: 'none' is not recognized; allowed: max, longest"),
        ("train.learning_rate = 0", "train.learning_rate: 0 is not a number above 0"),
        ("train.learning_rate = nan", "train.learning_rate: nan is not a number above 0"),
        ("train.learning_rate = 'x'", "train.learning_rate: 'x' is not a number above 0"),
        ("train.activation_checkpointing = 1", "train.activation_checkpointing: 1 is neither true nor false"),
        (
            "train.optimizer = 'lion'",
            "train.optimizer: 'lion' is not recognized; allowed: auto, fused, foreach",
        ),
        ("train.accumulation = 0", "train.accumulation: 0 is not a whole number from 1"),
        ("generate.new_tokens = 0", "generate.new_tokens: 0 is not a whole number from 1"),
        ("generate = 3", "generate: 3 is not a table of entries"),
        ("run.wait_below = '60F'", "run.wait_below: '60F' is not a temperature up to 150 °C; write text"),
        ("run.wait_below = 151", "run.wait_below: 151 is not a temperature up to 150 °C"),
        ("run.wait_for_quiet = true", "run.wait_for_quiet: True is not a time; write seconds, or text such as"),
        ("run.executor = 'slurm'", "run.executor: 'slurm' is not recognized; allowed: local, ray"),
        (
            "run.address = 'head'",
            "run.address: 'head' is not the address of a Ray cluster; allowed: auto, host",
        ),
        ("run.address = ''", "run.address: '' is not text; write it in quotes"),
        ("run.address = 'a b:1'", "run.address: 'a b:1' is not the address"),
        ("run.place = '*'", "run.place: '*' names no nodes; allowed: a kind (H100)"),
        ("run.place = 3", "run.place: 3 is not text"),
        ("run.lost = 'wait'", "run.lost: 'wait' is not recognized; allowed: fail, repeat"),
        ("run.repeat_on_each = 1", "run.repeat_on_each: 1 is neither true nor false"),
        ("run.parallel = 1", "run.parallel: 1 is neither true nor false"),
        ("run.beside = 1", "run.beside: unknown entry; allowed: parallel"),
        ("axes.machine = 'two words'", "axes.machine: 'two words' names no nodes; allowed: a kind (H100)"),
        ("axes.machine = 'a\\nb'", "axes.machine: 'a\\\\nb' names no nodes"),
        ("axes.machine = [1]", "axes.machine: 1 is not text; write it in quotes"),
        (
            "axes.batch_size = 'auto,4'",
            "axes.batch_size: 'auto,4': 'auto' searches for the batch size and must",
        ),
        ("axes.batch_size = [4, 'auto']", "axes.batch_size: [4, 'auto']: 'auto' searches for the batch size"),
        ("axes.batch_size = 'automatic'", "axes.batch_size: 'automatic' is not a whole number"),
        ("axes.sequence_length = 'auto'", "axes.sequence_length: 'auto' is not a whole number"),
        (
            "axes.device = 'cuda:**'",
            "axes.device: 'cuda:**' is not a device; allowed: cpu, cuda, cuda:N, cuda:*",
        ),
        ("measure.baseline.machine = '*'", "measure.baseline.machine: '*' names no nodes"),
        ("measure.baseline.batch_size = 'auto'", "measure.baseline.batch_size: 'auto' is not a whole number"),
        ("measure.baseline.device = 'cuda:*'", "measure.baseline.device: 'cuda:*' is not a device"),
        ("measure.rounds = 0", 'measure.rounds: 0 is not a whole number from 1 to 100, or "auto"'),
        ("measure.aa = 1", "measure.aa: 1 is neither true nor false"),
        ("measure.mode = 'fast'", "measure.mode: 'fast' is not recognized"),
        ("measure.warmup = 'some'", "measure.warmup: 'some' is not a whole number"),
        ("measure.explain = 'worst'", "measure.explain: 'worst' is not recognized; allowed: all, baseline"),
        ("env.A = true", "env.A: True is not text; write it in quotes"),
        ("env.'A=B' = 'x'", "env.A=B: not a name: letters, digits and _"),
        ("env = 3", "env: 3 is not a table of entries"),
    ],
)
def test_a_wrong_entry_is_named_with_its_value_and_what_is_allowed(line: str, message: str) -> None:
    told = refused(line)
    assert told.startswith(f"my.toml: {message}") and "\n" not in told


@pytest.mark.parametrize("entry", ['task = "auto"', ""])
def test_task_is_by_default_that_of_the_files_of_the_model(tmp_path: Path, entry: str) -> None:
    (tmp_path / "config.json").write_text('{"architectures": ["GPT2LMHeadModel"]}')
    text = f'name = "x"\nmodel = "{tmp_path}"\n{entry}'
    assert parse_sweep(text, "my.toml").task == "generate"
    assert parse_sweep(text, "my.toml", ["task=embed"]).task == "embed"
    assert parse_sweep('name = "x"\nmodel = "gpt2"', "my.toml").task == "generate"
    assert parse_sweep('name = "x"\nmodel = "org/elsewhere"', "my.toml").task == "classify"


def test_models_with_different_tasks_need_one(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"architectures": ["BertModel"]}')
    message = "my.toml: task: auto: the models have different tasks: generate (gpt2), embed ("
    with pytest.raises(BenchtuiError, match=re.escape(message)):
        parse_sweep(f'name = "x"\nmodel = ["gpt2", "{tmp_path}"]', "my.toml")


def test_a_task_that_is_none_is_answered_with_all_there_are() -> None:
    message = refused('task = "mine:forward"')
    assert message.endswith(
        "classify, lm-forward, lm-train, generate, serve-batch, embed, image, speech,"
        ' or a step of your own as "file.py:function" (line 2)'
    )


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("0.5", 0.5),
        ('"90s"', 90),
        ('"10m"', 600),
        ('"1h30m"', 5400),
        ('"1.5h"', 5400),
        ('" 1m 1s "', 61),
    ],
)
def test_times_are_read(text: str, seconds: float) -> None:
    assert parse(f"measure.timeout = {text}").measure.timeout_s == seconds


@pytest.mark.parametrize(
    "text",
    [
        '""',
        '" "',
        '"90"',
        '"5 d"',
        '"m"',
        '"30s10m"',
        '"1 0m"',
        '"-1s"',
        "0",
        "-1",
        '"0s"',
        "true",
        "[1]",
        "nan",
        "inf",
        "9" * 400,
        f'"{"9" * 400}h"',
    ],
    ids=lambda value: value[:30],
)
def test_what_is_no_time_is_refused(text: str) -> None:
    message = refused(f"measure.max_time = {text}")
    assert "measure.max_time: " in message
    assert 'is not a time above 0; write seconds, or text such as "90s"' in message


@pytest.mark.parametrize(("text", "percent"), [('"1%"', 1.0), ('"0.5 %"', 0.5), ("2", 2.0), ("0.1", 0.1)])
def test_widths_in_percent_are_read(text: str, percent: float) -> None:
    assert parse(f"measure.until = {text}").measure.until_percent == percent


@pytest.mark.parametrize(
    "text", ['"0%"', '"100%"', '"-1%"', '"x"', '""', "true", "[1]", "nan", "inf", '"nan%"']
)
def test_what_is_no_width_is_refused(text: str) -> None:
    assert 'is not a width in percent, such as "1%"' in refused(f"measure.until = {text}")


def test_a_sweep_without_a_model_is_refused() -> None:
    with pytest.raises(BenchtuiError, match=r"^my\.toml: model is missing; name a hub id"):
        parse_sweep('name = "x"', "my.toml")


def test_a_step_of_ones_own_needs_no_model() -> None:
    sweep = parse_sweep('name = "x"\ntask = "own.py:make"', "my.toml")
    assert sweep.model == sweep.task
    text = toml_of(sweep)
    assert "model" not in text and parse_sweep(text, "my.toml") == sweep


def test_too_many_cases_are_refused_before_they_are_made() -> None:
    axes = ("axes.batch_size = '1..10000'", "axes.sequence_length = '1..10000'")
    assert refused(*axes) == "my.toml: axes: 100,000,000 cases; at most 5,000 are allowed (line 3)"


def test_broken_toml_names_the_line() -> None:
    message = refused("", "name = = 3")
    assert message.startswith("my.toml: not valid TOML: ") and "line 3" in message


@pytest.mark.parametrize(
    ("lines", "overrides", "line"),
    [
        (("", "[axes]", "precision = 'fp61'"), (), 4),
        (("axes.batch_size = [", "  1,", "  0,", "]", "name = 'n'"), (), 2),
        (("measure = { warmup = 1, rounds = 0 }",), (), 2),
        (("[[exclude]]", "batch_size = 1", "[[exclude]]", "batch_size = 0"), (), 5),
        (("measure.warmup = -1",), ("warmup=-2",), None),
        (('"9" = 1',), (), None),
        (('env."²" = 1',), (), 2),
        (("name = 'n'",), ("rounds=0",), None),
        ((f"name = '{'n' * 300_000}'", "", "", "measure.rounds = 0"), (), None),
    ],
    ids=range(9),
)
def test_wrong_entry_is_named_with_its_line_unless_an_override_set_it(
    lines: tuple[str, ...], overrides: tuple[str, ...], line: int | None
) -> None:
    message = refused(*lines, overrides=overrides)
    assert re.findall(r" \(line (\d+)\)$", message) == ([] if line is None else [str(line)])


@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: repr(value)[:20])
@pytest.mark.parametrize(
    "entry",
    [
        "name",
        "weights",
        "task",
        "dataset",
        "axes",
        "axes.device",
        "axes.precision",
        "axes.batch_size",
        "measure",
        "measure.warmup",
        "measure.until",
        "measure.timeout",
        "measure.baseline",
        "measure.baseline.batch_size",
        "axes.threads",
        "axes.padding",
        "train",
        "train.learning_rate",
        "train.activation_checkpointing",
        "generate.new_tokens",
        "measure.min_time",
    ],
)
def test_no_value_ends_in_anything_but_a_sweep_or_a_line(entry: str, value: str) -> None:
    try:
        planned = cases(parse(f"{entry} = {value}"))
    except BenchtuiError as error:
        assert str(error).startswith("my.toml: ")
    else:
        assert planned


@pytest.mark.parametrize(
    ("override", "sweep"),
    [
        ("model=org/other", replace(PLAIN, model="org/other")),
        ("name='a=b'", replace(PLAIN, name="a=b")),
        ("batch_size=1..4*2", replace(PLAIN, axes=Axes(batch_size=(1, 2, 4)))),
        ("batch_size=[4, 1]", replace(PLAIN, axes=Axes(batch_size=(4, 1)))),
        (" batch_size = 4, 1 ", replace(PLAIN, axes=Axes(batch_size=(4, 1)))),
        ("axes.device=cpu,cuda:1", replace(PLAIN, axes=Axes(device=("cpu", "cuda:1")))),
        ("threads=0,4", replace(PLAIN, axes=Axes(threads=(0, 4)))),
        ("threads=0..2", replace(PLAIN, axes=Axes(threads=(0, 1, 2)))),
        ("accumulation=4", replace(PLAIN, train=Train(accumulation=4))),
        ("train.learning_rate=1", replace(PLAIN, train=Train(learning_rate=1.0))),
        ("new_tokens=4", replace(PLAIN, generate=Generate(new_tokens=4))),
        ("until=2%", replace(PLAIN, measure=replace(BY_DEVICE, until_percent=2.0))),
        ("measure.timeout=1m", replace(PLAIN, measure=replace(BY_DEVICE, timeout_s=60.0))),
        (
            "baseline={ batch_size = 2 }",
            replace(PLAIN, measure=replace(BY_DEVICE, baseline=Baseline(batch_size=2))),
        ),
        (
            "measure.baseline.precision=fp16",
            replace(PLAIN, measure=replace(BY_DEVICE, baseline=Baseline(precision="fp16"))),
        ),
        ("axes={ batch_size = 2 }", replace(PLAIN, axes=Axes(batch_size=(2,)))),
    ],
)
def test_an_override_reaches_its_entry(override: str, sweep: Sweep) -> None:
    assert parse(overrides=(override,)) == sweep


@pytest.mark.parametrize(
    ("overrides", "warmup_s", "time_s"),
    [
        ((), 1.0, 2.5),
        (("warmup=auto", "until=auto"), 1.0, 2.5),
        (("warmup=5",), 0.0, 2.5),
        (("iterations=20",), 1.0, 0.0),
        (("iterations=20", "min_time=auto"), 1.0, 2.5),
        (("min_warmup=0", "min_time=1m30s"), 0.0, 90.0),
    ],
)
def test_minimum_times_apply_on_a_gpu_unless_a_count_is_stated(
    overrides: tuple[str, ...], warmup_s: float, time_s: float
) -> None:
    rules = parse(overrides=overrides).measure.for_device("cuda:0")
    assert (rules.min_warmup_s, rules.min_time_s) == (warmup_s, time_s)


def test_recorded_rules_without_minimum_times_run_their_counts() -> None:
    rules = msgspec.json.decode(b'{"warmup":5,"iterations":20}', type=Measure).for_device("cuda:0")
    assert (rules.min_warmup_s, rules.min_time_s) == (0.0, 0.0)


def test_an_override_replaces_what_the_file_says_and_the_last_one_holds() -> None:
    sweep = parse_sweep(FULL, "my.toml", ["batch_size=16", "batch_size=32", "model=other"])
    assert (sweep.axes.batch_size, sweep.model, sweep.axes.sequence_length) == ((32,), "other", (64,))


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("batch_size", "--set batch_size: write key=value, such as"),
        ("batch_sise=1", "--set batch_sise=1: no entry 'batch_sise' (did you mean 'batch_size'?)"),
        ("=1", "--set =1: no entry ''"),
        ("model.x=1", "--set model.x=1: model is not a table"),
        ("axes.batch_sise=1", "my.toml: axes.batch_sise: unknown entry (did you mean 'batch_size'?)"),
        ("axes.=1", "my.toml: axes.: unknown entry"),
        (".=1", "my.toml: : unknown entry"),
        ("batch_size=", "my.toml: axes.batch_size: '' is not a whole number"),
        ("batch_size=" + "9" * 5000, "my.toml: axes.batch_size: '999"),
        ("warmup=few", "my.toml: measure.warmup: 'few' is not a whole number"),
        ("device=tpu", "my.toml: axes.device: 'tpu' is not a device"),
    ],
    ids=lambda value: value[:30],
)
def test_a_wrong_override_is_told_in_one_line(override: str, message: str) -> None:
    told = refused(overrides=(override,))
    assert told.startswith(message) and "\n" not in told


PRESETS = [
    "allocators",
    "attention-kernels",
    "backends",
    "backends-gpu",
    "distilbert-sst2",
    "embeddings",
    "generate-cache",
    "gpt2-train",
    "images",
    "quantization",
    "quick",
    "serving",
    "speech",
]


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_loads_under_its_name_with_its_baseline_among_its_cases(name: str) -> None:
    sweep = load_sweep(name)
    assert sweep.name == name
    assert sweep.measure.baseline is not None
    assert any(sweep.measure.baseline.matches(case.config) for case in cases(sweep))


@pytest.mark.parametrize("name", PRESETS)
def test_presets_measure_long_enough_on_a_gpu(name: str) -> None:
    rules = load_sweep(name).measure.for_device("cuda:0")
    assert (rules.min_warmup_s, rules.min_time_s) == (GPU_MIN_WARMUP_S, GPU_MIN_TIME_S)


def test_a_file_goes_before_a_preset_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quick").write_text('model = "mine"\n')
    assert load_sweep("quick").model == "mine"


def test_a_missing_file_is_answered_with_the_nearest_preset() -> None:
    with pytest.raises(
        BenchtuiError, match=r"^quik: no such file or preset \(did you mean 'quick'\?\); presets: allocators"
    ):
        load_sweep("quik")


def test_what_can_not_be_read_is_named(tmp_path: Path) -> None:
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b'model = "\xff\xfe"')
    with pytest.raises(BenchtuiError, match=rf"^{re.escape(str(binary))}: not a UTF-8 text file$"):
        load_sweep(str(binary))
    with pytest.raises(BenchtuiError, match=rf"^{re.escape(str(tmp_path))}: can't be read: Is a directory$"):
        load_sweep(str(tmp_path))
    for name in ("a\0b", "a" * 5000):
        with pytest.raises(BenchtuiError, match="can't be read: "):
            load_sweep(name)


def test_the_rules_of_measuring_can_be_left_to_the_machine() -> None:
    entries = ("warmup=auto", "until=auto", "mode=throughput", "rounds=3", "aa=true", "caches=shared")
    rules = parse_sweep('model = "m"', "s.toml", entries).measure
    assert (rules.warmup_auto, rules.warmup) == (True, Measure().warmup)
    assert (rules.until_auto, rules.until_percent) == (True, None)
    assert (rules.mode, rules.rounds, rules.aa, rules.retries) == ("throughput", 3, True, None)
    assert rules.caches == "shared"


def test_rounds_follow_from_open_comparisons_only_if_the_file_says_so() -> None:
    assert not parse_sweep('model = "m"', "s.toml").measure.rounds_auto, "recorded sweeps have one round"
    sweep = parse_sweep('model = "m"', "s.toml", ("rounds=auto", "budget=10m"))
    assert (sweep.measure.rounds, sweep.measure.rounds_auto, sweep.run.budget_s) == (1, True, 600.0)
    assert (sweep.measure.planned_rounds, Measure(rounds=3).planned_rounds) == (None, 3)


@pytest.mark.parametrize("rounds", ["", "rounds = 3"])
def test_budget_without_rounds_that_it_limits_is_refused(rounds: str) -> None:
    text = f'model = "m"\n[run]\nbudget = "10m"\n[measure]\n{rounds}'
    message = (
        'run.budget: limits further rounds, which only measure.rounds = "auto" has; rounds is [13] .line 3.'
    )
    with pytest.raises(BenchtuiError, match=f"^s.toml: {message}$"):
        parse_sweep(text, "s.toml")


@pytest.mark.parametrize(
    ("budget", "first_s", "most_s"), [(None, 10.0, 120.0), (None, 150.0, 150.0), (600.0, 900.0, 600.0)]
)
def test_budget_is_as_much_as_the_first_rounds_took_and_at_least_two_minutes(
    budget: float | None, first_s: float, most_s: float
) -> None:
    assert Run(budget_s=budget).budget_after_s(first_s) == most_s


def test_a_cluster_is_named_with_what_may_run_where() -> None:
    entries = (
        "executor=ray",
        "address=ray://head:10001",
        "place=zone=a",
        "lost=repeat",
        "repeat_on_each=false",
    )
    sweep = parse_sweep('model = "m"\naxes.machine = ["H100", "gpu/kind=a-1", "*"]', "s.toml", entries)
    assert sweep.run == Run(
        executor="ray",
        address="ray://head:10001",
        place="zone=a",
        lost="repeat",
        repeat_on_each=False,
        wait_for_quiet_s=60.0,
    )
    assert sweep.axes.machine == ("H100", "gpu/kind=a-1", "*")
    assert cases(sweep)[0].name == "H100 cpu fp32 compile=off bs=1 seq=128"
    assert parse_sweep('model = "m"\nrun.place = ""\naxes.machine = ""', "s.toml") == PLAIN


@pytest.mark.parametrize(
    ("lines", "quiet_s", "below_c"),
    [
        ((), 60.0, None),
        (("parallel = true",), 60.0, None),
        (("wait_for_quiet = '2m'", "wait_below = '60C'"), 120.0, 60.0),
        (("wait_for_quiet = 5", "wait_below = 55.5"), 5.0, 55.5),
        (("wait_for_quiet = 'off'", "wait_below = '60 °C'"), 0.0, 60.0),
        (("wait_for_quiet = false",), 0.0, None),
        (("wait_for_quiet = 0",), 0.0, None),
        (("wait_for_quiet = '0s'",), 0.0, None),
    ],
)
def test_waits_have_a_limit_and_a_temperature(
    lines: tuple[str, ...], quiet_s: float, below_c: float | None
) -> None:
    sweep = parse_sweep("\n".join(('model = "m"', "[run]", *lines)), "s.toml")
    assert (sweep.run.wait_for_quiet_s, sweep.run.wait_below_c) == (quiet_s, below_c)
    assert parse_sweep(toml_of(sweep), "again") == sweep
    assert ("wait_for_quiet" in toml_of(sweep)) is (quiet_s != 60.0), "the default isn't written"


def test_environment_variables_are_text() -> None:
    text = 'model = "m"\n[env]\nOMP_NUM_THREADS = 2\nKMP_BLOCKTIME = "0"\nEMPTY = ""\n'
    sweep = parse_sweep(text, "s.toml", ["env.MORE=yes"])
    assert sweep.env == {"OMP_NUM_THREADS": "2", "KMP_BLOCKTIME": "0", "EMPTY": "", "MORE": "yes"}


@pytest.mark.parametrize("written", ['"auto"', '["auto"]', '" auto "'])
def test_the_batch_size_may_be_looked_for(written: str) -> None:
    axes = parse_sweep(f'model = "m"\n[axes]\nbatch_size = {written}\nprecision = "fp32,bf16"', "s.toml").axes
    assert (axes.batch_size, axes.batch_size_auto, axes.count) == ((1,), True, 2)
    assert parse_sweep('model = "m"', "s.toml", ["batch_size=auto"]).axes.batch_size_auto
    assert not parse_sweep('model = "m"', "s.toml").axes.batch_size_auto


def test_the_options_of_one_case_are_held_to_what_a_sweep_may_name() -> None:
    config = Config(device="cuda", precision="bf16", threads=2, repeat=1)
    assert validate_config(config) == Config(device="cuda:0", precision="bf16", threads=2, repeat=1)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"device": "cuda:*"}, "device: 'cuda:\\*' is not a device"),
        ({"device": "cpu,cuda:0"}, "device: 'cpu,cuda:0' is not a single value"),
        ({"precision": "fp23"}, "precision: 'fp23' is not recognized"),
        ({"compile": "slow"}, "compile: 'slow' is not recognized"),
        ({"padding": "least"}, "padding: 'least' is not recognized"),
    ],
)
def test_the_options_of_a_case_that_no_sweep_may_name_are_refused(options: dict[str, str], error: str) -> None:
    with pytest.raises(BenchtuiError, match=error):
        validate_config(Config(**{"device": "cpu"} | options))


def test_a_path_that_is_no_text_is_refused() -> None:
    with pytest.raises(
        BenchtuiError, match=r"model: 'm\\udcff' is not UTF-8; names and paths in a sweep must be"
    ):
        parse_sweep('model = "a"', "a.toml", ("model=m\udcff",), "a")


@pytest.mark.parametrize(
    ("text", "cases"),
    [
        ("true", ("all",)),
        ("false", ()),
        ("[]", ()),
        ('"best"', ("best",)),
        ('["baseline", "best"]', ("baseline", "best")),
    ],
)
def test_cases_to_explain(text: str, cases: tuple[str, ...]) -> None:
    assert parse_sweep(f'model = "m"\n[measure]\nexplain = {text}', "x").measure.explain == cases


NUMBERS = (
    "sequence_length",
    "threads",
    "tokenizer_threads",
    "batch_size",
    "accumulation",
    "new_tokens",
    "audio_seconds",
)
KINDS_OF_EXCLUSIONS = [
    "[[exclude]]\n" + "".join(f"{name} = 1\n" for bit, name in enumerate(NUMBERS) if number >> bit & 1)
    for number in range(1, 128)
]
"""Exclusions that each name other options."""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            '[axes]\nbatch_size = "1..10000"\nsequence_length = "1..10000"',
            "axes: 100,000,000 cases; at most 5,000",
        ),
        (
            '[axes.env]\nA = "1..100"\nB = "1..100"\nC = "1..100"',
            "axes.env: 1,000,000 combinations; at most 10,000",
        ),
        (
            '[axes.parameters]\na = "1..9999"\nb = "1..9999"\nc = 1',
            "99,980,001 combinations or more; at most 10,000",
        ),
        ("[env]\n" + "".join(f"A{number} = 1\n" for number in range(1001)), "env: 1,001 names; at most 1,000"),
        ('[measure]\ntimeout = "1h' + " " * 100_000 + 'x"', "measure.timeout: .* is not a time"),
        (
            '[axes]\nbatch_size = "1..5000"\n' + "".join(KINDS_OF_EXCLUSIONS),
            "exclude: 127 different sets of options for 5,000 cases; at most 100 are allowed",
        ),
    ],
    ids=range(6),
)
def test_too_much_is_refused_before_it_is_multiplied_out(text: str, reason: str) -> None:
    with pytest.raises(BenchtuiError, match=reason):
        parse_sweep(f'model = "m"\n{text}', "t.toml")


@pytest.mark.parametrize(
    ("override", "reason"),
    [
        ("a." * 50_000 + "a=1", r"^--set (a\.)+a…: a key with more than 50 parts$"),
        ("env." + "a." * 50_000 + "a=1", "a key with more than 50 parts"),
        ("batch_size=" + "[" * 100_000, r"^--set: axes.batch_size: '\[+…"),
        ("iterations=0x" + "f" * 10_000, "is not a whole number from 1"),
        ("x" * 100_000 + "=1", "^--set x+…: no entry 'x+…"),
    ],
    ids=range(5),
)
def test_long_override_is_refused_in_one_line(override: str, reason: str) -> None:
    with pytest.raises(BenchtuiError, match=reason) as caught:
        parse_sweep('model = "m"', "--set", [override])
    assert len(str(caught.value)) < 2_000
