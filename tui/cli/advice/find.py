"""``benchtui find``: the best configuration of a model on this machine, within a time limit."""

from pathlib import Path
from typing import Unpack

import click

from benchtui.engine import client
from benchtui.sessions.advice.find_sweep import DEFAULT_WITHIN_S, VARIED, FindRequest, find_sweep, parse_vary
from benchtui.sessions.advice.objectives import OBJECTIVES
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sweep import TASKS, Answers, Find, Need, toml_writer
from benchtui.tui.cli.advice.optimal import SECONDS, LimitOptions, limit_options, need_named
from benchtui.tui.cli.consent import trust_option
from benchtui.tui.cli.options import complete_model, json_option, session_option, set_option
from benchtui.tui.cli.run import run_to_end
from benchtui.tui.cli.text.output import write_document
from benchtui.tui.cli.watch import start_engine
from benchtui.tui.home.sweeps import proposal_of_name


def _varied(_context: click.Context, _parameter: click.Parameter, text: str | None) -> tuple[str, ...]:
    """Parse the names of options."""
    try:
        return VARIED if text is None else parse_vary(text)
    except BenchtuiError as error:
        raise click.BadParameter(str(error)) from error


class FindOptions(LimitOptions):
    """Objective and constraints, as options."""

    objective: Need
    steps: int | None
    answers: Answers
    min_samples_per_s: float | None


@click.command()
@click.argument("model", shell_complete=complete_model)
@click.option(
    "--objective",
    type=click.Choice(list(OBJECTIVES)),
    callback=need_named,
    default="throughput",
    show_default=True,
    help="What to optimize, as for `benchtui optimal`.",
)
@click.option(
    "--within",
    "--budget",
    "within_s",
    callback=SECONDS,
    default=f"{DEFAULT_WITHIN_S / 60:g}m",
    show_default=True,
    metavar="TIME",
    help="Time limit of the search.",
)
@click.option(
    "--vary",
    callback=_varied,
    metavar="OPTIONS",
    help="Options to try, separated by commas.  [default: those that the device and the task support, of"
    f" {', '.join(VARIED)}]",
)
@limit_options
@click.option(
    "--min-throughput",
    "min_samples_per_s",
    type=click.FloatRange(0, 1e9, min_open=True),
    metavar="RATE",
    help="Minimum samples per second.",
)
@click.option(
    "--answers",
    type=click.Choice(["identical", "close", "any"]),
    default="close",
    show_default=True,
    help="Worst accepted answer to the probe, relative to the plainest case's.",
)
@click.option(
    "--steps",
    type=click.IntRange(1, 10**9),
    help="Steps of the job, in which compiling has to pay off.  [default: endless]",
)
@click.option("--device", help="Device to run on.  [default: the first GPU, or else the CPU]")
@click.option("--task", help=f"Task of the model: {', '.join(TASKS)}.  [default: by the model's configuration]")
@set_option
@session_option
@click.option("--print-toml", is_flag=True, help="Print the sweep of the search instead of running it.")
@trust_option
@json_option("Print each case's result as a line of JSON, and the answer as the last one.")
def find(
    model: str,
    within_s: float,
    vary: tuple[str, ...],
    device: str | None,
    task: str | None,
    overrides: tuple[str, ...],
    session_path: Path | None,
    print_toml: bool,
    trust: bool,
    as_json: bool,
    **options: Unpack[FindOptions],
) -> None:
    """Find the best configuration of a model on this machine within a time limit.

    MODEL is a hub id, a folder, or a bundled architecture (with --set weights=random). First each case is
    measured briefly, then those that may be the best are measured again until one clearly is. The session is
    an ordinary one. Exit status as for `benchtui run`.
    """
    request = FindRequest(
        model=model,
        within_s=within_s,
        find=Find(**options),
        vary=vary,
        overrides=(*proposal_of_name(model).overrides, *((f"task={task}",) if task else ()), *overrides),
    )
    sweep = find_sweep(request, client.device_support(device))
    if print_toml:
        write_document(toml_writer.toml_of(sweep), None)
        return
    run_to_end(lambda: start_engine(sweep, session_path, overrides, trust=trust), as_json)
