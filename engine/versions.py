"""Library versions that the engine is tested with, and the commit of benchtui itself."""

import json
import subprocess
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import Runtime
from benchtui.sessions.files.extras import is_installed
from benchtui.sessions.sanitize import quoted
from benchtui.sessions.sweep import SAMPLE, SYNTHETIC, TASKS, Sweep

TESTED = {"torch": {2: "2.13"}, "transformers": {4: "4.57", 5: "5.23"}}
"""Major versions that are known to work, with the tested version of each, by library."""


ROOT = Path(__file__).resolve().parents[1]
"""Root of the checkout; or, if installed, the package's folder."""
_DESCRIBE = ("describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")
_GIT_S = 5.0
"""Maximum time for git to describe the checkout."""


def commit(root: Path = ROOT) -> str | None:
    """Return the commit of the checkout that runs, with ``-dirty`` if files were changed, or the one installed.

    None if neither is known: a package from an index doesn't name its commit.
    """
    return _described(root) if (root / ".git").exists() else _installed()


def _described(root: Path) -> str | None:
    try:
        git = subprocess.run(
            ("git", "-C", root, *_DESCRIBE), capture_output=True, text=True, timeout=_GIT_S, check=True
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None  # no git, or a repository that belongs to another user
    return git.stdout.strip() or None


def _installed() -> str | None:
    """Return the commit that pip installed from (``direct_url.json``, PEP 610)."""
    try:
        text = metadata.distribution("benchtui").read_text("direct_url.json")
        commit: str = json.loads(text or "{}")["vcs_info"]["commit_id"]
        return commit[:12] or None
    except (metadata.PackageNotFoundError, OSError, ValueError, KeyError, TypeError):
        return None


def require_packages(sweep: Sweep | None = None) -> None:
    """Check that the packages needed for a sweep are installed, without importing them.

    Without a sweep, check only what every sweep needs. Raises BenchtuiError if a package is missing. The
    message says what needs it.
    """
    missing: dict[str, list[str]] = {}
    for package, user in _needed(sweep):
        if not is_installed(package):
            missing.setdefault(user, []).append(package)
    if missing:
        users = "; ".join(f"{user} needs {', '.join(packages)}" for user, packages in missing.items())
        raise BenchtuiError(f"{users}, not installed here; run: pip install 'benchtui[run]'")


def _needed(sweep: Sweep | None) -> Iterator[tuple[str, str]]:
    yield "torch", "running a sweep"
    if sweep is None or sweep.task not in TASKS:  # a user's step imports what it needs
        return
    yield "transformers", f"task {sweep.task!r}"
    yield "huggingface_hub", f"task {sweep.task!r}"  # transformers can't be imported without it
    if sweep.dataset not in (SAMPLE, SYNTHETIC):
        yield "datasets", f"dataset {quoted(sweep.dataset)}"


def untested(runtime: Runtime) -> list[str]:
    """Return a sentence for each library whose major version isn't in ``TESTED``."""
    warnings = []
    for library, versions in TESTED.items():
        version = getattr(runtime, library)
        if version is None:  # not installed
            continue
        major = version.split(".")[0]
        if not (major.isdigit() and int(major) in versions):
            warnings.append(f"{library} {version} is untested; tested: {', '.join(versions.values())}")
    return warnings
