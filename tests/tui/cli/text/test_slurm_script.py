import itertools
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchtui.sessions.errors import BenchtuiError
from benchtui.tui.cli.text.slurm_script import BatchJob, script, slurm_time

PLAIN = BatchJob(
    made_by="benchtui slurm quick",
    name="quick",
    sweep=("quick",),
    folder=Path("/home/ada/bench"),
    commands=Path("/opt/venv/bin"),
)
PASSED = ("--partition=gpu", "--constraint=a100&ib", "--mem=64G", "--comment=it's a test", "--reboot")
FULL = replace(PLAIN, options=PASSED, nodes=4, shared=True)
VARIANTS = [
    replace(batch, name=name, folder=Path(folder), session=session, sweep=sweep)
    for batch, (name, folder), session, sweep in itertools.product(
        (PLAIN, FULL),
        (("quick", "/home/ada"), ("a $(touch x) name", "/home/ada's files/$HOME `x`")),
        (None, Path("/data/it's; here.json")),
        (("quick",), ("/home/ada/my sweep.toml", "--set", "name='; exit'")),
    )
]


def options(batch: BatchJob) -> list[str]:
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


def test_options_of_sbatch_are_passed_with_their_values_quoted() -> None:
    assert options(FULL)[4:] == [
        "--nodes=4",
        "--ntasks-per-node=1",
        "--requeue",
        "--signal=B:USR1@60",
        "--partition=gpu",
        "--constraint='a100&ib'",
        "--mem=64G",
        """--comment='it'"'"'s a test'""",
        "--reboot",
    ]


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
    several = script(replace(PLAIN, nodes=2))
    assert (
        several.index("ray start --head") < several.index("ray start --address") < several.index("benchtui run")
    )
    assert "quick --set run.executor=ray --set run.address=auto --set run.lost=repeat --output" in several


@pytest.mark.parametrize("batch", VARIANTS, ids=range(len(VARIANTS)))
def test_shellcheck_reports_nothing(batch: BatchJob) -> None:
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
        ("90", "90"),
        ("2:00:00", "2:00:00"),
        ("30:30", "30:30"),
        ("1-12", "1-12"),
        ("1-12:30", "1-12:30"),
        ("1-12:30:00", "1-12:30:00"),
        ("UNLIMITED", "UNLIMITED"),
    ],
)
def test_time_limit_with_units_is_converted_and_slurms_is_kept(typed: str, limit: str) -> None:
    assert slurm_time(typed) == limit


@pytest.mark.parametrize("typed", ["soon", "tomorrow", "1:2:3:4", "2-", "1.5", "-1", "noon", "90 m h"])
def test_anything_else_as_time_limit_is_refused_with_what_is_allowed(typed: str) -> None:
    with pytest.raises(BenchtuiError, match=r"^--time: .* is not a time limit; allowed: 90m, .* HH:MM:SS"):
        slurm_time(typed)


@pytest.mark.parametrize("typed", ["2m", "100s", "0h"])
def test_time_limit_that_is_too_short_to_stop_is_rejected(typed: str) -> None:
    with pytest.raises(BenchtuiError, match=r"^--time: .* is less than 3m, which the job needs to stop$"):
        slurm_time(typed)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("mem=64G", "--sbatch: 'mem=64G' is not an sbatch option, such as --mem=64G"),
        ("--mem 64G", "--sbatch: '--mem 64G' is not an sbatch option"),
        ("--mem=1\nreboot", "'--mem=1\\nreboot': unprintable characters are not allowed"),
        ("--account=\x1b[2J", "'--account=\\x1b[2J': unprintable characters are not allowed in a batch script"),
    ],
)
def test_invalid_options_are_rejected(option: str, said: str) -> None:
    with pytest.raises(BenchtuiError) as refused:
        script(replace(PLAIN, options=(option,)))
    assert said in str(refused.value)


def test_line_breaks_in_arguments_add_no_script_lines() -> None:
    text = script(replace(PLAIN, made_by="benchtui slurm quick --set 'name=x\nreboot'"))
    assert "reboot" not in [line.strip("'") for line in text.splitlines()]
    assert text.splitlines()[1] == "# Made by: benchtui slurm quick --set 'name=x reboot'"


def test_folder_name_with_a_line_break_is_rejected() -> None:
    with pytest.raises(BenchtuiError, match="unprintable characters are not allowed in a batch script"):
        script(replace(PLAIN, folder=Path("/home/a\nb")))
