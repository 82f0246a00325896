import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from benchtui.sessions.state.session import Session

Run = Callable[..., subprocess.CompletedProcess[str]]
QUICK = Path(__file__).parents[1] / "fixtures" / "quick-cpu.json"


def test_run_export_and_sessions_work_on_one_sweep(benchtui: Run, sweep_file: Path, home: Path) -> None:
    ran = benchtui("run", str(sweep_file), "--set", "batch_size=1..2", "--set", "peaks=true", "--json")
    assert ran.returncode == 0, ran.stderr
    *rows, answer = (json.loads(line) for line in ran.stdout.splitlines())
    assert [row["batch_size"] for row in rows] == [1, 2]
    assert answer["states"] == {"ok": 2} and answer["works"][0]["decision"]["best"]["batch_size"] in (1, 2)
    assert all(row["outcome"] == "ok" and row["n"] == 20 for row in rows)
    assert all(row["limit"]["flops_per_s"] > 0 and 0 < row["limit"]["shares"]["arithmetic"] < 1 for row in rows)
    assert "[2/2] cpu fp32 compile=off bs=2 seq=16" in ran.stderr
    assert "2 cases: 2 ok; session " in ran.stderr

    exported = benchtui("export", "latest")
    assert exported.returncode == 0, exported.stderr
    assert exported.stdout.startswith("# ")
    assert "random weights" in exported.stdout
    written = benchtui("export", "latest", "-o", str(home / "report.md"))
    assert (written.returncode, written.stdout) == (0, "")
    assert (home / "report.md").read_text() == exported.stdout

    listed = benchtui("sessions")
    row = listed.stdout.splitlines()[1]
    assert row.startswith("tiny-") and "completed" in row
    (path,) = (home / "data" / "benchtui" / "sessions").glob("*.json")
    assert len(json.loads(path.read_text())) > 5
    assert Session.load(path).finished is not None


def test_failed_case_exits_with_status_1_and_the_others_are_measured(
    benchtui: Run, sweep_file: Path, home: Path, tiny_model: Path
) -> None:
    ran = benchtui("run", str(sweep_file), "--set", "timeout=0.001s", "--set", "batch_size=1")
    assert ran.returncode == 1
    assert "timeout: still running after 0.001 s" in ran.stderr


@pytest.mark.parametrize("setting", ["batch_size=1", "env.SOME_NAME=1"], ids=["forked", "fresh interpreter"])
def test_package_that_cannot_be_imported_is_the_reason_of_the_failure(
    benchtui: Run, sweep_file: Path, home: Path, setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "broken" / "transformers").mkdir(parents=True)
    (home / "broken" / "transformers" / "__init__.py").write_text("raise ImportError('needs NumPy 2.0')")
    monkeypatch.setenv("PYTHONPATH", str(home / "broken"))
    ran = benchtui("run", str(sweep_file), "--set", setting)
    assert ran.returncode == 1
    assert "failed: ImportError: needs NumPy 2.0" in ran.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_closes_the_session_and_exits_with_status_130(
    home: Path, command: str, sweep_file: Path, number: int
) -> None:
    process = subprocess.Popen(
        [command, "run", str(sweep_file), "--set", "iterations=1000000", "-o", str(home / "s.json")],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert process.stderr.readline().split(" s  ")[1].startswith("session ")
    os.kill(process.pid, number)
    _, rest = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "2 interrupted; session" in rest
    assert f"; resume: benchtui run --resume {home / 's.json'}" in rest
    session = Session.load(home / "s.json")
    assert session.finished is not None
    assert session.finished.outcome == "interrupted"


def test_signal_during_engine_startup_stops_the_engine(home: Path, command: str, sweep_file: Path) -> None:
    process = subprocess.Popen(
        [command, "run", str(sweep_file), "--set", "iterations=1000000", "-o", str(home / "s.json")],
        stderr=subprocess.PIPE,
        text=True,
    )
    while not any(
        "benchtui.engine" in " ".join(each.cmdline()) for each in psutil.Process(process.pid).children()
    ):
        assert process.poll() is None
    os.kill(process.pid, signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and "2 interrupted" in said
    assert Session.load(home / "s.json").finished is not None


def test_hangup_ends_the_command_but_not_the_sweep(
    home: Path, command: str, sweep_file: Path, benchtui: Run
) -> None:
    process = subprocess.Popen(
        [command, "run", str(sweep_file), "--set", "iterations=1000000", "-o", str(home / "s.json")],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    process.stderr.readline()
    os.kill(process.pid, signal.SIGHUP)
    process.communicate(timeout=60)
    assert f"{home / 's.json'}" in benchtui("sessions").stdout
    stopped = benchtui("stop")
    assert stopped.returncode == 0, stopped.stderr


def test_sweep_is_paused_and_unpaused(home: Path, command: str, sweep_file: Path, benchtui: Run) -> None:
    process = subprocess.Popen(
        [command, "run", str(sweep_file), "-o", str(home / "s.json")], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    assert process.stderr.readline().split(" s  ")[1].startswith("session ")
    paused = benchtui("pause", str(home / "s.json"))
    assert (paused.returncode, paused.stdout) == (0, ""), paused.stderr
    assert "paused; continue with `benchtui continue`" in paused.stderr
    assert benchtui("continue").returncode == 0
    _, rest = process.communicate(timeout=120)
    assert process.returncode == 0, rest
    lines = [line.split(" s  ")[-1] for line in rest.splitlines()]
    assert lines.index("paused: no new cases will start") < lines.index("continued")
    assert "2 cases: 2 ok; session " in rest


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "quik"), "quik: no such file, preset or command (did you mean 'quick'?)"),
        (("run", "quick", "--set", "task=none.py:step"), "task 'none.py:step': no file none.py in the working"),
        (("run", "quick", "--set", "batch_size=0"), "preset quick: axes.batch_size: 0 is not a whole number"),
        (("quick",), "the app needs a terminal; without one, use `benchtui run SWEEP`"),
        ((), "the app needs a terminal"),
        (("attach",), "needs a terminal"),
        (("demo",), "needs a terminal"),
        (("replay", "demo"), "needs a terminal"),
        (("replay", "demo", "--from", "soon"), "'soon' is not a position: use 90, 1:30, 50% or case 3"),
        (("replay", "demo", "--plain", "--from", "case 99"), "case 99 never started; the session has"),
        (("replay", "nothing.json", "--plain"), "nothing.json: no such session"),
        (("replay", "demo", "--speed", "100"), "not in the range 0.25<=x<=64"),
        (("attach", "--plain"), "no sweep is running"),
        (("attach", "--plain", "/dev/null"), "/dev/null: can't be read: a device, not a file"),
        (("replay", "demo", "--plain", "--same-within", "1%"), "can't be combined with --plain"),
        (("stop",), "no sweep is running"),
        (("pause",), "no sweep is running"),
        (("continue",), "no sweep is running"),
        (("export", "nothing.json"), "nothing.json: no such session"),
        (("export", "./nothing.json"), "nothing.json: can't be read: No such file or directory"),
        (("export", "latest"), "no session in "),
        (("export",), "Missing argument 'SESSION...'"),
        (("run", "quick", "-o", "nowhere/at/all.json"), "can't create the session file: No such file"),
        (("export", "tiny.toml"), "tiny.toml"),
        (("compare", "demo", "demo"), "named twice; a session can't be compared with itself"),
        (("compare", "nothing", "else"), "nothing: no such session"),
        (("compare", "a", "b", "--fail-on", "x"), "'x' is not a percentage"),
        (("sessions", "delete", "nothing", "--yes"), "nothing: no such session"),
    ],
)
def test_invalid_input_is_one_line_and_exit_status_2(
    arguments: tuple[str, ...], said: str, benchtui: Run, sweep_file: Path
) -> None:
    ran = benchtui(*arguments)
    assert ran.returncode == 2, ran.stderr
    assert said in ran.stderr
    assert "Traceback" not in ran.stderr
    assert ran.stdout == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("export", "demo"),
        ("export", "demo", "--steps", "--format", "json"),
        ("compare", "demo-cpu", str(QUICK)),
        ("slurm", "quick"),
    ],
)
def test_unwritable_output_is_one_line_and_exit_status_2(
    arguments: tuple[str, ...], command: str, home: Path
) -> None:
    for target, why in (
        ("> /dev/full", "can't write to standard output: No space left on device"),
        (">&-", "standard output is closed"),
    ):
        ran = subprocess.run(
            ["sh", "-c", f'exec "$0" "$@" {target}', command, *arguments],
            cwd=home,
            capture_output=True,
            text=True,
            timeout=90,
        )
        assert (ran.returncode, ran.stderr.splitlines()[-1]) == (2, f"benchtui: {why}")
        assert "Traceback" not in ran.stderr


def test_closed_input_and_error_change_neither_result_nor_files(command: str, home: Path) -> None:
    ran, plain = (
        subprocess.run(
            ["sh", "-c", f'exec "$0" export demo-cpu -o {name}.md {streams}', command],
            cwd=home,
            capture_output=True,
            timeout=90,
            check=False,
        )
        for name, streams in (("closed", "<&- 2>&-"), ("open", ""))
    )
    assert (ran.returncode, ran.stdout, plain.returncode) == (0, plain.stdout, 0)
    assert (home / "closed.md").read_bytes() == (home / "open.md").read_bytes()


def test_session_path_may_contain_undecodable_bytes(benchtui: Run, home: Path) -> None:
    (home / "s.toml").write_text(
        'model = "none"\ntask = "own.py:make"\n[axes]\nbatch_size = [1, 2]\n'
        '[run]\nwait_for_quiet = "off"\n[measure]\npeaks = false\n'
    )
    (home / "own.py").write_text(
        "class Step:\n    samples = 1\n    step = int\n\ndef make(case):\n    return Step()\n"
    )
    folder = home / os.fsdecode(b"d\xfe")
    folder.mkdir()
    session = str(folder / os.fsdecode(b"s\xff.json"))
    ran = benchtui("run", "s.toml", "-o", session, "--trust")
    assert ran.returncode == 0, ran.stderr
    copy = shutil.copy(session, folder / os.fsdecode(b"copy\xff.json"))
    for arguments in (
        ("export", session),
        ("compare", session, copy, "--format", "json"),
        ("optimal", session, "--json"),
        ("run", "--resume", session),
    ):
        ran = benchtui(*arguments)
        assert (ran.returncode, "Traceback" in ran.stderr) == (0, False), ran.stderr
    assert "no cases left to run" in ran.stderr


def test_recorded_session_is_printed_as_lines_without_a_terminal(benchtui: Run, home: Path) -> None:
    ran = benchtui("replay", "demo-cpu", "--plain")
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert "session " in lines[0] and "demo, 8 cases" in lines[0]
    assert sum("] cpu fp32 compile=" in line for line in lines) == 8
    last = next(number for number, line in enumerate(lines) if line.startswith("8 cases: 8 ok; session "))
    assert lines[last + 1].startswith("run at 32 tokens ") and any(
        line.startswith("  use it ") for line in lines[-2:]
    )
    later = benchtui("replay", "demo-cpu", "--plain", "--from", "case 5")
    first = next(number for number, line in enumerate(lines) if "  starts: cpu fp32 compile=default" in line)
    assert first > 0 and later.stdout.splitlines() == lines[first:]
    attached = benchtui("attach", "demo-cpu", "--plain")
    assert (attached.returncode, attached.stdout) == (0, ran.stdout)


def test_doctor_lists_what_is_present_and_missing(benchtui: Run) -> None:
    ran = benchtui("doctor")
    assert ran.returncode == 0, ran.stderr
    for what in ("processor", "torch", "torch.compile", "sessions folder", "runtime folder"):
        assert f" {what} " in ran.stdout


@pytest.mark.parametrize(
    ("shell", "place"),
    [
        ("bash", "data/bash-completion/completions/benchtui"),
        ("fish", "config/fish/completions/benchtui.fish"),
        ("zsh", ".zfunc/_benchtui"),
    ],
)
def test_completion_is_installed_where_the_shell_looks(
    shell: str, place: str, home: Path, benchtui: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(home))
    done = benchtui("completion", shell, "--install")
    assert str(home / place) in done.stdout
    assert "_BENCHTUI_COMPLETE" in (home / place).read_text()


def test_plan_is_printed_without_starting_anything(benchtui: Run, sweep_file: Path) -> None:
    planned = benchtui("plan", str(sweep_file), "--set", "precision=fp32,tf32")
    assert planned.returncode == 0 and planned.stderr == ""
    lines = planned.stdout.splitlines()
    assert lines[-2].startswith("2 of 4 cases · 2 skipped · ≈ ")
    assert lines[-1] == "? = rough estimate (nothing similar measured here)"
    assert benchtui("run", str(sweep_file)).returncode == 0
    again = benchtui("plan", str(sweep_file)).stdout.splitlines()
    assert again[-1] == "based on 1 earlier session" and "?" not in "".join(again)


def test_unknown_theme_is_rejected_before_the_screen_opens(benchtui: Run) -> None:
    refused = benchtui("--theme", "nope")
    assert refused.returncode == 2 and "unknown theme 'nope'; available: benchtui-dark" in refused.stderr
