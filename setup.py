"""Builds the package. Links of the README, which describes it, lead to the repository from an index, too."""

import re
import tomllib
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent


def description() -> str:
    """Return the README. Its files are those of the release's tag."""
    address = tomllib.loads((ROOT / "packaging/project.toml").read_text("utf-8"))["repository"]
    (version,) = re.findall(r'^VERSION = "(.+)"$', (ROOT / "sessions/version.py").read_text("utf-8"), re.M)
    pictures = address.replace("//github.com/", "//raw.githubusercontent.com/")
    text = (ROOT / "README.md").read_text("utf-8")
    text = re.sub(r"(!\[[^]\n]*\]\()(?!https?:)", rf"\1{pictures}/v{version}/", text)
    return re.sub(r"((?<!!)\[[^]\n]*\]\()(?!https?:)", rf"\1{address}/blob/v{version}/", text)


setup(  # which leaves this script out of the package, by its name
    script_name="setup.py", long_description=description(), long_description_content_type="text/markdown"
)
