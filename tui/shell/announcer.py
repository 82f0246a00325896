"""Window title with the progress of a sweep, and a notification at its end."""

from benchtui.tui.shell.terminal import TerminalHandle


class Announcer:
    """Shows the sweep's progress in the window title, and announces its end once."""

    def __init__(self, link: TerminalHandle, notify: bool) -> None:
        self._link = link
        self._notify = notify
        self._title = ""
        self._watched = False
        """Whether the sweep was seen running. Otherwise, its end isn't announced."""

    def update(self, name: str, state: str, progress: float) -> None:
        """Follow a sweep, whose progress goes from 0 to 1. One that wasn't seen running changes nothing."""
        if state == "running":
            self._watched = True
            self._show(f"{100 * progress:.0f}% {name} - benchtui")
        elif self._watched:
            self._watched = False
            self._show(f"{name}: {state} - benchtui")
            if self._notify:
                self._link.notify(f"benchtui: sweep {name} {state}")

    def _show(self, title: str) -> None:
        if title != self._title:
            self._title = title
            self._link.set_title(title)
