"""The runner of the first checks on a GPU; the checks themselves need one."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import psutil
import pytest

FIRST = Path(__file__).parents[1] / "bench" / "on_gpu"


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(FIRST))
    before = set(sys.modules)
    import run

    yield run
    for name in set(sys.modules) - before:
        if str(FIRST) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def test_a_check_that_fails_hangs_or_crashes_costs_only_itself(
    runner: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "LEAST_S", 0.0)
    log = runner.Log(tmp_path / "part-1.jsonl")
    codes = {
        "presets": "raise ValueError('no such thing')",
        "synchronization": "import time; time.sleep(600)",
        "tests": "import os; os.abort()",
        "peaks": "pass",
    }
    for name, code in codes.items():
        limit_s = runner.GRACE_S + (0.5 if name == "synchronization" else 60)
        runner.supervise(runner.by_name(name), [sys.executable, "-c", code], log, limit_s)
    states = {each.check.name: each.state for each in runner.read(tmp_path)}
    assert states["presets"] == "failed: ValueError: no such thing"
    assert states["synchronization"].startswith("out of time")
    assert states["tests"] == "failed: exit status -6"
    assert states["peaks"] == "figures only"


def test_a_check_without_time_left_is_named_and_not_run(runner: ModuleType, tmp_path: Path) -> None:
    check = runner.by_name("tests")
    runner.supervise(check, ["/no/such/program"], runner.Log(tmp_path / "part-1.jsonl"), 3.0)
    found = next(each for each in runner.read(tmp_path) if each.check is check)
    assert found.state == "not run: no time left in this part"


def test_the_findings_of_a_part_that_was_cut_off_are_kept(runner: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "part-2.jsonl"
    findings = runner.Findings(runner.by_name("energy"), runner.Log(path), tmp_path, brief=False)
    findings.figure("windows", [{"s": 1.0, "counter_w": 700.25}])
    findings.expect(False, "over 1 s: 700, 500 W")
    with path.open("a") as file:
        file.write('{"check": "energy", "fig')
    outcome = next(each for each in runner.read(tmp_path) if each.check.name == "energy")
    assert outcome.state == "cut off"
    text = runner.summary([outcome], "one GPU")
    assert "| 9 energy | 2 | cut off |" in text and "| 1 | 700.25 |" in text
    assert "**DIFFERS** over 1 s: 700, 500 W" in text and f"Fix: {outcome.check.fix}." in text


def test_every_number_from_one_to_eleven_has_a_check_and_each_part_fits(runner: ModuleType) -> None:
    from checks import CHECKS, PART_S  # lies beside run.py

    assert {check.number for check in CHECKS} == set(range(1, 12))
    for part in (1, 2, 3, 4):
        limits_s = [check.limit_s for check in runner.of_part(part)]
        assert sum(limits_s[:-1]) + runner.LEAST_S < PART_S, "the last check gets what is left"


def test_an_engine_that_a_killed_check_left_is_ended(runner: ModuleType, tmp_path: Path) -> None:
    left = [sys.executable, "-c", "import time; time.sleep(600)", "benchtui.engine", f"{tmp_path}/session.json"]
    process = subprocess.Popen(left, start_new_session=True)
    try:
        while not psutil.Process(process.pid).cmdline():  # Linux shows it a moment after the start
            time.sleep(0.01)
        runner.end_engines(str(tmp_path))
        assert process.wait(60) == -9
    finally:
        process.kill()
