"""What the reader prefers: the settings of the user's file, and what was last chosen in the app itself."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
import platformdirs

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.files.input_file import read_plain
from benchtui.sessions.files.output_file import output_file
from benchtui.tui.shell import keymap, settings
from benchtui.tui.shell.settings import Settings
from benchtui.tui.table.columns import KEYS, USUAL
from benchtui.tui.table.layout import Sorting


class SavedSetting(msgspec.Struct, frozen=True):
    """Something chosen in the app, and what the user's file said then: once that has changed, it counts."""

    value: tuple[str, ...]
    instead_of: tuple[str, ...] | None = None


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    """What the app remembers from one visit to the next."""

    theme: SavedSetting | None = None
    columns: SavedSetting | None = None
    sort: SavedSetting | None = None


class Preferences:
    """The settings, with what was chosen in the app since."""

    def __init__(self, chosen: Settings | None = None, state: Path | None = None) -> None:
        self.settings = chosen or Settings()
        self.problems: tuple[str, ...] = ()
        """A line for every entry of the user's file that can't be understood."""
        self._state = state
        """Where the app remembers; None: nowhere."""
        self._remembered = _read(state)

    @classmethod
    def of_user(cls) -> "Preferences":
        """Those of the user's file and of the app's own beside it."""
        known, problems = settings.read(settings.path())
        made = cls(known, Path(platformdirs.user_state_dir("benchtui")) / "screen.json")
        made.problems = problems
        return made

    def mistakes(self, owners: Callable[[], Sequence[type]]) -> list[str]:
        """A line for everything in the user's file that can't be followed.

        ``owners`` gives the app and its screens, which are imported only where keys are mapped.
        """
        keys = self.settings.keys
        return [*self.problems, *(keymap.problems(keys, owners()) if keys else ())]

    @property
    def keymap(self) -> dict[str, str]:
        """Keys by the id of what they do, without those that would take the way out of the app."""
        return keymap.valid_entries(self.settings.keys)[0]

    @property
    def theme(self) -> str | None:
        """The theme to begin with; None: the usual one."""
        said = (self.settings.theme,) if self.settings.theme else None
        return (_counting(self._remembered.theme, said) or (None,))[0]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table."""
        known = _counting(self._remembered.columns, self.settings.columns)
        return tuple(key for key in known or () if key in KEYS) or USUAL

    @property
    def sorting(self) -> Sorting | None:
        """By what the table is sorted; None: as the cases are queued."""
        said = (self.settings.sort,) if self.settings.sort else None
        word = (_counting(self._remembered.sort, said) or ("",))[0]
        key = word.removeprefix("-")
        return Sorting(key, word.startswith("-")) if key in ("case", *KEYS) else None

    def choose_theme(self, name: str) -> None:
        """Remember a theme."""
        said = (self.settings.theme,) if self.settings.theme else None
        self._remember(msgspec.structs.replace(self._remembered, theme=SavedSetting((name,), said)))

    def choose_columns(self, keys: tuple[str, ...]) -> None:
        """Remember the columns of the table."""
        self._remember(
            msgspec.structs.replace(self._remembered, columns=SavedSetting(keys, self.settings.columns))
        )

    def choose_sorting(self, sorting: Sorting | None) -> None:
        """Remember by what the table is sorted."""
        word = "" if sorting is None else f"{'-' * sorting.reverse}{sorting.key}"
        said = (self.settings.sort,) if self.settings.sort else None
        self._remember(msgspec.structs.replace(self._remembered, sort=SavedSetting((word,), said)))

    def _remember(self, remembered: Remembered) -> None:
        self._remembered = remembered
        if self._state is None:
            return
        with suppress(OSError, BenchtuiError):  # a state that can't be written is one that is forgotten
            self._state.parent.mkdir(parents=True, exist_ok=True)
            with output_file(self._state, private=True) as file:
                file.write(msgspec.json.encode(remembered))


def _counting(choice: SavedSetting | None, said: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """What was chosen, unless the user's file says something else by now."""
    return choice.value if choice is not None and choice.instead_of == said else said


def _read(state: Path | None) -> Remembered:
    try:
        return msgspec.json.decode(read_plain(state), type=Remembered) if state else Remembered()
    except (OSError, msgspec.MsgspecError):
        return Remembered()
