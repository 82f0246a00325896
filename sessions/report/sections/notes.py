"""Caveats at the top of the report, and the warnings that the engine logged."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from math import expm1, log
from operator import attrgetter

from benchtui.sessions.events import Message
from benchtui.sessions.report.sections.nodes import unlike
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.state.simulation import SIMULATED, simulation_source
from benchtui.sessions.stats.disturbance import mark_kind
from benchtui.sessions.stats.ratios import latency_ratio
from benchtui.sessions.stats.results import Result
from benchtui.sessions.text.formatting import count, listed, number, percent
from benchtui.sessions.text.labels import measured_amount, unverified_options
from benchtui.sessions.text.marks import MEANINGS, RANDOM_WEIGHTS, remedies
from benchtui.sessions.text.tables import Column, Table, table, text_column
from benchtui.sessions.text.wording import MOST_NAMES, Remark

LEAST_PACE = 0.03
"""Relative difference between two ratios of the same cases from which it is mentioned."""
UNEVEN = 1.25
"""Ratio of mean and median from which a few steps make up, or save, much of the time."""
LEAST_OTHERS_PERCENT = 5
"""CPU use of other processes, in percent of one processor, from which it is mentioned."""


def notes(session: Session, results: Sequence[Result]) -> list[Remark]:
    """Collect the caveats: simulated, incomplete or resumed session, nodes, marks, options, spread."""
    source = simulation_source(session.start)
    return [
        *([] if source is None else [Remark(SIMULATED, f"{source}.")]),
        *_ending(session),
        *_resumed(session),
        *_unlike_nodes(session),
        *_marks(session, results),
        *_unanswered(results),
        *_doubts(results),
        *_diverged(results),
        *_uneven(results),
        *_changing_pace(results),
    ]


def _unanswered(results: Sequence[Result]) -> list[Remark]:
    """Say that no output could be compared, with the commonest reason; nothing if any was."""
    reasons = Counter(reason for result in results if (reason := result.case.answer_absent))
    if not reasons or any(result.case.comparison and result.case.comparison.verdict for result in results):
        return []
    text = "no case's output could be compared with the baseline's, so no speed-up is known to keep it:"
    return [Remark("No answers", f"{text} {reasons.most_common(1)[0][0]}.")]


def warnings(session: Session) -> Table | None:
    """Return the warnings and errors of the session's log."""
    columns: tuple[Column[Message], ...] = (
        Column("At (s)", lambda message: number(message.t, 1)),
        text_column("Level", lambda message: message.level),
        text_column("Message", lambda message: message.text),
    )
    return table(columns, (message for message in session.messages if message.level != "info"))


def _ending(session: Session) -> list[Remark]:
    amount, ended = measured_amount(session, "planned case", " measured"), session.finished
    torn = Remark("Incomplete line", "the last line of the file was incomplete and has been dropped.")
    remarks = [torn] if session.torn else []
    if ended is None:
        text = f"the record ends after {number(session.now_s, 1)} s without the session's end; {amount}."
        return [Remark("Incomplete", text), *remarks]
    if ended.outcome == "completed":
        return remarks
    text = f"the session didn't complete{f': {ended.reason}' if ended.reason else ''}; {amount}."
    return [Remark(ended.outcome.capitalize(), text), *remarks]


def _resumed(session: Session) -> list[Remark]:
    """Return a finding for each resume on a different machine, or with different software or files."""
    titles = {
        "Resumed on a different machine": ("the machine or software", attrgetter("changed")),
        "Resumed with changed files": ("files", attrgetter("files")),
    }
    return [
        Remark(title, f"{_since(session, resume.t, what)}: {'; '.join(changes_of(resume))}.")
        for resume in session.resumed
        for title, (what, changes_of) in titles.items()
        if changes_of(resume)
    ]


def _unlike_nodes(session: Session) -> list[Remark]:
    """Report differences between the nodes that ran cases not bound to a machine."""
    shared = {case.node for case in session.cases if case.state == "ok" and not case.config.machine}
    differing = unlike(session, shared)
    if not differing:
        return []
    text = f"cases ran on {len(shared)} nodes that differ in {listed(differing)}, which may affect their times."
    return [Remark("Different nodes", text)]


def _since(session: Session, t: float, what: str) -> str:
    """Describe the cases that ended after session time ``t``, and count those with rounds before it."""
    ends = [(case.finished.t, case) for case in session.cases if case.started and case.finished]
    after = sorted((ending for ending in ends if ending[0] >= t), key=lambda ending: ending[0])
    if not after:
        return f"no case has finished since {number(t, 1)} s, when {what} changed"
    both = sum(any(round_.t < t for round_ in case.rounds) for _, case in after)
    partly = f" {count(both, 'case')} of them only in part," if both else ""
    which = f"{count(len(after), 'case')}, from {after[0][1].name} on,"
    return f"{which}{partly} measured after {what} changed"


def _marks(session: Session, results: Sequence[Result]) -> list[Remark]:
    """Return a finding for each kind of mark: its meaning, and how many cases have it."""
    measured = {result.case.index: result.case for result in results}
    cases = (measured.get(case.index, case) for case in session.cases)
    ran = [case for case in cases if case.prepared or case.marks]
    varying = [list(dict.fromkeys(mark_kind(mark) for mark in _marks_of(case))) for case in ran]
    examples = {mark_kind(mark): mark for case in reversed(ran) for mark in reversed(case.marks)}
    amounts = Counter(name for names in varying for name in names)
    return [_marked(name, amount, ran, examples) for name, amount in amounts.items()]


def _marks_of(case: CaseState) -> tuple[str, ...]:
    """Return the marks of a case, except the mark of a simulated session.

    If only the case's model records random weights, their mark is added.
    """
    marks = tuple(mark for mark in case.marks if mark != SIMULATED)
    marked = any(RANDOM_WEIGHTS in mark for mark in marks)
    random = case.prepared is not None and case.prepared.model.weights == "random"
    return (*marks, RANDOM_WEIGHTS) if random and not marked else marks


def _marked(name: str, amount: int, ran: Sequence[CaseState], examples: dict[str, str]) -> Remark:
    meaning = f"{MEANINGS[name]}; " if name in MEANINGS else ""
    more = (_others_used(ran) if name == "disturbed" else "") or _example(name, amount, examples)
    remedy = next((f" {text}" for case in ran for text in remedies(case, (name,))), "")
    text = f"{meaning}{_share_of_cases(amount, len(ran))}{more}.{remedy}"
    return Remark(name[:1].upper() + name[1:], text)


def _others_used(cases: Sequence[CaseState]) -> str:
    """Describe the highest processor use by other processes, in cores."""
    used = max((case.others_cpu_percent or 0.0 for case in cases), default=0.0)
    return (
        f"; other processes used up to {number(used / 100, 1)} CPU cores"
        if used >= LEAST_OTHERS_PERCENT
        else ""
    )


def _example(name: str, amount: int, examples: dict[str, str]) -> str:
    """Quote the rest of a mark: of several, the first one's."""
    rest = examples.get(name, name).removeprefix(name).lstrip(" :")
    return f"{'; ' if amount == 1 else ', such as '}{rest}" if rest else ""


def _share_of_cases(amount: int, all_of: int) -> str:
    if amount < all_of:
        return f"{amount:,} of {count(all_of, 'case')}"
    return {1: "the only case", 2: "both cases"}.get(all_of, f"all {count(all_of, 'case')}")


def _doubts(results: Sequence[Result]) -> list[Remark]:
    """Report the options that weren't applied, and those that weren't verified as applied."""
    amounts = Counter(doubt for result in results for doubt in unverified_options(result))
    remarks = []
    for state, (title, text) in _DOUBTS.items():
        where = [
            f"{value} in {count(n, 'case')}" for (value, applied), n in amounts.items() if applied is state
        ]
        remarks += [Remark(title, f"{listed(where)}{text}.")] if where else []
    return remarks


_DOUBTS: dict[bool | None, tuple[str, str]] = {
    False: ("Not applied", ", though it was requested"),
    None: ("Not verified", "; whether it was applied isn't recorded"),
}


def _diverged(results: Sequence[Result]) -> list[Remark]:
    """Report the training cases whose loss isn't finite at the end. They are never recommended."""
    diverged = [result for result in results if result.metrics.diverged]
    if not diverged:
        return []
    text = f"{_cases(diverged)}; the loss isn't finite, and such a case isn't recommended."
    return [Remark("Diverged", text)]


def _cases(results: Sequence[Result]) -> str:
    """Name a single case, or count several and name some of them."""
    if len(results) == 1:
        return results[0].name
    named = listed([result.name for result in results[:MOST_NAMES]])
    return f"{count(len(results), 'case')}, such as {named}"


def _uneven(results: Sequence[Result]) -> list[Remark]:
    """Report the cases whose step and throughput disagree, because some steps are far from the typical one."""
    means_ms = [(row.metrics.latency_ms.known_mean or row.typical_ms, row) for row in results]
    slow = [row for mean_ms, row in means_ms if mean_ms > UNEVEN * row.typical_ms]
    fast = [row for mean_ms, row in means_ms if row.typical_ms > UNEVEN * mean_ms]
    uneven = sorted((*slow, *fast), key=lambda row: row.case.index)
    if not uneven:
        return []
    pace = "slow or fast" if fast else "slow"
    text = f"a few {pace} steps dominate {_cases(uneven)}: mean and median differ by over {UNEVEN} ×"
    return [Remark("Far outliers", f"{text}; throughput follows from the mean, ratios from the median.")]


def _changing_pace(results: Sequence[Result]) -> list[Remark]:
    """Say by how much the ratios of cases that took turns differ from those of their steps over all rounds."""
    pairs = [(one, other, latency_ratio(one, other)) for one, other in combinations(results, 2)]
    apart = [
        abs(log(ratio.value * other.typical_ms / one.typical_ms))
        for one, other, ratio in pairs
        if ratio and ratio.by_turns
    ]
    most = expm1(max(apart, default=0.0))
    if most < LEAST_PACE:
        return []
    text = "ratios of cases that took turns compare the same moments. Those of their steps differ by up to"
    return [Remark("Changing pace", f"{text} {percent(most, 0)} %: the machine changed its pace.")]
