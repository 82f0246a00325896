"""Full-screen pages of text: the base of the report and of Why, and pages of given lines such as help."""

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

from textual.widget import Widget

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.styled_text import Line
from benchtui.tui.pages.view_screen import ViewScreen
from benchtui.tui.shell import keymap
from benchtui.tui.widgets.frame import Frame
from benchtui.tui.widgets.keys import Keys
from benchtui.tui.widgets.panel import Panel, given_lines

Content = Callable[[int], Sequence[Line]]
"""Returns the lines for a width in cells."""


class TextScreen(ViewScreen):
    """Lines in a frame that scroll. Unlike other views, they are shown in a terminal of any size."""

    NAME: ClassVar[str] = ""
    """Title of the frame."""
    BACK: ClassVar[str] = "back"
    """What going back means, in a word."""

    def __init__(self, symbols: Symbols) -> None:
        super().__init__(symbols)
        self._top = 0

    def content(self) -> Iterable[Widget]:
        """Lay out the text."""
        page = Panel(given_lines, self._symbols, id="page")
        yield Frame(page, symbols=self._symbols, id="section")

    def on_screen_resume(self) -> None:
        """Draw, also what changed while another view covered the page."""
        self.call_after_refresh(self.draw)

    def brief(self, width: int, height: int) -> Sequence[Line]:
        """Return nothing: in a tiny terminal, the text itself is shown."""
        return ()

    def text(self, width: int) -> Sequence[Line]:
        """Return all lines for a width in cells."""
        raise NotImplementedError

    def action_leave(self) -> None:
        """Return to the screen below."""
        self.dismiss()

    def action_move(self, lines: int) -> None:
        """Scroll by lines."""
        self._top += lines
        self.draw()

    def action_page(self, pages: int) -> None:
        """Scroll by pages, which overlap by a line."""
        self.action_move(pages * max(1, self._panel("page").size.height - 1))

    def draw(self) -> None:
        """Redraw what changed."""
        if not self.is_current:
            return
        page = self._panel("page")
        width, height = page.size
        lines = self.text(width)
        self._top = max(0, min(self._top, len(lines) - height))
        last = min(self._top + height, len(lines))
        longer = len(lines) > height
        place = f"{self._top + 1} to {last} of {len(lines)} lines" if longer else ""
        scroll: Keys = ((self._symbols.arrows, "scroll"),) if longer else ()
        with self.app.batch_update():
            self.query_one(Frame).show_title([(self.NAME, "muted")], [(place, "muted")])
            page.show(lines[self._top : last])
            ends = (("?", "help"),) if self.HELP else ()
            self._panel("keys").show((*self._keys(), *scroll, *ends, ("esc", self.BACK)))

    def _keys(self) -> Keys:
        """Return the keys that do more than scroll and go back, each with its meaning."""
        return ()


class Page(TextScreen):
    """Page of given lines. The screen below keeps reading."""

    NAME = "decision and differences"
    BINDINGS = keymap.table(
        "page",
        ("escape,q,enter,question_mark,f1", "back", "Back", "", "leave"),
        *keymap.scrolling(),
        ("slash", "filter", "Search", "in the help"),
    )

    def __init__(self, content: Content, symbols: Symbols) -> None:
        super().__init__(symbols)
        self._content = content

    def text(self, width: int) -> Sequence[Line]:
        """Return the given lines."""
        return self._content(width)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow searching only in pages that can be searched."""
        return action != "filter" or hasattr(self, "action_filter")
