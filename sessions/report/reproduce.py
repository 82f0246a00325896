"""Instructions to reproduce a session: its sweep as TOML, command, versions and environment."""

import re
from collections.abc import Iterator
from os.path import expanduser
from pathlib import Path
from textwrap import TextWrapper

from msgspec.structs import replace

from benchtui.sessions.compare.system_facts import Fact, facts, file_versions, models
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.report.content import Code, Content, items
from benchtui.sessions.sanitize import replace_unprintable
from benchtui.sessions.state.file_names import DATASET
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import SYNTHETIC, Sweep, custom_task
from benchtui.sessions.sweep.library_names import AUTO_CLASSES
from benchtui.sessions.sweep.toml_writer import toml_of, unstated
from benchtui.sessions.text.markdown import LONGEST_LINE

VERSIONED = ("benchtui", "torch", "transformers", "Python")
COMMAND = "benchtui reproduce SESSION; without its file, save the sweep below, then: benchtui run sweep.toml"
CODE = "code of the fastest case: benchtui optimal SESSION --snippet"
_COMMENT = TextWrapper(LONGEST_LINE, subsequent_indent="# ", break_long_words=False, break_on_hyphens=False)
_ID = "# session "
"""Comment before the ID of a session in its sweep, which stays there wherever a report is pasted."""


def ids_in_report(text: str) -> list[str]:
    """Return the IDs of the sessions whose sweeps a report, or a file with such a sweep, contains."""
    return list(dict.fromkeys(re.findall(rf"{_ID}([\w-]+)", text)))


def how_to_reproduce(session: Session, *, whole: bool = True) -> tuple[Content | None, ...]:
    """Return the facts and the sweep of a session, ``whole`` with its defaults, or why there are none."""
    made = recipe(session)
    if made is None:
        return (no_recipe_reason(session),)
    facts, sweep = made
    if sweep is None:
        return (items(facts),)
    text = toml_of(_with_absolute_paths(session), whole=whole)
    lines = (*_comments(session), text) if whole else (*_comments(session), compact(text), *_defaults(session))
    return items(facts), code("\n".join(lines), "toml")


def compact(text: str) -> str:
    """Write the tables of a TOML file in a line each, in front of those whose lines would be too long."""
    top, *tables = re.split(r"\n+(?=\[)", text.strip())
    in_lines, others = dict[str, list[str]](), list[str]()
    for table in tables:
        head, *entries = table.splitlines()
        in_lines.setdefault(head, []).append(f"{{{', '.join(entries)}}}")
    lines = [top]
    for head, inline in in_lines.items():
        name, value = head.strip("[]"), ", ".join(inline)
        line = f"{name} = [{value}]" if head.startswith("[[") else f"{name} = {value}"
        nested = "." in name or any(other.startswith(f"[{name}.") for other in in_lines)
        if nested or len(line) > LONGEST_LINE:
            others += [table for table in tables if table.splitlines()[0] == head]
        else:
            lines.append(line)
    return "\n".join((*lines, *others))


def recipe(session: Session) -> tuple[tuple[Fact, ...], Code | None] | None:
    """Return facts for rerunning a sweep, and the sweep as TOML, unless a fact says why it can't be written.

    None for an imported session, which wasn't run here, or a simulated one, which wasn't run at all.
    """
    start = session.start
    if start.source or session.simulated:
        return None
    variables = {**(start.host.environment or {}), **start.sweep.env}
    environment = ", ".join(f"{name}={value}" for name, value in variables.items())
    snippet = f"; {CODE}" if start.sweep.task in AUTO_CLASSES else ""
    sweep, problem = None, ""
    try:
        sweep = code(toml_of(start.sweep), "toml")
    except BenchtuiError as error:
        problem = str(error)
    return (
        facts(
            ("Command", COMMAND if sweep else None),
            ("Sweep", f"can't be written: {problem}" if problem else None),
            ("Versions", ", ".join(_versions(session)) or None),
            ("Environment", environment or None),
            ("Raw data", f"every step of session {start.id}: benchtui export SESSION --steps{snippet}"),
            ("Seeds", None if custom_task(start.sweep.task) else _seeds(start.sweep)),
        ),
        sweep,
    )


def _seeds(sweep: Sweep) -> str:
    """Return what a built-in task draws at random, and the order in which it reads texts."""
    drawn = {
        "random weights": sweep.weights == "random",
        "synthetic inputs": sweep.dataset == SYNTHETIC,
        "dropout": sweep.task == "lm-train",
    }
    names = ", ".join(name for name, is_drawn in drawn.items() if is_drawn)
    order = "" if sweep.dataset == SYNTHETIC else "texts are read in order"
    return "; ".join(filter(None, (f"{names}: seed 0" if names else "nothing is drawn at random", order)))


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


def _with_absolute_paths(session: Session) -> Sweep:
    """Return the sweep with absolute paths of step, model folders and dataset, if their folder was recorded."""
    sweep, folder = session.start.sweep, session.start.folder
    if not folder:
        return sweep
    prepared = [case.prepared for case in session.cases if case.prepared]
    local = {case.model.name for case in prepared if case.model.source == "folder"}
    if any(DATASET in case.files for case in prepared):
        local.add(sweep.dataset)
    if custom_task(sweep.task):
        local.add(sweep.task)

    def absolute(name: str) -> str:
        return str(Path(folder, expanduser(name))) if name in local else name

    axes = replace(sweep.axes, model=tuple(map(absolute, sweep.axes.model)))
    entries = {name: absolute(getattr(sweep, name)) for name in ("model", "task", "dataset")}
    return replace(sweep, axes=axes, **entries)


def _comments(session: Session) -> Iterator[str]:
    """Yield what a sweep can't say, as comments: its session, revisions of models, and digests of its files."""
    yield f"{_ID}{session.start.id}"
    for model in map(dict, models(session)):
        if "Revision" in model:
            yield replace_unprintable(f"# revision of {model['Model']}: {model['Revision']}")
    by_model: dict[str, list[str]] = {}
    for label, digests in file_versions(session).items():
        file, _, owner = label.partition(" of ")
        by_model.setdefault(owner, []).append(f"{file} {' or '.join(digests)}")
    for owner, files in by_model.items():
        text = f"# digests{f' of {owner}' if owner else ''}: {', '.join(files)}"
        yield from _COMMENT.wrap(replace_unprintable(text))


def _defaults(session: Session) -> list[str]:
    """Return the defaults that a short sweep leaves out, as comments: another version may have others."""
    defaults = ", ".join(f"{entry}={text}" for entry, text in unstated(session.start.sweep).items())
    version = f" of benchtui {session.start.version}" if session.start.version else ""
    return _COMMENT.wrap(replace_unprintable(f"# defaults{version}: {defaults}")) if defaults else []


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


def code(text: str, language: str) -> Code:
    """Return TOML or Python as code, with ``<`` and backticks escaped.

    They are only in comments and strings, where escapes are valid.
    """
    lines = (replace_unprintable(line) for line in text.strip().splitlines())
    return Code(language, tuple(line.replace("<", "\\u003c").replace("`", "\\u0060") for line in lines))
