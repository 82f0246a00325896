"""Label of simulated sessions, for screens, reports and exports."""

from benchtui.sessions.events import SessionStarted

SIMULATED = "SIMULATED"
"""Label of a simulated session, and mark of all its cases."""


def labeled(name: str, start: SessionStarted) -> str:
    """Return a session's name or title, with the label in front if the session is simulated."""
    return name if start.simulated is None else f"{SIMULATED} {name}"


def simulation_source(start: SessionStarted) -> str | None:
    """Describe what computed a simulated session; None for a measured one."""
    return None if start.simulated is None else f"computed by {start.simulated}; nothing was measured"


def simulation_note(start: SessionStarted) -> str | None:
    """Return a whole line: the label, then ``simulation_source``; None for a measured session."""
    source = simulation_source(start)
    return None if source is None else f"{SIMULATED}: {source}"
