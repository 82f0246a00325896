"""Check a report section by section: an independent reader of its sentences.

It objects to every sentence that the results contradict. Its input is what ``benchtui export --format json``
writes, and the report as Markdown. Each sentence of judgment has one of the known shapes, and each number in it
follows from the JSON by arithmetic of this package's own. A sentence of unknown shape is an objection as well,
so nobody can add one without the fact that it rests on.

A session's JSON compares each case with one baseline. Verdicts on other pairs are in the JSON of the same
session with other baselines (``benchtui export --baseline``), which is the argument ``others``. No JSON has a
verdict on some metrics, such as memory and energy. Only what follows from the metrics is checked there.
"""

from collections.abc import Callable, Sequence

from .answers import check_answers
from .case_tables import check_tables
from .cases import DEFAULTS, SAME_WITHIN, SPEED, Row, key
from .claims import Claim, Reader
from .decision import check_decision
from .facts import Facts
from .limitations import check_limitations
from .notes import check_caveats, check_head, check_method
from .options import check_base_of_gains, check_frontier, check_options
from .profile import profiles_of
from .profiles import check_profiles
from .recording import Recording, objections_to_results
from .report_text import Part, parse_report
from .results import check_results
from .summary import check_choice
from .tables import check_disturbed, check_gains, check_leaderboard, check_roofline, check_series_lead
from .tried import check_tried


def _each_item(read: Callable[[Claim, str], None]) -> Callable[[Reader, Part], None]:
    """Check each item of a section on its own."""

    def each(reader: Reader, part: Part) -> None:
        for item in part.items:
            read(reader.claim(f"{part.section}, {item.lead or part.title}", item.text), item.lead)

    return each


SECTIONS: dict[str, Callable[[Reader, Part], None]] = {
    "Decision": check_decision,
    "Caveats": check_caveats,
    "Results": check_results,
    "What each option brings": check_options,
    "What the speed costs": check_answers,
    "Where a step's time goes": check_profiles,
    "Tried": check_tried,
    "Out of memory": _each_item(check_frontier),
    "Model, system and method": check_method,
    "Limitations": check_limitations,
    "Choices in detail": _each_item(check_choice),
    "Method": check_method,
    "Performance metrics": check_series_lead,
    "Leaderboard": check_leaderboard,
    "Scaling with batch size": check_series_lead,
    "Precision gain": check_gains,
    "Compile gain": check_gains,
    "Disturbed cases": check_disturbed,
    "Limits": check_roofline,
}
"""Sections with sentences, and what checks them."""
INTRODUCTIONS = {
    "Performance metrics": "",
    "Leaderboard": "",
    "Scaling with batch size": (
        "Relative to linear scaling: above 1, a larger batch gives more samples/s. Throughput per item always "
        "falls when batching pays less than linearly (other tools call it scaling efficiency)."
    ),
    "Compile gain": (
        "Compiling happens in the first steps. Its cost is the time that the first step, and warm-up steps "
        "during which torch compiled, took above steady state."
    ),
}
"""Introductions of the sections whose tables have headings of their own."""
SECTIONS_OF_FACTS = (
    "Model information",
    "System information",
    "Generation",
    "Serving",
    "Embeddings",
    "Images",
    "Speech",
    "Training",
    "Device speedup",
    "Machine comparison",
    "Step breakdown",
    "Memory",
    "Energy",
    "Jitter",
    "Anomalies",
    "Every case",
    "What the speed costs",
    "Warnings",
    "How to reproduce",
    "How to run the fastest case",
)
"""Sections without a sentence of judgment."""


def objections(
    results: Row,
    report: str,
    others: Sequence[Row] = (),
    *,
    same_within: float = SAME_WITHIN,
    recording: Recording | None = None,
    explained: Sequence[Row] = (),
) -> list[str]:
    """Return what is wrong with a report; empty if each sentence and table agrees with the results.

    With the recording, the results themselves have to follow from its steps. ``explained`` are the events with
    profiles and peaks, which no export has: the section of explained cases needs them.
    """
    reader = Reader(Facts(results, others, same_within), parse_report(report), recording)
    reader.profiles = profiles_of(explained, reader.facts.rows)
    if recording:
        reader.objections += objections_to_results(recording, reader.facts.rows)
    for part in reader.parts:
        _check_part(reader, part)
        check_tables(reader, part)
    _check_consistency(reader)
    return reader.objections


def _check_part(reader: Reader, part: Part) -> None:
    claim = reader.claim(part.section, " ".join(item.text for item in part.items))
    if part.section.startswith("Benchmark report"):
        check_head(reader, part)
    elif part.title == part.section and part.section in INTRODUCTIONS:
        claim.require(claim.text == INTRODUCTIONS[part.section], "unknown words")
    elif part.title == part.section and part.section.endswith(" gain"):
        check_base_of_gains(claim)
    elif part.section in SECTIONS:
        SECTIONS[part.section](reader, part)
    elif part.section.endswith(" gain") and part.title != part.section:
        check_gains(reader, part)
    elif part.section not in SECTIONS_OF_FACTS and not part.section.endswith(" gain") and part.section:
        claim.add_objection("unknown section")


def _check_consistency(reader: Reader) -> None:
    """Require one choice for each need, and no advice against it."""
    for (need, length), cases in reader.chosen.items():
        names = [reader.facts.rows[case]["name"] for case in cases]
        if len(names) > 1:
            reader.objections.append(f"chosen for {need} at {length} tokens are {names}")
        for advice in reader.advice:
            for case in cases:
                _check_advice(reader, *advice, reader.facts.rows[case], need)


def _check_advice(
    reader: Reader, word: str, option: str, value: str, device: str, best: Row, need: str
) -> None:
    """Compare the advice on an option's value with a recommended case."""
    alike = [row for row in reader.facts.measured if key(row, option) == key(best, option)]
    against = best[option] == value
    if word == "faster":
        slower = need in SPEED and best[option] in ("cpu", *DEFAULTS) and not against
        against = slower and any(row[option] == value for row in alike)
    if against and word != "unsure" and device in (value, best["device"]):
        reader.objections.append(f"{option} {value} on {device} is {word}, and {need}: {best['name']}")
