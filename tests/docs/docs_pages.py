"""README and the pages of docs/ as their code blocks: commands with their output, and files that they show."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
OF_ROOT = tuple(ROOT / f"{name}.md" for name in ("README", "SKILL", "AGENTS"))
PAGES = (*OF_ROOT, *sorted((ROOT / "docs").rglob("*.md")))
PROJECT = ROOT / "pyproject.toml"
_REPOSITORY = tomllib.loads((ROOT / "packaging/project.toml").read_text("utf-8"))["repository"]
_ADDRESS = re.compile(r"(github\.com/|uses: )[\w.-]+/benchtui\b")
GAP = "[…]"
"""Lines, or the rest of a line, that a page leaves out of an output."""
RUN = ("...", "... ok; session ...")
"""Pattern of the output of every ``benchtui run``."""
MOST_LINES, MOST_COLUMNS = 14, 160
"""Limits on the outputs that are new on a page."""
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
    """Return the commands of a ``console`` block, lines after ``$``, with their output."""
    commands: list[Example] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            commands.append(Example(line[2:], ()))
        elif commands:
            commands[-1] = Example(commands[-1].command, (*commands[-1].output, line))
        else:
            raise ValueError(f"output without a command: {line}")
    return commands


def shown(page: Path) -> list[Example]:
    """Return the commands of a page that are run, in order."""
    return [each for block in blocks(page) if block.language == "console" for each in examples(block)]


def with_address(text: str) -> str:
    """Return the text of a page with the repository's address."""
    return _ADDRESS.sub(rf"\1{_REPOSITORY.removeprefix('https://github.com/')}", text)


def matches(output: str, shown: Iterable[str], gap: str = GAP) -> bool:
    """Whether output is what a page shows. A gap stands for any text, and alone on a line for any lines.

    Runs of spaces count as one, since the columns of a table depend on the figures in it.
    """
    pattern = ""
    for line in shown:
        if line.strip() == gap:
            pattern += r"(?:[^\n]*\n)*"
        else:
            words = (r"[^\n]*".join(map(re.escape, word.split(gap))) for word in line.split())
            pattern += r"[ ]*" + r"[ ]+".join(words) + r"[ ]*\n"
    return re.fullmatch(pattern, output if output.endswith("\n") or not output else output + "\n") is not None


def patterns(page: Path) -> dict[str, tuple[str, ...]]:
    """Return the patterns of outputs that differ from run to run, by command. ``...`` is their gap."""
    of_pages = tomllib.loads((ROOT / "tests/docs/patterns.toml").read_text("utf-8"))
    of_page: dict[str, str] = of_pages.get(str(page.relative_to(ROOT)), {})
    runs = {each.command: RUN for each in shown(page) if each.command.startswith("benchtui run ")}
    return runs | {command: tuple(pattern.splitlines()) for command, pattern in of_page.items()}


def shortened(output: str, shown: tuple[str, ...]) -> list[str]:
    """Return output for a page, with as many lines before and after a gap as the page shows now.

    A line that the page cuts off, because a document for programs is one line, is cut off again.
    """
    lines = [line.rstrip() for line in output.splitlines()]
    if not shown or any("..." in line for line in shown):
        before, after = (len(lines), 0) if len(lines) <= MOST_LINES else (MOST_LINES // 2, MOST_LINES // 2)
    elif GAP in shown:
        before, after = shown.index(GAP), len(shown) - shown.index(GAP) - 1
    else:
        before, after = len(lines), 0
    if before + after < len(lines):
        lines = [*lines[:before], GAP, *lines[len(lines) - after :]]
    return [line if len(line) <= MOST_COLUMNS else line[: MOST_COLUMNS - len(GAP)] + GAP for line in lines]


def run(command: str, folder: Path, home: Path, *, quiet: bool = False) -> subprocess.CompletedProcess[str]:
    """Run a command of a page in a folder, with the settings and the library of an empty home.

    Its output names that home ``~``, that folder ``~/work``, and the folder of the package ``benchtui``.
    Unless the machine is ``quiet``, no case waits for that.
    """
    words = shlex.split(command)
    if words[0] == "python":
        words[0] = sys.executable
    elif words[0] == "benchtui":
        words[0] = str(Path(sys.executable).with_name("benchtui"))
        # other tests run at the same time, so the machine is never quiet for one
        if not quiet and words[1] in ("run", "find") and "--print-toml" not in words:
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
        "COLUMNS": "100",
    }
    done = subprocess.run(
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
    for path, name in ((folder, "~/work"), (home, "~"), (ROOT, "benchtui")):
        done.stdout = done.stdout.replace(str(path), name)
    return done
