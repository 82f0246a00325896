import itertools
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchtui.sessions.errors import BenchtuiError
from benchtui.tui.cli.text.slurm_script import Batch, Resources, script, slurm_time

PLAIN = Batch(
    made_by="benchtui slurm quick",
    name="quick",
    sweep=("quick",),
    folder=Path("/home/ada/bench"),
    commands=Path("/opt/venv/bin"),
    resources=Resources(),
)
FULL = Resources(
    partition="gpu",
    account="physics",
    qos="high",
    constraint="a100&ib",
    time="90m",
    gpus="a100:2",
    nodes=4,
    shared=True,
    extra_options=("--mem=64G", "--comment=it's a test", "--reboot"),
)
VARIANTS = [
    replace(PLAIN, resources=resources, name=name, folder=Path(folder), session=session, sweep=sweep)
    for resources, (name, folder), session, sweep in itertools.product(
        (Resources(), FULL),
        (("quick", "/home/ada"), ("a $(touch x) name", "/home/ada's files/$HOME `x`")),
        (None, Path("/data/it's; here.json")),
        (("quick",), ("/home/ada/my sweep.toml", "--set", "name='; exit'")),
    )
]


def options(batch: Batch) -> list[str]:
    return [line.removeprefix("#SBATCH ") for line in script(batch).splitlines() if line.startswith("#SBATCH")]


def test_script_without_resources_has_only_default_options() -> None:
    assert options(PLAIN) == [
        "--job-name=quick",
        "--chdir=/home/ada/bench",
        "--output=quick-%j.log",
        "--open-mode=append",
        "--exclusive",
        "--requeue",
        "--signal=B:USR1@60",
    ]


def test_every_resource_becomes_an_sbatch_option() -> None:
    assert options(replace(PLAIN, resources=FULL))[4:] == [
        "--partition=gpu",
        "--account=physics",
        "--qos=high",
        "--constraint='a100&ib'",
        "--time=01:30:00",
        "--nodes=4",
        "--ntasks-per-node=1",
        "--gpus-per-node=a100:2",
        "--requeue",
        "--signal=B:USR1@60",
        "--mem=64G",
        """--comment='it'"'"'s a test'""",
        "--reboot",
    ]


def test_sbatch_options_come_before_any_command() -> None:
    lines = script(replace(PLAIN, resources=FULL)).splitlines()
    assert lines[0] == "#!/bin/bash"
    commands = [number for number, line in enumerate(lines) if line and not line.startswith("#")]
    last = max(number for number, line in enumerate(lines) if line.startswith("#SBATCH"))
    assert last < commands[0]


def test_sweep_argument_is_passed_unchanged() -> None:
    named = replace(PLAIN, sweep=("/home/ada/my sweep.toml", "--set", "batch_size=1..8*2"))
    wanted = """benchtui run '/home/ada/my sweep.toml' --set 'batch_size=1..8*2' --output "$session" &"""
    assert wanted in script(named)


def test_session_is_named_after_sweep_and_job_unless_a_path_is_given() -> None:
    assert "\nsession=$PWD/quick-$SLURM_JOB_ID.json\n" in script(PLAIN)
    assert PLAIN.session_of("7") == Path("/home/ada/bench/quick-7.json")
    given = replace(PLAIN, session=Path("/data/a b.json"))
    assert "\nsession='/data/a b.json'\n" in script(given)
    assert given.session_of("7") == Path("/data/a b.json")


def test_sweep_name_is_sanitized_for_file_names() -> None:
    slashed = replace(PLAIN, name="gpt2/large: fp16")
    assert options(slashed)[0] == "--job-name=gpt2-large--fp16"
    assert slashed.session_of("7") == Path("/home/ada/bench/gpt2-large--fp16-7.json")
    assert options(replace(PLAIN, name="..."))[0] == "--job-name=sweep"


def test_ray_is_started_only_for_several_nodes() -> None:
    assert "ray" not in script(PLAIN).lower()
    several = script(replace(PLAIN, resources=Resources(nodes=2)))
    assert (
        several.index("ray start --head") < several.index("ray start --address") < several.index("benchtui run")
    )
    assert "quick --set run.executor=ray --set run.address=auto --set run.lost=repeat --output" in several


@pytest.mark.parametrize("batch", VARIANTS, ids=range(len(VARIANTS)))
def test_script_is_valid_bash(batch: Batch) -> None:
    done = subprocess.run(["bash", "-n"], input=script(batch), text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("batch", VARIANTS, ids=range(len(VARIANTS)))
def test_shellcheck_reports_nothing(batch: Batch) -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("shellcheck"), "--severity=warning", "-"],
        input=script(batch),
        text=True,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    ("typed", "limit"),
    [
        ("90m", "01:30:00"),
        ("2h", "02:00:00"),
        ("1h30m", "01:30:00"),
        ("1d12h", "1-12:00:00"),
        ("200s", "00:04:00"),
        (" 3m ", "00:03:00"),
        ("366d", "366-00:00:00"),
        ("90", "01:30:00"),
        ("89:30", "01:30:00"),
        ("2:00:00", "02:00:00"),
        ("36:00:00", "1-12:00:00"),
        ("1-12", "1-12:00:00"),
        ("1-12:30", "1-12:30:00"),
        ("1-12:00:00", "1-12:00:00"),
        ("0-00:03", "00:03:00"),
    ],
)
def test_time_limit_is_converted_to_slurm_format(typed: str, limit: str) -> None:
    assert slurm_time(typed) == limit


@pytest.mark.parametrize(
    "typed",
    ["", "soon", "2m", "0", "-5", "2 hours", "1.5h", "367d", "1:2:3:4", "1-", "-1-2", "9" * 40, "٣h"],
)
def test_invalid_time_limit_is_rejected_with_the_allowed_formats(typed: str) -> None:
    with pytest.raises(BenchtuiError, match=r"^--time: .* is not a time limit from 3m to 366d; use 90m, 2h"):
        slurm_time(typed)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (Resources(gpus="0"), "--gpus: '0' is not a number of GPUs per node, such as 2 or a100:2"),
        (Resources(gpus="two"), "--gpus: 'two' is not a number of GPUs"),
        (Resources(gpus="a100"), "--gpus: 'a100' is not a number of GPUs"),
        (Resources(gpus="-1"), "--gpus: '-1' is not a number of GPUs"),
        (
            Resources(extra_options=("mem=64G",)),
            "--sbatch: 'mem=64G' is not an sbatch option, such as --mem=64G",
        ),
        (Resources(extra_options=("--mem 64G",)), "--sbatch: '--mem 64G' is not an sbatch option"),
        (Resources(extra_options=("--mem=1\nreboot",)), "--sbatch: '--mem=1\\nreboot' is not an sbatch option"),
        (
            Resources(partition="gpu\nreboot"),
            "'--partition=gpu\\nreboot': unprintable characters are not allowed",
        ),
        (
            Resources(account="\x1b[2J"),
            "'--account=\\x1b[2J': unprintable characters are not allowed in a batch script",
        ),
    ],
)
def test_invalid_resources_are_rejected(asked: Resources, said: str) -> None:
    with pytest.raises(BenchtuiError) as refused:
        script(replace(PLAIN, resources=asked))
    assert said in str(refused.value)


def test_line_breaks_in_arguments_add_no_script_lines() -> None:
    text = script(replace(PLAIN, made_by="benchtui slurm quick --set 'name=x\nreboot'"))
    assert "reboot" not in [line.strip("'") for line in text.splitlines()]
    assert text.splitlines()[1] == "# Made by: benchtui slurm quick --set 'name=x reboot'"


def test_folder_name_with_a_line_break_is_rejected() -> None:
    with pytest.raises(BenchtuiError, match="unprintable characters are not allowed in a batch script"):
        script(replace(PLAIN, folder=Path("/home/a\nb")))
