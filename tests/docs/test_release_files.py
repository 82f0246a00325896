"""Workflows, issue forms and the citation file are valid; what they use is pinned; versions agree."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchtui.sessions.version import VERSION

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("github-workflows", ".github/workflows/*.yml"),
        ("github-workflows-require-timeout", ".github/workflows/*.yml"),
        ("github-actions", ".github/actions/*/action.yml"),
        ("dependabot", ".github/dependabot.yml"),
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


def test_description_of_the_package_has_no_relative_link() -> None:
    command = [sys.executable, "setup.py", "--long-description"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    links = re.findall(r"\]\((\S+?)\)", done.stdout)
    files = re.compile(rf"https://[\w.]+/[\w-]+/benchtui/(?:blob/)?v{VERSION}/([^#]+)(#.+)?")
    assert len(links) > 30
    assert [link for link in links if not (ROOT / files.fullmatch(link)[1]).is_file()] == []


def test_conda_recipe_has_the_dependencies_of_the_light_install() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    recipe = (ROOT / "packaging/conda/recipe.yaml").read_text("utf-8")
    # conda has builds of all versions for newer Pythons, too
    needed = [each.partition(";")[0] for each in project["dependencies"] if "python_version >=" not in each]
    missing = [each for each in needed if each.replace(">=", " >=") not in recipe]
    assert not missing


USES = re.compile(r"uses:\s*(\S+)(.*)")
PINNED = re.compile(r"[\w.-]+(/[\w.-]+)+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
PUBLISHING = {"release.yml": {"attest", "pypi", "image"}, "docs.yml": {"publish"}}
"""Jobs that may ask for a token of identity, by workflow."""


def workflows() -> dict[str, dict[str, Any]]:
    found = sorted((ROOT / ".github/workflows").glob("*.yml"))
    return {path.name: yaml.safe_load(path.read_text("utf-8")) for path in found}


def test_actions_are_pinned_by_commit_and_named_by_version() -> None:
    found = [
        f"{name}{comment}"
        for path in sorted((ROOT / ".github").rglob("*.yml"))
        for name, comment in USES.findall(path.read_text("utf-8"))
        if not name.startswith("./")
    ]
    assert len(found) > 20
    assert [each for each in found if not PINNED.fullmatch(each)] == []
    owners = {each: each.partition("@")[0].split("/")[1] for each in found}
    assert len(set(found)) - 1 == len(set(owners.values())), "one version of each; cache has two parts"


def test_only_jobs_that_publish_get_a_token_of_identity() -> None:
    for name, workflow in workflows().items():
        assert "id-token" not in workflow["permissions"]
        jobs = {job for job, each in workflow["jobs"].items() if "id-token" in each.get("permissions", {})}
        assert jobs == PUBLISHING.get(name, set())
        scripts = [step for job in jobs for step in workflow["jobs"][job]["steps"] if "run" in step]
        assert scripts == [], "they run no code of the project"


def test_checkouts_keep_no_credentials_and_a_release_no_cache() -> None:
    for name, workflow in workflows().items():
        steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
        for step in steps:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False
        cached = [step for step in steps if "cache" in str(step)]
        assert name != "release.yml" or cached == []


def test_base_of_the_action_is_stored_only_by_trusted_events() -> None:
    action = yaml.safe_load((ROOT / ".github/actions/benchtui/action.yml").read_text("utf-8"))
    (storing,) = (step["if"] for step in action["runs"]["steps"] if step.get("id") == "next")
    assert """contains(fromJSON('["push", "schedule", "workflow_dispatch"]'), github.event_name)""" in storing


def test_release_is_built_with_pinned_and_hashed_tools() -> None:
    lines = (ROOT / "packaging/build-requirements.txt").read_text("utf-8").splitlines()
    pins = [line.split(" --hash=sha256:") for line in lines if not line.startswith("#")]
    tested = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    assert all(pin in tested and re.fullmatch("[0-9a-f]{64}", digest) for pin, digest in pins)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    needed = {re.split(r"\W", each)[0] for each in project["build-system"]["requires"]} | {"build"}
    assert needed <= {pin.partition("==")[0] for pin, _ in pins}


def test_image_has_a_base_by_digest_tested_versions_and_a_plain_user() -> None:
    text = (ROOT / "Dockerfile").read_text("utf-8")
    assert re.search(r"^ARG BASE=\S+:\S+@sha256:[0-9a-f]{64}$", text, re.MULTILINE)
    assert "pip install --no-cache-dir -c /tmp/constraints.txt" in text
    (user,) = re.findall(r"^USER (\d+):\d+$", text, re.MULTILINE)
    assert int(user) > 0
