import os
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from benchtui.sessions.errors import BenchtuiError
from benchtui.tui.cli import app

TAKES = """#!/bin/bash
cat > "$0.taken"
echo "$*" > "$0.arguments"
echo '42;cluster'
"""
REFUSES = """#!/bin/bash
echo 'sbatch: error: invalid partition specified: nope' >&2
echo 'sbatch: error: Batch job submission failed: Invalid partition name specified' >&2
exit 1
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a sweep in it."""
    (tmp_path / "own.toml").write_text('name = "mine"\nmodel = "none"\n[axes]\nbatch_size = [1, 2]\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["slurm", *arguments], standalone_mode=False)


def sbatch(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> Path:
    """Puts a program that plays sbatch first in the path."""
    path = folder / "bin" / "sbatch"
    path.parent.mkdir()
    path.write_text(text)
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")
    return path


def test_a_sweep_file_is_named_by_its_absolute_path(folder: Path) -> None:
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


def test_a_preset_is_named_by_its_name_unless_there_is_a_file_of_that_name(folder: Path) -> None:
    assert "benchtui run quick --output" in run("quick").stdout
    (folder / "quick").write_text('model = "none"\n')
    assert f"benchtui run {folder}/quick --output" in run("quick").stdout


def test_the_environment_is_that_of_the_command(folder: Path, command: str) -> None:
    assert f'export PATH={Path(command).parent}:"$PATH"' in run("quick").stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("quik",), "quik: no such file or preset (did you mean 'quick'?)"),
        (("own.toml", "--set", "batch_size=0"), "own.toml: axes.batch_size: 0 is not a whole number"),
        (("quick", "--time", "soon"), "--time: 'soon' is not a time from 3m to 366d"),
        (("quick", "--gpus", "0"), "--gpus: '0' is not a number of GPUs"),
        (("quick", "--sbatch", "mem"), "--sbatch: 'mem' is not an option of sbatch"),
    ],
)
def test_nothing_is_printed_of_what_is_refused(folder: Path, arguments: tuple[str, ...], said: str) -> None:
    done = run(*arguments)
    assert isinstance(done.exception, BenchtuiError)
    assert str(done.exception).startswith(said)
    assert done.stdout == ""


@pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is installed")
def test_several_nodes_need_ray(folder: Path) -> None:
    done = run("quick", "--nodes", "2")
    assert str(done.exception).startswith("--nodes: several need Ray, which isn't installed here")
    assert done.stdout == ""


def test_a_sweep_for_gpus_without_any_is_warned_of(folder: Path) -> None:
    cases = ("quick", "--set", "device=cpu,cuda:0")
    assert run(*cases).stderr == "benchtui: cases on cuda:0, and no --gpus: the job may get no GPU\n"
    assert run(*cases, "--gpus", "1").stderr == ""
    assert run(*cases, "--sbatch", "--gres=gpu:1").stderr == ""


def test_a_job_is_submitted_as_it_would_be_printed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = sbatch(folder, monkeypatch, TAKES)
    done = run("own.toml", "--submit")
    assert done.exit_code == 0
    assert done.stdout == f"job 42; session {folder}/mine-42.json\n"
    assert Path(f"{path}.taken").read_text() == run("own.toml").stdout
    assert Path(f"{path}.arguments").read_text() == "--parsable\n"


def test_what_sbatch_has_against_a_job_is_told_in_a_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sbatch(folder, monkeypatch, REFUSES)
    done = run("own.toml", "--partition", "nope", "--submit")
    assert isinstance(done.exception, BenchtuiError)
    assert str(done.exception) == (
        "--submit: sbatch refuses the job: invalid partition specified: nope;"
        " Batch job submission failed: Invalid partition name specified"
    )


def test_without_slurm_nothing_is_submitted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(folder))
    done = run("own.toml", "--submit")
    assert str(done.exception) == (
        "--submit: no sbatch on this machine; print the script and submit it where Slurm is"
    )
