"""Check the limitations of a session against its results."""

from .cases import MIN_ROUNDS, Groups, has_own_label, without_steps
from .claims import Claim, Reader, shapes
from .recording import LEAST_FOR_P99
from .report_text import Part


def check_limitations(reader: Reader, part: Part) -> None:
    for item in part.items:
        if item.text.startswith("Omitted here; include with --full: "):
            continue  # the last line of the report
        claim = reader.claim(part.section, item.text)
        claim.check_clause(claim.text, LIMITATIONS)


def _check_machine(claim: Claim, shown: Groups) -> None:
    """Check that each device is one of the recorded machine, if there is a recording."""
    if claim.reader.recording:
        host = claim.reader.recording.events[0]["host"]
        there = [host.get("processor"), *(gpu["name"] for gpu in host.get("gpus", ()))]
        claim.require(any(str(name) in shown["devices"] for name in there if name), f"it has {there}")


def _check_no_machine(claim: Claim, _: Groups) -> None:
    if claim.reader.recording:
        host = claim.reader.recording.events[0]["host"]
        claim.require(not host.get("processor"), "the processor is recorded")


def _check_processes(claim: Claim, shown: Groups) -> None:
    rows = [row for row in claim.facts.measured if not without_steps(row)]
    few = [row for row in rows if row["rounds"] < MIN_ROUNDS]
    claim.require_value(shown["least"], MIN_ROUNDS, "the number of processes")
    claim.require_value(shown["rounds"], MIN_ROUNDS, "the number of rounds")
    claim.require_value(shown.get("n") or str(len(claim.facts.measured)), len(few), "number of such cases")


def _check_no_steps(claim: Claim, _: Groups) -> None:
    claim.require(all(map(without_steps, claim.facts.measured)), "a case has steps")


def _check_few_steps(claim: Claim, shown: Groups) -> None:
    claim.require_value(shown["least"], LEAST_FOR_P99, "the number of steps")
    most = max(row["n"] or 0 for row in claim.facts.measured)
    claim.require_value(shown["most"], most, "the largest number of steps")
    claim.require(most < LEAST_FOR_P99, "there is a p99")


def _check_accuracy(claim: Claim, _: Groups) -> None:
    rows = claim.facts.measured
    known = {row["precision"] for row in rows if not has_own_label(row)}
    claim.require(len(known) > 1 or any(map(has_own_label, rows)), f"all cases have {known}")
    claim.require(not any(row["answer"] for row in rows), "answers were compared")


_PROCESSES = (
    "ran in fewer than {least:num} processes, so the spread between processes is estimated;"
    " rounds = {rounds:num} measures it."
)
LIMITATIONS = shapes(
    (
        _check_machine,
        "The figures belong to {devices:any}[ with PyTorch {torch:word}]: other hardware or versions may rank"
        " the cases differently.",
    ),
    (_check_no_machine, "The record doesn't say which hardware the figures belong to."),
    (_check_processes, f"Each case {_PROCESSES}", f"{{n:num}} case[s] {_PROCESSES}"),
    (_check_no_steps, "The source kept no single steps, so drift and slow steps can't be seen."),
    (
        _check_few_steps,
        "There is no p99: it needs {least:num} steps of a case, and none has more than {most:num}.",
    ),
    (_check_accuracy, "Accuracy isn't measured: precisions and models are compared only by time."),
)
