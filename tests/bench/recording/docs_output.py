"""Writes the output of the commands in README and docs into these pages again: ``make docs-output``.

With names of pages, only those are written. Outputs are shortened as the page shows them now.
"""

import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from docs_pages import PAGES, PROJECT, Example, blocks, examples, run, shortened, shown, with_address

TRIES = 3
"""Number of times to record a page while its cases are measured next to other processes."""
RUN = "benchtui run "
DISTURBED = "disturbed: other processes"


def recorded(example: Example, folder: Path, home: Path) -> str:
    """Return the output of a command that a page shows."""
    done = run(example.command, folder, home, quiet=True)
    if done.returncode:
        raise SystemExit(f"$ {example.command}\n{done.stdout}\nexit status {done.returncode}")
    return done.stdout


def fenced(body: str, indent: str) -> str:
    """Return a console block as a page writes it."""
    return textwrap.indent(f"```console\n{body}```", indent)


def rewritten(page: Path) -> str:
    """Return a page with the output of its commands, measured on an idle machine if it becomes idle."""
    for _ in range(TRIES):
        outputs = list(recorded_outputs(page))
        measured = [
            text for each, text in zip(shown(page), outputs, strict=True) if each.command.startswith(RUN)
        ]
        if not any(DISTURBED in text for text in measured):
            break
    else:
        sys.stderr.write(f"{page}: measured next to other processes\n")
    text, remaining = with_address(page.read_text("utf-8")), iter(outputs)
    for block in blocks(page):
        if block.language == "console":
            new = "".join(
                f"{line}\n"
                for example in examples(block)
                for line in (f"$ {example.command}", *shortened(next(remaining), example.output))
            )
            for indent in ("", "   "):  # of a list item
                old, written = (fenced(body, indent) for body in (block.text, new))
                text = text.replace(old, written, 1)
    return text


def recorded_outputs(page: Path) -> Iterator[str]:
    """Run the commands of a page, in a folder and a home of its own."""
    with TemporaryDirectory() as work, TemporaryDirectory() as home:
        for block in blocks(page):
            if block.title:
                (Path(work) / block.title).write_text(block.text, "utf-8")
            for example in examples(block) if block.language == "console" else ():
                yield recorded(example, Path(work), Path(home))


def main() -> None:
    """Write the pages."""
    wanted = {Path(name).resolve() for name in sys.argv[1:]}
    for page in PAGES:
        if not wanted or page in wanted:
            page.write_text(rewritten(page), "utf-8")
    PROJECT.write_text(with_address(PROJECT.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
