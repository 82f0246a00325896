"""Resuming a recorded session: whether it is possible, what is left to run, and what has changed since."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

from benchtui.engine.control import ResumeOptions
from benchtui.engine.executor import Node
from benchtui.engine.files.versions import FileVersions
from benchtui.sessions.compare.environment_diff import changes, node_changes
from benchtui.sessions.errors import BenchtuiError, NothingToResumeError
from benchtui.sessions.events import Resumed, Runtime
from benchtui.sessions.journal import reader
from benchtui.sessions.journal.reader import AnyRecord
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.library.paths import require_changeable
from benchtui.sessions.payloads import Host
from benchtui.sessions.permissions import approved
from benchtui.sessions.permissions.needed import Consent, needed_permissions
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.sessions.timestamps import utc_now
from benchtui.sessions.version import VERSION

FAILED = ("failed", "timeout")
"""States of cases that are rerun on request."""


class ResumableSession:
    """A recorded session with cases left to run. Its file is locked against writing by other processes."""

    def __init__(self, path: Path, options: ResumeOptions) -> None:
        """Read a session and lock its file for this process.

        Raises:
            NothingToResumeError: if no case is left to run.
            BenchtuiError: if it can't be read or written, or can't be resumed.
        """
        self.journal = Journal(path, resumed=True, backup=True)
        """Open for appending; nothing is written yet."""
        self._path = path
        self._options = options
        try:
            self.session = read_for("resume", path)
            enter_folder(self.session)
            failed = FAILED if options.retry_failed else ()
            self._to_rerun = tuple(
                case.index for case in self.session.cases if case.cut_short or case.state in failed
            )
            self._require_work()
            require_permission(self.session, options.consent)
        except BenchtuiError:
            self.journal.close()
            raise

    def resumed(self, host: Host, nodes: Iterable[Node] = ()) -> Resumed:
        """Return the event that resumes the session on this machine and nodes, and apply it to the session.

        Raises BenchtuiError if the machine, the software or files have changed and ``anyway`` isn't set.
        """
        named = ((node.name, node.host) for node in nodes if node.name)
        of_nodes = (change for name, there in named for change in node_changes(self.session, name, there))
        changed = (*changes(self.session, host, VERSION), *of_nodes)
        files = self._changed_files()
        if (changed or files) and not self._options.anyway:
            what = " and ".join(
                ["hardware or software has changed"] * bool(changed) + ["files have changed"] * bool(files)
            )
            raise BenchtuiError(
                f"{self._path}: {what} since the session was recorded:"
                f" {'; '.join((*changed, *files))}; use --anyway to resume"
            )
        event = Resumed(
            t=self.session.now_s,
            created=utc_now(),
            version=VERSION,
            host=host,
            changed=changed,
            files=files,
            cases=self._to_rerun,
        )
        self.session.apply(event)
        return event

    def record(self) -> Iterator[AnyRecord]:
        """Yield the recorded events, then the resume event."""
        for events, _ in reader.slices(self._path):
            yield from events
        yield self.session.resumed[-1]

    def torch_changes(self, now: Runtime) -> list[str]:
        """Return a line for each property of torch that has changed. Call it once torch has been queried."""
        before = self.session.runtime
        if before is None:
            return []
        pairs = ((name, getattr(before, name), getattr(now, name)) for name in _TORCH_FIELDS)
        return [f"resumed with a different {name}: {old} → {new}" for name, old, new in pairs if old != new]

    def _changed_files(self) -> tuple[str, ...]:
        """Return the changes in files that the cases left to run share with measured ones."""
        session = self.session
        versions = FileVersions(session.start.sweep)
        versions.restore(session.cases)
        to_run = [case for case in session.cases if case.index in self._to_rerun or case.state == "queued"]
        return versions.changes(case.config for case in to_run or session.cases)  # a search may add any

    def _require_work(self) -> None:
        session = self.session
        if session.start.source:
            raise BenchtuiError(f"{self._path}: can't resume a session imported from {session.start.source}")
        if session.simulated:
            raise BenchtuiError(f"{self._path}: can't resume a simulated session")
        ended = session.finished is not None and session.finished.outcome == "completed"
        searching = session.start.sweep.axes.batch_size_auto and not ended
        if self._to_rerun or searching or session.left:
            return
        failed = sum(case.state in FAILED for case in session.cases)
        more = f"; {failed} failed or timed out: use --retry-failed to rerun them" if failed else ""
        raise NothingToResumeError(f"{self._path}: no cases left to run{more}")


_TORCH_FIELDS = tuple(name for name in Runtime.__struct_fields__ if name not in ("t", "node"))


def require_permission(session: Session, consent: Consent) -> None:
    """Check that the user has allowed what a session's sweep and all its cases may run or set.

    Raises PermissionNeededError if something is missing.
    """
    approved.require(needed_permissions(session.start.sweep, (case.config for case in session.cases)), consent)


def read_for(purpose: Literal["resume", "explain"], path: Path) -> Session:
    """Read a session line by line, because a reformatted file can't be appended to.

    Raises BenchtuiError if it can't be read. The message names the purpose.
    """
    require_changeable(path, purpose)
    try:
        return Session.by_line(path, metrics)
    except BenchtuiError as error:
        reason = str(error).removeprefix(f"{path}").lstrip(",: ")
        raise BenchtuiError(f"{path}: can't {purpose}: {reason}") from error


def enter_folder(session: Session) -> None:
    """Change to the folder that relative paths of a session's sweep start from, if it is there."""
    if session.start.folder:
        with suppress(OSError, ValueError):  # on another machine, the present folder has to do
            os.chdir(session.start.folder)
