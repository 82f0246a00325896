"""Library actions on session files. Each runs in a thread and returns a message to show."""

from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

from benchtui.sessions.files.output_file import check_output, write_text
from benchtui.sessions.library import operations
from benchtui.sessions.replay import loading
from benchtui.sessions.state.judging import VerdictSettings
from benchtui.tui.library.rows import Item
from benchtui.tui.shell.context import AppContext
from benchtui.tui.widgets.action_bar import ActionResult, Prompt, Work

ASKED = {
    "filter": "filter:",
    "rename": "new name:",
    "note": "note:",
    "export": "report to:",
    "import": "session file:",
}
"""Input label for each purpose."""
WITHOUT_A_SESSION = ("filter", "import")
"""Purposes that don't need a selected session."""


def initial_text(purpose: str, item: Item | None, words: str) -> str:
    """Return the initial text of the input. ``words`` is the current filter."""
    if purpose == "filter":
        return words
    if item is None:
        return ""
    return {"rename": item.path.stem, "note": item.note, "export": f"{item.path.stem}.md"}.get(purpose, "")


def work(purpose: str, item: Item | None, text: str, here: AppContext, busy: Collection[Path]) -> Work:
    """Return the action for the typed text. Paths are relative to the working folder."""
    place = here.folder / Path(text).expanduser()
    if purpose == "import" or item is None:
        return partial(_import, place)
    works: dict[str, Work] = {
        "rename": partial(_rename, item, text, busy),
        "note": partial(_note, item, text),
        "export": partial(write_document, partial(_report, item, here.judging), place, (item.path,)),
    }
    return works[purpose]


def delete_prompt(item: Item, busy: Collection[Path]) -> Prompt:
    """Return the question to ask before deleting a session."""
    text = f"Delete {item.name} and its note?  X: delete.  esc: keep."
    return Prompt("X", text, "delete", partial(_delete, item, busy))


def resuming(item: Item, app_context: AppContext, anyway: bool = False) -> ActionResult | Prompt:
    """Start an engine that resumes a session. Unless ``anyway``, ask first if another one is running.

    Raises:
        BenchtuiError: if the session can't be resumed.
    """
    if not anyway and app_context.running():
        text = "Another sweep runs on this machine, and two slow each other.  u: all the same.  esc: back."
        return Prompt("u", text, "resume all the same", partial(resuming, item, app_context, True))
    return ActionResult(f"{item.name} goes on", item.path, app_context.resume(item.path))


def write_document(
    make: Callable[[], str], place: Path, inputs: Collection[Path], over: bool = False
) -> ActionResult | Prompt:
    """Write a document made from ``inputs``. If the file exists, ask first unless ``over``.

    Raises:
        BenchtuiError: if it can't be made or written, or if the path is a session file.
    """
    check_output(place, inputs)
    if place.exists() and not over:
        text = f"{place} is there already.  E: write over it.  esc: keep."
        return Prompt("E", text, "write over", partial(write_document, make, place, inputs, True))
    write_text(place, make(), inputs, over=over)
    return ActionResult(f"written: {place}")


def _report(item: Item, judging: VerdictSettings) -> str:
    from benchtui.sessions.report.document import markdown  # only reports need these libraries

    session = loading.load(item.path)
    session.judge_by(judging)
    return markdown(session)


def _rename(item: Item, name: str, busy: Collection[Path]) -> ActionResult:
    path = operations.rename(item.path, name, busy)
    return ActionResult(f"{item.name} is now {path.stem}", path)


def _note(item: Item, text: str) -> ActionResult:
    operations.write_note(item.path, text)
    return ActionResult(f"{item.name}: note {'kept' if text else 'removed'}")


def _delete(item: Item, busy: Collection[Path]) -> ActionResult:
    operations.delete(item.path, busy)
    return ActionResult(f"{item.name} is deleted")


def _import(place: Path) -> ActionResult:
    path = operations.import_session(place)
    return ActionResult(f"imported as {path.stem}", path)
