"""Slurm batch script that runs a sweep unattended."""

import re
import shlex
from collections.abc import Iterator
from functools import cache
from math import ceil
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
LEAST_MIN = 3
"""Shortest time limit in minutes. A shorter one would expire with the signal that announces it."""
RAY_START_TIMEOUT_S = 300
"""Seconds that Ray may take to start on all nodes."""

_UNITS_S = {"d": 86_400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
_SLURM_TIME = re.compile(r"\d+(:\d+){0,2}|\d+-\d+(:\d+){0,2}|UNLIMITED", re.ASCII | re.IGNORECASE)
"""Time limits that sbatch accepts (https://slurm.schedmd.com/sbatch.html#OPT_time)."""
_OPTION = re.compile(r"--[a-z][a-z-]*(?:=.*)?", re.DOTALL)


class BatchJob(msgspec.Struct, frozen=True, kw_only=True):
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
    options: tuple[str, ...] = ()
    """Options of sbatch, such as ``--partition=gpu``. Slurm checks them."""
    nodes: int = 1
    shared: bool = False
    """Whether other jobs may run on the nodes."""
    session: Path | None = None
    """Session file; None derives its name from the sweep and the job."""
    trust: bool = False
    """Whether the user has allowed the code and the variables of the sweep."""
    hub_cache: Path | None = None
    """Cache that has models of the sweep from the hub; None if it uses none of them."""
    offline: bool = False
    """Whether everything that the sweep uses is there, so that the nodes need no network."""

    @property
    def title(self) -> str:
        """Sweep name, made safe for job and file names."""
        return safe_name(self.name) or "sweep"

    def session_of(self, job: str) -> Path:
        """Return the session file of a job."""
        return self.session or self.folder / f"{self.title}-{job}.json"


def script(batch: BatchJob) -> str:
    """Render the batch script. Raises BenchtuiError for an invalid option."""
    settings = ("run.executor=ray", "run.address=auto", "run.lost=repeat") if batch.nodes > 1 else ()
    ray = [word for setting in settings for word in ("--set", setting)]
    named_by_job = f"$PWD/{shlex.quote(batch.title)}-$SLURM_JOB_ID.json"
    return _template().render(
        made_by=visible(batch.made_by),
        options=[_line(option) for option in _options(batch)],
        commands=shell_word(str(batch.commands)),
        model_lines=list(_model_lines(batch)),
        session=shell_word(str(batch.session)) if batch.session else named_by_job,
        most_restarts=MOST_RESTARTS,
        nodes=batch.nodes,
        ray_start_timeout_s=RAY_START_TIMEOUT_S,
        run=" ".join(map(shell_word, ("run", *batch.sweep, *ray))),
        trust=" --trust" if batch.trust else "",
    )


def _model_lines(batch: BatchJob) -> Iterator[str]:
    """Yield the lines about the cache of the hub. Nodes often have no network."""
    if batch.hub_cache is None:
        return
    yield "# Models of the hub come from this cache, which the nodes have to see."
    if not batch.offline:
        yield "# Not everything is in it: download the rest before the job starts; nodes often have no network."
    offline = " HF_HUB_OFFLINE=1" if batch.offline else ""
    yield f"export HF_HUB_CACHE={shell_word(str(batch.hub_cache))}{offline}"


def slurm_time(text: str) -> str:
    """Convert a time limit such as ``90m`` or ``1d12h`` to Slurm's format, in whole minutes, rounded up.

    A time in one of Slurm's formats is returned as it is. Raises BenchtuiError for any other text, and for less
    than 3 minutes.
    """
    seconds = parse_quantity(text, _UNITS_S, whole=True)
    if seconds is None and _SLURM_TIME.fullmatch(text):
        return text
    if seconds is None:
        raise BenchtuiError(
            f"--time: {quoted(text)} is not a time limit; allowed: 90m, 2h, 1d12h, or in Slurm's format"
            " MINUTES, MM:SS, HH:MM:SS, DAYS-HH, DAYS-HH:MM, DAYS-HH:MM:SS or UNLIMITED"
        )
    minutes = ceil(seconds / 60)
    if minutes < LEAST_MIN:
        raise BenchtuiError(f"--time: {quoted(text)} is less than {LEAST_MIN}m, which the job needs to stop")
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    return f"{days}-{hour:02}:{minute:02}:00" if days else f"{hour:02}:{minute:02}:00"


def _options(batch: BatchJob) -> Iterator[str]:
    yield f"--job-name={batch.title}"
    yield f"--chdir={batch.folder}"
    yield f"--output={batch.title}-%j.log"
    yield "--open-mode=append"
    if batch.nodes > 1:
        yield from (f"--nodes={batch.nodes}", "--ntasks-per-node=1")
    if not batch.shared:
        yield "--exclusive"
    yield "--requeue"
    yield f"--signal=B:USR1@{LEAD_S}"
    yield from map(_option, batch.options)


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
