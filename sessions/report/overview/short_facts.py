"""Model, machine, software and method in a few lines. The full report lists each fact separately."""

import re
from collections import Counter
from collections.abc import Sequence

from benchtui.sessions.compare.system_facts import SOFTWARE, Fact, facts, models, reading_label, system
from benchtui.sessions.report.limitations import case_devices
from benchtui.sessions.sanitize import LONGEST_MESSAGE
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.results import Result
from benchtui.sessions.sweep import custom_task
from benchtui.sessions.text.formatting import in_sentence, listed

ELSEWHERE = ("Environment variables", "Other packages", "NUMA nodes", "CPU affinity")
"""System facts that the short form leaves out or shows elsewhere."""
METHOD = (
    *("Imported from", "Text", "Input", "Import", "Rounds", "Noise floor", "Intervals", "Resumed", "Price"),
    *("Session",),
)
"""Facts of the method in the short form."""
MOST_DEVICES = 2
"""Number of devices in a title; the rest are only counted."""
_SEPARATOR = re.compile(r"[,;] (?![^(]*\))")
"""Separates the items of a list, outside of parentheses."""
IS_VALUE = ("Model", "Architecture")
"""Facts that need no label."""


def short_facts(session: Session, method: Sequence[Fact]) -> tuple[Fact, ...]:
    """Return a line each for model, machine, GPUs and software, and the most important facts of the method."""
    system_facts = system(session)
    gpus = Counter(text for label, text in system_facts if _is_gpu(label))
    elsewhere = {*facts_elsewhere(session), "Platform"}
    rest = [fact for fact in system_facts if not _is_gpu(fact[0]) and fact[0] not in elsewhere]
    return (
        *facts(
            *(("Model", text) for text in _models(session)),
            ("Machine", _in_a_line([fact for fact in rest if fact[0] not in SOFTWARE])),
            ("GPUs", "; ".join(f"{n} x {text}" for text, n in gpus.items()) or None),
            ("Software", _in_a_line([fact for fact in rest if fact[0] in SOFTWARE])),
        ),
        *(
            (label, _shortened(text) if label == "Import" else text)
            for label, text in method
            if label in METHOD
        ),
    )


def devices(session: Session, results: Sequence[Result]) -> str:
    """Name the processors and GPUs that measured cases ran on; empty if the record doesn't say."""
    named = dict.fromkeys(name for result in results for name in case_devices(session, result) if name)
    shown = list(named)[:MOST_DEVICES]
    more = len(named) - len(shown)
    return listed([*shown, f"{more:,} more"] if more else shown)


def _shortened(note: str) -> str:
    """Shorten a long note on an import. The result counts the omitted items and refers to the full report."""
    if len(note) <= LONGEST_MESSAGE:
        return note
    ends = [separator.start() for separator in _SEPARATOR.finditer(note)]
    cut = max((end for end in ends if end <= LONGEST_MESSAGE), default=None)
    if cut is None:
        return f"{note[:LONGEST_MESSAGE]}… (full text with --full)"
    return f"{note[:cut]} and {sum(end >= cut for end in ends):,} more (all of them with --full)"


def facts_elsewhere(session: Session) -> set[str]:
    """Return the system facts that the short form leaves out, including unreadable sensors."""
    return {*ELSEWHERE, *(reading_label(name) for name in session.start.host.absent if name != "gpu")}


def _models(session: Session) -> list[str | None]:
    """Return a line for each model; empty for a custom task, which chooses its own model."""
    if custom_task(session.start.sweep.task):
        return []
    return [_in_a_line(model_facts) for model_facts in models(session)]


def _is_gpu(label: str) -> bool:
    return label.startswith(("GPU ", "cuda:")) and label != "GPU driver"


def _in_a_line(facts: Sequence[Fact]) -> str | None:
    return (
        ", ".join(text if label in IS_VALUE else f"{in_sentence(label)} {text}" for label, text in facts)
        or None
    )
