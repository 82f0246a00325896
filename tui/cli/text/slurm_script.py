"""Slurm batch script that runs a sweep unattended."""

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import jinja2
import msgspec

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.library.paths import safe_name
from benchtui.sessions.sanitize import quoted, shell_word, visible
from benchtui.sessions.sweep.ranges import parse_quantity

MOST_RESTARTS = 10
"""Number of times a job is requeued after reaching its time limit."""
LEAD_S = 60
"""Seconds before the time limit at which Slurm signals the job; it may do so up to a minute earlier."""
LEAST_MIN, MOST_DAYS = 3, 366
"""Accepted time limits. A shorter one would expire with the signal that announces it."""
RAY_START_TIMEOUT_S = 300
"""Seconds that Ray may take to start on all nodes."""

_UNITS_S = {"d": 86_400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
_SLURM_TIME = re.compile(r"(?:(\d{1,9})-)?(\d{1,9})(?::(\d{1,9}))?(?::(\d{1,9}))?", re.ASCII)
_GPUS = re.compile(r"(?:[A-Za-z][\w.-]*:)?[1-9]\d{0,3}", re.ASCII)
_OPTION = re.compile(r"--[a-z][a-z-]*(?:=.*)?")


class Resources(msgspec.Struct, frozen=True, kw_only=True):
    """Resources requested from Slurm, as typed; None or empty leaves the choice to Slurm."""

    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    constraint: str | None = None
    """Required node features, such as ``a100``."""
    time: str | None = None
    """Time limit; see ``slurm_time``."""
    gpus: str | None = None
    """GPUs per node: a number, or a type and number such as ``a100:2``."""
    nodes: int = 1
    shared: bool = False
    """Whether other jobs may run on the nodes."""
    extra_options: tuple[str, ...] = ()
    """Other options of sbatch, such as ``--mem=64G``."""


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """Content of a batch script: what to run, where, and with which resources."""

    made_by: str
    """Command line that generated the script."""
    name: str
    """Name of the sweep."""
    sweep: tuple[str, ...]
    """Arguments of ``benchtui run``: a preset or an absolute path, and overrides."""
    folder: Path
    """Working folder of the job, which receives log, session and report."""
    commands: Path
    """Folder of the ``benchtui`` command and, with several nodes, of Ray's."""
    resources: Resources
    session: Path | None = None
    """Session file; None derives its name from the sweep and the job."""
    trust: bool = False
    """Whether the user has allowed the code and the variables of the sweep."""

    @property
    def title(self) -> str:
        """Sweep name, made safe for job and file names."""
        return safe_name(self.name) or "sweep"

    def session_of(self, job: str) -> Path:
        """Return the session file of a job."""
        return self.session or self.folder / f"{self.title}-{job}.json"


def script(batch: Batch) -> str:
    """Render the batch script. Raises BenchtuiError for an invalid option."""
    settings = ("run.executor=ray", "run.address=auto", "run.lost=repeat") if batch.resources.nodes > 1 else ()
    ray = [word for each in settings for word in ("--set", each)]
    named_by_job = f"$PWD/{shlex.quote(batch.title)}-$SLURM_JOB_ID.json"
    return _template().render(
        made_by=visible(batch.made_by),
        options=[_line(option) for option in _options(batch)],
        commands=shell_word(str(batch.commands)),
        session=shell_word(str(batch.session)) if batch.session else named_by_job,
        most_restarts=MOST_RESTARTS,
        nodes=batch.resources.nodes,
        ray_start_timeout_s=RAY_START_TIMEOUT_S,
        run=" ".join(map(shell_word, ("run", *batch.sweep, *ray))),
        trust=" --trust" if batch.trust else "",
    )


def slurm_time(text: str) -> str:
    """Convert a time limit to Slurm's format, in whole minutes, rounded up.

    Accepts ``90m``, ``1d12h``, or Slurm's ``90``, ``2:00:00``, ``1-12``. Raises BenchtuiError for any other.
    """
    minutes = -(-_seconds(text.strip()) // 60)
    if not LEAST_MIN <= minutes <= MOST_DAYS * 24 * 60:
        raise BenchtuiError(
            f"--time: {quoted(text)} is not a time limit from {LEAST_MIN}m to {MOST_DAYS}d;"
            " use 90m, 2h, 1d12h, or Slurm's format: 90, 2:00:00, 1-12:00:00"
        )
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    return f"{days}-{hour:02}:{minute:02}:00" if days else f"{hour:02}:{minute:02}:00"


def _seconds(text: str) -> int:
    """Parse a time limit into seconds; 0 if invalid."""
    match = _SLURM_TIME.fullmatch(text)
    if match is None:
        return int(parse_quantity(text, _UNITS_S, whole=True) or 0)
    days, first, second, third = (int(count or 0) for count in match.groups())
    if not (match[1] or match[4]):
        return 60 * first + second  # without days or a third field, Slurm's first is minutes
    return 86400 * days + 3600 * first + 60 * second + third


def _options(batch: Batch) -> Iterator[str]:
    resources, several = batch.resources, batch.resources.nodes > 1
    yield f"--job-name={batch.title}"
    yield f"--chdir={batch.folder}"
    yield f"--output={batch.title}-%j.log"
    yield "--open-mode=append"
    named = {
        "partition": resources.partition,
        "account": resources.account,
        "qos": resources.qos,
        "constraint": resources.constraint,
        "time": resources.time and slurm_time(resources.time),
        "nodes": several and str(resources.nodes),
        "ntasks-per-node": several and "1",
        "gpus-per-node": resources.gpus and _gpus(resources.gpus),
    }
    yield from (f"--{name}={value}" for name, value in named.items() if value)
    if not resources.shared:
        yield "--exclusive"
    yield "--requeue"
    yield f"--signal=B:USR1@{LEAD_S}"
    yield from map(_option, resources.extra_options)


def _gpus(text: str) -> str:
    if not _GPUS.fullmatch(text):
        raise BenchtuiError(f"--gpus: {quoted(text)} is not a number of GPUs per node, such as 2 or a100:2")
    return text


def _option(text: str) -> str:
    if not _OPTION.fullmatch(text):
        raise BenchtuiError(f"--sbatch: {quoted(text)} is not an sbatch option, such as --mem=64G")
    return text


def _line(option: str) -> str:
    """Format an option for the script, quoting its value if needed."""
    if not option.isprintable():
        raise BenchtuiError(f"{quoted(option)}: unprintable characters are not allowed in a batch script")
    name, equals, value = option.partition("=")
    return f"{name}{equals}{shlex.quote(value) if value else ''}"


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("benchtui.tui.cli.text", ""),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # escaping is for HTML; input is quoted for the shell
    )
    return environment.get_template("slurm_script.sh.j2")
