"""Phrases of results: one for each state. docs/reading-a-report.md defines each of them."""

from enum import StrEnum


class Phrase(StrEnum):
    """State of a choice, a ratio or an option in words. A number or a reason may follow."""

    FASTER = "FASTER"
    SLOWER = "SLOWER"
    SAME = "SAME"
    UNSURE = "UNSURE"
    REPORTED = "REPORTED"

    NO_STEPS = "the source kept no steps"
    NO_INTERVAL = "no interval"
    LEANS = "leans"
    CANT_RESOLVE = "can't resolve below"
    CANT_TELL = "can't tell"
    TOO_WIDE = "too wide"
    FAST_STEPS = "typical and fast steps disagree"
    TOTALS = "typical steps and totals disagree"
    FILES = "files changed"
    OUTSIDE = "load or clock may explain it"

    RUN = "Run"
    RUN_FOR_NOW = "Run for now"
    UNDECIDED = "undecided"
    IN_PART = "decided in part"
    MAY_BE_BETTER = "may be as good or better"
    TO_DECIDE = "to decide"
    NOTHING_DECIDES = "more measurements don't decide it"
    ONLY = "the only case"
    ONLY_COMPARABLE = "the only case that can be compared"
    AHEAD = "clearly ahead of the next"
    TIED = "indistinguishable from"
    WITHIN = "within"
    NOT_IN_SLOW_STEPS = "ahead of the next, but not in its slow steps"
    NOT_OF_ALL = "ahead of the next, but not surely of all others"
    AS_REPORTED = "as reported"
    BASELINE = "the baseline"

    USE = "use it"
    LEAVE = "leave it"
    NOT_FINITE = "loss not finite"
    NOT_APPLIED = "not applied"
    NOT_VERIFIED = "not verified"
    NOT_COMPARABLE = "not comparable"

    COMPILE_TIME = "of compile time"
    EXPORT_TIME = "to export and load"
    ACCURACY = "accuracy not measured here"
