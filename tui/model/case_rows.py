"""Case rows: metrics of each case for the UI. Cached once they can't change any more."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from functools import partial
from math import isfinite

from msgspec.structs import replace

from benchtui.sessions.analysis.chart_series import throughput
from benchtui.sessions.estimates.eta import RoundSoFar, StepsLeft, steps_left
from benchtui.sessions.estimates.memory import MemoryForecast, Prediction
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.judging import SWEEP_DEFAULTS, VerdictSettings
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import Metrics
from benchtui.sessions.stats.distribution import Distribution
from benchtui.sessions.stats.evidence import computed_metrics, counted
from benchtui.sessions.stats.quantiles import per_second
from benchtui.sessions.stats.verdicts import Ratio, Verdict
from benchtui.sessions.sweep import Measure
from benchtui.sessions.text.answers import distance
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing import format
from benchtui.tui.drawing.bars import gauge_bar
from benchtui.tui.drawing.styled_text import Span
from benchtui.tui.live.case_verdicts import CaseVerdicts
from benchtui.tui.live.step_statistics import StepStatistics
from benchtui.tui.model.row_cells import (
    BarScales,
    answer_span,
    base_cell,
    note,
    ratio_cell,
    ratio_graph,
    state_text,
    steps_trace,
)
from benchtui.tui.model.step_annotations import round_of, signs_of
from benchtui.tui.panels.case_panel import PanelMetrics, Part
from benchtui.tui.panels.step_axis import Axis, Spread
from benchtui.tui.panels.step_band import Band
from benchtui.tui.table.case_names import CaseNames, case_name
from benchtui.tui.table.columns import BY_KEY, FORMATS, HAS_VALUE, VALUES, columns_with_value, p50_ms
from benchtui.tui.table.layout import Cells, TableRow
from benchtui.tui.table.mark_words import mark_word

ROLES = {
    "queued": "muted",
    "running": "accent",
    "ok": "good",
    "skipped": "muted",
    "oom": "warning",
    "timeout": "warning",
    "interrupted": "warning",
    "failed": "bad",
}
"""Color role of each case state."""
TOKENS, NEW_TOKENS = "tokens/s", "new tokens/s"
TOKEN_RATES = {TOKENS: "tokens_per_s", NEW_TOKENS: "new_tokens_per_s"}
"""Metric of each rate in tokens."""
PENDING = ("queued", "running")
"""States of cases whose metrics are still to come."""


OF_ENDED_ROUNDS = ("memory", "power")
"""Columns of the ended rounds, also of a running case: these are read at the end of a round."""


class CaseRows:
    """Everything the UI shows about each case of a session."""

    def __init__(self, session: Session, symbols: Symbols, judging: VerdictSettings = SWEEP_DEFAULTS) -> None:
        self._session = session
        self._symbols = symbols
        self.statistics = StepStatistics()
        """Statistics of the cases without metrics."""
        self._sums: dict[tuple[object, ...], tuple[int, float]] = {}
        """Number of summed values and their sum, by case and column."""
        self._rows: dict[int, tuple[object, TableRow]] = {}
        """Cached rows, each with the state it was built from."""
        self._axes: dict[int, tuple[int, Axis]] = {}
        """Axis of each case's steps, with the number of measured ones it was built from."""
        self._memory = MemoryForecast()
        self._names, self._named = CaseNames.of([]), 0
        """Names, and the number of cases they were laid out for."""
        self.refreshed = 0
        """Number of times that all rows were discarded."""
        self.cut_off = False
        """Whether the recording ends here: running cases are incomplete."""
        self.verdicts = CaseVerdicts(session, judging)
        """Verdicts of the measured cases."""
        self._counted: dict[int, CaseState] = {}
        """Cases of which not all rounds count, or have ended, with only those that do."""
        self.scales = BarScales()
        self._starred: frozenset[int] = frozenset()
        self._columns_with_values: set[str] = set()
        """Often empty columns in which an ended case has a value."""
        self._common: frozenset[str] | None = None
        """Markers shared by all cases. The header shows them once; rows leave them out."""

    @property
    def names(self) -> CaseNames:
        """Display names of the cases, recomputed when cases are added."""
        if self._named != len(self._session.cases):
            self._names = CaseNames.of([case.config for case in self._session.cases])
            self._named = len(self._session.cases)
        return self._names

    def stats(self, case: CaseState) -> Distribution | None:
        """Return statistics of a case's measured steps so far; None if there are none, or not yet."""
        if metrics := computed_metrics(case):
            return metrics.latency_ms
        return self.statistics.of(self._shown(case))

    def metrics(self, case: CaseState) -> PanelMetrics | None:
        """Return latency and throughput of a case, or None before anything was measured."""
        case = self._shown(case)
        stats = self.stats(case)
        if stats is None:
            return _reported(case, self.rate(case), self.unit)
        return PanelMetrics(
            n=stats.n,
            step_ms=self._typical_ms(case, stats),
            p99_ms=stats.p99,
            interval_percent=self._half_width_percent(case, stats),
            rate=self.rate(case),
            unit=self.unit,
            unsteady=self.verdicts.is_unsteady(case, stats),
        )

    def steps_needed(self, case: CaseState) -> StepsLeft | None:
        """Return what a case's round still needs. None for a fixed number of steps, or once ended."""
        measure = self._session.start.sweep.measure.for_device(case.config.device)
        if measure.by_count or case.finished is not None:
            return None
        stats, on_host = self.statistics.of(case, round_index=round_of(case)), not case.measured.device_ms
        if stats is None:
            return steps_left(RoundSoFar(0, 0.0, None, on_host), measure)
        return steps_left(RoundSoFar(stats.n, stats.total / 1000, stats.interval_percent, on_host), measure)

    def predicted_memory(self, case: CaseState) -> Prediction | None:
        """Return the predicted peak memory of a case of which no round has ended."""
        ended = self._counted.get(case.index, case)
        return None if ended.finished else self._memory.predict(case.config)

    def parts(self, case: CaseState) -> tuple[Part, ...]:
        """Return the timed parts of a case's steps, with each part's share of the total."""
        if metrics := computed_metrics(case):
            return parts_of(metrics)
        case = self._shown(case)
        n, total = len(case.measured), self._sum(case, "", case.measured.wall_ms)
        if not total:
            return ()
        sums = {name: self._sum(case, name, times_ms) for name, times_ms in case.measured.parts_ms.items()}
        return tuple(Part(format.clean(name), part / n, part / total) for name, part in sums.items())

    def _sum(self, case: CaseState, name: str, values: array[float] | array[int]) -> float:
        """Return the sum of a column, adding only the new values of a growing one."""
        if case is not self._session.cases[case.index]:
            return sum(values)
        key = (case.index, len(case.repeated), name)
        n, total = self._sums.get(key, (0, 0.0))
        if n < len(values):
            total += sum(values[n:])
            self._sums[key] = len(values), total
        return total

    def band(self, case: CaseState, measure: Measure, caption: str = "") -> Band:
        """Return a case's step plot. Once there are measured steps, they set the axis."""
        stats = self.stats(case)
        return Band(
            warmup=case.warmup.wall_ms,
            measured=case.measured.wall_ms,
            shown=(len(case.warmup), len(case.measured)),
            planned=measure.warmup * measure.rounds + measure.planned_steps,
            axis=self._axis(case, stats),
            median=stats.median if stats else None,
            p99=stats.p99 if stats else None,
            typical=stats.p5_to_p95 if stats else None,
            caption=caption,
            signs=signs_of(self._session, case, stats),
        )

    def _axis(self, case: CaseState, stats: Distribution | None) -> Axis | None:
        """Return the axis of a case's steps so far, grown from the one shown before."""
        spread = _spread(stats)
        if stats is None or spread is None:
            warmup = self.statistics.of(case, "warmup")
            spread = _spread(warmup)
            return Axis.of(replace(spread, p5_to_p95=None)) if spread else None
        n, before = self._axes.get(case.index, (0, None))
        axis = Axis.of(spread, before if n <= stats.n else None)
        self._axes[case.index] = (stats.n, axis)
        return axis

    def value(self, case: CaseState, key: str) -> float | str | None:
        """Return a case's value in a column, in the column's unit; None if unknown."""
        case = self._shown(case)
        if key == "node":
            return case.node
        if key in ("case", "state"):
            return self.names.text(case.config) if key == "case" else case.state
        if key == "answer":
            return distance(case.comparison)
        return self._ratio(case) if key == "base" else self._metric(case, key)

    def _shown(self, case: CaseState) -> CaseState:
        """Return a case with only the rounds that count, and have ended unless it is being measured."""
        if case.metrics is not None or (case.state == "running" and not self.cut_off):
            return case
        return self._counted.get(case.index, case)

    def row(self, index: int) -> TableRow:
        """Return a case's table row, rebuilt only if the case has changed."""
        case = self._shown(self._session.cases[index])
        stats = self.stats(case)
        steps = (len(case.warmup), len(case.measured), stats and stats.n)
        answer = (case.comparison, index in self._session.answer_baselines)
        seen = (case.state, case.settled, case.node, case.prepared, case.metrics is None, *steps, *answer)
        before, row = self._rows.get(index, (None, None))
        if row is None or seen != before:
            row = self._row(case)
            self._rows[index] = (seen, row)
        return row

    def refresh(self, ended: Iterable[CaseState] = ()) -> None:
        """Record ended cases and discard all rows, since their baseline may have changed."""
        self.add_ended([*ended, *self.verdicts.with_new_rounds()])
        self._rows.clear()
        self.refreshed += 1

    def star(self, cases: frozenset[int]) -> None:
        """Mark the cases to run, as the session's conclusions name them."""
        for index in cases ^ self._starred:
            self._rows.pop(index, None)
        self._starred = cases

    def add_ended(self, ended: Iterable[CaseState]) -> None:
        """Record ended cases, or cases with ended rounds, while more are expected. Rows are kept."""
        for case in ended:
            result = self.verdicts.add_ended(case)
            self._counted.pop(case.index, None)
            shown = counted(result or case)
            if shown is not case:
                self._counted[case.index] = shown
            if shown.state == "ok" and not case.config.repeat:
                self.scales.add_measured(case.config.work, self.rate(shown))
            self._columns_with_values |= columns_with_value(case)
            if case.state == "ok" and case.finished is not None:
                self._memory.learn(case.config, case.finished.memory)
            if case.prepared is not None and case.finished is not None:
                marks = frozenset(case.marks)
                self._common = marks if self._common is None else self._common & marks

    @property
    def shared_marks(self) -> frozenset[str]:
        """Marks that all cases so far share."""
        return self._common or frozenset()

    def own_marks(self, case: CaseState) -> tuple[str, ...]:
        """Return the marks of a case that not all cases share."""
        shared = self.shared_marks
        return tuple(format.clean(mark) for mark in case.marks if mark not in shared)

    @property
    def empty_columns(self) -> frozenset[str]:
        """Often empty columns in which no case has a value."""
        running = (columns_with_value(case) for case in self._session.running)
        return frozenset(HAS_VALUE).difference(self._columns_with_values, *running)

    def rate(self, case: CaseState) -> float | None:
        """Return a case's rate in ``unit``, computed without sorting its steps."""
        steps_ms, unit = case.measured.wall_ms, self.unit
        reported = None if len(steps_ms) else case.reported
        if summary := computed_metrics(case) or reported:
            value: float | None = getattr(summary, TOKEN_RATES.get(unit, "samples_per_s"))
            return value
        samples = len(steps_ms) * case.samples_per_step
        new = (case.prepared and case.prepared.new_tokens) or 0
        counts = {TOKENS: self._sum(case, TOKENS, case.measured.tokens), NEW_TOKENS: samples * new}
        return per_second(counts.get(unit, samples) or None, self._sum(case, "", steps_ms))

    @property
    def unit(self) -> str:
        """Unit of the rate that describes the session's task, as in reports: samples, tokens, or new tokens."""
        return throughput(self._session).name

    def _row(self, case: CaseState) -> TableRow:
        role = {"queued": "muted", "skipped": "muted", "running": "bright"}.get(case.state, "plain")
        without = case.state not in PENDING and self.metrics(case) is None
        return TableRow(
            case=("", role),
            config=case.config,
            cells=Cells(partial(self._cell, case)),
            instead=self._note(case) if without else "",
            graph=partial(self._graph, case),
            lead=(self._symbols.best if case.index in self._starred else " ", "accent"),
        )

    def _cell(self, case: CaseState, key: str) -> Span:
        match key:
            case "memory" if prediction := self.predicted_memory(case):
                return (f"{self._symbols.about}{format.memory(prediction.peak_mb, self._symbols)}", "muted")
            case "state":
                return self._state(case)
            case "node":
                return (format.clean(case.node or ""), "muted")
            case "notes":
                return (self._note(case), "muted")
            case "base":
                return self._against_base(case)
            case "answer":
                return answer_span(case, case.index in self._session.answer_baselines, self._symbols)
            case "trace":
                return (steps_trace(case, BY_KEY[key].width, self._symbols), "soft")
            case "samples" if self._is_unsteady(case) and (rate := self._metric(case, key)):
                written = f"{self._symbols.about}{format.significant(rate, digits=2)}"
            case _:
                written = FORMATS[key](self._metric(case, key), self._symbols)
        return self._absent(case) if written == self._symbols.absent else (written, "plain")

    def _absent(self, case: CaseState) -> Span:
        """Return the cell of a value that a case doesn't have, or doesn't have yet."""
        return ("", "plain") if case.state in PENDING else (self._symbols.absent, "muted")

    def _graph(self, case: CaseState, key: str, width: int) -> Sequence[Span]:
        """Draw the bar of a case's throughput, or of its ratio to the baseline."""
        if key == "samples":
            return self._rate_bar(self._metric(case, key), width)
        ratio = Ratio(1.0) if self.verdicts.is_base(case) else self.verdicts.verdict(case)
        if ratio is None:
            value = self._ratio(case)
            ratio = None if value is None else Ratio(value)
        return ratio_graph(ratio, self.scales.span, width, self._symbols) if ratio else ()

    def _rate_bar(self, rate: float | None, width: int) -> Sequence[Span]:
        """Draw a throughput. One above the scale widens it, and all rows are drawn again."""
        if rate is None or not isfinite(rate):
            return ()
        if self.scales.widen(rate):
            self._rows.clear()
        most = self.scales.most_rate
        return gauge_bar(rate / most, width, self._symbols, "accent") if most else ()

    def _metric(self, case: CaseState, key: str) -> float | None:
        """Return a case's metric by column; None before anything was measured."""
        if key == "samples":
            return self.rate(case)
        if key in OF_ENDED_ROUNDS:
            return VALUES[key](self._counted.get(case.index, case), None)
        if key not in VALUES or (case.finished is None and not len(case.measured)):
            return None
        stats = self.stats(case)
        if key == "p50":
            return self._typical_ms(case, stats)
        return self._half_width_percent(case, stats) if key == "interval" else VALUES[key](case, stats)

    def _typical_ms(self, case: CaseState, stats: Distribution | None) -> float | None:
        """Return the typical step of a measured case, or the median of the steps so far of a running one."""
        has_rounds = case.has_result and case.steps_measured
        return self.verdicts.typical_ms(case) if has_rounds else p50_ms(case, stats)

    def _half_width_percent(self, case: CaseState, stats: Distribution | None) -> float | None:
        """Return the half-width of the interval of a measured case, or of the steps so far of a running one."""
        if case.has_result:
            return self.verdicts.half_width_percent(case)
        return stats.interval_percent if stats else None

    def _note(self, case: CaseState) -> str:
        parts = (self.verdicts.missing_base_reason(case, case_name), note(case, self.shared_marks))
        return ", ".join(format.clean(part) for part in parts if part)

    def _state(self, case: CaseState) -> Span:
        if case.state == "running" and self.cut_off:
            return (f"{self._symbols.interrupted} incomplete", "bad")
        word = mark_word(case.marks, self.shared_marks) if case.state == "ok" else None
        if word is not None:
            return (f"{self._symbols.flag} {format.clean(word)}", "warning")
        if case.state == "ok" and self._is_unsteady(case):
            return (f"{self._symbols.flag} unsteady", "warning")
        return (state_text(case, self._session.start.sweep.measure, self._symbols), ROLES[case.state])

    def _is_unsteady(self, case: CaseState) -> bool:
        stats = self.stats(case)
        return stats is not None and self.verdicts.is_unsteady(case, stats)

    def _against_base(self, case: CaseState) -> Span:
        """Format the ratio to the baseline, of a running case that of its steps so far."""
        cell = base_cell(case, self.verdicts, self._symbols)
        if cell[0] != self._symbols.absent:
            return cell
        value = self._ratio(case)
        return self._absent(case) if value is None else ratio_cell(value, Verdict.UNSURE, self._symbols)

    def _ratio(self, case: CaseState) -> float | None:
        """Return the ratio to the baseline without a verdict. A running case uses its steps so far."""
        base = self.verdicts.base_of(case)
        if base is None:
            return None
        if case.has_result:
            ratio = self.verdicts.verdict(case)
            return 1.0 if self.verdicts.is_base(case) else ratio.shown if ratio else None
        own, other = ((stats := self.stats(compared_case)) and stats.median for compared_case in (case, base))
        sizes = case.samples_per_step, base.samples_per_step
        return other / own * sizes[0] / sizes[1] if own and other and all(sizes) else None


def _reported(case: CaseState, rate: float | None, unit: str) -> PanelMetrics | None:
    reported = case.reported
    if reported is None:
        return None
    return PanelMetrics(reported.steps or 0, reported.latency_mean_ms, None, None, rate, unit)


def parts_of(metrics: Metrics | None) -> tuple[Part, ...]:
    """Return the timed parts of a case's steps from its metrics."""
    total = metrics.latency_ms.mean * metrics.latency_ms.n if metrics else 0.0
    return tuple(
        Part(format.clean(name), part.mean, part.mean * part.n / total)
        for name, part in (metrics.parts_ms.items() if metrics and total else ())
    )


def _spread(stats: Distribution | None) -> Spread | None:
    """Return the spread of steps; None if there are none."""
    if stats is None or stats.least is None or stats.median is None or stats.most is None:
        return None
    return Spread(stats.n, stats.least, stats.median, stats.most, stats.p5_to_p95)
