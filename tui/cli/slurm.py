"""``benchtui slurm``: print or submit a batch script that runs a sweep."""

import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import click

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.estimates.sweep_models import (
    download_remark,
    hub_models,
    needs_network,
    require_models,
    to_download,
)
from benchtui.sessions.permissions import approved
from benchtui.sessions.permissions.needed import needed_permissions
from benchtui.sessions.sanitize import shell_word
from benchtui.sessions.stored_models.hub_cache import cache_folder
from benchtui.sessions.sweep import Sweep
from benchtui.sessions.sweep.toml_reader import preset_names
from benchtui.tui.cli.consent import trust_option, typed_consent, with_consent
from benchtui.tui.cli.options import echo, json_option, output_option, set_option, sweep_argument
from benchtui.tui.cli.schema.records import SlurmJson
from benchtui.tui.cli.text.output import print_json
from benchtui.tui.cli.text.slurm_script import BatchJob, script, slurm_time
from benchtui.tui.cli.watch import load_named


@click.command()
@sweep_argument
@set_option
@click.option("-p", "--partition", help="Partition to run in.")
@click.option("-A", "--account", help="Account to charge.")
@click.option("-q", "--qos", help="Quality of service.")
@click.option("-C", "--constraint", help="Required node features.")
@click.option("-t", "--time", help="Time limit: 90m, 2h, 1d12h, or in Slurm's format.")
@click.option("--gpus", "gpus_per_node", help="GPUs per node: 2, or a100:2.")
@click.option(
    "-N",
    "--nodes",
    type=click.IntRange(1, 10_000),
    default=1,
    show_default=True,
    help="Number of nodes; with several, the job starts Ray and the cases run on it.",
)
@click.option("--shared", is_flag=True, help="Allow other jobs on the nodes, which may disturb measurements.")
@click.option("--sbatch", multiple=True, metavar="OPTION", help="Any other sbatch option: --sbatch --mem=64G.")
@output_option(
    "Session file; if it exists, the session is resumed. By default NAME-JOB.json in this folder.",
    "session_path",
)
@click.option("--submit", is_flag=True, help="Submit the script with sbatch instead of printing it.")
@trust_option
@json_option("Print the script and the job as JSON.")
def slurm(
    sweep: str,
    overrides: tuple[str, ...],
    session_path: Path | None,
    submit: bool,
    trust: bool,
    as_json: bool,
    nodes: int,
    shared: bool,
    sbatch: tuple[str, ...],
    **named: str | None,
) -> None:
    """Print or submit a Slurm batch script that runs a sweep.

    Shortly before its time limit, the job stops the sweep, closes the session and requeues itself; it then
    resumes the session. Its nodes are exclusive unless --shared is given. If the sweep names code or variables,
    the script contains --trust, so you are asked here.
    """
    loaded = load_named(sweep, overrides)
    require_models(loaded)
    permissions = needed_permissions(loaded)
    with_consent(lambda consent: approved.require(permissions, consent), trust, typed_consent(overrides))
    batch = BatchJob(
        made_by=shlex.join(("benchtui", *sys.argv[1:])),
        name=loaded.name,
        sweep=(_absolute(sweep), *(word for override in overrides for word in ("--set", override))),
        folder=Path.cwd(),
        commands=_bin_folder(),
        options=(*_sbatch_options(named), *sbatch),
        nodes=nodes,
        shared=shared,
        session=session_path.absolute() if session_path else None,
        trust=bool(permissions),
        hub_cache=cache_folder().absolute() if hub_models(loaded) else None,
        offline=not needs_network(loaded),
    )
    text = script(batch)
    _require_ray(nodes)
    for warning in filter(None, (_gpu_warning(loaded, batch.options), _network_warning(loaded))):
        echo(f"benchtui: {warning}", err=True)
    job = _submit(text) if submit else None
    if as_json:
        session = str(batch.session_of(job)) if job else None
        print_json(SlurmJson(script=text, job=job, session=session))
    elif job:
        echo(f"job {job}; session {batch.session_of(job)}")
    else:
        click.echo(text, nl=False)


def _network_warning(sweep: Sweep) -> str:
    """Return what to do about models that a node may not be able to download; empty for none."""
    if not (missing := to_download(sweep)):
        return ""
    commands = "; ".join(f"hf download {shell_word(model)}" for model in missing)
    return f"model {download_remark(sweep)}. That needs a network on the node; download here before: {commands}"


def _sbatch_options(named: Mapping[str, str | None]) -> list[str]:
    """Return sbatch's options for those of the command that it has as well."""
    values = {name: slurm_time(value) if name == "time" else value for name, value in named.items() if value}
    return [f"--{name.replace('_', '-')}={value}" for name, value in sorted(values.items())]


def _absolute(sweep: str) -> str:
    """Return the absolute path of a file or of a model's folder; any other name as it is."""
    path = Path(sweep)
    there = path.is_file() or (path.is_dir() and sweep not in preset_names())
    return str(path.absolute()) if there else sweep


def _bin_folder() -> Path:
    """Return the folder of the running ``benchtui`` command."""
    folder = Path(sys.executable).parent
    return folder if (folder / "benchtui").exists() else Path(sys.argv[0]).absolute().parent


def _require_ray(nodes: int) -> None:
    """Raise BenchtuiError if several nodes are requested and Ray is missing."""
    if nodes > 1 and find_spec("ray") is None:
        raise BenchtuiError(f"--nodes {nodes} requires Ray, which isn't installed: pip install 'benchtui[ray]'")


def _gpu_warning(sweep: Sweep, options: Sequence[str]) -> str | None:
    """Return a warning if cases on a GPU may not get one; None otherwise."""
    device = next((device for device in sweep.axes.device if device != "cpu"), None)
    if device is None or any(option.startswith("--g") for option in options):
        return None
    return f"the sweep has cases on {device}, but --gpus is not set: the job may get no GPU"


def _submit(text: str) -> str:
    """Submit a script with sbatch and return the job ID. Raises BenchtuiError if it is rejected."""
    sbatch = shutil.which("sbatch")
    if sbatch is None:
        raise BenchtuiError(
            "--submit: sbatch not found; print the script instead, and submit it on a machine with Slurm"
        )
    done = subprocess.run([sbatch, "--parsable"], input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = "; ".join(line.removeprefix("sbatch: error: ") for line in done.stderr.splitlines())
        raise BenchtuiError(f"--submit: sbatch rejected the job: {reason or f'exit status {done.returncode}'}")
    return done.stdout.strip().partition(";")[0]
