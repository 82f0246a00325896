"""What users read is plain American English: no construction that readers stumbled over.

The list grows with each one found. ``tests/sessions/report/test_lint.py`` checks what reports print.
"""

import re
from pathlib import Path

import pytest
from docs_pages import PAGES, ROOT
from shown_strings import Text, texts

BANNED = (
    r"\bAfter this (?:page|tutorial)\b",
    r"\bdear\b",
    r"\bgo(?:ne|es|ing)? on with\b",
    r"\blet go of\b",
    r"\bbeside\b",
    r"\bin force\b",
    r"\btold\b",
    r"\bwhoever\b",
    r"\ball that is\b",
    r"\basked for\b",
    r"\bleads? back\b",
    r"\bhad a hand\b",
    r"\bcomes nearest\b",
    r"\bof one's own\b",
    r"(?<![Tt]here )\bis no (?!longer\b|more than\b|case\b)",
    r"\bnot any more\b",
    r"\bbut for\b",
    r"\banew\b",
    r"\btwins?\b",
    r"(?i)\btaken over\b",
    r"\bheld against\b",
    r"\b(?:holds?|held) back\b",
    r"\bstands? (?:out|beside|aside)\b",
    r"\btaken back\b|\bmade again\b",
    r"\bhitherto\b|\bthereof\b|\bherein\b|\bupon\b|\bwherein\b",
    r"\bor such as\b",
    r"\bin hand\b",
    r"\bwhat (?:is|was) read\b",
    r"\bis known of\b",
    r"\bnone because\b",
    r"\b(?:used|use|in use) by others\b|\bothers(?:'| (?:use|used|had|have))\b",
    r"\bof (?:its|their|one's) own\b",
    r"\bst(?:oo|an)d still\b",
    r"\bheld down\b",
    r"\b(?:times|hits|samples) a (?:second|minute|step)\b",
    r"\bwork(?:s|ed)? through\b",
    r"\banother \w+ than\b|\b(?:other|another|each) works?\b|(?<!the )\bsame work\b",
    r"\b(?:in|at|has) another (?:state|pace|cause|vocabulary)\b",
    r"[a-z]+ included[.;,:]",
    r"\bmeanwhile\b(?=[:.])",
    r"(?i)\bhow sure\b|\bso may\b|\bnothing but\b|\bas far as (?:they|it) (?:say|know)s?\b",
    r"\bcut (?:off|short)\b|(?i:\btorn\b)",
    r"\bgone on\b|\bgoes? on\b|\bin all, |\bwhat is where\b",
    r"\b(?:file|folder|socket|report|toml`?) lies\b|\bstands? (?:in front|in for|behind)\b|\bstands `",
    r"\b(?:Next|Previous|the previous) place\b",
    r"\bof torch's alone\b|\bby time alone\b|\bkernels? alone\b",
    r"\bis not known\b(?!;)",
    r"\bleft alone\b|\bpads nothing\b|\btakes in\b|\bgets no\b|\bThen follow\b|\bbeyond (?:a )?steady\b",
    r"\bone must be meant\b|\bare meant\b|\bis meant\b",
    r"\ba (?:step|sample|case|token|second|row|line|GPU|node) a (?:step|sample|case|second|row|GPU|node)\b",
    r"\bnot read back\b|\bis a guess\b|\btoo far off\b|\bonce more\b",
    r"\bisn't known\b|\bGo to a time\b|^Uneven steps",
    r"(?i)synchronis|quantis|utilis|neighbour|behaviour|licence|normalis|initialis|optimis|recognis|summaris|favour",
    r"(?i)\bcolours?\b|\bgrey\b|\bcentre\b|labelled|modelled|cancelled|\banalyse\b",
)
"""Regular expressions; those of spelling ignore case."""
OTHERS = tuple(ROOT / f"{name}.md" for name in ("ARCHITECTURE", "CHANGELOG", "CONTRIBUTING"))


def of_page(path: Path) -> list[Text]:
    lines = path.read_text("utf-8").splitlines()
    return [Text(path.name, at, line) for at, line in enumerate(lines, 1)]


def found(shown: list[Text]) -> list[str]:
    """Return the places with banned constructions."""
    return [
        f"{each.path}:{each.line}: {match[0]!r} in {each.text[:100]}"
        for each in shown
        for pattern in BANNED
        if (match := re.search(pattern, each.text))
    ]


def test_texts_of_the_code_have_no_banned_construction() -> None:
    shown = list(texts())
    assert len(shown) > 2000
    assert not found(shown)


@pytest.mark.parametrize("page", [*PAGES, *OTHERS], ids=lambda path: path.name)
def test_pages_have_no_banned_construction(page: Path) -> None:
    assert not found(of_page(page))


def test_banned_construction_is_noticed() -> None:
    assert found([Text("x", 1, "what ran beside it isn't told")]) != []
