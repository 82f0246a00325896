"""Runs the benchmarks and keeps what they print in BENCHMARKS.md, a section each: `make bench`.

With names, only those are run, and the sections of the others stay as they are, each with its own date.
"""

import platform
import re
import subprocess
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import click
import psutil

from benchtui.engine.telemetry.gpu.open import open_gpus
from benchtui.engine.telemetry.host_info import describe_host

ROOT = Path(__file__).parents[3]
TARGET = ROOT / "BENCHMARKS.md"
HEAD = """\
# Benchmarks of benchtui itself

Written by `make bench` (`tests/bench/benchmarks/all.py`): what each script printed, on which machine and when.
A figure is a ratio against something in the same run where it can be one; a machine that others use is noisy.
"""
SCRIPTS: dict[str, tuple[str, ...]] = {
    "plain_loop": (),
    "backend_loops": (),
    "optimum": ("--environment", ".venv-optimum"),
    "train_loop": (),
    "own_steps": (),
    "cold_cost": (),
    "answers": (),
    "verdicts": (),
    "open_questions": (),
    "storm": (),
    "screen": ("--nvitop", ".venv-nvitop"),
    "soak": (),
    "large_sessions": (),
    "ray_overhead": (),
    "ray_scale": (),
    "install": (),
}


PYTHONS = {
    "ray_overhead": ".venv-ray/bin/python",
    "ray_scale": ".venv-ray/bin/python",
    "install": ".venv-install/bin/python",
}
"""Interpreters of the scripts that need other packages."""


def machine() -> str:
    """The machine and what runs on it, in a line."""
    host = describe_host(open_gpus())
    gpus = ", ".join(gpu.name for gpu in host.gpus) or "no GPU"
    packages = ", ".join(f"{name} {metadata.version(name)}" for name in ("torch", "transformers", "textual"))
    memory_gb = psutil.virtual_memory().total / 1e9
    return (
        f"{host.processor}, {host.cpu_count} processors, {memory_gb:.0f} GB, {gpus}; {platform.system()}"
        f" {platform.release()}, Python {platform.python_version()}, {packages}"
    )


def section(name: str) -> tuple[str, int]:
    """Run a script; gives its section, with the first line of what it says of itself, and its exit status."""
    path = Path(__file__).with_name(f"{name}.py")
    command = [PYTHONS.get(name, sys.executable), path, *SCRIPTS[name]]
    began = datetime.now(UTC)
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        lines = []
        for line in process.stdout or ():
            click.echo(line, nl=False)
            lines.append(line)
    said = " ".join(["python", f"tests/bench/benchmarks/{path.name}", *SCRIPTS[name]])
    about = path.read_text("utf-8").split('"""')[1].strip().partition("\n\n")[0].removesuffix(": `make bench`.")
    status = process.returncode
    ended = f"\nExit status {status}: over a budget, or broken off.\n" if status else ""
    text = (
        f"## {name}\n\n{about}\n\n`{said}`, {began:%Y-%m-%d %H:%M} UTC, on {machine()}\n\n"
        f"```\n{''.join(lines).rstrip()}\n```\n{ended}"
    )
    return text, status


def existing_sections() -> dict[str, str]:
    """The sections that there are."""
    text = TARGET.read_text("utf-8") if TARGET.exists() else ""
    found = re.split(r"^(?=## )", text, flags=re.MULTILINE)[1:]
    return {each.partition("\n")[0].removeprefix("## "): each.rstrip() + "\n" for each in found}


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(list(SCRIPTS)))
def main(names: tuple[str, ...]) -> None:
    """Run all benchmarks, or those named, and write their sections."""
    failed = []
    for name in names or SCRIPTS:
        click.echo(f"== {name}")
        text, status = section(name)
        failed += [name] if status else []
        sections = existing_sections() | {name: text}
        ordered = [sections[each] for each in SCRIPTS if each in sections]
        TARGET.write_text("\n".join([HEAD, *ordered]), "utf-8")
    if failed:
        raise click.ClickException(f"over a budget, or broken off: {', '.join(failed)}")


if __name__ == "__main__":
    main()
