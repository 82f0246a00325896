"""``benchtui slurm``: print or submit a batch script that runs a sweep."""

import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sweep.toml_reader import load_sweep, preset_names
from benchtui.tui.cli.options import printable, set_option, sweep_argument
from benchtui.tui.cli.text.slurm_script import Batch, Resources, script

if TYPE_CHECKING:
    from benchtui.sessions.sweep import Sweep


class _Resources(TypedDict):
    """Resources requested from Slurm: the fields of ``slurm_script.Resources``."""

    partition: str | None
    account: str | None
    qos: str | None
    constraint: str | None
    time: str | None
    gpus: str | None
    nodes: int
    shared: bool
    further: tuple[str, ...]


@click.command()
@sweep_argument
@set_option
@click.option("-p", "--partition", help="Partition of the nodes.")
@click.option("-A", "--account", help="Account that is charged.")
@click.option("-q", "--qos", help="Quality of service.")
@click.option("-C", "--constraint", help="Features that the nodes must have.")
@click.option("-t", "--time", help="Time limit: 90m, 2h, 1d12h, or as Slurm writes it.")
@click.option("--gpus", help="GPUs of each node: 2, or a100:2.")
@click.option(
    "-N",
    "--nodes",
    type=click.IntRange(1, 10_000),
    default=1,
    show_default=True,
    help="Nodes; on several Ray is started inside the job, and the cases run on it.",
)
@click.option("--shared", is_flag=True, help="Let other jobs run on the nodes, and disturb the figures.")
@click.option(
    "--sbatch",
    "further",
    multiple=True,
    metavar="OPTION",
    help="Any other option of sbatch: --sbatch --mem=64G.",
)
@click.option(
    "-o",
    "--output",
    "session_path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Session file; one that is there is gone on with. Without it NAME-JOB.json in this folder.",
)
@click.option("--submit", is_flag=True, help="Hand the script to sbatch instead of printing it.")
def slurm(
    sweep: str,
    overrides: tuple[str, ...],
    session_path: Path | None,
    submit: bool,
    **resources: Unpack[_Resources],
) -> None:
    """Print a batch script that has Slurm run a sweep.

    The job goes on with its session where its time limit ended it: before that comes, the sweep is stopped, its
    session closed, and the job put back into the queue. It has its nodes alone, unless --shared.
    """
    loaded = load_sweep(sweep, overrides)
    batch = Batch(
        made_by=shlex.join(("benchtui", *sys.argv[1:])),
        name=loaded.name,
        sweep=(_lasting(sweep), *(word for each in overrides for word in ("--set", each))),
        folder=Path.cwd(),
        commands=_commands(),
        resources=Resources(**resources),
        session=session_path.absolute() if session_path else None,
    )
    text = script(batch)
    _require_ray(batch.resources.nodes)
    if warning := _lacking(loaded, resources):
        click.echo(f"benchtui: {warning}", err=True)
    if submit:
        job = _submit(text)
        click.echo(printable(f"job {job}; session {batch.session_of(job)}"))
    else:
        click.echo(text, nl=False)


def _lasting(sweep: str) -> str:
    """Return a preset's name, or the absolute path of a file."""
    path = Path(sweep)
    return sweep if sweep in preset_names() and not path.is_file() else str(path.absolute())


def _commands() -> Path:
    """Return the folder of the running ``benchtui`` command."""
    beside = Path(sys.executable).parent
    return beside if (beside / "benchtui").exists() else Path(sys.argv[0]).absolute().parent


def _require_ray(nodes: int) -> None:
    """Raise BenchtuiError if several nodes are requested and Ray is missing."""
    if nodes > 1 and find_spec("ray") is None:
        raise BenchtuiError(
            "--nodes: several need Ray, which isn't installed here: pip install 'benchtui[ray]'"
        )


def _lacking(sweep: "Sweep", resources: _Resources) -> str | None:
    """Return a warning if cases on a GPU may not get one; None otherwise."""
    device = next((each for each in sweep.axes.device if each != "cpu"), None)
    asked = resources["gpus"] or any(each.startswith("--g") for each in resources["further"])
    return None if device is None or asked else f"cases on {device}, and no --gpus: the job may get no GPU"


def _submit(text: str) -> str:
    """Submit a script with sbatch and return the job ID. Raises BenchtuiError if it is refused."""
    sbatch = shutil.which("sbatch")
    if sbatch is None:
        raise BenchtuiError(
            "--submit: no sbatch on this machine; print the script and submit it where Slurm is"
        )
    done = subprocess.run([sbatch, "--parsable"], input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        said = "; ".join(line.removeprefix("sbatch: error: ") for line in done.stderr.splitlines())
        raise BenchtuiError(f"--submit: sbatch refuses the job: {said or f'exit status {done.returncode}'}")
    return done.stdout.strip().partition(";")[0]
