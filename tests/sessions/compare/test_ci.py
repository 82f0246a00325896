"""Comparisons in the formats of CI services: a test or an annotation per case, by the rules of the gate."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from benchtui.sessions.compare.align import ComparedSession, SessionComparison, compare_sessions
from benchtui.sessions.compare.ci import MOST_ANNOTATIONS, annotations, junit, summary
from benchtui.sessions.compare.gate import Gate, gate_line
from benchtui.tui.cli import app

GATE = Gate(case=0.05)


@pytest.fixture
def compared(bench: Any) -> SessionComparison:
    """Compare two sessions: a case is the same, one slower, one undecided, and one no longer measured."""
    noisy = bench.case(4, [8.0, 12.0, 9.0] * 10)
    before = bench.session(bench.steady(1, 10.0), bench.steady(2, 10.0), noisy, bench.case(8, 10.0))
    failed = bench.case(8, outcome="failed")
    after = bench.session(bench.steady(1, 10.0), bench.steady(2, 20.0), noisy, failed)
    return compare_sessions([ComparedSession.of("before", before), ComparedSession.of("after", after)])


def test_each_case_is_a_test_of_junit(compared: SessionComparison) -> None:
    (suite,) = ElementTree.fromstring(junit(compared, GATE))
    ends = {test.get("name"): [child.tag for child in test] for test in suite}
    assert list(ends.values()) == [[], ["failure"], ["skipped"], ["failure"], ["failure"]]
    assert (suite.get("name"), suite.get("tests"), suite.get("failures"), suite.get("skipped")) == (
        "after against before",
        "5",
        "3",
        "1",
    )
    whole = suite.find("testcase[@name='gate']/failure")
    assert whole is not None and whole.get("message") == gate_line(compared.against[0], GATE)[1]


def test_names_are_text_in_junit_and_in_annotations(bench: Any) -> None:
    hostile = "]]></testcase>\x00\n::error::%0A"
    sides = [
        ComparedSession.of(f"{hostile}{side}", bench.session(bench.steady(1, time_ms, label=hostile)))
        for side, time_ms in (("a", 10.0), ("b", 20.0))
    ]
    compared = compare_sessions(sides)
    (suite,) = ElementTree.fromstring(junit(compared, GATE))
    assert len(suite) == 2
    (line,) = annotations(compared, GATE)
    assert "\n" not in line and "%250A" in line


def test_failed_cases_are_errors_and_undecided_ones_warnings(compared: SessionComparison) -> None:
    slower, lost, unsure = annotations(compared, GATE)
    name = "title=benchtui::cpu fp32 compile=off"
    assert slower.startswith(f"::error {name} bs=2 seq=128: significantly more than 5%25 slower: 0.5")
    assert lost.endswith("measured in A but not in B: failed")
    assert unsure.startswith(f"::warning {name} bs=4 seq=128: ")


def test_annotations_are_limited(bench: Any) -> None:
    sizes = range(1, MOST_ANNOTATIONS + 4)
    sides = [
        ComparedSession.of(name, bench.session(*(bench.steady(size, time_ms) for size in sizes)))
        for name, time_ms in (("before", 10.0), ("after", 20.0))
    ]
    lines = list(annotations(compare_sessions(sides), GATE))
    assert (len(lines), lines[-1]) == (MOST_ANNOTATIONS, "::error title=benchtui::and 4 more cases")


@pytest.mark.parametrize(("limit", "verdict"), [(0.05, "fail"), (9.0, "pass")])
def test_summary_begins_with_the_verdict_of_the_gate(bench: Any, limit: float, verdict: str) -> None:
    sides = [
        ComparedSession.of(name, bench.session(bench.steady(1, time_ms)))
        for name, time_ms in (("before", 10.0), ("after", 20.0))
    ]
    text = summary(compare_sessions(sides), Gate(case=limit), "# Comparison\n")
    assert text.startswith(f"**Gate: {verdict}**\n\n- ")
    assert text.endswith("\n\n# Comparison\n")


def test_summary_of_a_step_is_appended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step = tmp_path / "summary.md"
    step.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(step))
    recorded = Path(__file__).parents[2] / "fixtures" / "recorded" / "own-step.json"
    copy = tmp_path / "copy.json"
    copy.write_bytes(recorded.read_bytes())
    words = ["compare", str(recorded), str(copy), "--format", "github", "--fail-on", "5%"]
    done = CliRunner().invoke(app, words, standalone_mode=False)
    assert step.read_text("utf-8").startswith("before\n**Gate: pass**\n\n- ")
    assert all(line.startswith("::") for line in done.stdout.splitlines())
