"""What an importer finds in a file: measurements of cases, and what is said of where they come from."""

from dataclasses import dataclass, field

from benchtui.sessions.facts import Energy, Host, Memory, Model, Reported
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
    samples_per_step: int | None = None
    new_tokens: int | None = None
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The content of a file."""

    kind: str
    model: str = UNKNOWN
    task: str = UNKNOWN
    measurements: tuple[Measurement, ...]
    host: Host = field(default_factory=Host)
    torch: str | None = None
    measured: str | None = None
    """When it was measured, as the source writes it; None where nothing says."""
    grid: bool = False
    """Whether every combination of the options that occur was planned, so that one that lacks is a hole."""

    @property
    def cases(self) -> tuple[Config, ...]:
        """The distinct cases, in the order of the file."""
        return tuple(dict.fromkeys(each.config for each in self.measurements))
