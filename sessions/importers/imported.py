"""Result of an importer: measurements of cases, and facts about their source."""

from collections.abc import Iterable, Iterator
from math import sqrt

import msgspec

from benchtui.sessions.events import Runtime
from benchtui.sessions.payloads import Energy, Environment, Host, Memory, Model, Reported
from benchtui.sessions.sweep import UNKNOWN, Config

LONGEST_LABEL = 300
"""Maximum length of a case's label in characters."""
MB_IN_MIB, MB_IN_GIB = 2**20 / 1e6, 2**30 / 1e6


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """One measurement of a case. A case that occurs several times in a file has several."""

    config: Config
    task: str | None = None
    """Task that names the case's samples; None for plain samples."""
    wall_ms: list[float] = msgspec.field(default_factory=list)
    """Measured steps in milliseconds, if the source kept them."""
    warmup_ms: list[float] = msgspec.field(default_factory=list)
    parts_ms: dict[str, list[float]] = msgspec.field(default_factory=dict)
    tokens: int | None = None
    """Tokens per step."""
    reported: Reported | None = None
    """Statistics reported by the source, if it kept no steps."""
    memory: Memory | None = None
    energy: Energy | None = None
    model: Model | None = None
    environment: Environment | None = None
    samples_per_step: int | None = None
    """None means the batch size; 0 means no samples per step, or an unknown number."""
    new_tokens: int | None = None
    marks: tuple[str, ...] = ()
    failure: str | None = None
    """Why the case failed. None if it succeeded."""
    exit_code: int | None = None
    """Exit code of a failure, if every run had the same."""


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """Content of an imported file."""

    kind: str
    file: str = ""
    """Name of the file; the registry fills it in."""
    model: str = UNKNOWN
    task: str = UNKNOWN
    dataset: str = UNKNOWN
    """In the syntax of a sweep, such as ``repository:configuration:split``."""
    warmup: int = 0
    """Warm-up steps of a case; 0 also if unknown."""
    measurements: tuple[Measurement, ...]
    host: Host = msgspec.field(default_factory=Host)
    runtime: Runtime | None = None
    measured: str | None = None
    """When it was measured, as the source writes it; the earliest of several times. None if unknown."""
    grid: bool = False
    """Whether the file is a table over options, so that missing combinations are worth reporting."""
    notes: tuple[str, ...] = ()
    """Ignored fields, and other caveats about the file as a whole."""

    @property
    def cases(self) -> tuple[Config, ...]:
        """Distinct cases, in the order of the file."""
        return tuple(dict.fromkeys(measurement.config for measurement in self.measurements))


def labeled_case(label: str, *, group: str = "", device: str = UNKNOWN, threads: int = 0) -> Config:
    """Return the configuration of a case with a known name, and possibly a known device and threads."""
    return Config(
        device=device,
        precision=UNKNOWN,
        compile=UNKNOWN,
        padding=UNKNOWN,
        threads=threads,
        label=label[:LONGEST_LABEL],
        group=group[:LONGEST_LABEL],
    )


def sample_deviation(std: float | None, n: int | None) -> float | None:
    """Convert a population standard deviation to that of a sample (n - 1). Unchanged if n is unknown."""
    return std * sqrt(n / (n - 1)) if std is not None and n and n > 1 else std


def loops_note(loops: Iterable[int]) -> Iterator[str]:
    """Yield a note if steps are means over loops, which hide slow individual runs."""
    counts = sorted(set(loops))
    if counts and counts[-1] > 1:
        span = f"{counts[-1]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
        yield f"a step is the mean of {span} runs of the benchmarked code; percentiles are of these means"
