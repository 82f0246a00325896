"""Line chart: the user's selection, and the plot, lists, and table for it. Independent of Textual."""

from string import ascii_letters

import msgspec

from benchtui.sessions.analysis.chart_series import (
    SAMPLES,
    Chart,
    Group,
    MetricsLookup,
    PlotMetric,
    Point,
    Value,
    available_metrics,
    axes_of,
    chart,
    throughput,
)
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.themes.symbols import Symbols
from benchtui.tui.charts.readout import case_facts, option_word, option_words, state_span, title, with_interval
from benchtui.tui.drawing import format
from benchtui.tui.drawing.listing import Listing, titled_table
from benchtui.tui.drawing.plot import Curve, Dot, OutcomeMarker, Plot
from benchtui.tui.drawing.styled_text import Span
from benchtui.tui.live.case_verdicts import CaseVerdicts
from benchtui.tui.model.case_rows import ROLES
from benchtui.tui.shell.keymap import key
from benchtui.tui.table.case_names import differing, matches, short_name, short_names

LINE_ROLES = tuple(f"line{number}" for number in range(6))
"""Color roles of the lines, in turn. Lines of the same color differ by letter."""
MAX_LETTERS = len(ascii_letters)
"""Maximum number of lines with a letter. Further ones are listed but not drawn."""


class ChartSelection(msgspec.Struct):
    """Selected metric, axis, line, x value, scale, and filter."""

    metric: PlotMetric = SAMPLES
    automatic: bool = True
    """Whether the metric is the rate of the session's task."""
    axis: str = "batch_size"
    line: tuple[object, ...] = ()
    x: int | None = None
    logarithmic: bool = False
    filter_text: str = ""
    """Filter words, all of which a line's name must contain."""

    @property
    def without_rows(self) -> str:
        """Text in place of rows."""
        shown = f'no case matches "{format.clean(self.filter_text)}"; {key("charts.back")} clears'
        return shown if self.filter_text else "none yet"


class LineChart:
    """Lines over an axis, with a selected line and a selected point on it."""

    def __init__(
        self, session: Session, metrics_of: MetricsLookup, symbols: Symbols, judge: CaseVerdicts
    ) -> None:
        self._session = session
        self._known = metrics_of
        self._symbols = symbols
        self._judge = judge
        self.choice = ChartSelection()
        self._letters: dict[tuple[object, ...], int] = {}
        self._names: dict[tuple[object, ...], str] = {}
        """Letter, as an index, and name of each line by its key."""
        self._all = 0
        """Number of lines before filtering."""
        self.chart = Chart(SAMPLES, self.choice.axis, ())
        self.update()

    def update(self) -> None:
        """Rebuild the chart from the current session, and keep the selection valid."""
        choice = self.choice
        if choice.automatic:  # its unit is known once a case is prepared
            choice.metric = throughput(self._session)
        axes = axes_of(case.config for case in self._session.cases)
        choice.axis = choice.axis if choice.axis in axes else axes[0]
        whole = chart(self._session.cases, self._known, choice.metric, choice.axis)
        self._letters = {line.key: place for place, line in enumerate(whole.lines)}
        names = short_names([line.config for line in whole.lines], choice.axis)
        self._names = {line.key: name for line, name in zip(whole.lines, names, strict=True)}
        self._all = len(whole.lines)
        kept = tuple(line for line in whole.lines if matches(self._names[line.key], choice.filter_text))
        self.chart = Chart(choice.metric, choice.axis, kept)
        if kept and self.line is None:
            choice.line = kept[0].key
        if self.line is not None and self.point is None:
            choice.x = next((point.x for point in self.line.points if point.value), self.line.points[0].x)

    @property
    def line(self) -> Group | None:
        """Selected line; None if there is none."""
        return next((line for line in self.chart.lines if line.key == self.choice.line), None)

    @property
    def point(self) -> Point | None:
        """Selected point; None if there is none."""
        return self._at_x(self.line) if self.line else None

    @property
    def case(self) -> CaseState | None:
        """Case of the selected point."""
        return self.point.case if self.point else None

    def select(self, case: CaseState) -> None:
        """Select the point of a case, if it has one."""
        for line in self.chart.lines:
            for point in line.points:
                if point.case is case:
                    self.choice.line, self.choice.x = line.key, point.x

    def next_metric(self, by: int) -> None:
        """Switch to another metric that at least one case has."""
        metrics = available_metrics(self._session, self._known)
        at = metrics.index(self.choice.metric) if self.choice.metric in metrics else 0
        place = (at + by) % len(metrics)
        self.choice.metric, self.choice.automatic = metrics[place], place == 0
        self.update()

    def next_axis(self) -> str:
        """Switch to the next axis with several values. Return a message if there is only one."""
        axes = axes_of(case.config for case in self._session.cases)
        if axes == (self.choice.axis,):
            return f"{option_words(self.choice.axis)} is the only numeric axis with several values"
        at = axes.index(self.choice.axis) if self.choice.axis in axes else -1
        self.choice.axis = axes[(at + 1) % len(axes)]
        self.choice.line, self.choice.x = (), None
        self.update()
        return ""

    def move_line(self, by: int) -> None:
        """Select another line. Keep the x value if that line has a point there."""
        keys = [line.key for line in self.chart.lines]
        if keys:
            at = keys.index(self.choice.line) if self.choice.line in keys else 0
            self.choice.line = keys[min(max(at + by, 0), len(keys) - 1)]
            self.update()

    def move_point(self, by: int) -> None:
        """Select another point of the line."""
        places = [point.x for point in self.line.points] if self.line else []
        if places:
            at = places.index(self.choice.x) if self.choice.x in places else 0
            self.choice.x = places[min(max(at + by, 0), len(places) - 1)]

    @property
    def title(self) -> str:
        """Chart title: metric and axis."""
        return f"{title(self.choice.metric)} over {option_words(self.choice.axis)}"

    @property
    def notes(self) -> list[str]:
        """Active filter and scale, in words."""
        choice = self.choice
        kept = [f"filter {choice.filter_text}", f"{len(self.chart.lines)} of {self._all} lines"]
        hidden = sum(place >= MAX_LETTERS for place in self._letters.values())
        undrawn = [f"{hidden} lines not drawn"] if hidden and not choice.filter_text else []
        scale = ["logarithmic"] if choice.logarithmic else []
        return [*(kept if choice.filter_text else []), *undrawn, *scale]

    def readout(self) -> list[list[Span]]:
        """Render the selected point, its value, and its verdict."""
        line, point = self.line, self.point
        if line is None or point is None:
            return []
        shown = (
            *differing([shown_line.config for shown_line in self.chart.lines], self.choice.axis),
            self.choice.axis,
        )
        name = (format.clean(short_name(point.case.config, shown)), "plain")
        value = self._with_interval(point)
        return [[name], *case_facts(point.case, value, self.choice.metric, self._judge, self._symbols)]

    def plot(self) -> Plot:
        """Build the plot."""
        chosen, figure = self.line, self.choice.metric
        last = [line for line in self.chart.lines if line is not chosen] + ([chosen] if chosen else [])
        drawn = [line for line in last if self._letters[line.key] < MAX_LETTERS or line is chosen]
        curves = tuple(self._curve(line, line is chosen) for line in drawn)
        at = self.point
        return Plot(
            curves=curves,
            lost=self._lost(),
            title=title(figure),
            x_title=option_words(self.choice.axis),
            x_values=tuple(sorted({float(point.x) for line in self.chart.lines for point in line.points})),
            logarithmic=self.choice.logarithmic,
            chosen=self._dot(at) if at else None,
            hint=self._hint(),
        )

    def lines(self) -> Listing:
        """List all lines with their letters and their values at the selected x."""
        choice = self.choice
        rows = tuple(
            (self._letter(line), (format.clean(self._names[line.key]), "plain"), self._at(line))
            for line in self.chart.lines
        )
        keys = [line.key for line in self.chart.lines]
        at = keys.index(choice.line) if choice.line in keys else None
        points = (self._at_x(line) or line.points[0] for line in self.chart.lines)
        titles = ("", "line", f"at {choice.x}" if choice.x is not None else "")
        cases = tuple(point.case.index for point in points)
        return Listing(titles, rows, 1, at, cases, choice.without_rows)

    def points(self) -> Listing:
        """List the points of the selected line in numbers."""
        points = self.line.points if self.line else ()
        at = next((place for place, point in enumerate(points) if point.x == self.choice.x), None)
        cases = tuple(point.case.index for point in points)
        titles = (option_word(self.choice.axis), title(self.choice.metric), "state", "from", "to", "n")
        return Listing(titles, tuple(self._row(point) for point in points), 2, at, cases)

    def markdown(self) -> str:
        """Return the selected line as a Markdown table; empty if none is selected."""
        return titled_table(f"{self.title}: {self._names[self.line.key]}", self.points()) if self.line else ""

    def _row(self, point: Point) -> tuple[Span, ...]:
        value, symbols = self._with_interval(point) or Value(0), self._symbols
        has_value = point.value is not None
        low, high = (
            format.significant(bound, symbols) if has_value and bound is not None else symbols.absent
            for bound in (value.low, value.high)
        )
        middle = format.significant(value.middle if has_value else None, symbols)
        n = point.case.steps_measured
        return (
            (f"{point.x:,}", "plain"),
            (middle, "bright" if has_value else "muted"),
            state_span(point.case, self._symbols),
            (low, "muted"),
            (high, "muted"),
            (f"{n:,}" if n else symbols.absent, "muted"),
        )

    def _at_x(self, line: Group) -> Point | None:
        return next((point for point in line.points if point.x == self.choice.x), None)

    def _at(self, line: Group) -> Span:
        point = self._at_x(line)
        if point is None:
            return (self._symbols.absent, "muted")
        if point.value is None:
            return state_span(point.case, self._symbols)
        return (format.significant(point.value.middle, self._symbols), "plain")

    def _letter(self, line: Group) -> Span:
        return letter_of(self._letters[line.key])

    def _curve(self, line: Group, chosen: bool) -> Curve:
        letter, role = self._letter(line)
        dots = tuple(dot for point in line.points if (dot := self._dot(point)))
        return Curve(letter, "strong" if chosen else role, dots)

    def _dot(self, point: Point) -> Dot | None:
        value, index = self._with_interval(point), point.case.index
        return None if value is None else Dot(float(point.x), value.middle, value.low, value.high, index)

    def _with_interval(self, point: Point) -> Value | None:
        metrics = self._known(point.case)
        return with_interval(point.case, point.value, self.choice.metric, metrics, self._judge)

    def _lost(self) -> tuple[OutcomeMarker, ...]:
        """Return markers of cases that ended without a value. The first case at an x value sets the symbol."""
        by_position: dict[int, list[tuple[Point, str]]] = {}
        for line in self.chart.lines:
            for point in line.points:
                if point.value is None and point.case.finished is not None and point.case.state != "ok":
                    by_position.setdefault(point.x, []).append((point, self._letter(line)[0]))
        return tuple(
            OutcomeMarker(
                float(x),
                getattr(self._symbols, ended[0][0].case.state),
                ROLES[ended[0][0].case.state],
                "".join(letter for _, letter in ended),
            )
            for x, ended in sorted(by_position.items())
        )

    def _hint(self) -> str:
        if not self.chart.lines:
            change = f"{key('charts.filter')} changes the filter, esc clears it"
            return f"no line matches {self.choice.filter_text!r}: {change}"
        count = len(self.chart.drawable)
        if count > 1:
            return ""
        pending = sum(case.finished is None for case in self._session.cases)
        name = self.choice.metric.name
        if pending:
            return f"{count or 'no'} case has a value for {name} so far; {pending} pending"
        more = f"{key('charts.figure')} shows another metric, {key('app.monitor')} shows how the cases ended"
        return f"{count or 'no'} case has a value for {name}: {more}"


def letter_of(place: int) -> Span:
    """Return the letter and color role of a line; the letter is unique, and neighbors differ in color."""
    role = LINE_ROLES[place % len(LINE_ROLES)]
    return (ascii_letters[place], role) if place < MAX_LETTERS else ("", "muted")
