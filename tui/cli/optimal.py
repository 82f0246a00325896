"""``benchtui optimal``: choose which of the measured cases to run."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypedDict, Unpack

import click

from benchtui import sessions
from benchtui.sessions.advice.constraints import Constraints
from benchtui.sessions.advice.objectives import Need, Objective
from benchtui.sessions.advice.optimal import decide, single_case_sweep, works
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import UNKNOWN, Sweep, toml_writer
from benchtui.sessions.sweep.quantities import parse_quantity
from benchtui.sessions.sweep.toml_reader import load_sweep, parse_sweep
from benchtui.tui.cli.options import (
    baseline_option,
    complete_session,
    printable,
    same_within_option,
    verdict_settings,
)
from benchtui.tui.cli.text import optimal as output
from benchtui.tui.cli.text.output import write_document

NOTHING_FITS = 1

_LARGEST = 1e15
_SIZES_MB = {"mb": 1.0, "gb": 1000.0, "mib": 2**20 / 1e6, "gib": 2**30 / 1e6}
_TIMES_MS = {"us": 0.001, "ms": 1.0, "s": 1000.0}
_POWERS_W = {"w": 1.0, "kw": 1000.0}


_Callback = Callable[[click.Context, click.Parameter, str | None], float | None]


def _quantity(what: str, units: dict[str, float], example: str) -> _Callback:
    """Return an option callback that parses a number with a unit into the unit whose factor is 1."""

    def convert(_context: click.Context, _parameter: click.Parameter, text: str | None) -> float | None:
        if text is None:
            return None
        value = parse_quantity(text.lower(), units)
        if value is None or not 0 < value < _LARGEST:
            raise click.BadParameter(f"{text!r} is not a {what} such as {example}; units: {', '.join(units)}")
        return value

    return convert


objective_option = click.option(
    "--objective",
    "need",
    type=click.Choice(["throughput", "latency", "memory", "energy", "steadiness", "balanced"]),
    default="throughput",
    show_default=True,
    help="What to optimize: samples/s, step time, samples/s per MB of peak memory, joules per sample, the"
    " spread of step times relative to their mean, or the product of time per sample, step time, peak memory"
    " and joules.",
)
_size = _quantity("size", _SIZES_MB, "8GB")
_time = _quantity("time", _TIMES_MS, "50ms")
_power = _quantity("power", _POWERS_W, "300W")


class _Limits(TypedDict):
    """Constraints, as options."""

    vram_mb: float | None
    p99_ms: float | None
    latency_ms: float | None
    power_w: float | None


@click.command()
@click.argument("session", shell_complete=complete_session)
@objective_option
@click.option("--max-vram", "vram_mb", callback=_size, help="Maximum peak memory on the device, such as 8GB.")
@click.option("--max-p99", "p99_ms", callback=_time, help="Maximum p99 of the step time, such as 50ms.")
@click.option("--max-latency", "latency_ms", callback=_time, help="Maximum median step time, such as 50ms.")
@click.option("--max-power", "power_w", callback=_power, help="Maximum mean power, such as 300W.")
@click.option(
    "--steps",
    type=click.IntRange(1, 10**9),
    help="Number of steps of the job, including the first, which compiles.",
)
@click.option("--sequence-length", "length", type=click.IntRange(1), help="Consider only cases of this length.")
@baseline_option
@same_within_option
@click.option("--json", "as_json", is_flag=True, help="Print the decision as JSON.")
@click.option(
    "--toml", "toml_path", metavar="FILE", help="Write a sweep with only the recommended case; - is stdout."
)
def optimal(
    session: str,
    need: Need,
    steps: int | None,
    length: int | None,
    as_json: bool,
    toml_path: str | None,
    baseline: tuple[str, ...],
    same_within: float | None,
    **limits: Unpack[_Limits],
) -> None:
    """Recommend which of the measured cases to run, and how certain that is.

    SESSION is a path, a library name, or `latest`. A case without the metric that a constraint needs is
    excluded. Exit status 1 if no case meets the constraints.
    """
    loaded = sessions.load(session)
    loaded.judge_by(verdict_settings({"baseline": baseline, "same_within": same_within}))
    objective = Objective(need, Constraints(**limits), steps, length)
    objectives = [objective] if toml_path else _by_work(objective, loaded)
    decisions = [decide(loaded, each) for each in objectives]
    text = _sweep_text(loaded, objective) if toml_path and decisions[0].best else None
    if as_json:
        click.echo(output.json_text(loaded, decisions), err=toml_path == "-")
    else:
        for decision in decisions:
            for line in output.lines(loaded, decision):
                click.echo(printable(line), err=toml_path == "-")
    if text is not None and toml_path is not None:
        write_document(text, None if toml_path == "-" else Path(toml_path), over=False)
    sys.exit(0 if all(decision.best for decision in decisions) else NOTHING_FITS)


class BestCaseOptions(TypedDict):
    """Options that select the best case of a recorded session."""

    optimal_from: str | None
    need: Need


def requested_sweep(sweep: str | None, overrides: tuple[str, ...], **options: Unpack[BestCaseOptions]) -> Sweep:
    """Return the sweep to run: the named one, or the best case of a session."""
    session = options["optimal_from"]
    if (sweep is None) is (session is None):
        raise click.UsageError("specify exactly one of SWEEP, --optimal-from SESSION and --resume SESSION")
    if session is None:
        return load_sweep(str(sweep), overrides)
    loaded = sessions.load(session)
    if loaded.simulated:
        raise BenchtuiError(f"{session}: a simulated session says nothing about which case is best here")
    text = _sweep_text(loaded, Objective(options["need"]), overrides)
    return parse_sweep(text, f"best case of {session}", overrides)


def _by_work(objective: Objective, session: Session) -> list[Objective]:
    """Split an objective by kind of work: model, sequence length and new tokens."""
    known = works(session, objective)
    return [replace(objective, work=work) for work in known] if len(known) > 1 else [objective]


def _sweep_text(session: Session, objective: Objective, overrides: tuple[str, ...] = ()) -> str:
    """Return the best case as a sweep, checked with overrides. Raises BenchtuiError if it can't run."""
    if session.cases and all(case.config.label for case in session.cases):
        raise BenchtuiError(f"the cases were imported from {session.start.source}; benchtui can't run them")
    known = works(session, objective)
    if len(known) > 1:
        lengths = sorted({length for *_, length in known})
        if len(lengths) == 1:
            raise BenchtuiError("cases of several models or numbers of new tokens can't be compared")
        named = ", ".join(map(str, lengths))
        raise BenchtuiError(
            f"the session has {len(lengths)} sequence lengths, whose cases can't be compared;"
            f" choose one with `benchtui optimal --sequence-length`: {named}"
        )
    best = decide(session, objective).best
    if best is None:
        raise BenchtuiError("the session has no measured case to choose from")
    text = toml_writer.toml_of(single_case_sweep(session.start.sweep, best.config))
    _require_named(session, parse_sweep(text, f"{best.name}: can't be run again", overrides))
    return text


def _require_named(session: Session, sweep: Sweep) -> None:
    """Raise BenchtuiError for a sweep from imported results that lack its model or dataset."""
    missing = [key for key in ("model", "dataset") if getattr(sweep, key) == UNKNOWN]
    if missing:
        settings = " ".join(f"--set {key}=…" for key in missing)
        raise BenchtuiError(
            f"the results imported from {session.start.source} don't include the {' or '.join(missing)};"
            f" set it with: benchtui run --optimal-from SESSION {settings}"
        )
