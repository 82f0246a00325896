"""Library actions on session files. Each runs in a thread and returns a message to show."""

from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.files.output_file import check_output, write_text
from benchtui.sessions.library import operations
from benchtui.tui.library.rows import Item
from benchtui.tui.report.generated import report_markdown
from benchtui.tui.shell.context import AppContext
from benchtui.tui.shell.keymap import key
from benchtui.tui.widgets.action_bar import ActionResult, Confirmation, Work

if TYPE_CHECKING:
    from benchtui.sessions.library.import_preview import Table

INPUT_LABELS = {
    "filter": "filter:",
    "rename": "new name:",
    "note": "note:",
    "export": "export report to:",
    "import": "session or results:",
}
"""Input label for each purpose."""
PATHS = ("export", "import")
"""Purposes whose text is a path."""
WITHOUT_A_SESSION = ("filter", "import")
"""Purposes that don't need a selected session."""


def initial_text(purpose: str, item: Item | None, filter_text: str) -> str:
    """Return the initial text of the input, given the current filter."""
    if purpose == "filter":
        return filter_text
    if item is None:
        return ""
    return {"rename": item.path.stem, "note": item.note, "export": f"{item.path.stem}.md"}.get(purpose, "")


def action_for(
    purpose: str, item: Item | None, text: str, app_context: AppContext, running_paths: Collection[Path]
) -> Work:
    """Return the action for the typed text. Paths are relative to the working folder."""
    place = app_context.folder / Path(text).expanduser()
    if item is None:
        return partial(import_file, place)
    actions: dict[str, Work] = {
        "rename": partial(_rename, item, text, running_paths),
        "note": partial(_note, item, text),
        "export": partial(
            write_document, partial(report_markdown, item.path, app_context.judging), place, (item.path,)
        ),
    }
    return actions[purpose]


def delete_prompt(item: Item, running_paths: Collection[Path]) -> Confirmation:
    """Return the question to ask before deleting a session."""
    text = f"Delete {item.name} and its note?  {key('library.delete')}: delete.  esc: keep."
    return Confirmation("X", text, "delete", partial(_delete, item, running_paths))


def write_document(
    make: Callable[[], str],
    place: Path,
    inputs: Collection[Path],
    *,
    over: bool = False,
    action: str = "library.export",
) -> ActionResult | Confirmation:
    """Write a document made from ``inputs``. If the file exists, ask first unless ``over``.

    ``action`` is the ID of the action whose key confirms. Raises BenchtuiError if it can't be made or written,
    or if the path is a session file.
    """
    check_output(place, inputs)
    if place.exists() and not over:
        text = f"{place} already exists.  {key(action)}: overwrite.  esc: keep."
        return Confirmation("E", text, "overwrite", partial(write_document, make, place, inputs, over=True))
    write_text(place, make(), inputs, over=over)
    return ActionResult(f"wrote {place}")


def _rename(item: Item, name: str, running_paths: Collection[Path]) -> ActionResult:
    path = operations.rename(item.path, name, running_paths)
    return ActionResult(f"renamed {item.name} to {path.stem}", path)


def _note(item: Item, text: str) -> ActionResult:
    operations.write_note(item.path, text)
    return ActionResult(f"{item.name}: note {'saved' if text else 'removed'}")


def _delete(item: Item, running_paths: Collection[Path]) -> ActionResult:
    operations.delete(item.path, running_paths)
    return ActionResult(f"deleted {item.name}")


def unknown_table(place: Path) -> "Table | None":
    """Read a table that no tool is known for; None if the file is something else, or can't be read."""
    from benchtui.sessions.library import (
        file_kinds,
        import_preview,  # reads the formats of other tools; only needed here
    )

    try:
        return None if file_kinds.holds_events(place) else import_preview.read(place)
    except BenchtuiError:
        return None


def import_file(place: Path, map_text: str | None = None) -> ActionResult:
    """Import a session or the results of another tool into the library."""
    from benchtui.sessions.library import file_kinds  # as above

    if file_kinds.holds_events(place):
        path = operations.import_session(place)
        return ActionResult(f"imported {path.stem}", path)
    path, imported = operations.import_results(place, map_text=map_text)
    return ActionResult(f"imported {path.stem}, results of {imported.kind}", path)
