"""The file of permissions: what it remembers, and what it doesn't believe."""

import json
import os
from pathlib import Path

import pytest

from benchtui.sessions.permissions import approved
from benchtui.sessions.permissions.needed import NO_CONSENT, Permission, PermissionNeededError, keys

CODE = Permission(kind="code", name="/folder/step.py", value="make")
VARIABLE = Permission(kind="variable", name="LD_LIBRARY_PATH", value="/private/place")


@pytest.fixture(autouse=True)
def data(home: Path) -> Path:
    return home / "data" / "benchtui"


def test_what_was_allowed_once_is_not_asked_again() -> None:
    with pytest.raises(PermissionNeededError) as caught:
        approved.require([CODE, VARIABLE], keys([CODE]))
    assert caught.value.permissions == (VARIABLE,) and not approved.path().exists()
    approved.require([CODE, VARIABLE], caught.value.consent | keys([CODE]))
    approved.require([CODE, VARIABLE], NO_CONSENT)
    assert len(approved.path().read_text().splitlines()) == 2


def test_file_is_readable_private_and_contains_no_values() -> None:
    approved.remember([CODE, VARIABLE])
    lines = [json.loads(line) for line in approved.path().read_text().splitlines()]
    assert [(line["name"], line.get("function")) for line in lines] == [
        ("/folder/step.py", "make"),
        ("LD_LIBRARY_PATH", None),
    ]
    assert "/private/place" not in approved.path().read_text()
    assert approved.path().stat().st_mode & 0o777 == 0o600
    assert approved.path().parent.stat().st_mode & 0o777 == 0o700


def test_deleting_a_line_or_the_file_revokes() -> None:
    approved.remember([CODE, VARIABLE])
    lines = approved.path().read_text().splitlines(keepends=True)
    approved.path().write_text(lines[0])
    assert approved.missing([CODE, VARIABLE]) == (VARIABLE,)
    approved.path().unlink()
    assert approved.missing([CODE, VARIABLE]) == (CODE, VARIABLE)


def test_other_value_function_or_file_is_asked_again() -> None:
    approved.remember([CODE, VARIABLE])
    others = (
        Permission(kind="code", name="/folder/step.py", value="other"),
        Permission(kind="code", name="/elsewhere/step.py", value="make"),
        Permission(kind="variable", name="LD_LIBRARY_PATH", value="/elsewhere"),
        Permission(kind="variable", name="LD_PRELOAD", value="/private/place"),
    )
    assert approved.missing(others) == others


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_file_that_others_can_write_allows_nothing(mode: int) -> None:
    approved.remember([CODE])
    approved.path().chmod(mode)
    assert approved.missing([CODE]) == (CODE,)


def test_invalid_lines_are_skipped() -> None:
    approved.remember([CODE])
    with approved.path().open("ab") as file:
        file.write(b"\xff\n{}\n" + b"[" * 10_000 + b'\n{"allowed":"","kind":"code","name":"x","sha256":4}\n\n')
    approved.remember([VARIABLE])
    assert approved.missing([CODE, VARIABLE]) == ()


def test_file_that_is_no_file_allows_nothing(data: Path) -> None:
    data.mkdir(parents=True)
    os.mkfifo(approved.path())
    approved.require([CODE], keys([CODE]))
    assert approved.missing([CODE]) == (CODE,)


def test_unwritable_data_folder_only_forgets(data: Path) -> None:
    data.parent.mkdir(parents=True)
    data.write_text("not a folder")
    approved.require([CODE], keys([CODE]))
    with pytest.raises(PermissionNeededError):
        approved.require([CODE], NO_CONSENT)


def test_link_in_its_place_is_not_followed(data: Path, home: Path) -> None:
    data.mkdir(parents=True)
    victim = home / "victim"
    victim.write_text("kept\n")
    approved.path().symlink_to(victim)
    approved.remember([CODE])
    assert victim.read_text() == "kept\n"
