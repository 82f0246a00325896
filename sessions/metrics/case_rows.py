"""Rows of the catalogue about a case itself, how it ended, and its comparison with the baseline."""

from benchtui.sessions.metrics.quantity import (
    NO_UNIT,
    STEPS,
    Amount,
    Better,
    CaseData,
    Format,
    Quantity,
    Reading,
    Text,
    actual,
    amount,
    answer,
    applied,
    as_text,
    ends,
    figure,
    finished,
    in_percent,
    measured,
    of_case,
    ratio,
    recorded,
    requested,
    words,
)
from benchtui.sessions.stats.verdicts import VerdictName
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


def _end(key: str, title: str, meaning: str) -> Quantity:
    return words(key, title, meaning, finished(key))


def _read_back(key: str, title: str, meaning: str) -> Quantity:
    return words(key, title, meaning, applied(key))


def _steps(data: CaseData) -> int | None:
    reported = data.case.reported
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
        Reading("session_started.plan", lambda data: data.case.index + 1),
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
        Reading("session_started.plan", lambda data: data.case.config.group or None),
    ),
)
OUTCOME = (
    words(
        "again",
        "Second of an A/A pair",
        "Whether it's the second case of an A/A pair.",
        Reading("session_started.plan", lambda data: bool(data.case.config.repeat)),
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
    _end("reason", "Reason", "Reason why the case failed or was skipped."),
    _end("signal", "Signal", "Signal that killed the worker, such as SIGKILL."),
    Quantity(
        "exit_code",
        "Exit code",
        NO_UNIT,
        "Exit status of the worker.",
        finished("exit_code"),
        Amount,
        format="words",
    ),
    _end("stderr_line", "Last line on stderr", "Last line that the worker wrote to standard error."),
    words(
        "marks",
        "Marks",
        "Warnings about the row; in CSV joined by '; '.",
        of_case("case_finished.marks", "marks"),
        tuple[str, ...],
    ),
)
APPLIED = (
    _read_back("weights_dtype", "Dtype of the weights", "Dtype of the model's weights, read back."),
    _read_back("autocast_dtype", "Dtype of autocast", "Dtype of autocast, read back; empty without autocast."),
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
        Reading(STEPS, lambda data: data.metrics and (data.metrics.latency_ms.n or None)),
    ),
    amount(
        "rounds",
        "Rounds",
        "Number of rounds in which they were measured.",
        Reading("steps.round", lambda data: data.metrics and (len(data.metrics.rounds_ms) or 1)),
    ),
    words(
        "rounds_p50_ms",
        "Medians of the rounds",
        "Median of each round, or its mean without steps; in CSV joined by '; ', empty for a single round.",
        Reading(STEPS, lambda data: data.metrics.rounds_ms if data.metrics else ()),
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
        Reading(STEPS, _steps),
        exported=False,
    ),
    amount(
        "repeated",
        "Repeated",
        "Number of disturbed attempts, which don't count.",
        Reading("case_repeated", lambda data: len(data.case.repeated)),
        exported=False,
    ),
    _end("stop", "Ended by", "Reason why measuring stopped."),
)


def _answered(path: str) -> Reading:
    return of_case(f"answered.{path}", f"answered.{path}")


BASELINE = (
    amount(
        "baseline",
        "Baseline",
        "Number of the case that this one is compared with.",
        recorded("session_started.sweep", "baseline.case.index"),
    ),
    figure(
        "speedup",
        "Speedup",
        "Throughput at the typical step, relative to the baseline's.",
        ratio("value"),
        better="higher",
        interval=("speedup_low", "speedup_high"),
    ),
    *ends("speedup_{}", "Speedup", "Lower end of the speedup's 95% confidence interval.", ratio),
    figure(
        "speedup_sure_low",
        "Speedup, lower end of the 99% interval",
        "Lower end of the speedup's 99% interval, which decides between faster and slower.",
        ratio("sure_low"),
    ),
    figure(
        "speedup_sure_high",
        "Speedup, upper end of the 99% interval",
        "Upper end of that interval.",
        ratio("sure_high"),
    ),
    words(
        "verdict",
        "Verdict",
        "Verdict on the speedup: FASTER, SLOWER, SAME, UNSURE or REPORTED.",
        ratio("verdict.name"),
        VerdictName | None,
    ),
    words(
        "verdict_doubt",
        "Doubt",
        "Reason for unsure: no interval, wide, steps, totals, files or outside.",
        as_text(ratio("doubt")),
    ),
    figure(
        "verdict_resolution_percent",
        "Smallest detectable difference",
        "Smallest difference that could have been detected.",
        in_percent(ratio("resolution")),
        better="lower",
    ),
)


def _figure(
    field: str, title: str, meaning: str, better: Better, format: Format = "significant", unit: str = NO_UNIT
) -> Quantity:
    key = f"answer_{field}"
    return figure(key, title, meaning, answer(field), better=better, format=format, unit=unit)


ANSWER = (
    words(
        "answer", "Answer", "Verdict on the output: identical, close, different or broken.", answer("verdict")
    ),
    amount(
        "answer_baseline",
        "Baseline of the answer",
        "Number of the case that its output was compared with.",
        answer("baseline"),
    ),
    _figure(
        "kl_mean", "Mean KL", "Mean KL(baseline || case) of the logits, in nats.", "lower", "nats", unit="nats"
    ),
    _figure(
        "kl_p99",
        "KL, p99",
        "99th percentile of the KL over the positions, from 100 positions on.",
        "lower",
        "nats",
        unit="nats",
    ),
    _figure(
        "top1_agreement",
        "Same top token",
        "Share of positions with the same most likely token or class.",
        "higher",
        "share",
    ),
    _figure(
        "sqnr_db",
        "SQNR",
        "Signal-to-noise ratio of logits, embeddings or custom values, in dB.",
        "higher",
        unit="dB",
    ),
    _figure(
        "largest_difference", "Largest difference", "Largest absolute difference between two values.", "lower"
    ),
    _figure(
        "cosine",
        "Cosine",
        "Cosine similarity of custom values, or mean cosine similarity of embeddings.",
        "higher",
        "4 decimals",
    ),
    _figure("equal_tokens", "Equal tokens", "Share of generated tokens that are equal.", "higher", "share"),
    amount(
        "answer_first_difference",
        "First difference",
        "Index of the first new token or training step that differs.",
        answer("first_difference"),
    ),
    _figure(
        "loss_difference",
        "Largest difference of a loss",
        "Largest relative difference of a loss.",
        "lower",
        "share",
    ),
    _figure(
        "change_difference",
        "Difference of the loss's change",
        "Relative difference of the change of the loss over the first training steps.",
        "lower",
        "share",
    ),
    _figure(
        "gradient_difference",
        "Difference of the gradient norm",
        "Relative difference of the gradient norms of the first training steps.",
        "lower",
        "share",
    ),
    _figure(
        "trained_share",
        "Trained weights",
        "Weights that get a gradient, over those of the baseline.",
        "higher",
        "share",
    ),
    amount(
        "answer_shared_with",
        "Answer shared with case",
        "Number of the case whose comparison is shared, because only sizes differ.",
        _answered("shared_with"),
    ),
    words(
        "answer_shortened",
        "Shortened probe",
        "What the probe consisted of if the case was too slow for all of it.",
        _answered("answer.shortened"),
    ),
    words(
        "answer_digest",
        "Digest of the answer",
        "Hash of the output's bits, comparable between sessions.",
        _answered("answer.digest"),
    ),
    words(
        "answer_absent",
        "No answer because",
        "Reason why there is no output, or why it wasn't compared.",
        of_case("answered.absent", "answer_absent"),
    ),
)
