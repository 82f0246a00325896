"""Rows of the catalogue about a case itself: its options, requested and applied, and how it ended."""

from benchtui.sessions.metrics.quantity import NO_UNIT, Amount, CaseData, Quantity, Text, amount, figure, words
from benchtui.sessions.metrics.readings import (
    STEPS,
    actual,
    applied,
    computed,
    finished,
    in_percent,
    measured,
    of_case,
    requested,
)
from benchtui.sessions.sweep.options import OPTIONS, Option

IN_OTHERS = tuple(option for option in OPTIONS if option.read_back and not option.own_fields)
"""Options whose applied value is in ``Effective.others``, with a column named after the option."""


def _title(option: Option) -> str:
    return option.name.replace("_", " ").capitalize()


def _requested(option: Option) -> Quantity:
    if option.numeric:
        return amount(option.name, _title(option), option.help, requested(option.name))
    kind: object = Text if option.label_covers else str
    return words(option.name, _title(option), option.help, requested(option.name), kind)


def _applied(option: Option) -> Quantity:
    row = amount if option.numeric else words
    title, meaning = f"{_title(option)}, applied", f"{option.name} that was applied, read back."
    return row(f"{option.name}_used", title, meaning, actual(option.name))


def _steps(data: CaseData) -> int | None:
    reported = data.case.finished.reported if data.case.finished else None
    return data.case.steps_measured or (reported.steps if reported else None)


IDENTITY = (
    amount(
        "case",
        "No.",
        "Number in the session's plan, counted from 0.",
        of_case("session_started.plan", "index"),
        int,
    ),
    amount(
        "number",
        "Number",
        "Number of the case, counted from 1, as on screen and as commands accept it.",
        computed("session_started.plan", lambda data: data.case.index + 1),
        int,
    ),
    words("name", "Case", "The options in one readable line.", of_case("session_started.plan", "name"), str),
)
REQUESTED = (
    *map(_requested, OPTIONS),
    *map(_applied, IN_OTHERS),
    words(
        "group",
        "Work of an imported case",
        "Work of an imported case in its tool's terms; only cases of the same work are compared.",
        computed("session_started.plan", lambda data: data.case.config.group or None),
    ),
)
OUTCOME = (
    words(
        "again",
        "Second of an A/A pair",
        "Whether it's the second case of an A/A pair.",
        computed("session_started.plan", lambda data: bool(data.case.config.repeat)),
        bool,
    ),
    words(
        "node",
        "Node",
        "Cluster node that it ran on; empty for this machine.",
        of_case("case_started.node", "node"),
    ),
    words(
        "outcome",
        "Outcome",
        "One of ok, oom, skipped, failed, timeout, interrupted, running and queued.",
        of_case("case_finished.outcome", "state"),
        str,
    ),
    words("reason", "Reason", "Reason why the case failed or was skipped.", finished("reason")),
    words("signal", "Signal", "Signal that killed the worker, such as SIGKILL.", finished("signal")),
    Quantity(
        "exit_code",
        "Exit code",
        NO_UNIT,
        "Exit status of the worker.",
        finished("exit_code"),
        Amount,
        format="words",
    ),
    words(
        "stderr_line",
        "Last line on stderr",
        "Last line that the worker wrote to standard error.",
        finished("stderr_line"),
    ),
    words(
        "marks",
        "Marks",
        "Warnings about the row; in CSV joined by '; '.",
        of_case("case_finished.marks", "marks"),
        tuple[str, ...],
    ),
)
APPLIED = (
    words(
        "weights_dtype",
        "Dtype of the weights",
        "Dtype of the model's weights, read back.",
        applied("weights_dtype"),
    ),
    words(
        "autocast_dtype",
        "Dtype of autocast",
        "Dtype of autocast, read back; empty without autocast.",
        applied("autocast_dtype"),
    ),
    words(
        "attention_used",
        "Attention, applied",
        "Attention implementation, read back from the model.",
        applied("attention"),
    ),
    figure("weights_mb", "Weights", "Memory of all weights and buffers, read back.", applied("weights_mb")),
    figure(
        "draft_acceptance_percent",
        "Drafted tokens accepted",
        "Share of drafted tokens that the model accepted.",
        in_percent(applied("draft_acceptance")),
        "Accepted",
        better="higher",
    ),
    words(
        "compiled",
        "Compiled",
        "Whether the step ran compiled code, read back.",
        applied("compiled"),
        bool | None,
    ),
    amount(
        "threads_used",
        "Threads, applied",
        "Threads that torch uses inside an operator, read back.",
        applied("threads"),
    ),
)
SAMPLE = (
    amount(
        "samples_per_step",
        "Samples per step",
        "Samples in a step; with accumulation, of all its batches.",
        of_case("case_prepared.samples_per_step", "samples_per_step"),
        int,
    ),
    amount(
        "n",
        "n",
        "Number of measured steps.",
        computed(STEPS, lambda data: data.metrics and (data.metrics.latency_ms.n or None)),
    ),
    amount(
        "rounds",
        "Rounds",
        "Number of rounds in which they were measured.",
        computed("steps.round", lambda data: data.metrics and (len(data.metrics.rounds_ms) or 1)),
    ),
    words(
        "rounds_p50_ms",
        "Medians of the rounds",
        "Median of each round, or its mean without steps; in CSV joined by '; ', empty for a single round.",
        computed(STEPS, lambda data: data.metrics.rounds_ms if data.metrics else ()),
        tuple[float, ...],
    ),
    amount(
        "warmup_steps",
        "Warm-up steps",
        "Number of warm-up steps; they are recorded but don't count.",
        measured("warmup_steps"),
    ),
    amount(
        "steps",
        "Steps",
        "Number of measured steps, also of a case that failed; for an imported case, as its source reports it.",
        computed(STEPS, _steps),
        exported=False,
    ),
    amount(
        "repeated",
        "Repeated",
        "Number of disturbed attempts, which don't count.",
        computed("case_repeated", lambda data: len(data.case.repeated)),
        exported=False,
    ),
    words("stop", "Ended by", "Reason why measuring stopped.", finished("stop")),
)
