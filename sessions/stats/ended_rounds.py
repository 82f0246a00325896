"""Ended rounds of a case, combined into its end: of all rounds, or of those that ended so far."""

from __future__ import annotations  # CaseState is only a type here

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, get_args

from msgspec.structs import replace

from benchtui.sessions.events import CaseFinished, RoundFinished
from benchtui.sessions.payloads import Energy, EnergySource, highest_peaks
from benchtui.sessions.stats.disturbance import merge_round_marks

if TYPE_CHECKING:
    from benchtui.sessions.state.case import CaseState


_SHARED = tuple(name for name in RoundFinished.__struct_fields__ if name != "round")
"""Fields of the ends of rounds and cases."""


def as_end(record: RoundFinished) -> CaseFinished:
    """Return the end of a round as the worker reported it, restored from the recorded fields."""
    return CaseFinished(**{name: getattr(record, name) for name in _SHARED}, outcome="ok")


def as_round(end: CaseFinished, index: int) -> RoundFinished:
    """Return the end of a case as that of one of its rounds, counted from 0."""
    return RoundFinished(**{name: getattr(end, name) for name in _SHARED}, round=index)


def end_of_case(ends: Sequence[CaseFinished]) -> CaseFinished:
    """Return the last round's end with the highest peaks, and the energy, marks and step cost of all rounds.

    Energy is that of the rounds that were measured alone: by turns, the device's is that of two cases.
    """
    if len(ends) == 1:
        return ends[0]
    alone = [end for end in ends if end.turns is None] or ends
    energies = [end.energy for end in alone if end.energy]
    return replace(
        ends[-1],
        memory=highest_peaks([end.memory for end in ends if end.memory]),
        energy=sum_energy(energies) if energies else None,
        marks=merge_round_marks([end.marks for end in ends]),
        work=next((end.work for end in reversed(ends) if end.work), None),
    )


def sum_energy(parts: Iterable[Energy]) -> Energy:
    """Sum the energy of several rounds. If one round has none, return that round's record, with its reason."""
    rounds = list(parts)
    readings = [
        (one_round.energy_j, one_round.mean_power_w) for one_round in rounds if one_round.energy_j is not None
    ]
    spans_s = [energy_j / power_w for energy_j, power_w in readings if power_w]
    if len(spans_s) < len(rounds):
        return next(
            one_round for one_round in rounds if one_round.energy_j is None or not one_round.mean_power_w
        )
    energy_j = sum(energy_j for energy_j, _ in readings)
    drams = [one_round.dram_j for one_round in rounds if one_round.dram_j is not None]
    sources = [one_round.source for one_round in rounds if one_round.source]
    return Energy(
        energy_j=energy_j,
        mean_power_w=energy_j / sum(spans_s),
        source=max(sources, key=get_args(EnergySource).index, default=None),
        dram_j=sum(drams) if len(drams) == len(rounds) else None,
    )


def with_result(case: CaseState, planned: int | None) -> CaseState | None:
    """Return a case as far as it has a result; None without one.

    That is the case itself if it ended well. If it was cut off, or if rounds are still to come, it is a copy
    with the rounds that have ended, whose mark says how many of the ``planned`` rounds they are, if that is
    known. A case that failed in a later round has no result.
    """
    if not case.measured_in_part:
        return case if case.state == "ok" else None
    so_far, ended = case.snapshot(), len(case.rounds)
    so_far.drop_from_round(ended)
    end = end_of_case([as_end(round_) for round_ in case.rounds])
    amount = (f"{ended} of {planned} rounds",) if planned else ()
    so_far.rounds, so_far.cut_off_state = case.rounds[:-1], case.state
    so_far.finished = replace(end, marks=(*end.marks, *amount))
    return so_far
