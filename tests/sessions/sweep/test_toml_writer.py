import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sweep import Axes, Exclusion, Find, Measure, Run, Sweep, toml_writer
from benchtui.sessions.sweep.toml_reader import entries, load_sweep, parse_sweep, preset_names, read_table

WAITING = Run(wait_for_quiet_s=60.0)
"""What a file says without an entry in ``run``."""

FILE = """# a night's work
name    = "night"
model   = "gpt2"       # bundled
[axes]
device     = ["cpu", "cuda:0"]   # both
batch_size = "1..8*2"
[measure]
warmup   = 3
timeout  = 90
baseline = { precision = "fp32", batch_size = 1 }   # plain
[env]
OMP_NUM_THREADS = 4   # of the box
B = "x,y"
"""


def changed(**texts: str | None) -> str:
    before = toml_writer.texts_of(read_table(FILE, "f"))
    after = before | {key.replace("__", "."): text for key, text in texts.items() if text is not None}
    for key in (key.replace("__", ".") for key, text in texts.items() if text is None):
        del after[key]
    return toml_writer.rewrite_toml(FILE, after, before, None)


def test_entries_are_shown_as_they_would_be_typed() -> None:
    texts = toml_writer.texts_of(read_table(FILE, "f"))
    assert texts["axes.device"] == "cpu, cuda:0"
    assert texts["axes.batch_size"] == "1..8*2"
    assert texts["measure.timeout"] == "90"
    assert texts["measure.baseline"] == "precision=fp32, batch_size=1"
    assert "axes.precision" not in texts


def test_a_change_leaves_all_else_as_it_was() -> None:
    text = changed(axes__device="cpu", axes__batch_size="1, 2", measure__warmup="auto")
    lines = text.splitlines()
    assert 'device     = "cpu"   # both' in lines
    assert "batch_size = [1, 2]" in lines
    assert 'warmup   = "auto"' in lines
    same = [line for line in FILE.splitlines() if not line.startswith(("device", "batch_size", "warmup"))]
    assert [line for line in lines if line in same] == same


def test_a_new_entry_finds_its_table_and_a_dropped_one_goes() -> None:
    text = changed(dataset="synthetic", generate__new_tokens="8", measure__timeout=None)
    sweep = parse_sweep(text, "f")
    assert (sweep.dataset, sweep.generate.new_tokens, sweep.measure.timeout_s) == ("synthetic", 8, 600)
    assert text.startswith("# a night's work")


def test_pairs_are_changed_one_by_one() -> None:
    text = changed(env='{ OMP_NUM_THREADS = 4, C = "1" }', measure__baseline="precision=bf16, batch_size=1")
    assert "OMP_NUM_THREADS = 4   # of the box" in text and "B =" not in text
    assert parse_sweep(text, "f").env == {"OMP_NUM_THREADS": "4", "C": "1"}
    assert 'precision = "bf16"' in text and "# plain" in text


def test_exclusions_are_written_as_tables() -> None:
    texts = toml_writer.texts_of(read_table(FILE, "f"))
    text = toml_writer.rewrite_toml(FILE, texts, texts, [Exclusion(device="cuda:0", batch_size=8)])
    assert text.endswith('[[exclude]]\ndevice = "cuda:0"\nbatch_size = 8\n')
    assert parse_sweep(text, "f").exclude == (Exclusion(device="cuda:0", batch_size=8),)
    assert "exclude" not in toml_writer.rewrite_toml(text, texts, texts, [])


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_written_anew_is_the_same_sweep(name: str) -> None:
    sweep = load_sweep(name)
    assert parse_sweep(toml_writer.toml_of(sweep), name) == sweep


@pytest.mark.parametrize(
    ("overrides", "written"),
    [
        ((), False),
        (("iterations=50", "warmup=3"), False),
        (("iterations=20",), False),
        (("iterations=50", "min_time=auto"), True),
        (("min_time=4s",), True),
    ],
)
def test_minimum_time_is_written_unless_the_counts_imply_it(overrides: tuple[str, ...], written: bool) -> None:
    sweep = parse_sweep(FILE, "f", overrides)
    text = toml_writer.toml_of(sweep)
    assert parse_sweep(text, "f") == sweep
    assert ("min_time" in text) == written


def test_rules_of_an_older_session_survive_being_written() -> None:
    sweep = Sweep(name="s", model="m", measure=Measure())
    again = parse_sweep(toml_writer.toml_of(sweep), "f")
    assert again == replace(sweep, run=Run(wait_for_quiet_s=0.0))


def test_pairs_that_are_none_are_told() -> None:
    with pytest.raises(BenchtuiError, match=r"^env: 'A' is not a pair; write name=value, name=value$"):
        toml_writer.value_of("env", "A")


def test_search_survives_being_written() -> None:
    find = Find(objective="latency", max_vram_mb=8000.0, answers="any", steps=500)
    for each in (Find(), find):
        sweep = Sweep(name="s", model="m", find=each)
        assert parse_sweep(toml_writer.toml_of(sweep), "f").find == each
    assert "find" not in toml_writer.toml_of(Sweep(name="s", model="m"))


def test_every_entry_has_a_text(tmp_path: Path) -> None:
    texts = toml_writer.texts_of(toml_writer.table_of(Sweep(name="s", model="m")))
    unset = {
        "measure.until",
        "measure.max_time",
        "measure.retries",
        "measure.baseline",
        "run.budget",
        "run.wait_below",
        "axes.env",
        "axes.parameters",
    }
    assert set(texts) == {entry for entry in entries() if not entry.startswith("find.")} - unset


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("exclude = 3", "f: exclude: 3 is not a list of tables"),
        ("exclude = [{}]", "f: exclude: an empty table would exclude every case"),
        ("[[exclude]]\nseed = 1", "f: exclude[1].seed: unknown entry"),
        ("[[exclude]]\nbatch_size = [1, 2]", "f: exclude[1].batch_size: [1, 2] is not a single value"),
        ('[[exclude]]\ndevice = "cpu"', "f: exclude: excludes every case; keep at least one"),
    ],
)
def test_wrong_exclusions_are_refused(text: str, message: str) -> None:
    with pytest.raises(BenchtuiError) as caught:
        parse_sweep(f'model = "m"\n{text}\n', "f")
    assert str(caught.value).startswith(message)


def test_every_entry_survives() -> None:
    text = """
    name = "odd \\"name\\" \\\\ \\u007f ü"
    model = "m"
    task = "own step.py:step"
    [axes]
    device = ["cpu", "cuda:*"]
    batch_size = "auto"
    threads = [0, 2]
    [measure]
    warmup = "auto"
    until = "0.5%"
    max_time = "90s"
    retries = 2
    aa = true
    baseline = { precision = "fp32", batch_size = 4 }
    [run]
    parallel = true
    [train]
    accumulation = 4
    learning_rate = 3e-7
    [generate]
    new_tokens = 7
    [env]
    OMP_NUM_THREADS = 4
    """
    sweep = parse_sweep(text, "text")
    assert sweep.run.parallel and sweep.generate.new_tokens == 7
    assert parse_sweep(toml_writer.toml_of(sweep), "again") == sweep


@pytest.mark.parametrize("until", ["69.35464274634855%", "1%", "0.5%", "1e-05%"])
def test_a_width_is_written_with_all_its_digits(until: str) -> None:
    sweep = parse_sweep(f'model = "m"\nmeasure.until = "{until}"', "s")
    written = toml_writer.toml_of(sweep)
    assert parse_sweep(written, "s", default_name=sweep.name) == sweep
    assert f'until = "{until}"' in written


def test_a_long_axis_is_written_in_a_time_that_grows_with_its_length() -> None:
    sizes = tuple(size * size for size in range(1, 4001))
    sweep = Sweep(name="s", model="m", axes=Axes(batch_size=sizes), run=WAITING)
    began_s = time.process_time()
    assert parse_sweep(toml_writer.toml_of(sweep), "s") == sweep
    assert time.process_time() - began_s < 2.0, (
        "a tenth of that is usual, and the square of the length took 4 s"
    )
