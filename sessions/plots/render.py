"""Rendering of all plots of a session: SVG that is identical in every run, and PNG."""

import io
import textwrap
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from benchtui.sessions.compare.align import SessionComparison
from benchtui.sessions.errors import os_errors_as
from benchtui.sessions.files.extras import is_installed, missing
from benchtui.sessions.files.output_file import check_output, output_file
from benchtui.sessions.plots import answers, bars, comparison, curves, power_trace, style
from benchtui.sessions.plots.spec import Plan, PlotData, SkippedPlot, plot_data, with_values
from benchtui.sessions.state.session import Session
from benchtui.sessions.state.simulation import labeled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLOTS: tuple[Callable[[PlotData], Plan | SkippedPlot | None], ...] = (
    bars.speedups,
    lambda data: curves.plan(data, curves.throughput(data.results)),
    lambda data: curves.plan(data, curves.latency(data.results)),
    *(partial(curves.plan, curve=curve) for curve in (curves.MEMORY, curves.ENERGY, curves.JITTER)),
    answers.answers,
    bars.compiling,
    bars.parts,
    power_trace.power,
)
"""All plots, in the order of the report. A function returns None if the plot doesn't apply to the session."""
DOTS_PER_INCH = 150
CAPTION_WIDTH = 125
"""Width of a caption line in characters."""
CAPTION_IN = 0.45
"""Height of a title and a one-line caption, in inches."""


class RenderedPlot(msgspec.Struct, frozen=True):
    """A rendered plot. ``png`` is None unless requested."""

    name: str
    section: str
    """Heading of the report section that it belongs to; empty for the first."""
    title: str
    caption: str
    svg: bytes
    png: bytes | None


def render_plots(
    session: Session, png: bool = False, *, captioned: bool = True
) -> tuple[list[RenderedPlot], list[SkippedPlot]]:
    """Render the plots of a session. Also return those that are skipped for lack of data.

    ``captioned`` draws title and caption in the image. An HTML page sets them itself, and does without plots
    where matplotlib isn't installed. Raises BenchtuiError if the session has no first event.
    """
    data = plot_data(session)
    plans = [plan for make in PLOTS if (plan := make(data)) is not None]
    return _rendered([_labeled(plan, session) for plan in plans], png, captioned)


def render_comparison(
    compared: SessionComparison, png: bool = False, *, captioned: bool = True
) -> tuple[list[RenderedPlot], list[SkippedPlot]]:
    """Render the plots of a comparison. Also return those that are skipped for lack of data."""
    sessions = [side.session for side in compared.sides]
    labels = next((session for session in sessions if session.simulated), sessions[0])
    return _rendered([_labeled(plan, labels) for plan in comparison.plans(compared)], png, captioned)


def _rendered(
    plans: Sequence[Plan | SkippedPlot], png: bool, captioned: bool
) -> tuple[list[RenderedPlot], list[SkippedPlot]]:
    if not captioned and not is_installed("matplotlib"):
        return [], [SkippedPlot("all", missing("matplotlib", style.EXTRA))]
    with style.drawing():
        drawn = [_drawn(plan, png, captioned) for plan in plans if isinstance(plan, Plan)]
    return drawn, [plan for plan in plans if isinstance(plan, SkippedPlot)]


def write(pictures: list[RenderedPlot], folder: Path, inputs: Collection[Path]) -> None:
    """Write all plots to a folder, creating it if needed.

    Raises BenchtuiError if writing fails, or if a plot would replace a session file, such as one of ``inputs``.
    In the latter case, nothing is written.
    """
    files = list(_files(pictures, folder))
    for path, _ in files:
        check_output(path, inputs)
    with os_errors_as(folder, "can't create the folder for the figures"):
        folder.mkdir(parents=True, exist_ok=True)
    for path, data in files:
        with output_file(path, inputs) as file:
            file.write(data)


def _files(pictures: list[RenderedPlot], folder: Path) -> Iterator[tuple[Path, bytes]]:
    for picture in pictures:
        yield folder / f"{picture.name}.svg", picture.svg
        if picture.png is not None:
            yield folder / f"{picture.name}.png", picture.png


def _labeled(plan: Plan | SkippedPlot, session: Session) -> Plan | SkippedPlot:
    """Label the title if the session is simulated, because a plot may be viewed without its report."""
    return replace(plan, title=labeled(plan.title, session.start)) if isinstance(plan, Plan) else plan


def _drawn(plan: Plan, png: bool, captioned: bool) -> RenderedPlot:
    caption = textwrap.fill(plan.caption, CAPTION_WIDTH)
    figure = style.new_figure(plan.height_in + (0.13 * caption.count("\n") if captioned else -CAPTION_IN))
    values = plan.draw(figure)
    if captioned:
        figure.suptitle(plan.title, x=0.01, ha="left", fontsize=11, fontweight="bold")
        figure.supxlabel(caption, x=0.01, ha="left", fontsize=7.5, color=style.FAINT)
    return RenderedPlot(
        plan.name,
        plan.section,
        plan.title,
        plan.caption,
        with_values(_svg(figure, plan.name), figure, values),
        _png(figure) if png else None,
    )


def _svg(figure: "Figure", salt: str) -> bytes:
    import matplotlib  # already imported

    out = io.BytesIO()
    # Ids are hashes with this salt. Date and version would differ between runs.
    with matplotlib.rc_context({"svg.hashsalt": salt}):
        figure.savefig(out, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    return out.getvalue()


def _png(figure: "Figure") -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
    return out.getvalue()
