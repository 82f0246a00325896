"""Check how many cases were measured, and the choices in detail."""

import re
from collections import Counter

from .cases import NEEDS_BY_TITLE, OUTCOMES, Groups
from .certainty import HOW_SURE, require_complete
from .claims import Claim, shapes
from .needs import VERSUS, check_metrics, parse_need, record_choice
from .report_text import parse_number

WITHOUT_RATIO = ("memory", "energy", "steadiness", "balanced")
"""Needs whose choice isn't compared with its baseline."""


def check_choice(claim: Claim, lead: str) -> None:
    if parse_need(claim, lead, NEEDS_BY_TITLE):
        claim.check_sentences(CHOICE)
        require_complete(claim)
    else:
        claim.add_objection(f"unknown lead: {lead!r}")


def check_counts(claim: Claim, shown: Groups) -> None:
    states = Counter(row["outcome"] for row in claim.facts.rows)
    claim.require_value(shown["n"], states["ok"], "number of measured cases")
    claim.require_value(shown["m"], len(claim.facts.rows), "number of cases")
    claim.require(set(states) <= {"ok"} or "measured" in claim.text or ";" in claim.text, "others aren't told")


def _check_other_outcomes(claim: Claim, shown: Groups) -> None:
    states = Counter(row["outcome"] for row in claim.facts.rows if row["outcome"] != "ok")
    wanted = {OUTCOMES.get(state, state): number for state, number in states.items()}
    found = {
        word: parse_number(number)
        for number, word in (each.split(" ", 1) for each in re.split(", | and ", shown["others"]))
    }
    claim.require(found == wanted, f"others are {wanted}")


def _check_best(claim: Claim, shown: Groups) -> None:
    record_choice(claim, shown["best"])
    check_metrics(claim, claim.best, shown["figure"])
    if shown["versus"]:
        claim.check_clause(shown["versus"], VERSUS)
    else:
        silent = claim.need in WITHOUT_RATIO or claim.best["baseline"] is None
        claim.require(silent, "nothing is said of its baseline")


CHOICE = [*shapes((_check_best, "{best:case}: {figure:figure}[, {versus:versus}]")), *HOW_SURE]
COUNTS = shapes(
    (check_counts, "{n:num} of {m:num}[ planned] case[s]"), (_check_other_outcomes, "{others:text}")
)
