"""Library versions that the engine is tested with."""

from benchtui.sessions.events import Runtime

TESTED = {"torch": {2: "2.13"}, "transformers": {4: "4.57", 5: "5.23"}}
"""Major versions that are known to work, with the tested version of each, by library."""


def untested(runtime: Runtime) -> list[str]:
    """Return a sentence for each library whose major version isn't in ``TESTED``."""
    found = []
    for library, versions in TESTED.items():
        version = str(getattr(runtime, library))
        major = version.split(".")[0]
        if not (major.isdigit() and int(major) in versions):
            found.append(f"{library} {version} is untested; tested: {', '.join(versions.values())}")
    return found
