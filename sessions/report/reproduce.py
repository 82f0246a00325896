"""Instructions to reproduce a session: its sweep as TOML, command, versions and environment."""

import msgspec

from benchtui.sessions.compare.system_facts import Fact, facts
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sanitize import replace_unprintable
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import custom_task
from benchtui.sessions.sweep.library_names import AUTO_CLASSES
from benchtui.sessions.sweep.toml_writer import toml_of
from benchtui.sessions.text.markdown import Markdown

FENCE = "```"
VERSIONED = ("benchtui", "torch", "transformers", "Python")
CODE = "of the fastest case, with transformers: benchtui optimal SESSION --snippet"
SEEDS = "random weights and synthetic tokens: seed 0; texts are read in order"


class Recipe(msgspec.Struct, frozen=True):
    """Instructions to run a sweep again."""

    facts: tuple[Fact, ...]
    sweep: Markdown | None
    """The sweep as TOML in a fenced block. None if it can't be written; a fact gives the reason."""


def recipe(session: Session) -> Recipe | None:
    """Return instructions to rerun the session's sweep.

    None for an imported session, which wasn't run here, or a simulated one, which wasn't run at all.
    """
    start = session.start
    if start.source or session.simulated:
        return None
    variables = {**(start.host.environment or {}), **start.sweep.env}
    environment = ", ".join(f"{name}={value}" for name, value in variables.items())
    drawn = None if custom_task(start.sweep.task) else SEEDS
    sweep, problem = _sweep(session)
    return Recipe(
        facts(
            ("Command", "save the sweep below as sweep.toml, then: benchtui run sweep.toml" if sweep else None),
            ("Sweep", f"can't be written: {problem}" if problem else None),
            ("Versions", ", ".join(_versions(session)) or None),
            ("Environment", environment or None),
            ("Raw data", f"every step of session {start.id}: benchtui export SESSION --steps"),
            ("Seeds", drawn),
            ("Code", CODE if start.sweep.task in AUTO_CLASSES else None),
        ),
        sweep,
    )


def _versions(session: Session) -> list[str]:
    """Return the versions that were recorded, except those of libraries that a custom task doesn't use."""
    runtime = session.runtime
    start = session.start
    own = f"{start.version} (commit {start.commit})" if start.version and start.commit else start.version
    versions = {"benchtui": own, "Python": start.host.python}
    if runtime:
        custom = custom_task(start.sweep.task)
        versions |= {"torch": runtime.torch, "transformers": None if custom else runtime.transformers}
    return [f"{name} {versions[name]}" for name in VERSIONED if versions.get(name)]


def _sweep(session: Session) -> tuple[Markdown | None, str | None]:
    """Return the sweep as a fenced block, or why it can't be written."""
    try:
        return fenced(toml_of(session.start.sweep), "toml"), None
    except BenchtuiError as error:
        return None, str(error)


def no_recipe_reason(session: Session) -> str:
    """Explain why an imported session has no instructions, and where its raw data are; empty for any other."""
    start = session.start
    if not start.source:
        return ""
    file = f"{start.source_file}; " if start.source_file else ""
    has_steps = any(case.steps_measured for case in session.cases)
    kept, export = ("every step", "--steps") if has_steps else ("every figure", "--format csv")
    return (
        f"Measured by another tool and imported ({start.source}); benchtui can't rerun it."
        f" Raw data: {file}{kept} without rounding: benchtui export SESSION {export}"
    )


def fenced(text: str, language: str) -> Markdown:
    """Return TOML or Python as a fenced code block. Nothing in it can end the block or look like a tag."""
    lines = [_escaped(replace_unprintable(line)) for line in text.strip().splitlines()]
    return Markdown("\n".join([f"{FENCE}{language}", *lines, FENCE]))


def _escaped(line: str) -> str:
    """Escape ``<`` and backticks in a line. They are only in comments and strings, where escapes are valid."""
    return line.replace("<", "\\u003c").replace("`", "\\u0060")
