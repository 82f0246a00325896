"""Permissions that the user has given on this machine: a file in the user's data folder, one line for each.

The file is what tells this user's own sessions from others: an engine runs nothing that isn't in it or allowed
right now, and adds what it was allowed. A forged session can therefore only run what the user has run before.
Deleting the file, or a line, revokes.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec
import platformdirs

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.files.input_file import read_plain
from benchtui.sessions.files.output_file import append_private
from benchtui.sessions.permissions.needed import Consent, Kind, Permission, PermissionNeededError
from benchtui.sessions.sweep import Record
from benchtui.sessions.timestamps import utc_now

_MOST_BYTES = 20_000_000
_WRITABLE_BY_OTHERS = 0o022


class Approval(Record, frozen=True, kw_only=True):
    """Line of the file."""

    allowed: str
    """Time in UTC, ISO 8601."""
    kind: Kind
    name: str
    function: str = ""
    """Function of a Python file. The value of a variable isn't stored, because it may be a secret."""
    sha256: str
    """Key of the permission, which covers the value."""


def path() -> Path:
    """Return the path of the file."""
    return Path(platformdirs.user_data_dir("benchtui")) / "allowed.jsonl"


def require(permissions: Iterable[Permission], consent: Consent) -> None:
    """Check that the user has allowed everything, before or with this consent, which is then remembered.

    Raises PermissionNeededError if something is missing.
    """
    new = missing(permissions)
    refused = tuple(permission for permission in new if permission.key not in consent)
    if refused:
        raise PermissionNeededError(refused)
    remember(new)


def missing(permissions: Iterable[Permission]) -> tuple[Permission, ...]:
    """Return the permissions that haven't been given on this machine."""
    wanted = tuple(permissions)
    allowed = _keys() if wanted else frozenset()
    return tuple(permission for permission in wanted if permission.key not in allowed)


def remember(permissions: Iterable[Permission]) -> None:
    """Add permissions to the file. Without a writable data folder, they are valid for this sweep only."""
    lines = [msgspec.json.encode(_approval(permission)) + b"\n" for permission in permissions]
    if lines:
        with suppress(BenchtuiError):
            append_private(path(), b"".join(lines))


def _approval(permission: Permission) -> Approval:
    function = permission.value if permission.kind == "code" else ""
    return Approval(
        allowed=utc_now(), kind=permission.kind, name=permission.name, function=function, sha256=permission.key
    )


def _keys() -> frozenset[str]:
    """Return the keys in the file; none if it isn't this user's alone. Invalid lines are skipped."""
    try:
        status = path().stat()
        if status.st_uid != os.getuid() or status.st_mode & _WRITABLE_BY_OTHERS:
            return frozenset()
        lines = read_plain(path(), _MOST_BYTES).splitlines()
    except (OSError, ValueError):
        return frozenset()
    allowed = set()
    for line in lines:
        with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            allowed.add(msgspec.json.decode(line, type=Approval).sha256)
    return frozenset(allowed)
