"""Comparisons as CI services read them: JUnit XML, and annotations with a summary for GitHub Actions."""

from collections.abc import Iterator
from xml.etree import ElementTree

from benchtui.sessions.compare.align import AlignedCase, PairwiseComparison, SessionComparison
from benchtui.sessions.compare.gate import Gate, case_problem, gate_line
from benchtui.sessions.sanitize import replace_unprintable
from benchtui.sessions.stats.verdicts import UNTESTED
from benchtui.sessions.text.wording import ratio_cell

MOST_ANNOTATIONS = 10
"""Maximum number of annotations of a level: GitHub shows this many per step."""
MOST_SUMMARY_BYTES = 1_000_000
"""Maximum size of a summary; GitHub's limit is 1 MiB."""
SUMMARY = "GITHUB_STEP_SUMMARY"
"""Variable with the file for the summary of a step."""


def junit(comparison: SessionComparison, gate: Gate) -> str:
    """Return a comparison as JUnit XML: a suite per new session, a test per case.

    A case that fails the gate is a failure. One without a verdict is skipped, with the reason.
    """
    suites = ElementTree.Element("testsuites", name="benchtui")
    for pair in comparison.against:
        title = replace_unprintable(f"{pair.new.name} against {pair.base.name}")
        suite = ElementTree.SubElement(suites, "testsuite", name=title)
        for row in pair.rows:
            _add_test(suite, pair, row, gate)
        fails, line = gate_line(pair, gate)
        whole = ElementTree.SubElement(suite, "testcase", classname="benchtui", name="gate")
        if fails:
            ElementTree.SubElement(whole, "failure", message=replace_unprintable(line))
        suite.set("tests", str(len(suite)))
        for count, tag in (("failures", "failure"), ("skipped", "skipped")):
            suite.set(count, str(len(suite.findall(f"testcase/{tag}"))))
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _add_test(suite: ElementTree.Element, pair: PairwiseComparison, row: AlignedCase, gate: Gate) -> None:
    name = replace_unprintable(row.case.name)
    test = ElementTree.SubElement(suite, "testcase", classname="benchtui.case", name=name)
    if row.pair:
        test.set("time", f"{row.pair.new.typical_ms / 1000:.6f}")
    if problem := case_problem(pair, row, gate):
        ElementTree.SubElement(test, "failure", message=replace_unprintable(problem))
    elif reason := _undecided(row):
        ElementTree.SubElement(test, "skipped", message=replace_unprintable(reason))


def _undecided(row: AlignedCase) -> str | None:
    """Return why nothing follows for a case; None for one with a verdict."""
    if row.ratio is None:
        return "not measured in both sessions"
    return ratio_cell(row.ratio) if row.verdict in UNTESTED else None


def annotations(comparison: SessionComparison, gate: Gate) -> Iterator[str]:
    """Yield workflow commands of GitHub Actions: an error per failed case, a warning per undecided one."""
    texts: dict[str, list[str]] = {"error": [], "warning": []}
    for pair in comparison.against:
        for row in pair.rows:
            if problem := case_problem(pair, row, gate):
                texts["error"].append(f"{row.case.name}: {problem}")
            elif row.verdict in UNTESTED and row.ratio:
                texts["warning"].append(f"{row.case.name}: {ratio_cell(row.ratio)}")
    for level, of_level in texts.items():
        more = len(of_level) - MOST_ANNOTATIONS
        shown = of_level if more <= 0 else [*of_level[: MOST_ANNOTATIONS - 1], f"and {more + 1} more cases"]
        yield from (f"::{level} title=benchtui::{_escaped(text)}" for text in shown)


def _escaped(text: str) -> str:
    """Escape text for a workflow command, which a line break would end."""
    return replace_unprintable(text).replace("%", "%25")


def summary(comparison: SessionComparison, gate: Gate | None, markdown: str) -> str:
    """Return the summary of a step: whether the gate passed, its lines, and the comparison in Markdown."""
    if gate is not None:
        ends = [gate_line(pair, gate) for pair in comparison.against]
        verdict = "fail" if any(fails for fails, _ in ends) else "pass"
        lines = "\n".join(f"- {line}" for _, line in ends)
        markdown = f"**Gate: {verdict}**\n\n{lines}\n\n{markdown}"
    return markdown.encode()[:MOST_SUMMARY_BYTES].decode(errors="ignore")
