"""Subjects of commits are imperative, say the change, and fit the width that git and its hosts show."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SINCE = datetime(2026, 11, 26, 3, tzinfo=UTC)
"""Commits authored since then keep the rule."""
WIDTH = 72
NO_VERB = re.compile(
    r"An?|Th(e|is|at|ese)|Its?|No[tw]?|Once|One|Some|Every|Each|All|Any|Both|More|Less|Also|Only|Still|Wh(en|ere|at|ich|y|o)"
    r"|How|If|A[st]|By|For|From|In|Into|O[fn]|To|With|Without|Under|Over"
)
"""Words that begin a subject without a verb."""
VERBS = re.compile(r"Bias|Bring|Embed|Exceed|Feed|Focus|Need|Ping|Proceed|Seed|Shed|Speed|String")
"""Verbs that end like another form of a verb, or like a plural."""


def problem(subject: str) -> str | None:
    """Return why the subject of a commit isn't accepted."""
    first = subject.split(" ")[0]
    if len(subject) > WIDTH:
        return f"{len(subject)} characters, at most {WIDTH} are allowed"
    if subject.endswith("."):
        return "ends with a period"
    if ": " in subject:
        return "has a colon; say the change in one clause"
    if not re.fullmatch(r"[A-Z][a-z]+(-[a-z]+|n't)?", first) or NO_VERB.fullmatch(first):
        return f"begins with {first!r} instead of a verb"
    if re.search(r"(ed|ing|[^s]s)$", first) and not VERBS.fullmatch(first):
        return f"begins with {first!r} instead of an imperative"
    return None


def subjects(root: Path, since: datetime) -> Iterator[str]:
    """Yield the subjects of the commits authored since then, without merges; none outside of a repository."""
    # without a repository of its own, root may be a copy inside another one
    if not shutil.which("git") or not (root / ".git").exists():
        return
    command = ["git", "-C", root, "log", "--no-merges", "--format=%aI%x09%s"]
    log = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    for line in log.stdout.splitlines():
        authored, subject = line.split("\t", 1)
        # a shallow clone ends with a commit without parents, which may be a merge
        if datetime.fromisoformat(authored) >= since and not subject.startswith("Merge "):
            yield subject


def test_subjects_of_new_commits_keep_the_rule() -> None:
    assert [f"{subject}: {reason}" for subject in subjects(ROOT, SINCE) if (reason := problem(subject))] == []


@pytest.mark.parametrize(
    ("subject", "reason"),
    [
        ("Fix", None),
        ("Move programs that are no tests to tests/bench", None),
        ("Process a case at a time", None),
        ("Speed up the table", None),
        ("Bring the changelog up to date", None),
        ("Don't draw twice", None),
        ("x" * 73, "73 characters, at most 72 are allowed"),
        ("Fix the table.", "ends with a period"),
        ("Read once more: a missing file is None", "has a colon; say the change in one clause"),
        ("The table is fixed", "begins with 'The' instead of a verb"),
        ("fix the table", "begins with 'fix' instead of a verb"),
        ("BENCHMARKS measured", "begins with 'BENCHMARKS' instead of a verb"),
        ("Fixed the table", "begins with 'Fixed' instead of an imperative"),
        ("Fixes the table", "begins with 'Fixes' instead of an imperative"),
        ("Fixing the table", "begins with 'Fixing' instead of an imperative"),
        ("Tests of the table hold", "begins with 'Tests' instead of an imperative"),
    ],
)
def test_problem_of_a_subject(subject: str, reason: str | None) -> None:
    assert problem(subject) == reason


def commit(root: Path, subject: str, authored: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(
        ["git", "-C", root, *who, "commit", "--quiet", "--allow-empty", "-m", subject, "--date", authored],
        check=True,
    )


def test_only_new_commits_of_the_repository_itself_are_looked_at(tmp_path: Path) -> None:
    assert list(subjects(tmp_path, SINCE)) == []
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    assert list(subjects(tmp_path, SINCE)) == []
    commit(tmp_path, "Old: a riddle", "2026-11-26T02:59:59+00:00")
    commit(tmp_path, "New", "2026-11-26T04:00:00+01:00")
    commit(tmp_path, "Merge branch 'a' into b", "2026-11-27T00:00:00+00:00")
    assert list(subjects(tmp_path, SINCE)) == ["New"]
    (tmp_path / "copy").mkdir()
    assert list(subjects(tmp_path / "copy", SINCE)) == []
    shallow = tmp_path / "shallow"
    subprocess.run(["git", "clone", "--quiet", "--depth=1", tmp_path.as_uri(), shallow], check=True)
    assert list(subjects(shallow, SINCE)) == []
