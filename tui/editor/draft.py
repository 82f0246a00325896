"""Draft of a sweep: its entries and exclusions, undo and redo, and its source file. Independent of Textual."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import SessionStarted
from benchtui.sessions.files.input_file import read_text
from benchtui.sessions.files.output_file import write_text
from benchtui.sessions.journal.reader import not_a_session, slices
from benchtui.sessions.library.file_kinds import holds_events
from benchtui.sessions.permissions.needed import NO_CONSENT, Consent, keys, needed_permissions
from benchtui.sessions.sweep import MOST_CASES, Sweep, ranges, toml_writer
from benchtui.sessions.sweep.options import AXES, NUMERIC, Axes, Config, Exclusion
from benchtui.sessions.sweep.toml_reader import entries, read_source, read_table, sweep_of
from benchtui.sessions.sweep.yaml_reader import SUFFIXES as YAML

DEFAULT_PRESET = "quick"
"""Preset opened by default."""
ERROR_PREFIX = "sweep"
HEAD_BYTES = 1 << 16
MOST_EDITED = 150_000
"""Maximum characters of a file to edit in place: keeping its comments takes 8 µs per character."""


Exclusions = tuple[Exclusion, ...]


class Origin(msgspec.Struct, frozen=True):
    """Source of a sweep."""

    text: str
    """TOML text as last read or written."""
    title: str
    """Display name of the source."""
    stem: str
    """Name of the sweep if the file doesn't set one."""
    path: Path | None = None
    """File to write back to; None for presets and recorded sessions."""
    preset: bool = False


class State(msgspec.Struct, frozen=True):
    """Snapshot of all entries, always a valid sweep."""

    origin: Origin
    texts: Mapping[str, str]
    """Text of each entry that is set, by dotted name."""
    sweep: Sweep


class Draft(msgspec.Struct):
    """Editable sweep with undo for all changes, including opening another sweep."""

    state: State
    saved: Sweep
    """Sweep as last opened, saved, started, or discarded. Anything that differs from it is unsaved."""
    typed: Consent = NO_CONSENT
    """Permissions for code and variables that the user has typed here, in contrast to those of a file."""
    _before: list[State] = msgspec.field(default_factory=list)
    _after: list[State] = msgspec.field(default_factory=list)

    @classmethod
    def of(cls, source: str | Path | Sweep) -> "Draft":
        """Create a draft of a sweep, a preset, a TOML file, or a session's sweep. Raises BenchtuiError."""
        state = load_state(source)
        return cls(state, state.sweep)

    @property
    def sweep(self) -> Sweep:
        """Current sweep."""
        return self.state.sweep

    @property
    def changed(self) -> bool:
        """Whether there are unsaved changes."""
        return self.state.sweep != self.saved

    def with_entry(self, entry: str, text: str) -> State:
        """Return the state with an entry changed. An empty text restores the entry's default.

        Raises BenchtuiError if the text isn't allowed. The message says why, and what is allowed.
        """
        texts = {key: said for key, said in self.state.texts.items() if key != entry}
        if text.strip():
            texts[entry] = text.strip()
        return self._with(texts, self.sweep.exclude)

    def with_entries(self, entries: Mapping[str, str]) -> State:
        """Return the state with several entries changed. Raises BenchtuiError if one isn't allowed."""
        return self._with({**self.state.texts, **entries}, self.sweep.exclude)

    def with_cases_off(self, exclusion: Exclusion) -> State:
        """Return the state with cases disabled. Raises BenchtuiError if none would be left."""
        exclude = exclude_cases(self.sweep.exclude, self.sweep.axes, exclusion)
        return self._with(self.state.texts, exclude)

    def with_cases_on(self, exclusion: Exclusion) -> State:
        """Return the state with cases enabled."""
        return self._with(self.state.texts, switched_on(self.sweep.exclude, self.sweep.axes, exclusion))

    def apply(self, state: State) -> None:
        """Apply a change by the user, and record the previous state for undo."""
        self.typed |= keys(needed_permissions(state.sweep)) - keys(needed_permissions(self.sweep))
        self._switch(state)

    def _switch(self, state: State) -> None:
        if state == self.state:
            return
        self._before.append(self.state)
        self._after.clear()
        self.state = state

    def open(self, source: str | Path | Sweep) -> None:
        """Open another sweep. If it can't be read, raise BenchtuiError and change nothing."""
        self._switch(load_state(source))
        self.saved = self.sweep

    def replace_by(self, sweep: Sweep, title: str) -> None:
        """Continue with a sweep that comes from no file. This can be undone. Raises BenchtuiError."""
        self._switch(_state(Origin(toml_writer.toml_of(sweep), title, sweep.name)))

    def undo(self) -> bool:
        """Undo the last change. Return False if there is none."""
        return self._step(self._before, self._after)

    def redo(self) -> bool:
        """Redo the last undone change. Return False if there is none."""
        return self._step(self._after, self._before)

    def text(self) -> str:
        """Return the source's TOML text with the changes applied.

        Raises BenchtuiError if the result wouldn't parse to the draft's sweep.
        """
        origin = self.state.origin
        if len(origin.text) > MOST_EDITED:
            raise BenchtuiError(
                f"{origin.title}: {len(origin.text):,} characters; at most {MOST_EDITED:,} can be edited in"
                " place; edit the file directly"
            )
        before = toml_writer.texts_of(read_table(origin.text, origin.title))
        exclude = self.sweep.exclude
        as_it_was = exclude == _state(origin).sweep.exclude
        text = toml_writer.rewrite_toml(origin.text, self.state.texts, before, None if as_it_was else exclude)
        if _state(replace(origin, text=text)).sweep != self.sweep:
            raise BenchtuiError(
                f"{origin.title}: can't be edited in place because of its TOML layout; edit the file directly"
            )
        return text

    def overwrite_warning(self, path: Path) -> str | None:
        """Return why overwriting a file needs confirmation, or None if it doesn't."""
        try:
            there: str | None = read_text(path)
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            there = None
        if there is None or path != self.state.origin.path:
            return f"{path} already exists"
        return None if there == self.state.origin.text else f"{path} has been changed by another program"

    def save(self, path: Path) -> None:
        """Write the sweep to a file atomically, and make that its source. Raises BenchtuiError."""
        text = self.text()
        write_text(path, text)
        before, now = self.state.origin, Origin(text, path.name, self.state.origin.stem, path)
        self.state = replace(self.state, origin=now)
        for states in (self._before, self._after):
            states[:] = [replace(state, origin=now) if state.origin == before else state for state in states]
        self.saved = self.sweep

    def _with(self, texts: Mapping[str, str], exclude: Exclusions) -> State:
        origin = self.state.origin
        return State(origin, texts, _sweep(texts, exclude, origin.stem))

    def _step(self, source: list[State], target: list[State]) -> bool:
        if not source:
            return False
        target.append(self.state)
        self.state = source.pop()
        return True


def load_state(source: str | Path | Sweep) -> State:
    """Load a sweep, a preset, a TOML or YAML file, or a recorded session's sweep. Raises BenchtuiError."""
    if isinstance(source, Sweep):
        return _state(Origin(toml_writer.toml_of(source), "new", source.name))
    path = Path(source)
    if holds_events(path):
        sweep = _recorded(path)
        return _state(Origin(toml_writer.toml_of(sweep), f"sweep of {path.stem}", sweep.name))
    text, where = read_source(str(source))
    saved_in_place = path.is_file() and path.suffix not in YAML
    preset = where != str(source)
    return _state(Origin(text, where, path.stem, path if saved_in_place else None, preset))


def without_repeats(entry: str, text: str) -> tuple[str, list[str]]:
    """Return the list of an axis without the items that add no value, and those items."""
    table, _, axis = entry.rpartition(".")
    items = [item.strip() for item in text.split(",")]
    if table != "axes" or "[" in text or len(items) < 2:
        return text, []
    seen: set[object] = set()
    kept: list[str] = []
    for item in items:
        new = _item_values(item, axis) - seen
        seen |= new
        kept += [item] if new else []
    return (text, []) if len(kept) == len(items) else (", ".join(kept), list(Counter(items) - Counter(kept)))


def _item_values(item: str, axis: str) -> set[object]:
    """Return the values of an axis item; the item itself if it isn't a number or a range."""
    try:
        return set(ranges.whole_numbers(item, axis)) if axis in NUMERIC else {item}
    except BenchtuiError:
        return {item}


def default_texts() -> dict[str, str]:
    """Return the text of each entry that has a default."""
    return toml_writer.texts_of(toml_writer.default_table())


def _state(origin: Origin) -> State:
    table = read_table(origin.text, origin.title)
    sweep = sweep_of({"name": origin.stem} | table, origin.title)
    return State(origin, toml_writer.texts_of(table), sweep)


def _sweep(texts: Mapping[str, str], exclude: Exclusions, stem: str) -> Sweep:
    try:
        return toml_writer.sweep_of({"name": stem} | dict(texts), exclude, ERROR_PREFIX)
    except BenchtuiError as error:
        told = str(error).removeprefix(f"{ERROR_PREFIX}: ")
        home = next((entry.rpartition(".")[0] for entry in entries() if told.startswith(f"{entry}:")), "")
        raise BenchtuiError(told.removeprefix(f"{home}.")) from error


def _require_editable(sweep: Sweep, path: Path) -> Sweep:
    """Refuse a recorded sweep that no file could describe."""
    longest = max(len(getattr(sweep.axes, axis)) for axis in AXES)
    if longest > ranges.MOST_VALUES or sweep.planned > MOST_CASES:
        raise BenchtuiError(
            f"{path}: the recorded sweep has {sweep.planned:,} cases and {longest:,} values on an axis; at most"
            f" {MOST_CASES:,} and {ranges.MOST_VALUES:,} can be edited"
        )
    return sweep


def _recorded(path: Path) -> Sweep:
    for events, _ in slices(path, HEAD_BYTES):
        for event in events:
            if isinstance(event, SessionStarted):
                return _require_editable(event.sweep, path)
    raise not_a_session(path)


def exclusion_of(axes: Axes, config: Config) -> Exclusion:
    """Return the exclusion of a single case: it names the options with several values on the axes."""
    several = (field for field in AXES if len(getattr(axes, field)) > 1)
    return Exclusion(**{field: getattr(config, field) for field in several})


def exclude_cases(exclude: Exclusions, axes: Axes, exclusion: Exclusion) -> Exclusions:
    """Add an exclusion, merging entries if it completes the values of an option.

    One entry without that option then replaces them. Entries that the new one covers are dropped.
    """
    named = exclusion.named
    for field in named:
        values = getattr(axes, field)
        siblings = {msgspec.structs.replace(exclusion, **{field: value}) for value in values}
        if len(named) > 1 and siblings - {exclusion} <= set(exclude):
            rest = tuple(entry for entry in exclude if entry not in siblings)
            return exclude_cases(rest, axes, msgspec.structs.replace(exclusion, **{field: None}))
    return (*(entry for entry in exclude if not named.items() <= entry.named.items()), exclusion)


def switched_on(exclude: Exclusions, axes: Axes, wanted: Exclusion) -> Exclusions:
    """Remove the cases that match ``wanted`` from the exclusions, splitting entries that cover more."""
    return tuple(dict.fromkeys(part for entry in exclude for part in _without(entry, axes, wanted.named)))


def _without(exclusion: Exclusion, axes: Axes, wanted: dict[str, str | int]) -> Iterable[Exclusion]:
    """Split an exclusion: return entries for the other values of each option that ``wanted`` names."""
    named = exclusion.named
    if any(named.get(field, value) != value for field, value in wanted.items()):
        return [exclusion]
    remaining = []
    for field in (field for field in wanted if field not in named):
        others = (value for value in getattr(axes, field) if value != wanted[field])
        remaining += [msgspec.structs.replace(exclusion, **{field: value}) for value in others]
        exclusion = msgspec.structs.replace(exclusion, **{field: wanted[field]})
    return remaining
