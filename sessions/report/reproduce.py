"""What it takes to run a session's sweep again: the sweep as TOML, the command, versions and environment."""

from dataclasses import dataclass

from benchtui.sessions.compare.system_facts import Fact, facts
from benchtui.sessions.sanitize import visible
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep.toml_writer import toml_of
from benchtui.sessions.text.markdown import Markdown

FENCE = "```"


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to run a sweep again."""

    facts: tuple[Fact, ...]
    sweep: Markdown
    """The sweep's TOML in a fenced block."""


def recipe(session: Session) -> Recipe | None:
    """How to run the session's sweep again; None for results of another tool, which weren't run here."""
    start = session.start
    if start.source:
        return None
    runtime, host = session.runtime, start.host
    versions = (
        f"benchtui {start.version}" if start.version else None,
        f"torch {runtime.torch}" if runtime else None,
        f"transformers {runtime.transformers}" if runtime and runtime.transformers else None,
        f"Python {host.python}" if host.python else None,
    )
    environment = ", ".join(f"{name}={value}" for name, value in start.sweep.env.items())
    return Recipe(
        facts(
            ("Command", "save the sweep below as sweep.toml, then: benchtui run sweep.toml"),
            ("Versions", ", ".join(each for each in versions if each) or None),
            ("Environment", environment or None),
            ("Seeds", "random weights and synthetic tokens are drawn with seed 0; text is taken in order"),
        ),
        _fenced(toml_of(start.sweep)),
    )


def _fenced(text: str) -> Markdown:
    """TOML as a block of code, which nothing in it can end, and in which no tag stands even unread."""
    lines = [_inert(visible(line)) for line in text.strip().splitlines()]
    return Markdown("\n".join([f"{FENCE}toml", *lines, FENCE]))


def _inert(line: str) -> str:
    """A line of TOML with escapes for the signs of markup, which stand in strings alone."""
    return line.replace("<", "\\u003c").replace("`", "\\u0060")
