"""Sweep of a search: the options worth trying for a model on a device, within a time limit."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
import tomlkit
from msgspec import to_builtins
from msgspec.structs import replace

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.estimates.stop_limits import LEAST_STEPS
from benchtui.sessions.sanitize import quoted
from benchtui.sessions.stats.quantiles import LEAST_FOR_P99
from benchtui.sessions.sweep import Baseline, Case, Find, Sweep, cases
from benchtui.sessions.sweep.library_names import entry_hint, entry_named
from benchtui.sessions.sweep.model import WAIT_FOR_QUIET_S
from benchtui.sessions.sweep.ranges import whole_numbers
from benchtui.sessions.sweep.toml_reader import parse_sweep

VARIED = ("precision", "attention", "compile", "threads", "batch_size")
"""Options that a search varies by default, as far as device and task support them."""
WAITS = 10
"""Waits for a quiet machine that would take all of the time of a search."""
DEFAULT_WITHIN_S = 900.0
"""Time limit of a search that states none."""


class DeviceSupport(msgspec.Struct, frozen=True, kw_only=True):
    """Features of a device and its machine that decide which options are worth trying."""

    device: str
    bf16: bool = True
    """Whether the device computes in bf16. Without it, bf16 is emulated, and slow."""
    compiler: bool = True
    """Whether this machine has the compiler that ``torch.compile`` needs for the device."""
    processors: int = 1
    """CPUs that cases may use."""
    flash: bool = False
    """Whether the package flash-attn is installed."""

    @property
    def on_gpu(self) -> bool:
        """Whether the device is a GPU."""
        return self.device != "cpu"


class FindRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Search as the user requests it."""

    model: str
    within_s: float
    find: Find
    vary: tuple[str, ...] = VARIED
    overrides: tuple[str, ...] = ()
    """Entries of the sweep that the user sets, as ``key=value``."""


def within(sweep: Sweep, budget_s: float | None) -> Sweep:
    """Return a search of a sweep's cases with this time limit; without a limit, the sweep as it is."""
    if budget_s is None:
        return sweep
    wait_s = min(sweep.run.wait_for_quiet_s or 0.0, _longest_wait_s(budget_s))
    return replace(
        sweep,
        find=sweep.find or Find(),
        measure=replace(sweep.measure, rounds=1, rounds_auto=True),
        run=replace(sweep.run, budget_s=budget_s, wait_for_quiet_s=wait_s),
    )


def search_of(sweep: Sweep, support: DeviceSupport) -> Sweep:
    """Return a search for the best case of a sweep's model, with its task, texts and lengths.

    Raises BenchtuiError if no case can run.
    """
    stated = {
        "task": sweep.task,
        "weights": sweep.weights,
        "dataset": sweep.dataset,
        "sequence_length": ",".join(map(str, sweep.axes.sequence_length)),
    }
    request = FindRequest(
        model=sweep.axes.model[0] or sweep.model,
        within_s=DEFAULT_WITHIN_S,
        find=Find(),
        overrides=tuple(f"{name}={value}" for name, value in stated.items()),
    )
    return find_sweep(request, support)


def find_sweep(request: FindRequest, support: DeviceSupport) -> Sweep:
    """Return the sweep of a search. Its baseline is the plainest case, which comes first.

    Raises BenchtuiError if an entry isn't allowed, or no case can run.
    """
    table = {
        "name": f"find-{Path(request.model).name}",
        "model": request.model,
        "axes": {"device": support.device, **{name: _VALUES[name](support) for name in request.vary}},
        "measure": {"rounds": "auto", "peaks": False, "caches": "shared", **_steps(request.find, support)},
        "run": {"budget": request.within_s, "wait_for_quiet": _longest_wait_s(request.within_s)},
        "find": {name: value for name, value in to_builtins(request.find).items() if value is not None},
    }
    sweep = parse_sweep(tomlkit.dumps(table), "find", request.overrides)
    planned = cases(sweep)
    runnable = [case for case in planned if case.skip is None]
    if not runnable:
        raise BenchtuiError(f"find: no case can run: {planned[0].skip}")
    axes = replace(sweep.axes, **{name: _used(name, sweep, runnable) for name in request.vary})
    varying = [name for name in request.vary if len(getattr(axes, name)) > 1]
    plainest = Baseline(**{name: getattr(axes, name)[0] for name in varying}) if varying else None
    measure = replace(sweep.measure, baseline=sweep.measure.baseline or plainest)
    return replace(sweep, axes=axes, measure=measure)


def _longest_wait_s(within_s: float) -> float:
    """Return the longest wait for a quiet machine, in seconds; it counts in the time of the search."""
    return min(WAIT_FOR_QUIET_S, round(within_s / WAITS, 1))


def _steps(find: Find, support: DeviceSupport) -> dict[str, int]:
    """Return the steps of a round if not the default: enough for a p99, or few on a CPU."""
    if find.max_p99_ms is not None:
        return {"iterations": LEAST_FOR_P99}
    return {} if support.on_gpu else {"iterations": LEAST_STEPS}


def _used(axis: str, sweep: Sweep, runnable: Sequence[Case]) -> tuple[str | int, ...]:
    used = {getattr(case.config, axis) for case in runnable}
    return tuple(value for value in getattr(sweep.axes, axis) if value in used)


def parse_vary(text: str) -> tuple[str, ...]:
    """Parse options to vary, separated by commas. Raises BenchtuiError naming an unknown one."""
    names = tuple(dict.fromkeys(entry_named(part.strip(), _VALUES) for part in text.split(",")))
    for name in names:
        if name not in _VALUES:
            raise BenchtuiError(
                f"--vary: no option {quoted(name)}{entry_hint(name, _VALUES)}; options: {', '.join(_VALUES)}"
            )
    return names


def _precisions(support: DeviceSupport) -> list[str]:
    reduced = ["bf16"] if support.bf16 else []
    return ["fp32", "tf32", "fp16", *reduced] if support.on_gpu else ["fp32", *reduced]


def _quantizations(support: DeviceSupport) -> list[str]:
    on_gpu = ["torchao-int4", "bnb-nf4"] if support.on_gpu else []
    return ["off", "torchao-int8", "torchao-int8-dynamic", *on_gpu]


def _compile_modes(support: DeviceSupport) -> list[str]:
    modes = ["default", *(["reduce-overhead"] if support.on_gpu else [])]
    return ["off", *(modes if support.compiler else [])]


def _threads(support: DeviceSupport) -> list[int]:
    half = 0 if support.on_gpu else support.processors // 2
    return [0, half] if half else [0]


_VALUES: Mapping[str, Callable[[DeviceSupport], list[str] | list[int] | str]] = {
    "precision": _precisions,
    "quantization": _quantizations,
    "attention": lambda of: ["sdpa", "eager", *(["flash"] if of.flash and of.on_gpu else [])],
    "compile": _compile_modes,
    "cache": lambda _: ["dynamic", "static"],
    "padding": lambda _: ["max", "longest"],
    "threads": _threads,
    "batch_size": lambda support: "1..128*2" if support.on_gpu else "1..64*2",
}
"""Values to try for each option, the plainest first."""


def searched_batch_sizes(support: DeviceSupport) -> tuple[int, ...]:
    """Return the batch sizes that a search tries, in ascending order."""
    return tuple(whole_numbers(str(_VALUES["batch_size"](support)), "batch_size"))
