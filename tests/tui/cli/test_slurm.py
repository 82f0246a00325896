import os
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.permissions.needed import PermissionNeededError
from benchtui.tui.cli import app

ACCEPTING_SBATCH = """#!/bin/bash
cat > "$0.script"
echo "$*" > "$0.arguments"
echo '42;cluster'
"""
REJECTING_SBATCH = """#!/bin/bash
echo 'sbatch: error: invalid partition specified: nope' >&2
echo 'sbatch: error: Batch job submission failed: Invalid partition name specified' >&2
exit 1
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a working folder that contains a sweep."""
    (tmp_path / "own.toml").write_text(
        'name = "mine"\nmodel = "gpt2"\nweights = "random"\n[axes]\nbatch_size = [1, 2]\n'
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["slurm", *arguments], standalone_mode=False)


def install_sbatch(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> Path:
    """Install a fake sbatch at the front of PATH."""
    path = folder / "bin" / "sbatch"
    path.parent.mkdir()
    path.write_text(text)
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")
    return path


def test_script_uses_the_absolute_path_of_a_sweep_file(folder: Path) -> None:
    done = run("own.toml", "--set", "batch_size=1..8*2", "--time", "2h", "-o", "s.json")
    assert done.exit_code == 0
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert "#SBATCH --job-name=mine" in lines
    assert f"#SBATCH --chdir={folder}" in lines
    assert "#SBATCH --time=02:00:00" in lines
    assert f"session={folder}/s.json" in lines
    wanted = f"""    benchtui run {folder}/own.toml --set 'batch_size=1..8*2' --output "$session" &"""
    assert wanted in lines


def test_models_to_download_are_named(folder: Path) -> None:
    done = run("own.toml", "--set", "weights=pretrained")
    assert "model not in the cache of the hub: will be downloaded" in done.stderr
    assert "download here before: hf download " in done.stderr


def test_a_model_is_measured_like_by_run(folder: Path) -> None:
    (folder / "mine").mkdir()
    (folder / "mine" / "config.json").write_text("{}")
    assert f'    benchtui run {folder}/mine --output "$session" &' in run("./mine").stdout.splitlines()
    assert '    benchtui run org/name --output "$session" &' in run("org/name").stdout.splitlines()


def test_script_carries_the_cache_of_the_hub(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(folder / "hub cache"))
    missing = run("quick", "--set", "weights=pretrained").stdout
    assert f"export HF_HUB_CACHE='{folder}/hub cache'\n" in missing
    assert "# Not everything is in it: " in missing
    repository = folder / "hub cache" / "models--org--name"
    (repository / "snapshots" / "0a1b").mkdir(parents=True)
    (repository / "snapshots" / "0a1b" / "config.json").write_text("{}")
    (repository / "snapshots" / "0a1b" / "pytorch_model.bin").write_bytes(b"\x80\x02")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("0a1b")
    words = ("--set", "model=org/name", "--set", "weights=pretrained", "--set", "task=classify")
    cached = run("quick", *words).stdout
    assert f"export HF_HUB_CACHE='{folder}/hub cache' HF_HUB_OFFLINE=1\n" in cached
    assert "HF_HUB" not in run("quick").stdout
    assert "HF_HUB_OFFLINE" not in run("quick", *words, "--set", "dataset=org/texts").stdout


def test_options_of_sbatch_follow_in_its_own_names(folder: Path) -> None:
    named = ("-p", "gpu", "-A", "physics", "-q", "high", "-C", "a100&ib", "-t", "90m", "--gpus", "a100:2")
    lines = run("quick", *named, "--sbatch", "--mem=64G").stdout.splitlines()
    assert [line.removeprefix("#SBATCH ") for line in lines if line.startswith("#SBATCH")][-7:] == [
        "--account=physics",
        "--constraint='a100&ib'",
        "--gpus-per-node=a100:2",
        "--partition=gpu",
        "--qos=high",
        "--time=01:30:00",
        "--mem=64G",
    ]


def test_script_uses_a_preset_name_unless_a_file_has_that_name(folder: Path) -> None:
    assert "benchtui run quick --output" in run("quick").stdout
    (folder / "quick").write_text('model = "none"\n')
    assert f"benchtui run {folder}/quick --output" in run("quick").stdout


def test_script_uses_the_environment_of_the_running_command(folder: Path, command: str) -> None:
    assert f'export PATH={Path(command).parent}:"$PATH"' in run("quick").stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("quik",), "quik: no such file, preset or command (did you mean 'quick'?)"),
        (("own.toml", "--set", "batch_size=0"), "own.toml: axes.batch_size: 0 is not a whole number"),
        (("quick", "--time", "1m"), "--time: '1m' is less than 3m, which the job needs to stop"),
        (("quick", "--sbatch", "mem"), "--sbatch: 'mem' is not an sbatch option"),
    ],
)
def test_invalid_options_print_no_script(folder: Path, arguments: tuple[str, ...], said: str) -> None:
    done = run(*arguments)
    assert isinstance(done.exception, BenchtuiError)
    assert str(done.exception).startswith(said)
    assert done.stdout == ""


@pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is installed")
def test_several_nodes_require_ray(folder: Path) -> None:
    done = run("quick", "--nodes", "2")
    assert str(done.exception).startswith("--nodes 2 requires Ray, which isn't installed")
    assert done.stdout == ""


def test_gpu_sweep_without_requested_gpus_prints_a_warning(folder: Path) -> None:
    cases = ("quick", "--set", "device=cpu,cuda:0")
    assert run(*cases).stderr == (
        "benchtui: the sweep has cases on cuda:0, but --gpus is not set: the job may get no GPU\n"
    )
    assert run(*cases, "--gpus", "1").stderr == ""
    assert run(*cases, "--sbatch", "--gres=gpu:1").stderr == ""


def test_submit_passes_the_printed_script_to_sbatch(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = install_sbatch(folder, monkeypatch, ACCEPTING_SBATCH)
    done = run("own.toml", "--submit")
    assert done.exit_code == 0
    assert done.stdout == f"job 42; session {folder}/mine-42.json\n"
    assert Path(f"{path}.script").read_text() == run("own.toml").stdout
    assert Path(f"{path}.arguments").read_text() == "--parsable\n"


def test_sbatch_error_is_reported_in_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_sbatch(folder, monkeypatch, REJECTING_SBATCH)
    done = run("own.toml", "--partition", "nope", "--submit")
    assert isinstance(done.exception, BenchtuiError)
    assert str(done.exception) == (
        "--submit: sbatch rejected the job: invalid partition specified: nope;"
        " Batch job submission failed: Invalid partition name specified"
    )


def test_submit_without_sbatch_fails(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(folder))
    done = run("own.toml", "--submit")
    assert str(done.exception) == (
        "--submit: sbatch not found; print the script instead, and submit it on a machine with Slurm"
    )


def test_script_of_allowed_code_contains_trust(folder: Path, home: Path) -> None:
    """The node that runs it may have another data folder."""
    (folder / "own.toml").write_text('task = "own.py:make"\n[axes]\nbatch_size = [1, 2]\n')
    (folder / "own.py").write_text("def make(case): ...\n")
    assert isinstance(run("own.toml").exception, PermissionNeededError)
    script = run("own.toml", "--trust").stdout
    assert f"run {folder}/own.toml --trust --output" in script and "--anyway --trust &" in script
    assert run("own.toml").stdout == script.replace("slurm own.toml --trust", "slurm own.toml")
    assert "--trust" not in run("quick").stdout
