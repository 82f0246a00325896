"""Systems of a comparison side by side, with their differences and unrecorded facts."""

from benchtui.sessions.compare.align import PairwiseComparison, SessionComparison
from benchtui.sessions.compare.environment_diff import UNCOMPARED, missing_groups, without_files
from benchtui.sessions.compare.system_facts import Fact, facts, models, system
from benchtui.sessions.report.comparison.naming import lettered
from benchtui.sessions.report.overview.short_facts import facts_elsewhere
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import UNKNOWN, custom_task
from benchtui.sessions.sweep.options import value_text
from benchtui.sessions.text.formatting import listed
from benchtui.sessions.text.tables import Table


def side_by_side(compared: SessionComparison) -> Table:
    """Return a row for each fact about model, machine, software and task, and a column for each session."""
    facts_by_side = [dict(_facts(side.session)) for side in compared.sides]
    titles = ("Fact", *_titles(compared))
    rows = (
        (label, *(side_facts.get(label) for side_facts in facts_by_side))
        for label in dict.fromkeys(label for side_facts in facts_by_side for label in side_facts)
    )
    return Table(titles, (False,) * len(titles), tuple(rows))


def _facts(session: Session) -> tuple[Fact, ...]:
    start = session.start
    own = custom_task(start.sweep.task)
    model = [] if own else [fact for model_facts in models(session)[:1] for fact in model_facts]
    all_facts = (
        *facts(("Imported from", start.source), ("Task", _known(start.sweep.task))),
        *(model or facts(("Model", None if own else _known(start.sweep.model)))),
        *system(session),
    )
    return tuple(fact for fact in all_facts if fact[0] not in {*facts_elsewhere(session), *UNCOMPARED})


def _known(text: str) -> str | None:
    return None if text == UNKNOWN else text


def differing(compared: SessionComparison) -> Table | None:
    """Return a row for each difference, with each session's value. None if nothing differs."""
    titles = ("Kind", "What", *_titles(compared))
    rows = tuple((row.group, row.what, *row.values) for row in compared.differences)
    return Table(titles, (False,) * len(titles), rows) if rows else None


def _titles(compared: SessionComparison) -> list[str]:
    return [f"{letter}: {side.name}" for letter, side in lettered(compared.sides)]


def no_differences_text(compared: SessionComparison) -> str:
    """Describe the common and the unrecorded facts of sessions without differences."""
    unsaid_by = unrecorded_text(compared)
    if unsaid_by:
        return f"{unsaid_by.removesuffix('.')}; the rest is the same."
    old = [letter for letter, side in lettered(compared.sides) if without_files(side.session)]
    if not old:
        return "Same machine, same software, same workload, same settings."
    who = "Session" if len(old) == 1 else "Sessions"
    records = "doesn't" if len(old) == 1 else "don't"
    return (
        "Same machine, same software, same settings, and the same workload by name:"
        f" {who} {listed(old)} {records} record which versions of its files were used."
    )


def unrecorded_text(compared: SessionComparison) -> str:
    """Name the sessions that don't record their machine or software; empty if all do."""
    silent = [
        (letter, " or ".join(missing))
        for letter, side in lettered(compared.sides)
        if (missing := missing_groups(side.session))
    ]
    if not silent:
        return ""
    if len(silent) == len(compared.sides) and len({missing for _, missing in silent}) == 1:
        none = "Neither session" if len(silent) == 2 else "None of the sessions"
        return f"{none} says which {silent[0][1]} it ran on."
    return " ".join(f"Session {letter} doesn't say which {missing} it ran on." for letter, missing in silent)


def pairing(against: PairwiseComparison) -> str:
    """Name the options that were ignored to match cases; empty if none were."""
    ignored = [f"{option}: {_one(against, option)}" for option in against.ignored]
    return f"Cases are paired ignoring {listed(ignored)}." if ignored else ""


def _one(against: PairwiseComparison, option: str) -> str:
    def value(session: Session) -> str:
        owner = session.start.sweep if option in ("model", "weights") else session.cases[0].config
        return value_text(getattr(owner, option))

    old, new = value(against.base.session), value(against.new.session)
    return f"A is {old}, {against.new_letter} is {new}"
