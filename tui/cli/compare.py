"""``benchtui compare``: compare sessions case by case, with a gate for CI."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchtui.sessions.compare.align import compare_sessions, load_sessions, nothing_in_common
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.files.output_file import check_output
from benchtui.sessions.library.paths import resolve
from benchtui.sessions.state.judging import VerdictSettings
from benchtui.sessions.stats.verdicts import Verdict
from benchtui.tui.cli.options import complete_session, parse_percentage, printable, same_within_option
from benchtui.tui.cli.text.output import write_document

if TYPE_CHECKING:
    from benchtui.sessions.compare.align import SessionComparison


REGRESSION = 1


@click.command()
@click.argument("sessions", nargs=-1, required=True, metavar="BASE NEW...", shell_complete=complete_session)
@click.option("--format", "form", type=click.Choice(["text", "md", "json"]), default="text", show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="File to write.")
@click.option(
    "--fail-on",
    "threshold",
    callback=parse_percentage,
    metavar="PERCENT",
    help="Exit with 1 if a case is significantly slower by more than this, or is no longer measured.",
)
@click.option(
    "--fail-on-unsure",
    "unsure_fails",
    is_flag=True,
    help="Also exit with 1 if a case is UNSURE; --fail-on then defaults to 0%.",
)
@same_within_option
def compare(
    sessions: tuple[str, ...],
    form: str,
    output: Path | None,
    threshold: float | None,
    unsure_fails: bool,
    same_within: float | None,
) -> None:
    """Compare sessions case by case.

    BASE and NEW are paths, library names, or `latest`. A ratio is the speed of NEW relative to BASE: above 1,
    NEW is faster. Differences between machines and settings are listed first. Verdicts: FASTER and SLOWER (the
    whole 99% interval lies beyond 0.5%), SAME (the whole 95% interval lies within --same-within), UNSURE
    (otherwise, with the smallest difference that could have been detected). Exit status with --fail-on: 0 if no
    case fails, 1 if one does, 2 for invalid usage or nothing to compare. UNSURE fails only with
    --fail-on-unsure.
    """
    paths = [resolve(session) for session in sessions]
    if output:
        check_output(output, paths)
    found = compare_sessions(load_sessions(paths, VerdictSettings(same_within=same_within)))
    gated = threshold is not None or unsure_fails
    uncompared = [each for each in found.against if not each.compared]
    if not found.comparable or (uncompared and gated):
        raise BenchtuiError(nothing_in_common(uncompared[0]))
    write_document(_formatted(found, form), output, paths)
    if gated:
        _gate(found, threshold or 0.0, unsure_fails)


def _formatted(found: "SessionComparison", form: str) -> str:
    if form == "json":
        from benchtui.sessions.report.compare_json import as_json  # import only what this format needs

        return as_json(found)
    if form == "md":
        from benchtui.sessions.report.compare import markdown

        return markdown(found)
    from benchtui.tui.cli.text.compare import comparison_text

    return comparison_text(found)


def _gate(found: "SessionComparison", threshold: float, unsure_fails: bool) -> None:
    """Print failing cases and the number of UNSURE ones to stderr. Exit with 1 if the gate fails."""
    from benchtui.tui.cli.text.compare import gate_line

    failed = [line for each in found.against if (line := gate_line(each, threshold))]
    unsure = sum(each.count(Verdict.UNSURE) for each in found.against)
    for line in failed or [f"no case is significantly more than {100 * threshold:g}% slower"]:
        click.echo(
            printable(f"{line}; {unsure} UNSURE{' (fails)' if unsure and unsure_fails else ''}"), err=True
        )
    if failed or (unsure and unsure_fails):
        sys.exit(REGRESSION)
