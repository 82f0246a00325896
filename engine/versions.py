"""Library versions that the engine is tested with."""

from importlib.util import find_spec

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import Runtime

TESTED = {"torch": {2: "2.13"}, "transformers": {4: "4.57", 5: "5.23"}}
"""Major versions that are known to work, with the tested version of each, by library."""

PACKAGES = ("torch", "transformers", "datasets", "huggingface_hub")
"""Packages needed for measuring, installed by the extra ``run``."""


def require_packages() -> None:
    """Check that the packages needed for measuring are installed, without importing them.

    Raises:
        BenchtuiError: if a package is missing.
    """
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise BenchtuiError(
            f"running a sweep needs {', '.join(missing)}, not installed here; run: pip install 'benchtui[run]'"
        )


def untested(runtime: Runtime) -> list[str]:
    """Return a sentence for each library whose major version isn't in ``TESTED``."""
    found = []
    for library, versions in TESTED.items():
        version = str(getattr(runtime, library))
        major = version.split(".")[0]
        if not (major.isdigit() and int(major) in versions):
            found.append(f"{library} {version} is untested; tested: {', '.join(versions.values())}")
    return found
