"""Records that commands print with ``--json``, where a command has no module of its own for them."""

from typing import Literal

import msgspec

from benchtui.sessions import events
from benchtui.sessions.analysis.roofline import Limit
from benchtui.sessions.estimates.history import Basis
from benchtui.sessions.export.case_schema import CaseRow
from benchtui.sessions.export.json_document import SCHEMA, Document, document_id
from benchtui.sessions.sweep import Config


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Base class of the records. Every field is present, null if unknown."""


class EventLine(Document, frozen=True, kw_only=True):
    """Fields that ``attach`` and ``replay`` print before those of each recorded event."""

    schema: int = events.SCHEMA
    """Version of the session's layout."""
    id_: str = document_id("event", events.SCHEMA)


class EngineJson(Document, frozen=True, kw_only=True):
    """Output of ``stop``, ``pause`` and ``continue``."""

    id_: str = document_id("stop")
    session: str
    """Path of the session."""
    state: Literal["stopped", "paused", "running"]
    """``running`` after ``continue``, and if the engine didn't stop in time."""


class AnonymizedJson(Document, frozen=True, kw_only=True):
    """Output of ``anonymize``."""

    id_: str = document_id("anonymize")
    session: str
    """Path of the anonymized session."""


class ArtifactJson(Record, frozen=True, kw_only=True):
    """Model that was converted for a runtime; what a killed build left has neither model nor runtime."""

    path: str
    """Its folder."""
    model: str | None
    """Model that was converted."""
    backend: str | None
    """Runtime that it is for."""
    precision: str | None
    """Precision of the cases that use it."""
    size_mb: float
    """Size on disk, in units of 10**6 bytes."""
    unused_days: float
    """Days since its last use."""


class CacheJson(Document, frozen=True, kw_only=True):
    """Output of ``cache``."""

    id_: str = document_id("cache")
    folder: str
    """Folder of all of them."""
    artifacts: tuple[ArtifactJson, ...]
    """The last used first; with ``--remove``, those that were removed."""
    size_mb: float
    """Size of the listed ones, in units of 10**6 bytes."""
    most_mb: float
    """Size of all above which those that weren't used for the longest time are removed."""


class FindingJson(Record, frozen=True, kw_only=True):
    """Check of ``doctor``."""

    what: str
    state: Literal["ok", "missing", "broken"]
    """``missing`` limits what can be measured; ``broken`` keeps benchtui from working."""
    text: str


class DoctorJson(Document, frozen=True, kw_only=True):
    """Output of ``doctor``."""

    id_: str = document_id("doctor")
    checks: tuple[FindingJson, ...]


class ThemeJson(Record, frozen=True, kw_only=True):
    """Color theme."""

    name: str
    source: str
    """Its file, or ``bundled``."""


class ThemesJson(Document, frozen=True, kw_only=True):
    """Output of ``themes``."""

    id_: str = document_id("themes")
    themes: tuple[ThemeJson, ...]
    problems: tuple[str, ...]
    """One line for each file that isn't a valid theme."""
    folder: str
    """Folder of the user's own themes."""


class KeyJson(Record, frozen=True, kw_only=True):
    """Key binding."""

    id: str
    """Action, by which it is remapped in config.toml."""
    view: str
    keys: str
    """Keys as mapped by the user, separated by two spaces."""
    does: str
    about: str
    """Details; empty if there are none."""


class KeysJson(Document, frozen=True, kw_only=True):
    """Output of ``keys``."""

    id_: str = document_id("keys")
    keys: tuple[KeyJson, ...]
    problems: tuple[str, ...]
    """One line for each entry of config.toml that isn't valid."""
    config: str
    """Path of config.toml."""


class PlannedCaseJson(Record, frozen=True, kw_only=True):
    """Case of a plan, with the cost expected of it."""

    number: int
    name: str
    config: Config
    status: Literal["on", "off", "skipped", "missing"]
    """``off``: excluded by the sweep; ``missing``: its device isn't on this machine."""
    reason: str | None
    """Why it is skipped, or its device is missing."""
    seconds: float | None
    memory_mb: float | None
    time_basis: Basis | None
    memory_basis: Basis | None
    """What the figures rest on: an earlier measurement of this case, one ``near`` it, or a ``guess``."""
    ran_out: bool
    """Whether it ran out of memory in an earlier session."""


class PlanJson(Document, frozen=True, kw_only=True):
    """Output of ``plan``."""

    id_: str = document_id("plan")
    name: str
    model: str
    task: str
    weights: str
    dataset: str
    rounds: int | None
    """Rounds of each case. Null with ``rounds = "auto"``, which plans them while it runs."""
    cases: tuple[PlannedCaseJson, ...]
    to_measure: int
    """Number of cases to be measured, without the second case of an A/A pair."""
    seconds: float | None
    """Time expected of the whole sweep, without further rounds. Null if nothing is known of any case."""
    further_s: float | None
    """Maximum time of the further rounds of ``rounds = "auto"``. Null without them, or if unknown."""
    unknown: int
    """Cases to be measured whose time is unknown, and not included."""
    sessions: int
    """Earlier sessions that the figures are based on."""


class ImportedJson(Document, frozen=True, kw_only=True):
    """Output of ``import``."""

    id_: str = document_id("import")
    session: str
    """Path of the new session."""
    tool: str
    """Tool that wrote the file."""
    cases: int
    notes: tuple[str, ...]
    """Ignored fields, and other caveats."""


class LibraryJson(Document, frozen=True, kw_only=True):
    """Output of ``sessions rename`` and ``sessions add``."""

    id_: str = document_id("sessions-add")
    name: str
    session: str
    """Path of the session."""


class SlurmJson(Document, frozen=True, kw_only=True):
    """Output of ``slurm``."""

    id_: str = document_id("slurm")
    script: str
    job: str | None
    """ID of the job. Null unless it was submitted."""
    session: str | None
    """Path of the session that the job writes. Null unless it was submitted."""


class MeasuredCaseJson(CaseRow, frozen=True, kw_only=True):
    """Line that ``run`` prints for each case."""

    schema: int = SCHEMA
    """Version of the document's layout. Fields may be added to a version, but aren't renamed."""
    id_: str = document_id("run")
    """Name of the document's JSON Schema, with its version: ``urn:benchtui:NAME:VERSION``."""
    limit: Limit | None
    """The case compared with the peaks of its device. Null if its work wasn't counted."""
