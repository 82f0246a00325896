"""Labels of the report: names of configurations, and words for options."""

from collections.abc import Collection, Sequence
from operator import attrgetter

from benchtui.sessions.analysis.applied_options import was_applied
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.ratios import Comparison
from benchtui.sessions.stats.results import Result
from benchtui.sessions.sweep import UNKNOWN, Config
from benchtui.sessions.sweep.options import BY_NAME, IN_NAMES, READ_BACK, value_text
from benchtui.sessions.text.formatting import count

_IN_NAMES = tuple(BY_NAME[name] for name in IN_NAMES)


def option_title(option: str) -> str:
    """Return the heading of an option's column."""
    return "Tokens" if option == "sequence_length" else option.replace("_", " ").capitalize()


def case_label(config: Config, varied: Collection[str]) -> str:
    """Return a case's label for a sentence: device, precision, batch size, and the other options that vary.

    They have the order of ``Config.name``.
    """
    return " ".join(_parts(config, varied))


def _parts(config: Config, varied: Collection[str]) -> list[str]:
    if config.label:
        return [config.name]
    shown = {*varied, *(("batch_size",) if config.names("batch_size") else ())}
    works = (option for option in _IN_NAMES if option.work and option.prefix and option.name in shown)
    sizes = (f"{option.prefix}{getattr(config, option.name)}" for option in works)
    parts = [machine_label(config), *_choices(config, varied), *sizes]
    return list(filter(None, parts))


def brief_labels(configs: Sequence[Config], varied: Collection[str]) -> tuple[str, list[str]]:
    """Return what the labels of all configurations share, and what is left of each: at least its batch size."""
    parts = [_parts(config, varied) for config in configs]
    shared = [part for part in parts[0][:-1] if all(part in others[:-1] for others in parts)]
    return " ".join(shared), [" ".join(part for part in own if part not in shared) for own in parts]


def without_shared_words(names: Sequence[str]) -> tuple[str, list[str]]:
    """Return the words that all names share, and what is left of each. A single name shares nothing."""
    words = [name.split() for name in names]
    shared = [word for word in words[0] if all(word in own for own in words)] if len(words) > 1 else []
    return " ".join(shared), [" ".join(word for word in own if word not in shared) for own in words]


def case_name(config: Config, varied: Collection[str]) -> str:
    """Return a case's label, or its full name if it is the second of an A/A pair."""
    return config.name if config.repeat else case_label(config, varied)


def machine_label(config: Config) -> str:
    """Return the device, after the requested cluster nodes and the model of the case, if there are any."""
    return " ".join(filter(None, (config.machine, config.model, config.device)))


def _choices(config: Config, varied: Collection[str]) -> list[str]:
    """Return the precision, if known, and the other choices that vary in the session."""
    shown = (
        (option.name, f"{option.prefix}{value_text(getattr(config, option.name))}")
        for option in _IN_NAMES
        if (option.prefix or option.named_values) and not option.work
    )
    precision = [] if config.precision == UNKNOWN or not config.names("precision") else [config.precision]
    return [*precision, *(text for key, text in shown if key in varied)]


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
