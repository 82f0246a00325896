"""Check what the speed costs: how far answers are from their baselines', and the sentences on it."""

from .case_tables import Cell, Check, check_rows
from .cases import Row
from .claims import Claim, Reader, shapes
from .report_text import Part, parse_number

Groups = dict[str, str]
SUSPECT = ("different", "broken")


def check_answers(reader: Reader, part: Part) -> None:
    """Check the sentences of the section and its table."""
    check_rows(reader, part, COLUMNS, lambda row: reader.case(row["Case"]), "Case")
    for item in part.items:
        reader.claim(part.section, item.text).check_sentences(SENTENCES)


def check_answer_cost(claim: Claim, shown: Groups, row: Row, _: Row | None = None) -> None:
    """Check ``answers CLOSE (mean KL 0.0004 nats)``."""
    _check_verdict(claim, shown, row)
    claim.require(row["answer"] != "identical", "an equal answer is no cost")


def check_suspect(claim: Claim, shown: Groups) -> None:
    """Check the warning of a recommended case whose answers aren't the baseline's."""
    row = claim.row(shown["case"])
    _check_verdict(claim, shown, row)
    claim.require(row["answer"] in SUSPECT, f"its answer is {row['answer']}")


def check_more_suspects(claim: Claim, shown: Groups) -> None:
    """Check the number of recommended cases with such answers that have no warning of their own."""
    chosen = {case for cases in claim.reader.chosen.values() for case in cases}
    found = [case for case in chosen if claim.facts.rows[case]["answer"] in SUSPECT]
    items = [item for part in claim.reader.parts if part.section == "Decision" for item in part.items]
    named = sum(item.text.startswith("Answers ") for item in items)
    claim.require_value(shown["more"], len(found) - named, "number of further cases")


def _check_verdict(claim: Claim, shown: Groups, row: Row) -> None:
    claim.require(shown["verdict"] == (row["answer"] or "").upper(), f"its answer is {row['answer']}")
    if shown["figure"]:
        _check_figure(claim, shown["figure"], row)


def _check_figure(claim: Claim, shown: str, row: Row) -> None:
    for before, name, after, size in FIGURES:
        if row[name] is not None:
            claim.require(shown.startswith(before) and shown.endswith(after), f"it is {name}")
            claim.require_value(shown.removeprefix(before).removesuffix(after), size * row[name], name)
            return
    claim.add_objection("a figure that no result has")


def _ignore(claim: Claim, shown: Groups) -> None:
    """Accept an explanation without a number."""


def _check_absent(claim: Claim, shown: Groups) -> None:
    """Check ``Not compared: 1 case (slow) and 2 cases (no baseline)``."""
    missing = [row for row in claim.facts.measured if row["answer_absent"]]
    claim.require(parse_number(shown["k"]) <= len(missing), f"{len(missing)} cases have none")
    claim.require(any(row["answer_absent"] in shown["why"] for row in missing), "another reason")


def _times(name: str, size: float = 1.0) -> Check:
    def check(claim: Claim, cell: Cell, shown: str) -> None:
        value = cell.row[name]
        claim.require_value(shown, None if value is None else size * value, name)

    return check


def _check_speedup(claim: Claim, cell: Cell, shown: str) -> None:
    base = cell.facts.base_of(cell.row)
    claim.require(base is not None and base is not cell.row, "it has no baseline")
    if base:
        claim.require_value(shown, cell.facts.throughput(base, cell.row).value, "the speedup")


def _check_word(claim: Claim, cell: Cell, shown: str) -> None:
    claim.require(shown == (cell.row["answer"] or "").upper(), f"it is {cell.row['answer']}")


def _check_baseline(claim: Claim, cell: Cell, shown: str) -> None:
    base = claim.reader.case(shown)
    claim.require(base["case"] == cell.row["answer_baseline"], f"it is {cell.row['answer_baseline']}")


def _check_shared(claim: Claim, cell: Cell, shown: str) -> None:
    shared = cell.row["answer_shared_with"]
    claim.require(claim.reader.case(shown)["case"] == shared, f"it is the answer of {shared}")


FIGURES = (
    ("mean KL ", "answer_kl_mean", " nats", 1.0),
    ("", "answer_equal_tokens", "% equal", 100.0),
    ("", "answer_change_difference", "% off", 100.0),
    ("", "answer_loss_difference", "% off", 100.0),
    ("", "answer_sqnr_db", " dB", 1.0),
)
"""Figure of a verdict, in the order in which they are looked for: words, name, unit and scale."""
SENTENCES = shapes(
    (
        _ignore,
        "After its measured steps, each case answered the same probe",
        "Figures compare its output with the baseline's; a divergence (KL) is in nats",
        "The weights are random, so these figures prove little: the logits of a trained model differ in size"
        " and shape",
        "Name a checkpoint as model to measure the real cost",
        "They are of an earlier version of benchtui, which repeated rows: likeliest tokens tie",
        "Cases that differ only in batch size or sequence length share an answer, of the case in the last"
        " column; the largest one answered as well, as a spot check",
    ),
    (_check_absent, "Not compared: {k:num} case[s] ({why:text})"),
    (_check_absent, "No verdict: {k:num} case[s] ({why:text})"),
)
COLUMNS: dict[str, Check] = {
    "Throughput against the baseline (×)": _check_speedup,
    "Answer": _check_word,
    "Mean KL": _times("answer_kl_mean"),
    "KL, p99": _times("answer_kl_p99"),
    "Same top token (%)": _times("answer_top1_agreement", 100),
    "Equal tokens (%)": _times("answer_equal_tokens", 100),
    "First difference": _times("answer_first_difference"),
    "Difference of the loss's change (%)": _times("answer_change_difference", 100),
    "Difference of the gradient norm (%)": _times("answer_gradient_difference", 100),
    "Trained weights (%)": _times("answer_trained_share", 100),
    "Largest difference of a loss (%)": _times("answer_loss_difference", 100),
    "SQNR (dB)": _times("answer_sqnr_db"),
    "Cosine": _times("answer_cosine"),
    "Largest difference": _times("answer_largest_difference"),
    "Compared with": _check_baseline,
    "Answer of": _check_shared,
}
