"""``benchtui compare``: compare sessions case by case, with a gate for CI."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from benchtui.sessions.compare.align import (
    SessionComparison,
    compare_sessions,
    load_sessions,
    nothing_in_common,
)
from benchtui.sessions.compare.gate import Gate, gate_line
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.files.output_file import append_private, check_output
from benchtui.sessions.library.paths import resolve
from benchtui.sessions.state.judging import VerdictSettings
from benchtui.tui.cli.exit_status import FAILED
from benchtui.tui.cli.options import (
    complete_session,
    echo,
    json_option,
    output_option,
    percentage_option,
    same_within_option,
)
from benchtui.tui.cli.text.output import (
    Display,
    display,
    display_options,
    form_of,
    show_document,
    write_document,
)

FORMS = ("text", "md", "html", "json", "junit", "github")


@click.command()
@click.argument("sessions", nargs=-1, required=True, metavar="BASE NEW...", shell_complete=complete_session)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMS),
    help="By default as -o ends, else text. junit: a test per case. github: annotations, and the summary in -o"
    " or $GITHUB_STEP_SUMMARY.",
)
@output_option("File to write.")
@click.option(
    "--baseline",
    metavar="SESSION",
    shell_complete=complete_session,
    help="Session to compare the others with.  [default: the first]",
)
@percentage_option(
    "--fail-on",
    "threshold",
    "Exit with 1 if a case is significantly slower by more than this, or is no longer measured.",
)
@percentage_option(
    "--fail-on-all",
    "overall_threshold",
    "Exit with 1 if all cases together are significantly slower by more than this (geometric mean).",
)
@click.option(
    "--fail-on-unsure",
    "unsure_fails",
    is_flag=True,
    help="Also exit with 1 if a case is UNSURE or REPORTED; --fail-on then defaults to 0%.",
)
@percentage_option(
    "--resolve",
    "resolve",
    "Also exit with 1 if an undecided case is so noisy that a difference of this much could go unseen.",
)
@same_within_option
@display_options
@json_option("Same as --format json.")
def compare(
    sessions: tuple[str, ...],
    form: str | None,
    output: Path | None,
    baseline: str | None,
    threshold: float | None,
    overall_threshold: float | None,
    unsure_fails: bool,
    resolve: float | None,
    same_within: float | None,
    as_json: bool,
    plain: bool,
    no_pager: bool,
    source: bool,
) -> None:
    """Compare sessions case by case.

    BASE and NEW are paths, library names, or `latest`. A ratio is the speed of NEW relative to BASE: above 1,
    NEW is faster. The sum of all cases comes first, then the cases, those that changed most first, then what
    differs between machines and settings. Verdicts: FASTER and SLOWER (the whole 99% interval lies beyond
    0.5%), SAME (the whole 95% interval lies within --same-within), UNSURE (otherwise, with the smallest
    difference that could have been detected). Exit status with --fail-on: 0 if no case fails, 1 if one does, 2
    for invalid usage or nothing to compare. UNSURE and REPORTED fail only with --fail-on-unsure, or with
    --resolve if a case is too noisy.
    """
    paths = baseline_first(sessions, baseline)
    if output:
        check_output(output, paths)
    comparison = compare_sessions(load_sessions(paths, VerdictSettings(same_within=same_within)))
    if threshold is None and unsure_fails:
        threshold = 0.0
    gated = any(limit is not None for limit in (threshold, overall_threshold, resolve))
    uncompared = [pair for pair in comparison.against if not pair.compared]
    if not comparison.comparable or (uncompared and gated):
        raise BenchtuiError(nothing_in_common(uncompared[0]))
    gate = Gate(threshold, overall_threshold, resolve, unsure_fails)
    form = "json" if as_json else form_of(form, output, FORMS, "text")
    shown = "source" if source else display(form, output, plain=plain, no_pager=no_pager)
    if form == "github":
        _write_for_github(comparison, gate if gated else None, output, paths)
    elif shown:
        show_comparison(comparison, shown, main=form == "text")
    else:
        write_document(_formatted(comparison, form, gate), output, paths)
    if gated:
        _check(comparison, gate)


def baseline_first(sessions: Sequence[str], baseline: str | None) -> list[Path]:
    """Resolve the sessions to compare, the baseline first. It may be one of them, or another one.

    Raises:
        BenchtuiError: if one doesn't exist, or is named twice.
    """
    paths = [resolve(session) for session in sessions]
    files = [path.resolve() for path in paths]
    if twice := next((path for path in paths if files.count(path.resolve()) > 1), None):
        raise BenchtuiError(f"{twice}: named twice; a session can't be compared with itself")
    if baseline is None:
        return paths
    first = resolve(baseline)
    return [first, *(path for path, file in zip(paths, files, strict=True) if file != first.resolve())]


def comparison_document(
    comparison: SessionComparison,
    form: str,
    figures: Path | None = None,
    output: Path | None = None,
    inputs: Sequence[Path] = (),
) -> str:
    """Return a comparison as Markdown or HTML, with its figures in a folder if one is given.

    ``output`` is the file that it will be written to, for links to the figures. They never replace ``inputs``.

    Raises:
        BenchtuiError: if a figure can't be written.
    """
    from benchtui.sessions.report.compare import OPEN_SECTIONS, report  # imports what only reports need
    from benchtui.sessions.report.content import render

    document = report(comparison)
    if form == "md" and not figures:
        return render(document)
    from benchtui.sessions.plots.render import render_comparison, write  # import matplotlib only for plots
    from benchtui.sessions.report.figure_links import folder_from, with_plots
    from benchtui.sessions.report.html import page

    on_page = form == "html"
    plots, skipped = render_comparison(
        comparison, png=figures is not None and not on_page, captioned=not on_page
    )
    if figures:
        write(render_comparison(comparison, png=True)[0] if on_page else plots, figures, inputs)
    if on_page:
        return "".join(page(document, plots, skipped, open_sections=OPEN_SECTIONS))
    return render(
        with_plots(document, plots, folder_from(output, figures), skipped) if output and figures else document
    )


def show_comparison(comparison: SessionComparison, how: Display, *, main: bool = False) -> None:
    """Show a comparison, or its main sections, on standard output."""
    from benchtui.sessions.report.compare import report  # imports what only reports need
    from benchtui.tui.cli.text.compare import main_sections

    show_document(main_sections(comparison) if main else report(comparison), comparison, how)


def _write_for_github(
    comparison: SessionComparison, gate: Gate | None, output: Path | None, inputs: Sequence[Path]
) -> None:
    """Print annotations, and append the summary to that of the step, unless a file is given for it."""
    from benchtui.sessions.compare import ci  # import only what this format needs

    for line in ci.annotations(comparison, gate or Gate()):
        click.echo(line)
    text = ci.summary(comparison, gate, comparison_document(comparison, "md"))
    step = os.environ.get(ci.SUMMARY)
    if step and output is None:
        append_private(Path(step), text.encode())
    else:
        write_document(text, output, inputs)


def _formatted(comparison: SessionComparison, form: str, gate: Gate) -> str:
    if form == "junit":
        from benchtui.sessions.compare.ci import junit  # import only what this format needs

        return junit(comparison, gate)
    if form == "json":
        from benchtui.sessions.report.compare_json import as_json  # import only what this format needs

        return as_json(comparison)
    if form in ("md", "html"):
        return comparison_document(comparison, form)
    from benchtui.tui.cli.text.compare import comparison_text

    return comparison_text(comparison)


def _check(comparison: SessionComparison, gate: Gate) -> None:
    """Print what fails and what passes to stderr. Exit with 1 if the gate fails."""
    lines = [gate_line(pair, gate) for pair in comparison.against]
    echo(*(line for _, line in lines), err=True)
    if any(fails for fails, _ in lines):
        sys.exit(FAILED)
