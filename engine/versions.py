"""Which versions of the libraries underneath the engine is tested with."""

from benchtui.sessions.events import Runtime

TESTED = {"torch": {2: "2.13"}, "transformers": {4: "4.57", 5: "5.23"}}
"""For each library the major versions it is known to work with, and the version tested of each."""


def untested(runtime: Runtime) -> list[str]:
    """A sentence for each library whose major version isn't one of those."""
    found = []
    for library, versions in TESTED.items():
        version = str(getattr(runtime, library))
        major = version.split(".")[0]
        if not (major.isdigit() and int(major) in versions):
            found.append(f"{library} {version} isn't tested with; known: {', '.join(versions.values())}")
    return found
