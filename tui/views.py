"""What the upper part of the Monitor says of a session: plain snapshots out of the fold."""

from collections import Counter

from benchtui.sessions.session import CaseState, Session
from benchtui.themes import Symbols
from benchtui.tui import text
from benchtui.tui.cases import ROLES, CaseBook
from benchtui.tui.feed import Feed
from benchtui.tui.machines import machines_of
from benchtui.tui.outlook import Outlook
from benchtui.tui.widgets.band import Band
from benchtui.tui.widgets.current import Current, Part
from benchtui.tui.widgets.gauges import Machines
from benchtui.tui.widgets.heading import Heading
from benchtui.tui.widgets.rows import Rows


def heading_of(feed: Feed, outlook: Outlook, marks: tuple[str, ...], notes: tuple[str, ...]) -> Heading:
    """Where the sweep is."""
    session = feed.session
    start = session.start
    return Heading(
        name=text.clean(start.sweep.name),
        host=text.clean(start.host.hostname or ""),
        device=_device(session),
        done=feed.done,
        total=len(session.cases),
        progress=outlook.progress(feed.now_s, feed.running),
        state=_state(feed),
        left=outlook.sweep_left(feed.now_s) if feed.running else None,
        about=_about(session),
        marks=marks,
        notes=notes,
    )


def current_of(feed: Feed, book: CaseBook, outlook: Outlook, case: CaseState | None) -> Current:
    """The case to show in the upper panel; None while the first one isn't started."""
    total = len(feed.session.cases)
    if case is None:
        word = "starting worker" if feed.running else _state(feed)
        return Current(f"{total} cases", "", word, "muted", remark=_waiting(feed))
    position = f"case {case.index + 1} of {total}"
    if case.finished is not None:
        return _ended(case, book, position)
    if case.started is not None and feed.cut_off:
        figures = book.figures(case)
        return Current(text.clean(case.name), position, "cut short", "bad", figures=figures)
    if case.started is None or not feed.running:
        return Current(text.clean(case.name), position, case.state, ROLES[case.state])
    return _running(feed, book, outlook, case, position)


def summary_of(feed: Feed, best: str, symbols: Symbols, name: str) -> Current:
    """What stands in the upper panel when the session has ended: the outcome, and what to do with it."""
    session = feed.session
    outcomes = Counter("cut short" if case.state == "running" else case.state for case in session.cases)
    counts = f" {symbols.dot} ".join(f"{count} {state}" for state, count in sorted(outcomes.items()))
    finished = session.finished
    word = finished.outcome if finished else "engine gone"
    role = {"completed": "good", "interrupted": "warning"}.get(word, "bad")
    reason = (finished.reason or "") if finished else "the record was cut off; what was measured is kept"
    remark = text.clean(reason) or best
    hint = f"the report: benchtui export {name}"
    return Current(counts, f"in {text.duration(session.now_s)}", word, role, remark=remark, hint=hint)


def phase_of(case: CaseState) -> str:
    """What a running case is doing, in words."""
    if case.prepared is None:
        return "loading model"
    if len(case.measured):
        return "measuring"
    if len(case.warmup):
        return "warm-up"
    return "first step" if case.config.compile == "off" else "compiling"


def _running(feed: Feed, book: CaseBook, outlook: Outlook, case: CaseState, position: str) -> Current:
    measure = feed.session.start.sweep.measure
    phase = phase_of(case)
    counts = {
        "warm-up": (len(case.warmup), max(measure.warmup, len(case.warmup))),
        "measuring": (len(case.measured), max(measure.planned_steps, len(case.measured))),
    }
    done, planned = counts.get(phase, (0, 0))
    since = case.prepared.t if case.prepared else case.started.t if case.started else 0.0
    return Current(
        title=text.clean(case.name),
        position=position,
        phase=phase,
        role="accent",
        done=done,
        planned=planned,
        left=outlook.case_left(feed.now_s),
        remark=f"for {text.duration(max(0.0, feed.now_s - since))}",
        figures=book.figures(case),
    )


def _ended(case: CaseState, book: CaseBook, position: str) -> Current:
    finished = case.finished
    reason = text.clean((finished.reason or finished.stop or "") if finished else "")
    return Current(
        title=text.clean(case.name),
        position=position,
        phase=case.state,
        role=ROLES[case.state],
        remark=reason,
        figures=book.figures(case),
    )


def _waiting(feed: Feed) -> str:
    return f"for {text.duration(feed.now_s)}" if feed.running else ""


def _state(feed: Feed) -> str:
    if feed.session.finished is not None:
        return feed.session.finished.outcome
    if feed.running:
        return "running"
    return "cut off" if feed.cut_off else "reading"


def _device(session: Session) -> str:
    gpus = session.start.host.gpus
    if not gpus:
        return text.clean(session.start.host.processor or "")
    return text.clean(gpus[0].name if len(gpus) == 1 else f"{len(gpus)} x {gpus[0].name}")


def _about(session: Session) -> str:
    prepared = next((case.prepared for case in session.cases if case.prepared), None)
    name = session.start.sweep.model
    if prepared is None or prepared.model.parameters is None:
        return text.clean(name)
    return text.clean(f"{name}  {prepared.model.parameters / 1e6:,.1f} M parameters")


class View:
    """Snapshots of a session for the Monitor's panels; what takes long is renewed when a case has ended."""

    def __init__(self, feed: Feed, symbols: Symbols, name: str, before: "View | None" = None) -> None:
        """``before`` shows another moment of the session: what holds for both isn't computed again."""
        self.session = feed.session
        """What is shown; a feed that goes back in time has another one."""
        self._feed = feed
        self._symbols = symbols
        self._name = name
        """What the command line knows the session by."""
        self.book: CaseBook = CaseBook(feed.session, symbols, before.book if before else None)
        self._outlook = feed.outlook()
        self._machines: tuple[tuple[int, ...], Machines] | None = None
        """The gauges, and how many readings they were made of."""
        self._band: tuple[CaseState, tuple[int, int, bool], Band] | None = None
        """The band, and the case and numbers of steps that it was made of."""
        self._taken = 0
        """How many of the cases that have ended were taken in."""
        self._seen: tuple[int, bool] | None = None
        self._best: tuple[float, str] | None = None
        """The highest throughput, and with which case."""
        self._marks: dict[str, None] = {}
        """Marks of all cases that have ended, in the order in which they came."""
        self._last: CaseState | None = None
        """The case that ended last, of those with steps."""
        self._summary: Current | None = None

    def renew(self) -> None:
        """Take in what has ended since the last time; while a long record is read, no more than that."""
        feed = self._feed
        ended = feed.ended[self._taken :]
        self._take_in(ended)
        over = self.session.finished is not None or feed.cut_off
        if (feed.done, over) == self._seen or (self._seen and not feed.caught_up):
            return
        self._seen = (feed.done, over)
        self.book.over = feed.cut_off
        self.book.renew(())
        if over and self.session.current:
            self._compete(self.session.current)
        self._summary = summary_of(feed, self._best_word(), self._symbols, self._name) if over else None

    def _take_in(self, ended: list[CaseState]) -> None:
        self._taken += len(ended)
        self.book.take_in(ended)
        self._outlook.renew(ended)
        for case in ended:
            self._marks |= dict.fromkeys(text.clean(mark) for mark in case.marks)
            self._compete(case)
        self._last = next((case for case in reversed(ended) if len(case.measured)), self._last)

    def _compete(self, case: CaseState) -> None:
        """Remember a case that has a higher throughput than all before."""
        rate = self.book.rate(case)
        if rate is not None and (self._best is None or rate > self._best[0]):
            self._best = (rate, text.clean(case.name))

    def _best_word(self) -> str:
        if self._best is None:
            return "nothing was measured"
        return f"most samples/s: {self._best[0]:,.1f} with {self._best[1]}"

    def heading(self, notes: tuple[str, ...]) -> Heading:
        """Where the sweep is."""
        current = self._feed.session.current
        marks = current.marks if current and current.prepared else ()
        known = tuple(text.clean(mark) for mark in marks) or tuple(self._marks)
        return heading_of(self._feed, self._outlook, known, notes)

    def case(self, chosen: int | None) -> CaseState | None:
        """The case that the upper panel is about: the chosen, the running, or the last one."""
        session = self._feed.session
        return session.cases[chosen] if chosen is not None else session.current or self._last

    def current(self, chosen: int | None) -> Current:
        """The case that runs or was chosen; the outcome of a session that has ended."""
        session = self._feed.session
        if self._summary is not None and chosen is None:
            return self._summary
        case = session.current if chosen is None else session.cases[chosen]
        return current_of(self._feed, self.book, self._outlook, case)

    def band(self, chosen: int | None) -> Band:
        """The steps of the case shown, or of the one before it while it has none."""
        session = self._feed.session
        drawn = self._drawn(chosen)
        if drawn is None:
            return Band((), (), (0, 0), 0, None)
        titled = drawn is session.current or drawn.index == chosen
        seen = (len(drawn.warmup), len(drawn.measured), titled)
        if self._band is None or self._band[0] is not drawn or self._band[1] != seen:
            caption = "" if titled else text.clean(drawn.name)
            self._band = (drawn, seen, self.book.band(drawn, session.start.sweep.measure, caption))
        return self._band[2]

    def parts(self, chosen: int | None) -> tuple[Part, ...]:
        """The parts of the steps that the band shows."""
        drawn = self._drawn(chosen)
        return () if drawn is None else self.book.parts(drawn)

    def machines(self) -> Machines:
        """The gauges."""
        session = self._feed.session
        seen = (len(session.host.at_s), *(len(trace.at_s) for trace in session.gpus.values()))
        if self._machines is None or seen != self._machines[0]:
            self._machines = (seen, machines_of(session, self._symbols))
        return self._machines[1]

    def rows(self, chosen: int | None) -> Rows:
        """The table."""
        session = self._feed.session
        running = session.current.index if session.current else None
        return Rows(len(session.cases), self.book.row, self.book.names.width, chosen, running)

    def _drawn(self, chosen: int | None) -> CaseState | None:
        case = self.case(chosen)
        if chosen is not None or case is None or len(case.warmup) or len(case.measured):
            return case
        return self._last
