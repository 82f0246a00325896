"""``benchtui optimal``: choose which of the measured cases to run."""

import sys
from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import Literal, TypedDict, Unpack

import click
from msgspec import structs
from msgspec.structs import replace

from benchtui import sessions
from benchtui.sessions.advice.constraints import NONE, Constraints
from benchtui.sessions.advice.deciding_sweep import single_case_sweep
from benchtui.sessions.advice.objectives import OBJECTIVES, Need, Objective, usual_need, usual_objective
from benchtui.sessions.advice.optimal import decide, works
from benchtui.sessions.advice.snippet import no_snippet_reason, snippet
from benchtui.sessions.compare.joined import load_joined
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import SessionStarted
from benchtui.sessions.library import paths
from benchtui.sessions.payloads import AnswerVerdict
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.results import Result, measured
from benchtui.sessions.stored_models.hub_cache import model_place
from benchtui.sessions.sweep import MEASURE_DEFAULTS, UNKNOWN, Sweep, Work, toml_writer
from benchtui.sessions.sweep.options import AXES
from benchtui.sessions.sweep.ranges import parse_quantity
from benchtui.sessions.sweep.toml_reader import parse_sweep
from benchtui.sessions.text.formatting import listed
from benchtui.tui.cli.exit_status import FAILED
from benchtui.tui.cli.options import (
    OptionCallback,
    complete_session,
    echo,
    json_option,
    judging_options,
    parsed,
    printable,
    together,
    verdict_settings,
)
from benchtui.tui.cli.text import optimal as output
from benchtui.tui.cli.text.output import write_document
from benchtui.tui.cli.watch import load_named

_LARGEST = 1e15
_SIZES_MB = {"mb": 1.0, "gb": 1000.0, "mib": 2**20 / 1e6, "gib": 2**30 / 1e6}
_TIMES_MS = {"us": 0.001, "ms": 1.0, "s": 1000.0}
_POWERS_W = {"w": 1.0, "kw": 1000.0}


def _quantity(what: str, units: dict[str, float], example: str) -> OptionCallback[float]:
    """Return an option callback that parses a number with a unit into the unit whose factor is 1."""

    def convert(text: str) -> float:
        value = parse_quantity(text.lower(), units)
        if value is None or not 0 < value < _LARGEST:
            raise click.BadParameter(f"{text!r} is not a {what} such as {example}; units: {', '.join(units)}")
        return value

    return parsed(convert)


need_named = parsed(OBJECTIVES.__getitem__)
"""Callback that returns the need that an objective stands for."""


objective_option = click.option(
    "--objective",
    "need",
    type=click.Choice(list(OBJECTIVES)),
    callback=need_named,
    help="What to optimize: samples/s, step time, samples/s per GiB of peak memory, joules per sample,"
    " p90 relative to p50 of the step times, the product of time per sample, step time, peak memory"
    " and joules, or the cost per sample, which is lowest at the highest throughput.  [default:"
    " throughput, or that of the search if it is one]",
)
_SIZE = _quantity("size", _SIZES_MB, "8GB")
_TIME = _quantity("time", _TIMES_MS, "50ms")
_POWER = _quantity("power", _POWERS_W, "300W")
_LIMITS = (
    ("--max-vram", "max_vram_mb", _SIZE, "SIZE", "Maximum peak memory on the device, such as 8GB."),
    ("--max-p99", "max_p99_ms", _TIME, "TIME", "Maximum p99 of the step time, such as 50ms."),
    ("--max-latency", "max_latency_ms", _TIME, "TIME", "Maximum typical step, such as 50ms."),
    ("--max-power", "max_power_w", _POWER, "POWER", "Maximum mean power, such as 300W."),
)


SECONDS = _quantity("time", {"s": 1.0, "m": 60.0, "h": 3600.0}, "90s or 15m")
budget_option = click.option(
    "--budget", "budget_s", callback=SECONDS, metavar="TIME", help="Answer within this time, as a search does."
)


class LimitOptions(TypedDict):
    """Limits of a case, as options."""

    max_vram_mb: float | None
    max_p99_ms: float | None
    max_latency_ms: float | None
    max_power_w: float | None


limit_options = together(
    *(
        click.option(flag, name, callback=parse, metavar=metavar, help=text)
        for flag, name, parse, metavar, text in _LIMITS
    )
)
"""Options of ``LimitOptions``."""


def _divergence(text: str) -> float:
    """Parse a divergence in nats."""
    try:
        value = float(text)
    except ValueError:
        value = inf
    if not 0 <= value < _LARGEST:
        raise click.BadParameter(f"{text!r} is not a divergence in nats, such as 0.01")
    return value


class ConstraintOptions(LimitOptions):
    """Constraints, as options."""

    kl: float | None
    answer: AnswerVerdict | Literal["any"] | None


@click.command()
@click.argument("sources", metavar="SESSION...", nargs=-1, required=True, shell_complete=complete_session)
@objective_option
@limit_options
@click.option(
    "--max-kl",
    "kl",
    callback=parsed(_divergence),
    help="Maximum mean KL divergence of the logits from the baseline's, in nats, such as 0.01.",
)
@click.option(
    "--answer",
    type=click.Choice(["identical", "close", "any"]),
    help="Consider only cases that answer the probe as the baseline does, at least so far. By default, cases of"
    " trained weights with other answers are left out; with any, they may be recommended.",
)
@click.option(
    "--steps",
    type=click.IntRange(1, 10**9),
    help="Number of steps of the job, including the first, which compiles.",
)
@click.option("--sequence-length", "length", type=click.IntRange(1), help="Consider only cases of this length.")
@click.option("--model", help="Consider only cases of this model, in a session of several.")
@judging_options
@json_option("Print the decision as JSON.")
@click.option(
    "--toml", "toml_path", metavar="FILE", help="Write a sweep with only the recommended case; - is stdout."
)
@click.option(
    "--snippet",
    "as_snippet",
    is_flag=True,
    help="Print the recommended case as code that runs it with transformers; the rest goes to stderr.",
)
def optimal(
    sources: tuple[str, ...],
    need: Need | None,
    steps: int | None,
    length: int | None,
    model: str | None,
    as_json: bool,
    toml_path: str | None,
    as_snippet: bool,
    baseline: tuple[str, ...],
    same_within: float | None,
    **limits: Unpack[ConstraintOptions],
) -> None:
    """Recommend which of the measured cases to run, and how certain that is.

    SESSION is a path, a library name, or `latest`; several of the same work count as one. A case without the
    metric that a constraint needs is excluded. Exit status 1 if no case meets the constraints.
    """
    if as_snippet and (as_json or toml_path == "-"):
        raise click.UsageError("--snippet, --json and --toml - all print to standard output; use one of them")
    loaded = load_joined([paths.resolve(source) for source in sources])
    loaded.judge_by(verdict_settings({"baseline": baseline, "same_within": same_within}))
    wanted = _wanted(loaded, need, _constraints(limits), steps, any_answer=limits["answer"] == "any")
    objectives = _objectives(wanted, loaded, length, model)
    decisions = [decide(loaded, objective) for objective in objectives]
    best = any(decision.best for decision in decisions)
    text = _sweep_text(loaded, objectives) if toml_path and best else None
    code = _snippet(loaded, objectives) if as_snippet and best else None
    aside = as_snippet or toml_path == "-"
    if as_json:
        click.echo(output.json_text(loaded, decisions), err=aside, nl=False)
    else:
        for decision in decisions:
            echo(*output.lines(loaded, decision), err=aside)
    if code is not None:
        write_document(code, None)
    if text is not None and toml_path is not None:
        write_document(text, None if toml_path == "-" else Path(toml_path), over=False)
    sys.exit(0 if all(decision.best for decision in decisions) else FAILED)


def _constraints(limits: ConstraintOptions) -> Constraints:
    return Constraints(
        vram_mb=limits["max_vram_mb"],
        p99_ms=limits["max_p99_ms"],
        latency_ms=limits["max_latency_ms"],
        power_w=limits["max_power_w"],
        kl=limits["kl"],
        answer=None if limits["answer"] == "any" else limits["answer"],
    )


def requested_sweep(
    sweep: str | None, overrides: tuple[str, ...], session: str | None, need: Need | None
) -> Sweep:
    """Return the sweep to run: the named one, or the best case of a session."""
    if (sweep is None) is (session is None):
        raise click.UsageError("specify exactly one of SWEEP, --optimal-from SESSION and --resume SESSION")
    if session is None:
        return load_named(str(sweep), overrides)
    loaded = sessions.load(session)
    if loaded.simulated:
        raise BenchtuiError(f"{session}: a simulated session says nothing about which case is best here")
    text = _sweep_text(loaded, _objectives(_wanted(loaded, need), loaded), overrides)
    return parse_sweep(text, f"best case of {session}", overrides)


def _wanted(
    session: Session,
    need: Need | None,
    constraints: Constraints = NONE,
    steps: int | None = None,
    *,
    any_answer: bool = False,
) -> Objective:
    """Return the objective that the user states, else that of the session's search, else what was measured."""
    results = measured(session)
    if need is None and constraints == NONE and steps is None and not any_answer:
        return usual_objective(session, results)
    return Objective(need or usual_need(results), constraints, steps, any_answer=any_answer)


def _objectives(
    objective: Objective, session: Session, length: int | None = None, model: str | None = None
) -> list[Objective]:
    """Split an objective by work: model, sequence length, new tokens, group of another tool.

    Raises:
        BenchtuiError: If cases were measured, but none with this sequence length or model.
    """
    session_works = _of_model(works(session), session.start, model)
    if length is None:
        apart = len(session_works) > 1 or (session_works and model is not None)
        return [replace(objective, work=work) for work in session_works] if apart else [objective]
    lengths = sorted({work.sequence_length for work in session_works})
    if session_works and length not in lengths:
        named = ", ".join(map(str, lengths))
        raise BenchtuiError(f"--sequence-length: no measured case has {length} tokens; there are {named}")
    matching = [work for work in session_works if work.sequence_length == length] or [Work(length)]
    return [replace(objective, work=work) for work in matching]


def _of_model(works: Sequence[Work], start: SessionStarted, model: str | None) -> list[Work]:
    """Return the works of a model, or all. Raises BenchtuiError listing the known models if there is none."""
    if model is None:
        return list(works)
    names = {work: work.model or start.sweep.model for work in works}
    same = {name for name in names.values() if model_place(name, start.folder) == model_place(model)}
    chosen = [work for work, name in names.items() if name in {model, *same}]
    if works and not chosen:
        named = ", ".join(map(printable, dict.fromkeys(names.values())))
        raise BenchtuiError(f"--model: no measured case of this model; there are {named}")
    return chosen


def _sweep_text(session: Session, objectives: Sequence[Objective], overrides: tuple[str, ...] = ()) -> str:
    """Return the best case as a sweep, checked with overrides. Raises BenchtuiError if it can't run."""
    if session.cases and all(case.config.label for case in session.cases):
        raise BenchtuiError(f"the cases were imported from {session.start.source}; benchtui can't run them")
    best = _only_best(session, objectives)
    sweep = single_case_sweep(session.start.sweep, best.config)
    if session.start.source:
        _require_known(session.start.source, sweep, overrides)
        # The other tool's step counts don't apply to a measurement here.
        sweep = structs.replace(sweep, measure=MEASURE_DEFAULTS)
    text = toml_writer.toml_of(sweep, whole=True)
    parse_sweep(text, f"{best.name}: can't be run again", overrides)
    return text


def _snippet(session: Session, objectives: Sequence[Objective]) -> str:
    """Return the best case as code. Raises BenchtuiError if there is none for it."""
    best = _only_best(session, objectives)
    code = snippet(session, best.case)
    if code is None:
        raise BenchtuiError(f"{best.name}: no snippet: {no_snippet_reason(session, best.case)}")
    return code


def _only_best(session: Session, objectives: Sequence[Objective]) -> Result:
    """Return the best case. Raises BenchtuiError for several works, which a sweep of one case can't cover."""
    if len(objectives) < 2:
        if (best := decide(session, objectives[0]).best) is None:
            raise BenchtuiError("the session has no measured case to choose from")
        return best
    models = dict.fromkeys(objective.work.model for objective in objectives if objective.work)
    if len(models) > 1:
        raise BenchtuiError(
            f"the session has {len(models)} models, whose cases can't be compared;"
            f" choose one with `benchtui optimal --model`: {', '.join(map(printable, models))}"
        )
    lengths = sorted({objective.work.sequence_length for objective in objectives if objective.work})
    if len(lengths) == 1:
        raise BenchtuiError("cases of several numbers of new tokens or lengths of audio can't be compared")
    raise BenchtuiError(
        f"the session has {len(lengths)} sequence lengths, whose cases can't be compared;"
        f" choose one with `benchtui optimal --sequence-length`: {', '.join(map(str, lengths))}"
    )


def _require_known(source: str, sweep: Sweep, overrides: tuple[str, ...]) -> None:
    """Raise BenchtuiError for a sweep from imported results that lack something needed to run it."""
    values = {key: getattr(sweep, key) for key in ("model", "task", "dataset")}
    values |= {axis: getattr(sweep.axes, axis)[0] for axis in AXES}
    given = {text.partition("=")[0].strip().removeprefix("axes.") for text in overrides}
    missing = [key for key, value in values.items() if value == UNKNOWN and key not in given]
    if missing:
        settings = " ".join(f"--set {key}=…" for key in missing)
        raise BenchtuiError(
            f"the results imported from {source} don't include the {listed(missing)};"
            f" set it with: benchtui run --optimal-from SESSION {settings}"
        )
