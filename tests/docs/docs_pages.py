"""README and the pages of docs/ as their code blocks: commands with their output, and files that they show."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
OF_ROOT = tuple(ROOT / f"{name}.md" for name in ("README", "SKILL", "AGENTS"))
PAGES = (*OF_ROOT, *sorted((ROOT / "docs").rglob("*.md")))
_TITLE = re.compile(r'title="([^"]+)"')


@dataclass(frozen=True)
class Block:
    """Fenced code block of a page."""

    language: str
    title: str
    """File that the block shows; empty if it shows none."""
    text: str


@dataclass(frozen=True)
class Example:
    """Command of a ``console`` block, and the output that the page shows."""

    command: str
    output: tuple[str, ...]


def blocks(page: Path) -> Iterator[Block]:
    """Return the fenced code blocks of a page, in order."""
    for token in MarkdownIt().parse(page.read_text("utf-8")):
        if token.type == "fence":
            language, _, rest = token.info.partition(" ")
            title = _TITLE.search(rest)
            yield Block(language, title[1] if title else "", token.content)


def examples(block: Block) -> list[Example]:
    """Return the commands of a ``console`` block: lines after ``$``, continued after a backslash."""
    found: list[Example] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append(Example(line[2:], ()))
        elif found and found[-1].command.endswith("\\"):
            found[-1] = Example(found[-1].command[:-1] + line.strip(), ())
        elif found:
            found[-1] = Example(found[-1].command, (*found[-1].output, line))
        else:
            raise ValueError(f"output without a command: {line}")
    return found


def matches(output: str, shown: tuple[str, ...]) -> bool:
    """Whether output is what a page shows. ``...`` stands for any text, and alone on a line for any lines.

    Runs of spaces count as one, since the columns of a table depend on the figures in it.
    """
    pattern = ""
    for line in shown:
        if line.strip() == "...":
            pattern += r"(?:[^\n]*\n)*"
        else:
            words = (r"[^\n]*".join(map(re.escape, word.split("..."))) for word in line.split())
            pattern += r"[ ]*" + r"[ ]+".join(words) + r"[ ]*\n"
    return re.fullmatch(pattern, output if output.endswith("\n") or not output else output + "\n") is not None


def run(command: str, folder: Path, home: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of a page in a folder, with the settings and the library of an empty home."""
    words = shlex.split(command)
    if words[0] == "python":
        words[0] = sys.executable
    elif words[0] == "benchtui":
        words[0] = str(Path(sys.executable).with_name("benchtui"))
        if words[1] in ("run", "find"):  # other tests run at the same time, so the machine is never quiet
            words += ["--set", "wait_for_quiet=off"]
    runtime = home / "runtime"
    runtime.mkdir(mode=0o700, exist_ok=True)
    names = {
        "XDG_CONFIG_HOME": "config",
        "XDG_DATA_HOME": "data",
        "XDG_CACHE_HOME": "cache",
        "XDG_STATE_HOME": "state",
    }
    environment = {
        **os.environ,
        **{name: str(home / sub) for name, sub in names.items()},
        "BENCHTUI_RUNTIME_DIR": str(runtime),
        "COLUMNS": "200",
    }
    return subprocess.run(
        words,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=240,
        check=False,
    )
