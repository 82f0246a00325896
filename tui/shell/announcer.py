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

    def update(self, name: str, state: str, percent: str) -> None:
        """Follow a sweep and its progress, such as ``50 %``. One that wasn't seen running changes nothing."""
        if state == "running":
            self._watched = True
            self._show(f"{percent} {name} - benchtui")
        elif self._watched:
            self._watched = False
            self._show(f"{name}: {state} - benchtui")
            if self._notify:
                self._link.notify(f"benchtui: sweep {name} {state}")

    def show_name(self, name: str) -> None:
        """Show a recording's name. Playing it isn't announced."""
        self._show(f"{name} - benchtui")

    def restore(self) -> None:
        """Show the title again, after the shell has had its own."""
        if self._title:
            self._link.set_title(self._title)

    def _show(self, title: str) -> None:
        if title != self._title:
            self._title = title
            self._link.set_title(title)
