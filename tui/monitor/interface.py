"""Interface of the Monitor screen that its prompts and dialogs use.

The screen imports those, so they can't import the screen.
"""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from textual.app import App
from textual.css.query import DOMQuery
from textual.geometry import Size
from textual.widget import Widget

from benchtui.sessions.state.case import CaseState
from benchtui.themes.symbols import Symbols
from benchtui.tui.live.feed import Feed
from benchtui.tui.model.session_view import View
from benchtui.tui.model.table_order import TableOrder
from benchtui.tui.monitor.requests import Request
from benchtui.tui.monitor.status_line import StatusLine
from benchtui.tui.shell.preferences import Preferences

WidgetType = TypeVar("WidgetType", bound=Widget)


class MonitorScreen(Protocol):
    """Session shown by the Monitor, its table order, and ways to show messages and prompts."""

    feed: Feed
    symbols: Symbols
    status_line: StatusLine
    preferences: Preferences
    view: View | None
    table_order: TableOrder | None

    @property
    def app(self) -> App[Any]:
        """App that shows the screen."""

    @property
    def size(self) -> Size:
        """Size in cells."""

    @property
    def shown_case(self) -> CaseState | None:
        """Case shown in the upper panels."""

    def draw(self) -> bool:
        """Redraw what changed. Return whether all was redrawn."""

    def show_message(self, text: str) -> None:
        """Show a status message."""

    def request(self, request: Request) -> None:
        """Send a request to the engine."""

    def action_ask(self, what: str) -> None:
        """Open a prompt, such as ``export``."""

    def run_in_thread(self, call: Callable[[], object], done: str = "") -> None:
        """Run a call in a thread, then show its error or ``done``."""

    def query(self, selector: type[WidgetType]) -> DOMQuery[WidgetType]:
        """Return the widgets of a type."""

    def mount(self, *widgets: Widget, before: str) -> object:
        """Insert widgets before another one."""

    def set_focus(self, widget: Widget | None) -> None:
        """Move the keyboard focus."""
