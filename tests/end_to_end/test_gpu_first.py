"""The runner of the first checks on a GPU; the checks themselves need one."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

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


def findings(runner: ModuleType, check: str, folder: Path, **options: Any) -> Any:
    """Return the findings of a check, which go to its part's file."""
    found = runner.by_name(check)
    log = runner.Log(folder / f"part-{found.part}.jsonl")
    return runner.Findings(found, log, kept=folder, **options)


def outcome(runner: ModuleType, check: str, folder: Path) -> Any:
    return next(each for each in runner.read(folder) if each.check.name == check)


def test_the_findings_of_a_part_that_was_cut_off_are_kept(runner: ModuleType, tmp_path: Path) -> None:
    energy = findings(runner, "energy", tmp_path)
    energy.figure("windows", [{"s": 1.0, "counter_w": 700.25}])
    energy.expect(False, "over 1 s: 700, 500 W")
    path = tmp_path / f"part-{runner.by_name('energy').part}.jsonl"
    with path.open("a") as file:
        file.write('{"check": "energy", "fig')
    found = outcome(runner, "energy", tmp_path)
    assert found.state == "cut off"
    text = runner.summary([found], "one GPU")
    assert f"| energy | {found.check.part} | cut off |" in text and "| 1 | 700.25 |" in text
    assert "**DIFFERS** over 1 s: 700, 500 W" in text and f"Look at: {found.check.fix}." in text


def test_the_summary_begins_with_what_differs(runner: ModuleType, tmp_path: Path) -> None:
    for check, agrees in (("steps", True), ("memory", False)):
        one = findings(runner, check, tmp_path)
        one.expect(agrees, f"{check} found")
        one.not_here(f"{check} absent", "no such program")
        runner.Log(tmp_path / "part-1.jsonl").add(check, ended="", seconds=1.0)
    runner.Log(tmp_path / "part-1.jsonl").add("kernels", ended="failed: KeyError: 'x'", seconds=1.0)
    text = runner.summary(runner.read(tmp_path), "one GPU")
    first, absent, table = (
        text.index(f"## {title}") for title in ("What differs", "Not measurable", "All checks")
    )
    assert first < absent < table
    differing = text[first:absent]
    expected = runner.by_name("memory").expected
    assert f"- **memory** (part 1): memory found. Expected: {expected}. Look at: " in differing
    assert "- **kernels** (part 1): failed: KeyError: 'x'." in differing
    assert "steps" not in differing
    assert "- steps: steps absent (no such program)" in text[absent:table]


def test_a_machine_without_a_gpu_gets_one_line(
    runner: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_driver() -> None:
        raise runner.pynvml.NVMLError(runner.pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    monkeypatch.setattr(runner.pynvml, "nvmlInit", no_driver)
    out = tmp_path / "out"
    assert runner.main(["--part", "1", "--out", str(out)]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "the driver lists no NVIDIA GPU, which these checks need: NVML Shared Library Not Found"
    ]
    assert not out.exists()


def test_make_keeps_the_packages_of_the_machine() -> None:
    command = ["make", "--dry-run", "gpu-first", "PART=1", "PYTHON=python3"]
    for path, kept in (("/carried/site", ":/carried/site "), ("", " ")):
        environment = os.environ | {"PYTHONPATH": path}
        ran = subprocess.run(
            command,
            cwd=FIRST.parents[2],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        assert (
            f"PYTHONPATH={FIRST.parents[2]}/.types{kept}python3 tests/bench/on_gpu/run.py --part 1"
            in ran.stdout
        )


def test_the_readme_names_the_pinned_wheels_and_every_part(runner: ModuleType) -> None:
    from checks import PARTS

    text = (FIRST / "README.md").read_text()
    assert [line.split()[1] for line in text.splitlines() if re.match(r"\| \d ", line)] == list(map(str, PARTS))
    pins = dict(
        re.findall(r"^([\w-]+)==([\w.]+)", (FIRST.parents[2] / "constraints.txt").read_text(), re.MULTILINE)
    )
    wheels = dict(re.findall(r"([\w-]+)==([\d.]+)", text))
    listed = {name: version for name, version in re.findall(r"^\| ([\w-]+) ([\d.]+)", text, re.MULTILINE)}
    assert len(wheels) == 7 and wheels == {name: found for name, found in listed.items() if name in wheels}
    assert {name: pins.get(name, version) for name, version in wheels.items()} == wheels


def test_every_part_has_checks_and_fits_its_time(runner: ModuleType) -> None:
    from checks import CHECKS, PART_S, PARTS  # lies beside run.py

    assert {check.part for check in CHECKS} == set(PARTS)
    assert len({check.name for check in CHECKS}) == len(CHECKS)
    assert [check.part for check in CHECKS] == sorted(check.part for check in CHECKS)
    for part in PARTS:
        limits_s = [check.limit_s for check in runner.of_part(part)]
        assert sum(limits_s[:-1]) + runner.LEAST_S < PART_S, "the last check gets what is left"


def test_every_check_names_a_function_that_exists(runner: ModuleType) -> None:
    from checks import CHECKS

    for check in CHECKS:
        module, _, function = check.function.partition(":")
        tree = ast.parse((FIRST / f"{module}.py").read_text())
        assert function in {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}, check.name
        for path in re.findall(r"[\w/]+\.py", check.fix):
            assert any((FIRST.parents[2] / top / path).exists() for top in ("engine", "")), path
