"""A sweep while it is edited: its entries, undo and redo, the file it came from. Knows no Textual."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import SessionStarted
from benchtui.sessions.files.input_file import open_plain, read_text
from benchtui.sessions.files.output_file import write_text
from benchtui.sessions.journal.reader import Tail
from benchtui.sessions.sweep import Exclusion, Sweep, exclusions, toml_writer
from benchtui.sessions.sweep.exclusions import Exclusions
from benchtui.sessions.sweep.toml_reader import entries, read_source, read_table, sweep_of

FIRST = "quick"
"""The preset that stands there when nothing else was named."""
WHERE = "sweep"
HEAD_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a sweep came from."""

    text: str
    """The TOML file as it was read or written last."""
    title: str
    """What to call it."""
    stem: str
    """The name of a sweep whose file gives it none."""
    path: Path | None = None
    """The file to write back to."""


@dataclass(frozen=True, slots=True)
class State:
    """What all entries say at one moment; always a valid sweep."""

    origin: Origin
    texts: Mapping[str, str]
    """By dotted name, the entries that are set."""
    sweep: Sweep


@dataclass(slots=True)
class Draft:
    """A sweep that is edited; every change can be taken back, opening another sweep as well."""

    state: State
    kept: Sweep
    """As it was when it was last opened, saved or started: what differs from it would be lost."""
    _before: list[State] = field(default_factory=list)
    _after: list[State] = field(default_factory=list)

    @classmethod
    def of(cls, source: str | Path) -> "Draft":
        """A draft of a preset, a TOML file, or the sweep of a recorded session; raises BenchtuiError."""
        state = opened(source)
        return cls(state, state.sweep)

    @property
    def sweep(self) -> Sweep:
        """The sweep as it stands."""
        return self.state.sweep

    @property
    def changed(self) -> bool:
        """Whether something would be lost by leaving."""
        return self.state.sweep != self.kept

    def tried(self, entry: str, text: str) -> State:
        """What it would be with an entry changed; an empty text leaves the entry to its default.

        Raises:
            BenchtuiError: saying why the text isn't allowed, and what is.
        """
        texts = {key: said for key, said in self.state.texts.items() if key != entry}
        if text.strip():
            texts[entry] = text.strip()
        return self._with(texts, self.sweep.exclude)

    def without(self, exclusion: Exclusion) -> State:
        """What it would be with cases switched off; raises BenchtuiError where none would be left."""
        exclude = exclusions.switched_off(self.sweep.exclude, self.sweep.axes, exclusion)
        return self._with(self.state.texts, exclude)

    def again(self, exclusion: Exclusion) -> State:
        """What it would be with cases switched on."""
        return self._with(
            self.state.texts, exclusions.switched_on(self.sweep.exclude, self.sweep.axes, exclusion)
        )

    def take(self, state: State) -> None:
        """Go on from a changed state."""
        if state == self.state:
            return
        self._before.append(self.state)
        self._after.clear()
        self.state = state

    def open(self, source: str | Path) -> None:
        """Go on from another sweep; raises BenchtuiError and changes nothing where it can't be read."""
        self.take(opened(source))
        self.keep(self.sweep)

    def undo(self) -> bool:
        """Take the last change back; False where there is none."""
        return self._step(self._before, self._after)

    def redo(self) -> bool:
        """Make the last change that was taken back again; False where there is none."""
        return self._step(self._after, self._before)

    def keep(self, sweep: Sweep) -> None:
        """Take note that a sweep is recorded elsewhere, or given up."""
        self.kept = sweep

    def text(self) -> str:
        """The TOML file: the one it came from with what has changed.

        Raises:
            BenchtuiError: where the result wouldn't say what the draft does.
        """
        origin = self.state.origin
        before = toml_writer.texts_of(read_table(origin.text, origin.title))
        exclude = self.sweep.exclude
        as_it_was = exclude == _state(origin).sweep.exclude
        text = toml_writer.rewritten(origin.text, self.state.texts, before, None if as_it_was else exclude)
        if _state(replace(origin, text=text)).sweep != self.sweep:
            raise BenchtuiError(f"{origin.title}: is written in a way that can't be changed in place")
        return text

    def objection(self, path: Path) -> str | None:
        """Why to ask before this file is overwritten, or None where nothing speaks against it."""
        try:
            there = read_text(path)
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            return f"{path} exists"
        if path != self.state.origin.path:
            return f"{path} exists"
        return None if there == self.state.origin.text else f"{path} was changed by another program"

    def save(self, path: Path) -> None:
        """Write the sweep to a file, whole or not at all, and go on from there; raises BenchtuiError."""
        text = self.text()
        write_text(path, text)
        before, now = self.state.origin, Origin(text, path.name, self.state.origin.stem, path)
        self.state = replace(self.state, origin=now)
        for states in (self._before, self._after):
            states[:] = [replace(each, origin=now) if each.origin == before else each for each in states]
        self.keep(self.sweep)

    def _with(self, texts: Mapping[str, str], exclude: Exclusions) -> State:
        origin = self.state.origin
        return State(origin, texts, _sweep(texts, exclude, origin.stem))

    def _step(self, source: list[State], target: list[State]) -> bool:
        if not source:
            return False
        target.append(self.state)
        self.state = source.pop()
        return True


def opened(source: str | Path) -> State:
    """The state of a preset, a TOML file, or the sweep of a recorded session; raises BenchtuiError."""
    path = Path(source)
    if _holds_events(path):
        sweep = _recorded(path)
        return _state(Origin(toml_writer.toml_of(sweep), f"sweep of {path.stem}", sweep.name))
    text, where = read_source(str(source))
    return _state(Origin(text, where, path.stem, path if path.is_file() else None))


def default_texts() -> dict[str, str]:
    """What the entries say that aren't set, as far as they have a default."""
    return toml_writer.texts_of(toml_writer.table_of(Sweep(name="", model="")))


def _state(origin: Origin) -> State:
    table = read_table(origin.text, origin.title)
    sweep = sweep_of({"name": origin.stem} | table, origin.title)
    return State(origin, toml_writer.texts_of(table), sweep)


def _sweep(texts: Mapping[str, str], exclude: Exclusions, stem: str) -> Sweep:
    try:
        return toml_writer.sweep_of({"name": stem} | dict(texts), exclude, WHERE)
    except BenchtuiError as error:
        told = str(error).removeprefix(f"{WHERE}: ")
        home = next((entry.rpartition(".")[0] for entry in entries() if told.startswith(f"{entry}:")), "")
        raise BenchtuiError(told.removeprefix(f"{home}.")) from error


def _holds_events(path: Path) -> bool:
    try:
        with open_plain(path) as file:
            return b"".join(file.read(64).split()).startswith(b'[{"event"')
    except (OSError, ValueError):
        return False


def _recorded(path: Path) -> Sweep:
    tail = Tail(path)
    try:
        for _ in range(0, path.stat().st_size, HEAD_BYTES):
            for event in tail.read(HEAD_BYTES):
                if isinstance(event, SessionStarted):
                    return event.sweep
    finally:
        tail.close()
    raise BenchtuiError(f"{path}: not a session file; it should begin with a session_started event")
