"""Permissions that a sweep needs: the code that it names, and the environment variables that it sets."""

import json
import os
from collections.abc import Collection, Iterable, Iterator
from typing import Literal

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sanitize import LONGEST_VALUE, quoted, shortened, visible
from benchtui.sessions.secrets import MASK, is_mask, masked_variable
from benchtui.sessions.sweep import TASKS, Config, Record, Sweep, custom_task, named_values
from benchtui.sessions.sweep.options import ATTENTIONS, KERNEL

Consent = frozenset[str]
"""Keys of the permissions that the user has just given, by typing the words or by answering a question."""
NO_CONSENT: Consent = frozenset()

Kind = Literal["code", "kernel", "cluster", "variable"]


class Permission(Record, frozen=True, kw_only=True):
    """Permission to run one piece of code, or to set one variable to one value."""

    kind: Kind
    name: str
    """Absolute path of a Python file, attention kernel on the hub, address of a Ray cluster, or a variable."""
    value: str = ""
    """Function of the file, or the variable's value as a session records it."""

    @property
    def key(self) -> str:
        """SHA-256 that stands for the permission, so that no value has to be stored."""
        import hashlib  # loads 3.5 MB of OpenSSL

        return hashlib.sha256(json.dumps([self.kind, self.name, self.value]).encode()).hexdigest()

    def __str__(self) -> str:
        name = shortened(visible(self.name))
        match self.kind:
            case "code":
                return f"run function {visible(self.value, LONGEST_VALUE)} of {name}"
            case "kernel":
                return f"run attention kernel {name} from the hub"
            case "cluster":
                return f"connect to the Ray cluster {name}, which can run code here"
        return f"set {name}={visible(self.value, LONGEST_VALUE)}"


class PermissionNeededError(BenchtuiError):
    """Raised before anything runs or is set that the user hasn't allowed on this machine."""

    def __init__(self, permissions: tuple[Permission, ...]) -> None:
        super().__init__(
            f"not allowed on this machine yet: {summary(permissions)}; to allow this, use --trust, which is"
            " remembered"
        )
        self.permissions = permissions

    @property
    def consent(self) -> Consent:
        """Consent to everything that is missing."""
        return keys(self.permissions)


def needed_permissions(sweep: Sweep, configs: Iterable[Config] = ()) -> tuple[Permission, ...]:
    """Return what a sweep and all its cases may run or set; code first.

    ``configs`` are cases beyond the sweep's own plan: those that a session records, or cases to add. Bundled
    tasks, presets and demos need nothing. See SECURITY.md for what else can't run code. Raises BenchtuiError if
    the task is neither built in nor a function of a Python file.
    """
    cases = tuple(configs)
    lines = dict.fromkeys((*sweep.axes.env, *(config.env for config in cases)))
    attentions = dict.fromkeys((*sweep.axes.attention, *(config.attention for config in cases)))
    needed = (
        *_code(sweep),
        *_kernels(attentions),
        *_variables(sweep.env.items()),
        *(variable for line in lines for variable in _variables(_texts(line).items())),
    )
    return tuple(dict.fromkeys(needed))


def keys(permissions: Iterable[Permission]) -> Consent:
    """Return the keys of permissions."""
    return frozenset(permission.key for permission in permissions)


def summary(permissions: Collection[Permission], most: int = 6) -> str:
    """Describe permissions in one line, at most so many of them."""
    shown = [str(permission) for permission in tuple(permissions)[:most]]
    more = len(permissions) - len(shown)
    return ", ".join([*shown, f"and {more:,} more"] if more else shown)


def recorded_value(name: str, value: str) -> str:
    """Return a variable's value as sessions record it, with secrets masked.

    Live and recorded sweeps both pass through here, so that a recorded session is covered by the permission
    that was given for its variables, and no secret is shown or sent. Masking twice must change nothing.
    """
    recorded = masked_variable(name, value)
    return MASK if is_mask(recorded) else recorded  # values of one name have numbered masks


def _code(sweep: Sweep) -> Iterator[Permission]:
    if own := custom_task(sweep.task):
        yield Permission(kind="code", name=_absolute(own[0]), value=own[1])
    elif sweep.task not in TASKS:
        raise BenchtuiError(
            f"task {quoted(sweep.task)}: neither a step of your own (file.py:function) nor a built-in task:"
            f" {', '.join(TASKS)}"
        )
    if sweep.run.executor == "ray" and sweep.run.address != "auto":
        yield Permission(kind="cluster", name=sweep.run.address)


def _kernels(attentions: Iterable[str]) -> Iterator[Permission]:
    """Yield a permission for every attention that isn't built in: transformers fetches it from the hub."""
    for attention in attentions:
        if attention not in ATTENTIONS:
            yield Permission(kind="kernel", name=attention.removeprefix(KERNEL))


def _variables(values: Iterable[tuple[str, str]]) -> Iterator[Permission]:
    for name, value in values:
        yield Permission(kind="variable", name=name, value=recorded_value(name, value))


def _texts(line: str) -> dict[str, str]:
    """Parse the variables of a case. Raises BenchtuiError if they are malformed, as only forged ones are."""
    try:
        return named_values.texts(line)
    except ValueError as error:
        raise BenchtuiError(f"env {quoted(line)}: {error}") from error


def _absolute(file: str) -> str:
    """Return the real path of a file, as the worker resolves it. Bytes that aren't UTF-8 are escaped."""
    try:
        path = os.path.realpath(file)
    except ValueError:  # contains NUL, and no such file can exist
        path = os.path.abspath(file)
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
