"""Exclusions of a sweep: switching cases off and on with as few entries as possible."""

from collections.abc import Iterable

import msgspec

from benchtui.sessions.sweep.options import AXES, Axes, Config, Exclusion

Exclusions = tuple[Exclusion, ...]


def exclusion_of(axes: Axes, config: Config) -> Exclusion:
    """Return the exclusion of a single case: it names the options with several values on the axes."""
    several = (field for field in AXES if len(getattr(axes, field)) > 1)
    return Exclusion(**{field: getattr(config, field) for field in several})


def exclude_cases(exclude: Exclusions, axes: Axes, exclusion: Exclusion) -> Exclusions:
    """Add an exclusion, merging entries if it completes the values of an option.

    One entry without that option then replaces them. Entries that the new one covers are dropped.
    """
    named = exclusion.named
    for field in named:
        values = getattr(axes, field)
        siblings = {msgspec.structs.replace(exclusion, **{field: value}) for value in values}
        if len(named) > 1 and siblings - {exclusion} <= set(exclude):
            rest = tuple(entry for entry in exclude if entry not in siblings)
            return exclude_cases(rest, axes, msgspec.structs.replace(exclusion, **{field: None}))
    return (*(entry for entry in exclude if not named.items() <= entry.named.items()), exclusion)


def switched_on(exclude: Exclusions, axes: Axes, wanted: Exclusion) -> Exclusions:
    """Remove the cases that match ``wanted`` from the exclusions, splitting entries that cover more."""
    return tuple(dict.fromkeys(part for entry in exclude for part in _without(entry, axes, wanted.named)))


def _without(exclusion: Exclusion, axes: Axes, wanted: dict[str, str | int]) -> Iterable[Exclusion]:
    """Split an exclusion: return entries for the other values of each option that ``wanted`` names."""
    named = exclusion.named
    if any(named.get(field, value) != value for field, value in wanted.items()):
        return [exclusion]
    remaining = []
    for field in (field for field in wanted if field not in named):
        others = (value for value in getattr(axes, field) if value != wanted[field])
        remaining += [msgspec.structs.replace(exclusion, **{field: value}) for value in others]
        exclusion = msgspec.structs.replace(exclusion, **{field: wanted[field]})
    return remaining
