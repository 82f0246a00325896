"""Labels of the report: names of configurations, and words for options."""

from collections.abc import Sequence
from operator import attrgetter

from benchtui.sessions.analysis.applied_options import was_applied
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.ratios import Comparison
from benchtui.sessions.stats.results import Result
from benchtui.sessions.sweep import UNKNOWN, Config
from benchtui.sessions.sweep.options import BY_NAME, OPTIONS, READ_BACK
from benchtui.sessions.text.formatting import count

_IN_WORK = tuple(option for option in OPTIONS if option.work and option.name != "batch_size")


def option_title(option: str) -> str:
    """Return the heading of an option's column."""
    return "Tokens" if option == "sequence_length" else option.replace("_", " ").capitalize()


def brief_names(configs: Sequence[Config]) -> tuple[str, list[str]]:
    """Return the words that all names share, and the rest of each: at least its batch size.

    Of several works, the options that name the work of a row are left out. Labels have no words to share.
    """
    if any(config.label for config in configs):
        return "", [config.name for config in configs]
    works = _IN_WORK if len({config.work for config in configs}) > 1 else ()
    names = []
    for config in configs:
        in_work = {f"{option.prefix}{getattr(config, option.name)}" for option in works}
        names.append([word for word in config.name.split() if word not in in_work])
    size = BY_NAME["batch_size"].prefix
    shared = [word for word in names[0] if not word.startswith(size) and all(word in own for own in names)]
    own = [" ".join(word for word in words if word not in shared) for words in names]
    return " ".join(shared), [brief or config.name for brief, config in zip(own, configs, strict=True)]


def without_shared_words(names: Sequence[str]) -> tuple[str, list[str]]:
    """Return the words that all names share, and what is left of each. A single name shares nothing."""
    words = [name.split() for name in names]
    shared = [word for word in words[0] if all(word in own for own in words)] if len(words) > 1 else []
    return " ".join(shared), [" ".join(word for word in own if word not in shared) for own in words]


def applied(is_applied: bool | None) -> str:
    """Return whether an option was applied, in words."""
    return {True: "yes", False: "no", None: "not verified"}[is_applied]


def pair_applied(pair: Comparison, option: str) -> bool | None:
    """Return whether both cases of a pair ran with the requested option; None if unknown."""
    both = was_applied(pair.base.case, option), was_applied(pair.new.case, option)
    if False in both:
        return False
    return None if None in both else True


_read_back = attrgetter(*READ_BACK)
_DEFAULTS = tuple(BY_NAME[option].default for option in READ_BACK)


def unverified_options(result: Result) -> tuple[tuple[str, bool | None], ...]:
    """Return the non-default values that weren't applied (False), or weren't verified as applied (None).

    Empty for a case imported from another tool, whose options are in its label.
    """
    if result.config.label or _read_back(result.config) == _DEFAULTS:
        return ()
    checked = (
        (option, value, was_applied(result.case, option))
        for option in READ_BACK
        if (value := getattr(result.config, option)) not in (BY_NAME[option].default, UNKNOWN)
    )
    return tuple((f"{BY_NAME[option].prefix}{value}", state) for option, value, state in checked if not state)


def measured_amount(session: Session, noun: str, verb: str = "") -> str:
    """Return how many of the cases were measured, and how many of them only in the rounds that have ended."""
    measured = sum(case.has_result for case in session.cases)
    in_part = sum(case.measured_in_part for case in session.cases)
    part = f", {in_part:,} of them in some rounds only" if in_part else ""
    return f"{measured:,} of {count(len(session.cases), noun)}{verb}{part}"
