"""Sweeps that Home offers for a model. Reading its files and building them takes too long for a key press."""

from typing import TYPE_CHECKING

import msgspec

from benchtui.sessions.stored_models.proposal import Proposal, proposal_of
from benchtui.sessions.stored_models.stored_model import StoredModel
from benchtui.sessions.stored_models.task import DEFAULT_TASK
from benchtui.sessions.sweep import Find, Sweep, task_named

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
    quick: Sweep
    own: Sweep
    """Small sweep to be edited."""


def offers(model: str, stored: StoredModel | None, bundled: bool, support: "DeviceSupport") -> Offers:
    """Build the sweeps of a model. Without its files, they use weights of the hub, and classify.

    Raises:
        BenchtuiError: If no case can run.
    """
    from benchtui.sessions.advice.find_sweep import DEFAULT_WITHIN_S, VARIED  # not needed for the first paint

    proposal = proposal_for(stored, bundled)
    return Offers(
        measure=_search(model, proposal, support, DEFAULT_WITHIN_S, VARIED),
        quick=_search(model, proposal, support, QUICK_S, QUICK_VARIED, f"batch_size={QUICK_SIZES}"),
        own=_own(model, proposal, support.device),
    )


def proposal_for(stored: StoredModel | None, bundled: bool) -> Proposal:
    """Return the proposal for a model, also for one of the hub and for a bundled architecture."""
    if stored is None:
        return Proposal({"weights": "pretrained"}, ("weights of the hub",))
    if bundled:
        entries = {"weights": "random", "task": stored.task.task if stored.task else DEFAULT_TASK}
        return Proposal(entries, ("random weights, since benchtui has only its architecture",))
    return proposal_of(stored)


def _search(
    model: str,
    proposal: Proposal,
    support: "DeviceSupport",
    within_s: float,
    vary: tuple[str, ...],
    *overrides: str,
) -> Sweep:
    from benchtui.sessions.advice.find_sweep import FindRequest, find_sweep  # not needed for the first paint

    entries = {name: text for name, text in proposal.entries.items() if name != "task"}
    request = FindRequest(
        model=model,
        task=proposal.entries.get("task", DEFAULT_TASK),
        within_s=within_s,
        find=Find(),
        vary=vary,
        overrides=(*(f"{name}={text}" for name, text in entries.items()), *overrides),
    )
    return find_sweep(request, support)


def _own(model: str, proposal: Proposal, device: str) -> Sweep:
    import tomlkit  # not needed for the first paint

    from benchtui.sessions.sweep.toml_reader import parse_sweep, read_source, read_table

    table = {**read_table(*read_source(TEMPLATE))}
    axes = {**table["axes"], "device": device}
    if "axes.sequence_length" in proposal.entries or not task_named(proposal.entries.get("task", "")).texts:
        axes.pop("sequence_length")
    name = model.rstrip("/").rpartition("/")[2] or TEMPLATE
    table |= {"name": name, "model": model, "task": DEFAULT_TASK, "axes": axes}
    overrides = tuple(f"{name}={text}" for name, text in proposal.entries.items())
    return parse_sweep(tomlkit.dumps(table), name, overrides)
