"""Writes the output of the commands in README and docs into these pages again: ``make docs-output``.

With names of pages, only those are written. Outputs are shortened as the page shows them now.
"""

import sys
import textwrap
from pathlib import Path
from tempfile import TemporaryDirectory

from docs_pages import PAGES, PROJECT, Example, blocks, examples, run, shortened, with_address


def recorded(example: Example, folder: Path, home: Path) -> list[str]:
    """Return the lines that a page shows below a command."""
    done = run(example.command, folder, home, quiet=True)
    if done.returncode:
        raise SystemExit(f"$ {example.command}\n{done.stdout}\nexit status {done.returncode}")
    return shortened(done.stdout, example.output)


def fenced(body: str, indent: str) -> str:
    """Return a console block as a page writes it."""
    return textwrap.indent(f"```console\n{body}```", indent)


def rewritten(page: Path) -> str:
    """Return a page with the output of its commands, in a folder and a home of its own."""
    text = with_address(page.read_text("utf-8"))
    with TemporaryDirectory() as work, TemporaryDirectory() as home:
        for block in blocks(page):
            if block.title:
                (Path(work) / block.title).write_text(block.text, "utf-8")
            if block.language == "console":
                new = "".join(
                    f"{line}\n"
                    for example in examples(block)
                    for line in (f"$ {example.command}", *recorded(example, Path(work), Path(home)))
                )
                for indent in ("", "   "):  # of a list item
                    old, written = (fenced(body, indent) for body in (block.text, new))
                    text = text.replace(old, written, 1)
    return text


def main() -> None:
    """Write the pages."""
    wanted = {Path(name).resolve() for name in sys.argv[1:]}
    for page in PAGES:
        if not wanted or page in wanted:
            page.write_text(rewritten(page), "utf-8")
    PROJECT.write_text(with_address(PROJECT.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
