"""File versions: which version of each file the measured cases used, and what has changed since."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from benchtui.engine.files.digests import current_files
from benchtui.sessions.events import CaseFinished, CasePrepared
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.file_names import change_mark, change_text, file_label
from benchtui.sessions.sweep import Config, Sweep


class _Version(NamedTuple):
    case: int
    """First measured case that used the file."""
    name: str
    digest: str


class FileVersions:
    """Version of each file in the first measured case that used it; later cases are compared with that case."""

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep
        self._first: dict[str, _Version] = {}
        """By the label of the file."""
        self._running: dict[int, tuple[Config, Mapping[str, str]]] = {}
        """Options and files of the running cases."""

    def restore(self, cases: Iterable[CaseState]) -> None:
        """Restore the versions from recorded cases, of which only measured ones count."""
        for case in cases:
            measured = [end for end in case.ends if not isinstance(end, CaseFinished) or end.outcome == "ok"]
            # a round that was cut short may have used other files
            measured_with_it = case.prepared and measured and case.prepared.t <= measured[-1].t
            if case.prepared and measured_with_it and not case.file_changes:
                self._note(case.index, case.config, case.prepared.files)

    def prepare(self, event: CasePrepared, config: Config) -> str | None:
        """Note the files of a running case. Return a warning if a measured case used other versions."""
        self._running[event.case] = config, event.files
        changed = self._changed(config, event.files)
        if not changed:
            return None
        since = ", ".join(f"{label} since case {first.case + 1}" for label, first in changed.items())
        return f"files have changed: {since}; case {event.case + 1} isn't compared with those of older versions"

    def end(self, end: CaseFinished) -> CaseFinished:
        """Return the end of a round, marked if it was measured with changed files."""
        config, files = self._running.pop(end.case, (None, {}))
        if end.outcome != "ok" or config is None:
            return end
        marks = [
            change_mark(label, files[first.name], first.digest, first.case)
            for label, first in self._changed(config, files).items()
        ]
        self._note(end.case, config, files)
        return replace(end, marks=(*marks, *end.marks)) if marks else end

    def changes(self, configs: Iterable[Config]) -> tuple[str, ...]:
        """Return how the files that cases with these options use differ now from those of measured cases.

        Files on the nodes of a cluster can't be read here; cases that use changed ones are marked.
        """
        if self._sweep.run.executor != "local":
            return ()
        changed: dict[str, None] = {}
        resolved = map(self._sweep.resolve, configs)
        for config in {(config.model, config.draft): config for config in resolved}.values():
            digests = {first.name: first.digest for first in self._of(config).values()}
            changed |= dict.fromkeys(file_changes(self._sweep, config, digests))
        return tuple(changed)

    def _note(self, case: int, config: Config, files: Mapping[str, str]) -> None:
        for name, digest in files.items():
            label = file_label(name, self._sweep, config)
            self._first.setdefault(label, _Version(case, name, digest))

    def _of(self, config: Config) -> dict[str, _Version]:
        """Return the known versions of the files that a case with these options may use."""
        return {
            label: first
            for label, first in self._first.items()
            if file_label(first.name, self._sweep, config) == label
        }

    def _changed(self, config: Config, files: Mapping[str, str]) -> dict[str, _Version]:
        """Return the earlier versions of those files that are other ones now, by label."""
        first_versions = self._of(config).items()
        return {
            label: first
            for label, first in first_versions
            if files.get(first.name, first.digest) != first.digest
        }


def file_changes(sweep: Sweep, config: Config, recorded: Mapping[str, str]) -> tuple[str, ...]:
    """Return how recorded files of a case differ from those that it would use now."""
    now = current_files(sweep, config, recorded)
    return tuple(
        change_text(file_label(name, sweep, config), digest, now[name])
        for name, digest in recorded.items()
        if name in now and now[name] != digest
    )
