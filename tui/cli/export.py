"""``benchtui export`` and ``anonymize``: reports, results, steps, plots and traces; copies to share."""

import gzip
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from math import isnan
from pathlib import Path
from typing import IO, TYPE_CHECKING, Unpack, cast

import click
import msgspec

from benchtui.sessions.compare.align import compare_sessions, load_sessions
from benchtui.sessions.compare.joined import joined_copy
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.files.output_file import check_output, output_file
from benchtui.sessions.library.paths import resolve
from benchtui.sessions.state.judging import VerdictSettings
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.tui.cli.compare import baseline_first, comparison_document, show_comparison
from benchtui.tui.cli.options import (
    JudgingOptions,
    complete_session,
    echo,
    json_option,
    judging_options,
    output_option,
    verdict_settings,
)
from benchtui.tui.cli.schema.records import AnonymizedJson
from benchtui.tui.cli.text.output import (
    Display,
    display,
    display_options,
    form_of,
    print_json,
    show_document,
    write_document,
)

if TYPE_CHECKING:
    from benchtui.sessions.plots.render import RenderedPlot
    from benchtui.sessions.plots.spec import SkippedPlot

TRACKING = ("bmf", "gab", "gab-throughput")
FORMS = ("md", "html", "csv", "json", "parquet", "trace", *TRACKING)
STEP_FORMS = ("csv", "json", "parquet")
REPORTS = ("md", "html")
GZIP_LEVEL = 5
"""Takes half the time of gzip's default level, for files 4% larger."""


class ExportOptions(msgspec.Struct, frozen=True):
    """Options of an export."""

    form: str
    output: Path | None
    steps: bool
    figures: Path | None
    price: float | None
    """Price of an hour of the machine, in any currency."""
    judging: VerdictSettings
    full: bool = False
    """Whether to write every case and every table of the report."""
    display: Display | None = None
    """How to show a report on a terminal; None to write it as Markdown."""


def check_options(wanted: ExportOptions, sessions: int) -> None:
    """Raise BenchtuiError for options that can't be combined."""
    form, steps, several = wanted.form, wanted.steps, sessions > 1
    no_data = f"a comparison of {sessions} sessions can't be exported with --format {form}; use md or html"
    single = f"--steps requires a single session, not {sessions}"
    step_form = f"--steps can't be exported with --format {form}; use {', '.join(STEP_FORMS)}"
    no_report = "applies only to the report of a single session: use --format md or html"
    rules = (
        (several and form not in REPORTS, no_data),
        (several and steps, single),
        (steps and form not in STEP_FORMS, step_form),
        (steps and wanted.figures, "--figures can't be combined with --steps; export them separately"),
        (wanted.price is not None and isnan(wanted.price), "--price: nan is not a price per hour"),
        (wanted.price and (form not in REPORTS or several), f"--price {no_report}"),
        (wanted.full and (form not in REPORTS or several), f"--full {no_report}"),
        (form == "trace" and wanted.figures, "--figures can't be combined with --format trace"),
        (form == "parquet" and not wanted.output, "--format parquet is binary: name an output file with -o"),
    )
    problem = next((text for violated, text in rules if violated), None)
    if problem:
        raise BenchtuiError(problem)


def export_one(path: Path, wanted: ExportOptions) -> None:
    """Export one session. Raises BenchtuiError if it can't be read or written."""
    if wanted.steps:
        _export_steps(path, wanted)
    elif wanted.form == "trace":
        _export_trace(path, wanted)
    else:
        _export_results(path, wanted)


def _export_steps(path: Path, wanted: ExportOptions) -> None:
    from benchtui.sessions.export import step_export as steps  # only this format needs it

    session = Session.load(path)
    if wanted.form == "parquet" and wanted.output:
        steps.write_parquet(session, wanted.output, (path,))
        return
    write = steps.write_csv if wanted.form == "csv" else steps.write_json
    with _opened(wanted.output, path) as out:
        write(session, out)


def _export_trace(path: Path, wanted: ExportOptions) -> None:
    from benchtui.sessions.export.trace import write_trace  # only this format needs it

    with _opened(wanted.output, path) as out:
        write_trace(path, out)


def _export_results(path: Path, wanted: ExportOptions) -> None:
    session = Session.load(path, metrics)
    session.judge_by(wanted.judging)
    wants_plots = wanted.figures or wanted.form == "html"
    plots, skipped = _plots(session, path, wanted) if wants_plots else ([], [])
    if wanted.form == "parquet" and wanted.output:
        from benchtui.sessions.export.case_export import write_parquet  # only this format needs it

        write_parquet(session, wanted.output, (path,))
        return
    if wanted.display:
        from benchtui.sessions.report.document import report  # imports what only reports need

        show_document(report(session, wanted.price, full=wanted.full), session, wanted.display)
        return
    chunks = _text_chunks(session, wanted, plots, skipped)
    with _opened(wanted.output, path) as out:
        out.writelines(chunk.encode() for chunk in chunks)


def _plots(
    session: Session, path: Path, wanted: ExportOptions
) -> "tuple[list[RenderedPlot], list[SkippedPlot]]":
    """Return the plots, written to a folder if one is given. Print those without data to stderr.

    An HTML page adds titles and captions itself. The image files in the folder include them.
    """
    from benchtui.sessions.plots import render  # import matplotlib only for plots

    on_page, png = wanted.form == "html", wanted.figures is not None
    plots, skipped = render.render_plots(session, png=png and not on_page, captioned=not on_page)
    if wanted.figures:
        render.write(render.render_plots(session, png)[0] if on_page else plots, wanted.figures, (path,))
    if skipped:
        reasons = "; ".join(f"{plot.name} ({plot.reason})" for plot in skipped)
        echo(f"figures skipped: {reasons}", err=True)
    return plots, skipped


def _text_chunks(
    session: Session, wanted: ExportOptions, plots: "list[RenderedPlot]", skipped: "list[SkippedPlot]"
) -> Iterable[str]:
    """Return the text to write, the HTML page in chunks."""
    if wanted.form in TRACKING:
        from benchtui.sessions.export import tracking  # import only what this format needs

        written = {"bmf": tracking.as_bmf, "gab": tracking.as_gab, "gab-throughput": tracking.as_gab_throughput}
        return [written[wanted.form](session)]
    if wanted.form in ("csv", "json"):
        from benchtui.sessions.export import case_export  # import only what this format needs

        return [case_export.as_csv(session) if wanted.form == "csv" else case_export.as_json(session)]
    from benchtui.sessions.report.content import render
    from benchtui.sessions.report.document import report

    document = report(session, wanted.price, full=wanted.full)
    if wanted.form == "html":
        from benchtui.sessions.report.html import report_page

        return report_page(document, plots, skipped, wanted.price)
    if wanted.figures and wanted.output:
        from benchtui.sessions.report.figure_links import folder_from, with_plots

        document = with_plots(document, plots, folder_from(wanted.output, wanted.figures), skipped)
    return [render(document)]


@contextmanager
def _opened(output: Path | None, session: Path) -> Iterator[IO[bytes]]:
    """Open the output file, which must not be the session, or standard output."""
    if output is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with output_file(output, (session,)) as out:
        if output.suffix != ".gz":
            yield out
            return
        with gzip.GzipFile(
            filename="", mode="wb", fileobj=out, compresslevel=GZIP_LEVEL, mtime=0
        ) as compressed:
            yield cast(IO[bytes], compressed)


@click.command()
@click.argument("sessions", nargs=-1, required=True, metavar="SESSION...", shell_complete=complete_session)
@output_option("File to write; compressed if it ends in .gz.")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMS),
    help="By default as -o ends, else md. md, html: the report; csv, json, parquet: the results, one row per"
    " case; trace: cases, steps and readings over time, for Perfetto (ui.perfetto.dev) and chrome://tracing;"
    " bmf: for Bencher; gab, gab-throughput: for github-action-benchmark (customSmallerIsBetter,"
    " customBiggerIsBetter).",
)
@click.option("--steps", is_flag=True, help="Export every recorded step instead of the results.")
@click.option(
    "--figures",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder to write the figures to, as SVG and PNG.",
)
@click.option(
    "--price",
    type=click.FloatRange(0, 1e9, min_open=True),
    metavar="PER_HOUR",
    help="Price of the machine per hour; the report then includes the cost per million samples.",
)
@click.option(
    "--full",
    is_flag=True,
    help="Write the full report: every case, and all tables that the default report folds or leaves out.",
)
@click.option(
    "--joined", is_flag=True, help="Read several sessions of the same work as one instead of comparing them."
)
@judging_options
@display_options
@click.option(
    "--anonymous",
    is_flag=True,
    help="Replace hosts, users, paths, addresses, UUIDs and serial numbers, as `benchtui anonymize` does.",
)
@json_option("Same as --format json.")
def export(
    sessions: tuple[str, ...],
    output: Path | None,
    form: str | None,
    steps: bool,
    figures: Path | None,
    price: float | None,
    full: bool,
    joined: bool,
    anonymous: bool,
    as_json: bool,
    plain: bool,
    no_pager: bool,
    source: bool,
    **judging: Unpack[JudgingOptions],
) -> None:
    """Export the report, results, steps or a trace of a session, or a comparison of several.

    SESSION is a path, a library name, or `latest`. Several sessions are compared with the first, or with the
    one that --baseline names; with --joined, they count as one. On a terminal, a report without -o is rendered;
    a file or a pipe gets Markdown.
    """
    several = len(sessions) > 1 and not joined
    baseline = _baseline_session(judging["baseline"]) if several else None
    if several:
        judging["baseline"] = ()
    form = "json" if as_json else form_of(form, output, FORMS, "md")
    shown = "source" if source else display(form, output, plain=plain, no_pager=no_pager)
    wanted = ExportOptions(form, output, steps, figures, price, verdict_settings(judging), full, shown)
    check_options(wanted, len(sessions) if several else 1)
    paths = baseline_first(sessions, baseline)
    if output:
        check_output(output, paths)
    with ExitStack() as copies:
        sources = paths if len(paths) == 1 or several else [copies.enter_context(joined_copy(paths))]
        sources = copies.enter_context(_copies(sources)) if anonymous else sources
        if several:
            _export_comparison(sources, wanted)
        else:
            export_one(sources[0], wanted)


def _copies(paths: list[Path]) -> AbstractContextManager[list[Path]]:
    from benchtui.sessions.anonymize import anonymous_copies  # only this option needs it

    return anonymous_copies(paths)


def _export_comparison(paths: list[Path], wanted: ExportOptions) -> None:
    comparison = compare_sessions(load_sessions(paths, wanted.judging))
    text = comparison_document(comparison, wanted.form, wanted.figures, wanted.output, paths)
    if wanted.display:
        show_comparison(comparison, wanted.display)
    else:
        write_document(text, wanted.output, paths)


def _baseline_session(named: tuple[str, ...]) -> str | None:
    """Return the session that ``--baseline`` names. Raises BenchtuiError for several, and for KEY=VALUE."""
    if len(named) > 1 or any("=" in name and not Path(name).exists() for name in named):
        raise BenchtuiError("--baseline: with several sessions, name one of them, not KEY=VALUE")
    return named[0] if named else None


@click.command()
@click.argument("session", metavar="SESSION", shell_complete=complete_session)
@output_option("Session file to write; no session is overwritten.", required=True)
@json_option("Print the path of the anonymized session as JSON.")
def anonymize(session: str, output: Path, as_json: bool) -> None:
    """Write a copy of a session without what tells where it was measured.

    SESSION is a path, a library name, or `latest`. Stand-ins replace hosts, users, paths, addresses, UUIDs and
    serial numbers, and secrets are masked; all figures stay. The page "Sharing" of the documentation says what
    to check before you share the copy.
    """
    from benchtui.sessions.anonymize import Anonymizer  # compiles large expressions that --help doesn't need

    Anonymizer().write(resolve(session), output)
    if as_json:
        print_json(AnonymizedJson(session=str(output)))
    else:
        echo(f"anonymized session {output}; names that you chose stay: check them", err=True)
