from pathlib import Path

import pytest

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sweep.toml_reader import load_sweep, preset_names, read_source, read_table
from benchtui.sessions.sweep.yaml_reader import toml_of_yaml

SWEEP = """\
model: gpt2
task: lm-forward
weights: random
axes:
  compile: [off, default]  # a boolean by YAML 1.1
  batch_size: 1..8*2
measure:
  max_time: 1m30s
  baseline: {compile: off, batch_size: 1}
exclude:
  - {batch_size: 8}
"""


def test_sweep_in_yaml_is_the_same_as_in_toml(tmp_path: Path) -> None:
    toml = (
        'model = "gpt2"\ntask = "lm-forward"\nweights = "random"\n[axes]\ncompile = ["off", "default"]\n'
        'batch_size = "1..8*2"\n[measure]\nmax_time = "1m30s"\nbaseline = {compile = "off", batch_size = 1}\n'
        "[[exclude]]\nbatch_size = 8\n"
    )
    (tmp_path / "sweep.toml").write_text(toml)
    for suffix in ("yaml", "yml"):
        (tmp_path / f"sweep.{suffix}").write_text(SWEEP)
        assert load_sweep(str(tmp_path / f"sweep.{suffix}")) == load_sweep(str(tmp_path / "sweep.toml"))


@pytest.mark.parametrize("preset", preset_names())
def test_every_preset_survives_yaml(preset: str, tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    path = tmp_path / f"{preset}.yaml"
    path.write_text(yaml.safe_dump(read_table(*read_source(preset))))
    assert load_sweep(str(path)) == load_sweep(preset)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("- model", "not a mapping of entries"),
        ("axes: [1", "not valid YAML: .* \\(line 1, column 9\\)"),
        ("a: &all 1\nb: *all", "aliases"),
        ("model: null", "NoneType"),
        ("1: 2", "Keys must be strings"),
        ("a: !!python/object/apply:os.abort []", "not valid YAML"),
        ("a: \x00", "not valid YAML"),
        pytest.param("a: " + "[" * 5000, r"nested more than 50 levels deep \(line 1\)", id="deep"),
        pytest.param("a: 1\n" * 20_000, "100,000 characters; YAML may have 50,000", id="long"),
    ],
)
def test_invalid_yaml_is_refused_in_one_line(text: str, problem: str) -> None:
    with pytest.raises(BenchtuiError, match=f"^x.yaml: .*{problem}") as caught:
        toml_of_yaml(text, "x.yaml")
    assert "\n" not in str(caught.value)


def test_wrong_entry_of_yaml_has_no_line_of_the_converted_text(tmp_path: Path) -> None:
    (tmp_path / "sweep.yaml").write_text("model: m\nmeasure: {rounds: 0}\n")
    refusal = r'measure\.rounds: 0 is not a whole number from 1 to 100, or "auto"$'
    with pytest.raises(BenchtuiError, match=refusal):
        load_sweep(str(tmp_path / "sweep.yaml"))
