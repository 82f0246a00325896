"""Workflows, issue forms and the citation file are valid, and name the version of the code."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from benchtui.sessions.version import VERSION

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("github-workflows", ".github/workflows/*.yml"),
        ("github-workflows-require-timeout", ".github/workflows/*.yml"),
        ("github-actions", ".github/actions/*/action.yml"),
        ("github-issue-forms", ".github/ISSUE_TEMPLATE/[!c]*.yml"),
        ("github-issue-config", ".github/ISSUE_TEMPLATE/config.yml"),
        ("citation-file-format", "CITATION.cff"),
    ],
)
def test_release_files_are_valid(schema: str, files: str) -> None:
    found = sorted(ROOT.glob(files))
    assert found
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *found],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout


def test_manual_pages_are_those_of_the_commands(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "packaging/man.py", tmp_path], check=True, timeout=60)
    made, kept = (
        {path.name: path.read_text("utf-8") for path in folder.glob("*.1")}
        for folder in (tmp_path, ROOT / "packaging/man")
    )
    assert made == kept, "run `make man`"


def test_version_is_the_same_everywhere() -> None:
    assert f"version: {VERSION}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    assert f'version: "{VERSION}"' in (ROOT / "packaging/conda/recipe.yaml").read_text("utf-8")


def test_conda_recipe_has_the_dependencies_of_the_light_install() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    recipe = (ROOT / "packaging/conda/recipe.yaml").read_text("utf-8").replace("matplotlib-base", "matplotlib")
    # conda has builds of all versions for newer Pythons, too
    needed = [each.partition(";")[0] for each in project["dependencies"] if "python_version >=" not in each]
    missing = [each for each in needed if each.replace(">=", " >=") not in recipe]
    assert not missing
