"""The GitHub action's script, on recorded sessions."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / ".github" / "actions" / "benchtui" / "gate.sh"
RECORDED = ROOT / "tests" / "fixtures" / "recorded" / "own-step.json"
TIMES = ("wall_ms", "device_ms", "host_ms")
Gate = Callable[..., tuple[int, str, str]]


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    """Run the script; return exit status, summary and outputs."""

    def run(session: Path | str, base: Path | str = "", sweep: str = "", **limits: str) -> tuple[int, str, str]:
        summary, outputs = tmp_path / "summary", tmp_path / "outputs"
        summary.touch()
        outputs.touch()
        done = subprocess.run(
            ["bash", SCRIPT, sweep, session, base],
            cwd=tmp_path,
            env={
                **os.environ,
                **limits,
                "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
                "HOME": str(tmp_path),
                "GITHUB_STEP_SUMMARY": str(summary),
                "GITHUB_OUTPUT": str(outputs),
            },
            capture_output=True,
            check=False,
            timeout=120,
        )
        return done.returncode, summary.read_text("utf-8"), outputs.read_text("utf-8")

    return run


@pytest.fixture
def slower(tmp_path: Path) -> Path:
    """The recorded session with steps that take ten times as long."""
    events = json.loads(RECORDED.read_text("utf-8"))
    for event in events:
        for name in TIMES if event["event"] == "steps" else ():
            event[name] = event.get(name) and [10 * time_ms for time_ms in event[name]]
    path = tmp_path / "slower.json"
    path.write_text("[" + ",\n".join(json.dumps(event) for event in events) + "]\n", "utf-8")
    return path


def test_slower_session_fails_and_is_named_in_the_summary(gate: Gate, slower: Path) -> None:
    status, summary, outputs = gate(slower, RECORDED)
    assert status == 1
    assert outputs == f"session={slower}\nverdict=fail\n"
    assert summary.startswith("**Gate: fail**\n\n- ")
    assert "significantly more than 5% slower, such as cpu fp32" in summary.partition("# Comparison")[0]
    assert "# Comparison: own-step and slower" in summary


def test_unsure_cases_pass_unless_they_are_to_fail(gate: Gate, tmp_path: Path) -> None:
    copy = Path(shutil.copy(RECORDED, tmp_path / "copy.json"))
    status, summary, outputs = gate(copy, RECORDED, FAIL_ON="3%")
    assert (status, outputs.splitlines()[-1]) == (0, "verdict=pass")
    assert "- no case is significantly more than 3% slower; can't tell whether cpu fp32" in summary
    assert "; 6 UNSURE\n" in summary
    assert gate(copy, RECORDED, FAIL_ON_UNSURE="true")[0] == 1


def test_comparison_too_noisy_for_the_requested_difference_fails(gate: Gate, tmp_path: Path) -> None:
    copy = Path(shutil.copy(RECORDED, tmp_path / "copy.json"))
    status, summary, _ = gate(copy, RECORDED, RESOLVE="20%")
    assert status == 1
    assert "6 cases can't resolve 20%, such as cpu fp32" in summary
    assert gate(copy, RECORDED)[0] == 0


def test_all_cases_together_have_a_limit_of_their_own(gate: Gate, slower: Path) -> None:
    """Neighbors disturbed half of these cases; the sum of the others is ten times slower."""
    status, summary, _ = gate(slower, RECORDED, FAIL_ON="990%", FAIL_ON_ALL="5%")
    assert status == 1
    assert "; all cases together are significantly more than 5% slower; " in summary


def test_without_a_base_the_summary_is_the_report(gate: Gate) -> None:
    status, summary, outputs = gate(RECORDED)
    assert (status, outputs.splitlines()[-1]) == (0, "verdict=none")
    assert summary.startswith("There is no base session yet: nothing was compared.\n# Benchmark report")


def test_base_that_cannot_be_compared_is_an_error(gate: Gate, tmp_path: Path) -> None:
    status, summary, outputs = gate(RECORDED, tmp_path / "none.json")
    assert (status, "verdict" in outputs) == (2, False)
    assert "none.json: can't be read" in summary


@pytest.mark.parametrize(("trust", "passed"), [("true", "--trust"), ("false", ""), ("1", ""), ("", "")])
def test_gate_passes_trust_only_if_told(tmp_path: Path, trust: str, passed: str) -> None:
    fake = tmp_path / "benchtui"
    fake.write_text(f'#!/bin/bash\necho "$@" > {tmp_path}/words\nexit 2\n')
    fake.chmod(0o755)
    environment = os.environ | {
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        "TRUST": trust,
    }
    done = subprocess.run(["bash", SCRIPT, "s.toml", "s.json"], env=environment, check=False, timeout=60)
    assert (done.returncode, (tmp_path / "words").read_text().split()) == (
        2,
        ["run", "-o", "s.json", *passed.split(), "--", "s.toml"],
    )


@pytest.mark.parametrize("sweep", ["--help", "--version", "-o"])
def test_option_as_a_sweep_is_a_name_that_does_not_exist(gate: Gate, tmp_path: Path, sweep: str) -> None:
    status, summary, outputs = gate(tmp_path / "new.json", sweep=sweep)
    assert (status, outputs) == (2, "")
    assert summary == "benchtui run ended with exit status 2: see the log.\n"


def test_sessions_may_have_names_like_options(gate: Gate, tmp_path: Path) -> None:
    for name in ("-b.json", "--help"):
        shutil.copy(RECORDED, tmp_path / name)
    status, _, outputs = gate("--help", "-b.json")
    assert (status, outputs) == (0, "session=--help\nverdict=pass\n")
    assert gate("-b.json")[0] == 0


@pytest.mark.parametrize("line_break", ["\n", "\r"])
def test_line_break_in_a_session_adds_no_output(gate: Gate, slower: Path, line_break: str) -> None:
    status, _, outputs = gate(f"{slower}{line_break}verdict=pass", RECORDED)
    assert (status, outputs) == (2, "")


@pytest.mark.parametrize("limits", [{"FAIL_ON_UNSURE": "True"}, {"FAIL_ON": "--json"}, {"FAIL_ON": "5"}])
def test_limit_that_means_nothing_does_not_pass(gate: Gate, limits: dict[str, str]) -> None:
    status, _, outputs = gate(RECORDED, RECORDED, **limits)
    assert (status, "verdict" in outputs) == (2, False)


def test_shellcheck_reports_nothing() -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("shellcheck"), SCRIPT],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (0, "")
