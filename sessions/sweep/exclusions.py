"""Which cases a sweep leaves out, as few entries as simply say it; cases switched off and on."""

from collections.abc import Iterable

import msgspec

from benchtui.sessions.sweep.model import Axes, Config, Exclusion
from benchtui.sessions.sweep.options import AXES

Exclusions = tuple[Exclusion, ...]


def naming(axes: Axes, config: Config) -> Exclusion:
    """The exclusion that marks a single case: it names the options of which the axes have several values."""
    several = (field for field in AXES if len(getattr(axes, field)) > 1)
    return Exclusion(**{field: getattr(config, field) for field in several})


def switched_off(exclude: Exclusions, axes: Axes, exclusion: Exclusion) -> Exclusions:
    """One more exclusion; where it completes the values of an option, one entry without the option says it.

    Entries that the new one covers are dropped.
    """
    named = exclusion.named
    for field in named:
        values = getattr(axes, field)
        siblings = {msgspec.structs.replace(exclusion, **{field: value}) for value in values}
        if len(named) > 1 and siblings - {exclusion} <= set(exclude):
            rest = tuple(each for each in exclude if each not in siblings)
            return switched_off(rest, axes, msgspec.structs.replace(exclusion, **{field: None}))
    return (*(each for each in exclude if not named.items() <= each.named.items()), exclusion)


def switched_on(exclude: Exclusions, axes: Axes, wanted: Exclusion) -> Exclusions:
    """The exclusions without the cases that match ``wanted``; an entry that spans more is taken apart."""
    return tuple(dict.fromkeys(part for each in exclude for part in _without(each, axes, wanted.named)))


def _without(exclusion: Exclusion, axes: Axes, wanted: dict[str, str | int]) -> Iterable[Exclusion]:
    """What is left of an exclusion: for each option that ``wanted`` names, its other values."""
    named = exclusion.named
    if any(named.get(field, value) != value for field, value in wanted.items()):
        return [exclusion]
    left = []
    for field in (field for field in wanted if field not in named):
        others = (value for value in getattr(axes, field) if value != wanted[field])
        left += [msgspec.structs.replace(exclusion, **{field: value}) for value in others]
        exclusion = msgspec.structs.replace(exclusion, **{field: wanted[field]})
    return left
