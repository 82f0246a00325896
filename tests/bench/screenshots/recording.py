"""Record the moving picture of the README: the demo in 20 s, as one SVG whose frames follow each other."""

import asyncio
import re
import sys
import tempfile
from pathlib import Path

from bench.screenshots.make import shown
from pictured import until_unchanged

SIZE = (100, 30)
THEME = "benchtui-dark"
SCENES = (
    ("", 2.0),  # Home
    ("d alt+1", 1.0),  # the Monitor, as cases end
    *((f"alt+{tenth}", 1.0) for tenth in (2, 4, 5, 7, 8)),
    ("ctrl+g 1 0 0 percent_sign enter", 5.0),  # the end
    ("3", 3.0),  # the heatmap
    ("2 W", 4.0),  # why the winner's step takes its time
)
"""Keys, and the seconds for which what they show stays."""
FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


async def frames(folder: Path) -> list[str]:
    """Return a picture of each scene."""
    pictures = []
    async with shown(None, None, THEME, folder, SIZE) as pilot:
        for keys, _ in SCENES:
            await pilot.press(*keys.split())
            await until_unchanged(pilot)
            pictures.append(pilot.app.export_screenshot(title="benchtui"))
    return pictures


def joined(pictures: list[str]) -> str:
    """Return one SVG that shows each picture for its time, again and again."""
    box = re.search(r'viewBox="[^"]*"', pictures[0])
    whole_s = sum(seconds for _, seconds in SCENES)
    rules, parts, at_s = [".frame { visibility: hidden; }"], [], 0.0
    for number, (picture, (_, seconds)) in enumerate(zip(pictures, SCENES, strict=True)):
        start, end = (100 * second / whole_s for second in (at_s, at_s + seconds))
        shown_then = f"{start:.4g}% {{ visibility: visible; }} {end:.4g}% {{ visibility: hidden; }}"
        rules += [
            f"@keyframes f{number} {{ 0% {{ visibility: hidden; }} {shown_then} }}"
            if number
            else f"@keyframes f0 {{ {shown_then} }}",
            f".f{number} {{ animation: f{number} {whole_s:g}s step-end infinite; }}",
        ]
        parts.append(FONTS.sub("", picture).replace('class="rich-terminal"', f'class="frame f{number}"', 1))
        at_s += seconds
    style = "\n".join(rules)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {box[0] if box else ""}>'
    return f"{head}\n<style>\n{style}\n</style>\n{''.join(parts)}</svg>\n"


def main(target: Path) -> None:
    """Write the recording."""
    with tempfile.TemporaryDirectory() as folder:
        target.write_text(joined(asyncio.run(frames(Path(folder)))), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
