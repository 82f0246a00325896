"""Make the pictures of the HTML report in ``docs/pictures``: wide and narrow, light and dark.

``make page-pictures`` runs it; it needs Chromium.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
SIZES = {"wide": "1280,900", "narrow": "390,844"}
THEMES = ("light", "dark")
ROOT = '<html lang="en"'


def main() -> int:
    """Make all pictures of the page that is the first argument, in the folder that is the second."""
    page, folder = Path(sys.argv[1]).read_text(), Path(sys.argv[2]).resolve()
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        print(f"no browser: none of {', '.join(BROWSERS)} is installed", file=sys.stderr)
        return 1
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as scratch:
        common = (browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars")
        for theme in THEMES:
            shown = Path(scratch) / f"{theme}.html"
            shown.write_text(page.replace(ROOT, f'{ROOT} style="color-scheme: {theme}"', 1))
            for name, size in SIZES.items():
                picture = f"--screenshot={folder / f'report-{name}-{theme}.png'}"
                own = (f"--user-data-dir={scratch}/profile", f"--window-size={size}", picture)
                subprocess.run([*common, *own, shown.as_uri()], check=True, capture_output=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
