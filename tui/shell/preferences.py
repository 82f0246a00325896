"""User preferences: the settings file, and what was last chosen in the app."""

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
from benchtui.tui.table.columns import DEFAULT_COLUMNS, KEYS
from benchtui.tui.table.layout import Sorting


class SavedSetting(msgspec.Struct, frozen=True):
    """Choice made in the app, and the settings file's value at that time.

    Once the file's value changes, it replaces the choice.
    """

    value: tuple[str, ...]
    instead_of: tuple[str, ...] | None = None


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    """Choices saved between runs of the app."""

    theme: SavedSetting | None = None
    columns: SavedSetting | None = None


class Preferences:
    """Settings, overridden by choices made in the app since."""

    def __init__(self, chosen: Settings | None = None, state: Path | None = None) -> None:
        self.settings = chosen or Settings()
        self.problems: tuple[str, ...] = ()
        """Messages for entries of the settings file that can't be parsed."""
        self._state = state
        """File for saved choices; None saves nothing."""
        self._remembered = _read(state)

    @classmethod
    def of_user(cls) -> "Preferences":
        """Load the user's settings file and the app's saved choices."""
        user_settings, problems = settings.read(settings.path())
        made = cls(user_settings, Path(platformdirs.user_state_dir("benchtui")) / "screen.json")
        made.problems = problems
        return made

    def all_problems(self, owners: Callable[[], Sequence[type]]) -> list[str]:
        """Return a message for everything in the settings file that can't be applied.

        ``owners`` returns the app and its screens. It imports them, and is called only if keys are mapped.
        """
        keys = self.settings.keys
        return [*self.problems, *(keymap.problems(keys, owners()) if keys else ())]

    @property
    def keymap(self) -> dict[str, str]:
        """Mapped keys by action ID, without those that would block leaving the app."""
        return keymap.valid_entries(self.settings.keys)[0]

    @property
    def theme(self) -> str | None:
        """Theme to start with; None for the default."""
        configured = (self.settings.theme,) if self.settings.theme else None
        return (_effective(self._remembered.theme, configured) or (None,))[0]

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the case table."""
        chosen = _effective(self._remembered.columns, self.settings.columns)
        return tuple(key for key in chosen or () if key in KEYS) or DEFAULT_COLUMNS

    @property
    def sorting(self) -> Sorting | None:
        """Sort order with which the case table of a session starts; None for queue order."""
        word = self.settings.sort or ""
        key = word.removeprefix("-")
        return Sorting(key, word.startswith("-")) if key in ("case", *KEYS) else None

    def choose_theme(self, name: str) -> None:
        """Save the theme."""
        configured = (self.settings.theme,) if self.settings.theme else None
        self._remember(msgspec.structs.replace(self._remembered, theme=SavedSetting((name,), configured)))

    def choose_columns(self, keys: tuple[str, ...]) -> None:
        """Save the columns of the case table."""
        self._remember(
            msgspec.structs.replace(self._remembered, columns=SavedSetting(keys, self.settings.columns))
        )

    def _remember(self, remembered: Remembered) -> None:
        self._remembered = remembered
        if self._state is None:
            return
        with suppress(OSError, BenchtuiError):  # a choice that can't be saved lasts until exit
            self._state.parent.mkdir(parents=True, exist_ok=True)
            with output_file(self._state, private=True) as file:
                file.write(msgspec.json.encode(remembered))


def _effective(choice: SavedSetting | None, configured: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return the choice, unless the settings file has changed since."""
    return choice.value if choice is not None and choice.instead_of == configured else configured


def _read(state: Path | None) -> Remembered:
    try:
        return msgspec.json.decode(read_plain(state), type=Remembered) if state else Remembered()
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return Remembered()
