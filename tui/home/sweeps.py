"""Sweeps that Home offers for a model. Reading its files and building them takes too long for a key press."""

from typing import TYPE_CHECKING

import msgspec

from benchtui.sessions.estimates.proposal import Proposal, proposal_of
from benchtui.sessions.stored_models.hub_cache import stored_folder
from benchtui.sessions.stored_models.stored_model import StoredModel, read_model
from benchtui.sessions.sweep import Find, Sweep, cases, task_named
from benchtui.sessions.sweep.ranges import AUTO

if TYPE_CHECKING:
    from benchtui.sessions.advice.find_sweep import DeviceSupport

QUICK_S = 60.0
"""Time limit of a quick look."""
QUICK_VARIED = ("precision", "batch_size")
QUICK_SIZES = "1,8,32"
TEMPLATE = "quick"
"""Preset whose axes and rules a sweep of one's own starts with."""


class Offers(msgspec.Struct, frozen=True):
    """Sweeps of a model on a device."""

    measure: Sweep
    measure_cases: int
    """Cases that it may measure. To count them takes too long for a frame."""
    quick: Sweep
    quick_cases: int
    own: Sweep
    """Small sweep to be edited."""


def offers(model: str, stored: StoredModel | None, support: "DeviceSupport") -> Offers:
    """Build the sweeps of a model. Without its files, they use weights of the hub, and classify.

    Raises:
        BenchtuiError: If no case can run.
    """
    from benchtui.sessions.advice.find_sweep import DEFAULT_WITHIN_S, VARIED  # not needed for the first paint

    proposal = proposal_for(stored)
    measure = _search(model, proposal, support, DEFAULT_WITHIN_S, VARIED)
    quick = _search(model, proposal, support, QUICK_S, QUICK_VARIED, f"batch_size={QUICK_SIZES}")
    return Offers(measure, _planned(measure), quick, _planned(quick), _own(model, proposal, support.device))


def _planned(sweep: Sweep) -> int:
    return sum(case.skip is None for case in cases(sweep))


def proposal_for(stored: StoredModel | None) -> Proposal:
    """Return the proposal for a model, also for one of the hub."""
    if stored is None:
        return Proposal({"weights": "pretrained"}, ("weights of the hub",))
    return proposal_of(stored)


def proposal_of_name(model: str) -> Proposal:
    """Return the proposal for a folder or hub id: by its files, or else by a bundled architecture."""
    folder = stored_folder(model) or stored_folder(model, "random")
    return proposal_for(read_model(folder) if folder else None)


def _search(
    model: str,
    proposal: Proposal,
    support: "DeviceSupport",
    within_s: float,
    vary: tuple[str, ...],
    *overrides: str,
) -> Sweep:
    from benchtui.sessions.advice.find_sweep import FindRequest, find_sweep  # not needed for the first paint

    request = FindRequest(
        model=model, within_s=within_s, find=Find(), vary=vary, overrides=(*proposal.overrides, *overrides)
    )
    return find_sweep(request, support)


def own_sweep(model: str, device: str, overrides: tuple[str, ...]) -> Sweep:
    """Return the small sweep of a model, with entries of the user. Raises BenchtuiError for a wrong one."""
    return _own(model, proposal_of_name(model), device, overrides)


def _own(model: str, proposal: Proposal, device: str, overrides: tuple[str, ...] = ()) -> Sweep:
    import tomlkit  # not needed for the first paint

    from benchtui.sessions.sweep.toml_reader import parse_sweep, read_source, read_table

    table = {**read_table(*read_source(TEMPLATE))}
    axes = {**table["axes"], "device": device}
    if "axes.sequence_length" in proposal.entries or not task_named(proposal.entries.get("task", "")).texts:
        axes.pop("sequence_length")
    name = model.rstrip("/").rpartition("/")[2] or TEMPLATE
    table |= {"name": name, "model": model, "task": AUTO, "axes": axes}
    return parse_sweep(tomlkit.dumps(table), name, (*proposal.overrides, *overrides))
