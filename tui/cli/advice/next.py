"""``benchtui next``: what would decide the open questions of a session, as a sweep."""

import sys
from pathlib import Path
from typing import Unpack

import click

from benchtui.sessions.advice.conclusion import questions_of
from benchtui.sessions.advice.deciding_sweep import deciding_sweep, further_rounds
from benchtui.sessions.advice.find_sweep import within
from benchtui.sessions.compare.joined import load_joined
from benchtui.sessions.library import paths
from benchtui.sessions.sweep import toml_writer
from benchtui.sessions.sweep.toml_reader import parse_sweep
from benchtui.tui.cli.advice.optimal import budget_option
from benchtui.tui.cli.consent import trust_option
from benchtui.tui.cli.exit_status import FAILED
from benchtui.tui.cli.options import (
    JudgingOptions,
    complete_session,
    echo,
    json_option,
    judging_options,
    output_option,
    verdict_settings,
)
from benchtui.tui.cli.run import run_to_end, target_of
from benchtui.tui.cli.text import next as output
from benchtui.tui.cli.text.output import print_json, write_document
from benchtui.tui.cli.watch import start_engine


@click.command("next")
@click.argument("sources", metavar="SESSION...", nargs=-1, required=True, shell_complete=complete_session)
@output_option("Sweep file to write; no existing file is overwritten.", "path")
@click.option("--toml", is_flag=True, help="Print the sweep instead of the questions, which go to stderr.")
@click.option("--run", "run_now", is_flag=True, help="Run the sweep now, and append its rounds to the session.")
@budget_option
@trust_option
@judging_options
@json_option("Print questions and sweep as JSON.")
def decide_next(
    sources: tuple[str, ...],
    path: Path | None,
    toml: bool,
    run_now: bool,
    budget_s: float | None,
    trust: bool,
    as_json: bool,
    **judging: Unpack[JudgingOptions],
) -> None:
    """Say what would decide the open questions of a session, and write it as a sweep.

    SESSION is a path, a library name, or `latest`; several of the same work count as one. Open are UNSURE
    verdicts, a best case or Pareto front that isn't decided, unknown noise, and cases that their time limit
    ended. The sweep runs only their cases and baselines, in as many rounds and steps as the intervals call
    for. Exit status 1 if a sweep was requested but none would decide what is open.
    """
    if toml and as_json:
        raise click.UsageError("--toml and --json both print to standard output; the JSON contains the sweep")
    if run_now and (toml or as_json or path or len(sources) > 1):
        raise click.UsageError("--run takes one session, and no -o, --toml or --json")
    files = [paths.resolve(source) for source in sources]
    loaded = load_joined(files)
    loaded.judge_by(verdict_settings(judging))
    questions = questions_of(loaded)
    sweep = deciding_sweep(loaded, questions)
    sweep = sweep and within(sweep, budget_s)
    text = toml_writer.toml_of(sweep) if sweep else None
    if text:
        parse_sweep(text, f"the sweep that would decide {', '.join(sources)}")
    if as_json:
        print_json(output.document(loaded, questions, sweep))
    else:
        echo(*output.lines(loaded, questions, sweep), err=toml)
    if sweep and run_now:
        missing = further_rounds(loaded, sweep)
        target = target_of(files[0], missing)
        run_to_end(lambda: start_engine(missing, None, trust=trust), as_json, into=target)
    if text and (path or toml):
        write_document(text, path, over=False)
    sys.exit(FAILED if questions and not sweep and (path or toml or run_now) else 0)
