"""What an importer finds in a file: measurements of cases, and what is said of where they come from."""

from dataclasses import dataclass, field

from benchtui.sessions.events import Runtime
from benchtui.sessions.payloads import Energy, Environment, Host, Memory, Model, Reported
from benchtui.sessions.sweep import UNKNOWN, Config


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One measurement of a case; a case that a file has several times has several."""

    config: Config
    wall_ms: list[float] = field(default_factory=list)
    """Steps in milliseconds, where the source kept them."""
    warmup_ms: list[float] = field(default_factory=list)
    parts_ms: dict[str, list[float]] = field(default_factory=dict)
    tokens: int | None = None
    """Tokens of a step."""
    reported: Reported | None = None
    """The source's own figures, where it kept no steps."""
    memory: Memory | None = None
    energy: Energy | None = None
    model: Model | None = None
    environment: Environment | None = None
    samples_per_step: int | None = None
    """None for the batch size; 0 where a step has no samples, or the source doesn't say how many."""
    new_tokens: int | None = None
    marks: tuple[str, ...] = ()
    failure: str | None = None
    """Why it is none of a case that ended well."""
    exit_code: int | None = None
    """Of a failure, where every run had the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The content of a file."""

    kind: str
    model: str = UNKNOWN
    task: str = UNKNOWN
    measurements: tuple[Measurement, ...]
    host: Host = field(default_factory=Host)
    runtime: Runtime | None = None
    measured: str | None = None
    """When it was measured, as the source writes it, the earliest time of several; None where nothing says."""
    grid: bool = False
    """Whether it is a table over options, of which a combination without a row is worth naming."""
    notes: tuple[str, ...] = ()
    """What isn't taken over, and what else a reader must know of the file as a whole."""

    @property
    def cases(self) -> tuple[Config, ...]:
        """The distinct cases, in the order of the file."""
        return tuple(dict.fromkeys(each.config for each in self.measurements))
