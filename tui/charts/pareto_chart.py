"""Pareto chart: throughput of every case against a cost, with the front. Independent of Textual."""

from benchtui.sessions.analysis.chart_series import MetricsLookup, PlotMetric, throughput
from benchtui.sessions.analysis.pareto import COSTS, ParetoPoint, costs, fronts, pareto_points
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Work, distinct_works
from benchtui.themes.symbols import Symbols
from benchtui.tui.charts.line_chart import letter_of
from benchtui.tui.charts.readout import option_words, title
from benchtui.tui.drawing import format
from benchtui.tui.drawing.listing import Listing, titled_table
from benchtui.tui.drawing.plot import Curve, Dot, Plot
from benchtui.tui.drawing.styled_text import Span
from benchtui.tui.shell.keymap import key
from benchtui.tui.table.case_names import matches, short_names


class ParetoChart:
    """All measured cases with the front highlighted, and a selected case of the front."""

    def __init__(self, session: Session, metrics_of: MetricsLookup, symbols: Symbols) -> None:
        self._session = session
        self._known = metrics_of
        self._symbols = symbols
        self._cost = COSTS[0]
        self._chosen = 0
        self._beside: int | None = None
        """Selected case if it isn't on a front; otherwise None."""
        self._filter_text = ""
        self._logarithmic = False
        self._all: tuple[ParetoPoint, ...] = ()
        self._fronts: dict[Work, tuple[ParetoPoint, ...]] = {}
        self._front: tuple[ParetoPoint, ...] = ()
        self._works: list[Work] = []
        """Distinct works of the session's cases, each with its own front."""
        self._labels: dict[int, str] = {}
        """Label of each case, by index."""

    def update(self, filter_text: str, logarithmic: bool) -> None:
        """Rebuild the front from the current session, with a filter and a scale."""
        self._filter_text, self._logarithmic = filter_text, logarithmic
        cases = self._session.cases
        self._labels = dict(enumerate(short_names([case.config for case in cases])))
        kept = [case for case in cases if matches(self._labels[case.index], filter_text)]
        self._works = distinct_works(case.config.work for case in cases)
        self._all = pareto_points(kept, self._known, self._cost, self._gain)
        self._fronts = fronts(self._all)
        self._front = tuple(trade for row in self._fronts.values() for trade in row)
        self._chosen = min(self._chosen, max(len(self._front) - 1, 0))

    @property
    def case(self) -> CaseState | None:
        """Selected case; None if the front is empty."""
        return self._selected.case if self._selected else None

    def select(self, case: CaseState) -> None:
        """Select the point of a case, if it has one."""
        front = [trade.case.index for trade in self._front]
        if case.index in front:
            self._chosen, self._beside = front.index(case.index), None
        elif any(trade.case is case for trade in self._all):
            self._beside = case.index

    def next_axis(self) -> str:
        """Switch to the next measured cost. Return a message if there is no other."""
        available = costs(self._session.cases, self._session.answer_baselines)
        at = next((place for place, cost in enumerate(available) if cost.name == self._cost.name), -1)
        others = [*available[at + 1 :], *available[:at]]
        following = next(
            (cost for cost in others if pareto_points(self._session.cases, self._known, cost, self._gain)), None
        )
        if following is None:
            return f"no cost other than {self._cost.name} has been measured"
        self._cost, self._chosen, self._beside = following, 0, None
        return ""

    def move_line(self, by: int) -> None:
        """Select another case of the front."""
        self._chosen, self._beside = min(max(self._chosen + by, 0), max(len(self._front) - 1, 0)), None

    move_point = move_line

    @property
    def title(self) -> str:
        """Chart title: throughput and cost."""
        several = "s" if len(self._fronts) > 1 else ""
        return f"Pareto front{several}: {self._gain.name} against {title(self._cost)}"

    @property
    def _gain(self) -> PlotMetric:
        return throughput(self._session)

    @property
    def notes(self) -> list[str]:
        """Number of cases on the front, with the active filter and scale."""
        count = f"{len(self._front)} of {len(self._all)} cases"
        per_group = [f"a front per {self._distinct}"] if len(self._fronts) > 1 else []
        filtered = [f"filter {self._filter_text}"] if self._filter_text else []
        return [*filtered, *per_group, count, *(["logarithmic"] if self._logarithmic else [])]

    @property
    def _distinct(self) -> str:
        """Parts of the work in which the fronts differ."""
        columns = zip(Work._fields, zip(*self._works, strict=True), strict=True)
        return " and ".join(option_words(name) for name, column in columns if len(set(column)) > 1)

    def readout(self) -> list[list[Span]]:
        """Render the selected case with its throughput and cost."""
        trade = self._selected
        if trade is None:
            return []
        values: list[Span] = [
            (format.significant(trade.gain.middle, self._symbols), "bright"),
            (f" {self._gain.name} at ", "muted"),
            (format.significant(trade.cost.middle, self._symbols), "bright"),
            (f" {self._cost.unit_words}", "muted"),
        ]
        name = (format.clean(self._labels[trade.case.index]), "plain")
        return [[name], values, *([] if self._beside is None else [[("not on the front", "muted")]])]

    def plot(self) -> Plot:
        """Build the plot."""
        best = {trade.case.index: place for place, trade in enumerate(self._front)}
        others = tuple(_dot(trade) for trade in self._all if trade.case.index not in best)
        chosen = self._selected
        named = {work: Curve(*self._letter(work), tuple(map(_dot, row))) for work, row in self._fronts.items()}
        last = [work for work, row in self._fronts.items() if chosen in row]
        curves = [
            Curve(self._symbols.dot, "muted", others, joined=False),
            *(curve for work, curve in named.items() if work not in last),
            *(named[work] for work in last),
        ]
        return Plot(
            curves=tuple(curves[1:] + curves[:1] if self._beside is not None else curves),
            lost=(),
            title=self._gain.name,
            x_title=title(self._cost),
            x_values=None,
            logarithmic=self._logarithmic,
            chosen=_dot(chosen) if chosen else None,
            hint=self._hint(),
        )

    def lines(self) -> Listing:
        """List the cases of the front, cheapest first within each front."""
        rows = tuple(
            (
                self._letter(trade.case.config.work),
                (format.clean(self._labels[trade.case.index]), "plain"),
                (format.significant(trade.gain.middle, self._symbols), "plain"),
                (format.significant(trade.cost.middle, self._symbols), "plain"),
            )
            for trade in self._front
        )
        chosen = self._chosen if self._beside is None else None
        titles = ("", "case on the front", self._gain.name, title(self._cost))
        return Listing(titles, rows, 1, chosen, tuple(trade.case.index for trade in self._front))

    def markdown(self) -> str:
        """Return the front as a Markdown table; empty if there is none."""
        return titled_table(self.title, self.lines())

    @property
    def _selected(self) -> ParetoPoint | None:
        """Selected point: one of the front, unless another point was clicked."""
        beside = next((trade for trade in self._all if trade.case.index == self._beside), None)
        return beside or (self._front[self._chosen] if self._front else None)

    def _letter(self, work: Work) -> Span:
        return letter_of(self._works.index(work))

    def _hint(self) -> str:
        if len(self._all) > 1:
            return ""
        count = len(self._all)
        if self._filter_text:
            change = f"{key('charts.filter')} changes the filter"
            return f"{count or 'no'} case matching {self._filter_text!r} has both values: {change}"
        return f"{count or 'no'} case has {self._gain.name} and {self._cost.name} so far; a front needs two"


def _dot(trade: ParetoPoint) -> Dot:
    return Dot(trade.cost.middle, trade.gain.middle, case=trade.case.index)
