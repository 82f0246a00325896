"""Session view: plain snapshots of a session for the Monitor's panels."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.state.simulation import SIMULATED, labeled
from benchtui.sessions.sweep import UNKNOWN
from benchtui.sessions.text.formatting import count, memory
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing import format
from benchtui.tui.live.feed import Feed
from benchtui.tui.model.answer import AnswerText, Ending, ending_of
from benchtui.tui.model.case_rows import ROLES, CaseRows
from benchtui.tui.model.event_log import EventLog
from benchtui.tui.model.machines import machines_of
from benchtui.tui.model.noise_light import noise_light
from benchtui.tui.model.row_cells import first_step_phase
from benchtui.tui.model.step_annotations import round_of
from benchtui.tui.model.table_order import TableOrder
from benchtui.tui.panels.answer_card import Answer
from benchtui.tui.panels.case_panel import Current, Part
from benchtui.tui.panels.gauges import Machines
from benchtui.tui.panels.header import SweepHeading
from benchtui.tui.panels.step_band import Band
from benchtui.tui.shell.keymap import key
from benchtui.tui.shell.preferences import Preferences
from benchtui.tui.table.case_names import case_name, config_name
from benchtui.tui.table.columns import DEFAULT_CLUSTER_COLUMNS, DEFAULT_COLUMNS
from benchtui.tui.table.layout import Rows
from benchtui.tui.table.mark_words import merge_by_kind

if TYPE_CHECKING:
    from benchtui.sessions.advice.conclusion import Conclusions

Value = TypeVar("Value")

READING = "reloading its steps"
"""Caption in place of evicted steps while they are being reloaded."""


def _why_halted(session: Session, case: CaseState) -> tuple[str, str] | None:
    """Return why no step of a case runs now, in a word and a sentence: it waits, or was disturbed."""
    waits = [wait.reason.removeprefix("waiting ") for wait in session.waiting if wait.case == case.index]
    if waits:
        return "waiting", waits[-1]
    last = case.repeated[-1] if case.repeated else None
    return ("measured again", last.reason) if last and case.started and last.t >= case.started.t else None


def _in_round(session: Session) -> tuple[int, int, int] | None:
    """Return the round in progress, from 1, the number of rounds, and the cases that this one has measured.

    None if the sweep has a single round, or as many as it takes.
    """
    measure = session.start.sweep.measure
    if measure.rounds < 2 or measure.rounds_auto:
        return None
    done = min((len(case.ends) for case in session.cases if case.finished is None), default=0)
    ended = sum(case.finished is not None or len(case.ends) > done for case in session.cases)
    return done + 1, measure.rounds, ended


def _before_first_case(session: Session) -> str:
    """Return what the engine does until a case starts, in place of the plot."""
    if session.machine.idle is None:
        return "no steps yet: the machine is observed before the first case"
    doing = "torch is being loaded" if session.runtime is None else "the peak rates of the devices are measured"
    return f"no steps yet: {doing} before the first case"


WITHOUT_STEPS = {
    "queued": "no steps yet: waiting for earlier cases",
    "loading model": "no steps yet: the model is loading",
    "compiling": "no steps yet: the first one compiles, and counts as warm-up",
    "first step": "no steps yet: the first one is running",
}
"""Text in place of the plot, by phase."""


def phase_of(case: CaseState) -> str:
    """Return the phase of a running case within its round, in words."""
    round_index = round_of(case)
    if case.prepared is None or case.started is None or case.prepared.t < case.started.t:
        return "loading model"
    if case.measured.of_round(round_index):
        return "measuring"
    if case.warmup.of_round(round_index):
        return "warm-up"
    return first_step_phase(case)


def _device(session: Session) -> str:
    if session.nodes:
        lost = sum(node.lost is not None for node in session.nodes.values())
        return count(len(session.nodes), "node") + (f", {lost} lost" if lost else "")
    gpus = session.start.host.gpus
    if not gpus:
        return format.clean(session.start.host.processor or "")
    return format.clean(format.counted(gpu.name for gpu in gpus))


def _about(session: Session) -> str:
    prepared = next((case.prepared for case in session.cases if case.prepared), None)
    name = session.start.sweep.model
    if name == UNKNOWN:
        return ""
    if prepared is None or prepared.model.parameters is None:
        return format.clean(name)
    return format.clean(f"{name}  {prepared.model.parameters / 1e6:,.1f} M parameters")


class View:
    """Order of a session's cases, and panel snapshots. Expensive ones are recomputed only when a case ends."""

    def __init__(
        self,
        feed: Feed,
        symbols: Symbols,
        name: str,
        before: "View | None" = None,
        conclusions: "Callable[[], Conclusions | None]" = lambda: None,
        preferences: Preferences | None = None,
    ) -> None:
        """Create a view. ``before`` is the same session at another moment, whose table order is kept.

        ``conclusions`` returns the newest ones; ``preferences`` has columns and sort order.
        """
        self.conclusions = conclusions
        """Return the newest conclusions."""
        self.session = feed.session
        """Session shown; a feed that seeks back has a different one."""
        self._feed = feed
        self._symbols = symbols
        self._name = name
        """Name of the session on the command line."""
        self.case_rows = CaseRows(feed.session, symbols, feed.judging)
        self.order = TableOrder(feed.session, self.case_rows.value)
        """Shown cases in the order of the table, and the selected one."""
        if preferences is not None:
            self.order.columns, self.order.sorting = preferences.columns, preferences.sorting
        if before is not None:
            self.order.copy_from(before.order)
        self.messages = EventLog(feed.session, symbols, self.case_rows).lines
        """Return all lines of the log."""
        self._remaining = feed.remaining(self.case_rows.steps_needed)
        self._snapshots: dict[str, tuple[object, Any]] = {}
        """Cached snapshots, each with the state it was built from."""
        self._processed = 0
        """Number of ended cases already processed."""
        self._seen: tuple[int, int, int, bool] | None = None
        self._marks: dict[str, None] = {}
        """Markers of all ended cases, in order of appearance."""
        self._last: CaseState | None = None
        """Last processed case to end that has steps."""

    @property
    def over(self) -> bool:
        """Whether the session has ended, or its engine is gone."""
        return self.session.finished is not None or self._feed.cut_off

    @property
    def concluded(self) -> bool:
        """Whether there are conclusions of this moment."""
        return self.conclusions() is not None

    @property
    def replayed(self) -> bool:
        """Whether a recording is replayed."""
        return self._feed.replayed

    def _cached(self, name: str, seen: object, make: Callable[[], Value]) -> Value:
        """Return the snapshot that was made of the same state before, else a new one."""
        if name not in self._snapshots or self._snapshots[name][0] != seen:
            self._snapshots[name] = seen, make()
        value: Value = self._snapshots[name][1]
        return value

    def update(self) -> None:
        """Process newly ended cases, then rebuild the rest unless a long file is still being read."""
        feed = self._feed
        self._last = self._last_ended()
        ended = self.session.ended[self._processed :]
        self._processed += len(ended)
        self.case_rows.add_ended(ended)
        for case in ended:
            self._marks |= dict.fromkeys(format.clean(mark) for mark in case.marks)
        now = (self.session.done, self.session.rounds_ended, len(self.session.cases), self.over)
        if now != self._seen and (feed.caught_up or not self._seen):
            self._seen = now
            self.case_rows.cut_off = feed.cut_off
            self.case_rows.refresh()
        self.case_rows.star(self.starred)

    def _last_ended(self) -> CaseState | None:
        """Return the last case to end that has steps, also if nothing has been drawn since."""
        ended = self.session.ended[self._processed :]
        return next((case for case in reversed(ended) if case.steps_measured), self._last)

    @property
    def _ending(self) -> Ending | None:
        return ending_of(self.session, self._feed.cut_off, self._feed.exit_message or "")

    @property
    def _state(self) -> str:
        if self.session.finished is not None and (ending := self._ending):
            return ending.word
        if self._feed.running:
            return "running"
        return "crashed" if self._feed.cut_off else "reading"

    def answer(self) -> Answer:
        """Return what the session says: what to run so far, or at its end."""
        session, conclusions = self._feed.session, self.conclusions()
        running = [case.index for case in session.running]
        seen = (conclusions, self._seen, running, session.waiting, session.finished, self._feed.cut_off)

        def make() -> Answer:
            text = AnswerText(session, self.case_rows.names, self._symbols, self._feed.command_word(self._name))
            return text.answer(self._ending, conclusions)

        return self._cached("answer", seen, make)

    @property
    def starred(self) -> frozenset[int]:
        """Cases to run, as the newest conclusions name them."""
        conclusions = self.conclusions()
        return conclusions.starred if conclusions else frozenset()

    def heading(self, notes: tuple[str, ...]) -> SweepHeading:
        """Return the header. Markers are those of the running case, or else of all ended cases."""
        current = self._feed.session.current
        marks = current.marks if current and current.prepared else ()
        cleaned = tuple(format.clean(mark) for mark in marks) or tuple(self._marks)
        shown = tuple(mark for mark in cleaned if mark != SIMULATED)  # shown before the name
        feed, remaining, start = self._feed, self._remaining, self.session.start
        time_left = remaining.sweep_left(feed.now_s) if feed.running else None
        in_round = _in_round(self.session) if feed.running else None
        return SweepHeading(
            name=labeled(format.clean(start.sweep.name), start),
            host=format.clean(start.host.hostname or ""),
            device=_device(self.session),
            done=in_round[2] if in_round else remaining.done,
            total=remaining.total,
            skipped=remaining.skipped,
            round=in_round[:2] if in_round else None,
            progress=remaining.progress(feed.now_s, time_left),
            state=self._state,
            left=time_left,
            about=_about(self.session),
            paused=self.session.paused and feed.running,
            light=noise_light(self.session, self._symbols) if feed.running else (),
            marks=merge_by_kind(shown),
            notes=notes,
        )

    @property
    def case(self) -> CaseState | None:
        """Case to show: selected, else newest running, else the one to run, else last ended."""
        session, conclusions = self._feed.session, self.conclusions()
        if self.order.chosen is not None:
            return session.cases[self.order.chosen]
        if conclusions and conclusions.works and self.over:
            return session.cases[conclusions.works[0].best.case.index]
        waiting = [session.cases[wait.case] for wait in session.waiting]
        return session.current or (waiting[-1] if waiting else self._last_ended())

    def current(self) -> Current:
        """Return the case panel, or how the session begins while there is no case."""
        return self._current(self.case)

    def _current(self, case: CaseState | None) -> Current:
        feed, total = self._feed, len(self.session.cases)
        if case is None:
            word = "starting" if feed.running else self._state
            newest = tuple(format.clean(message.text) for message in self.session.messages[-1:])
            waiting = format.duration(feed.now_s) if feed.running else ""
            return Current(count(total, "case"), "", word, "muted", remark=waiting, hints=newest)
        title, position = format.clean(case_name(case)), f"case {case.index + 1} of {total}"
        if case.finished is not None:
            return self._ended(case, title, position)
        shown = partial(Current, title, position, metrics=self.case_rows.metrics(case))
        if case.started is not None and feed.cut_off:
            return shown("incomplete", "bad")
        if feed.running and (why := _why_halted(self.session, case)):
            return shown(why[0], "warning", remark=format.clean(why[1]))
        if case.state != "running" or not feed.running:
            return shown(case.state, ROLES[case.state], remark=self._expected_memory(case))
        return self._running(case, title, position)

    def _running(self, case: CaseState, title: str, position: str) -> Current:
        measure, now_s = self.session.start.sweep.measure, self._feed.now_s
        phase, round_index = phase_of(case), round_of(case)
        warmed, measured = case.warmup.of_round(round_index), case.measured.of_round(round_index)
        missing = self.case_rows.steps_needed(case)
        needed = missing if phase == "measuring" else None
        whole = measured + needed.steps if needed else max(measure.iterations, measured)
        counts = {"warm-up": (warmed, max(measure.warmup, warmed)), "measuring": (measured, whole)}
        done, planned = counts.get(phase, (0, 0))
        since = case.started if phase == "loading model" else case.prepared
        of_rounds = f" of {measure.planned_rounds}" if measure.planned_rounds else ""
        return Current(
            title,
            f"{position}, round {round_index + 1}{of_rounds}" if measure.repeats else position,
            phase,
            "accent",
            done=done,
            planned=planned,
            needed=needed,
            left=self._remaining.case_left(case, missing, now_s),
            remark=format.duration(max(0.0, now_s - (since.t if since else 0.0))),
            hints=(self._expected_memory(case),),
            metrics=self.case_rows.metrics(case),
        )

    def _ended(self, case: CaseState, title: str, position: str) -> Current:
        finished = case.finished
        rounds = f" in each of {len(case.ends)} rounds" if len(case.ends) > 1 else ""
        reason = (finished.reason or (f"{finished.stop}{rounds}" if finished.stop else "")) if finished else ""
        marks = self.case_rows.own_marks(case) if case.state == "ok" else ()
        word, role = case.state, ROLES[case.state]
        if marks:
            word, role = self.case_rows.row(case.index).cells["state"]
        metrics = self.case_rows.metrics(case)
        return Current(
            title, position, word, role, remark=", ".join(marks) or format.clean(reason), metrics=metrics
        )

    def _expected_memory(self, case: CaseState) -> str:
        """Format the predicted peak memory of a case; empty if unknown."""
        prediction = self.case_rows.predicted_memory(case)
        return f"expected peak {memory(prediction.peak_mb)} {prediction.quantity}" if prediction else ""

    def band(self) -> Band:
        """Return the step plot of the case in the heading; until it has steps, the phase in its place."""
        case = self.case
        if case is None:
            caption = _before_first_case(self.session) if self._feed.running else ""
            return Band((), (), (0, 0), 0, None, caption=caption)
        drawn = self._with_steps(case)
        if drawn is None:
            return Band((), (), (0, 0), 0, None, caption=READING)
        caption = self._caption(case)
        steps = (drawn.index, id(drawn), len(drawn.warmup), len(drawn.measured))
        seen = (*steps, drawn.state, drawn.metrics is None, caption)
        measure = self.session.start.sweep.measure
        return self._cached("band", seen, lambda: self.case_rows.band(drawn, measure, caption))

    def parts(self) -> tuple[Part, ...]:
        """Return the step parts of the case in the heading."""
        return () if self.case is None else self.case_rows.parts(self.case)

    def machines(self) -> Machines:
        """Return the gauges of the selected case's node, else all nodes, else the machine.

        The GPUs of the selected case are marked, else those of the running cases, else that of the last one.
        """
        session, last, chosen = self._feed.session, self.case, self.order.chosen
        node = session.cases[chosen].node if chosen is not None else None
        shown = tuple(session.running) if chosen is None and session.running else (last,) if last else ()
        live = self._feed.running or self._feed.replayed
        nodes = [(machine.newest_s, machine.lost) for machine in session.nodes.values()]
        prepared = [(case.index, case.prepared, case.finished) for case in shown]
        running = [case.index for case in session.running]
        seen = (node, session.machine.newest_s, nodes, running, prepared, live)
        make = partial(machines_of, session, self._symbols, config_name, node)
        return self._cached("machines", seen, partial(make, shown=shown, live=live))

    def rows(self) -> Rows:
        """Return the table rows in order.

        Empty columns are left out, of a custom selection only those of answers and drafts. The default columns
        on a cluster include the node.
        """
        session, table_order = self._feed.session, self.order
        order, columns, hidden = table_order.order, table_order.columns, self.case_rows.empty_columns
        if columns != DEFAULT_COLUMNS:
            hidden &= {"answer", "accepted"}
        elif session.nodes:
            columns = DEFAULT_CLUSTER_COLUMNS
        return Rows(
            count=len(order),
            row=lambda place: self.case_rows.row(order[place]),
            names=self.case_rows.names,
            chosen=table_order.place(table_order.chosen),
            running=table_order.place(session.current.index) if session.current else None,
            columns=columns,
            hidden=hidden,
            sorting=table_order.sorting,
            total=len(session.cases),
            filter=format.clean(table_order.filter),
            unit=self.case_rows.unit,
            over=self.over and self.concluded,
        )

    def _caption(self, case: CaseState) -> str:
        """Return why a case has no steps, in full; empty if it has some."""
        if len(case.warmup) or case.steps_measured:
            return ""
        more = f"{key('monitor.detail')}: case details"
        if case.finished and case.finished.reason:
            return f"no steps: {format.clean(case.finished.reason)}; {more}"
        return WITHOUT_STEPS.get(self._current(self.session.cases[case.index]).phase, f"no steps; {more}")

    def _with_steps(self, case: CaseState) -> CaseState | None:
        """Return a case with its steps; None while they are being reloaded."""
        if case.steps_in_memory:
            return case
        reloaded = self._feed.load_case(case)
        return reloaded.case if reloaded else None
