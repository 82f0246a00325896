"""``--trust``, and the question about code and variables that the user hasn't allowed on this machine yet."""

import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

import click

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.permissions.needed import (
    NO_CONSENT,
    Consent,
    Permission,
    PermissionNeededError,
    keys,
    needed_permissions,
)
from benchtui.tui.cli.consent.confirm import require_yes
from benchtui.tui.cli.options import printable

MOST_SHOWN = 20
"""Permissions that a question lists."""

Result = TypeVar("Result")

trust_option = click.option(
    "--trust",
    is_flag=True,
    help="Allow the code and the variables that the sweep or session names; remembered on this machine.",
)


def with_consent(start: Callable[[Consent], Result], trust: bool, typed: Consent = NO_CONSENT) -> Result:
    """Start something with the user's consent to what it runs and sets.

    ``typed`` is what the user has typed on this command line. If more is needed, print it, and go on if
    ``trust`` is set or the user says yes. The engine decides what is needed, and runs nothing before.

    Raises:
        PermissionNeededError: if there is no terminal to ask on.
        click.Abort: if the user doesn't say yes.
    """
    try:
        return start(typed)
    except PermissionNeededError as error:
        _require_consent(error, trust)
        return start(typed | error.consent)


def typed_consent(overrides: Sequence[str]) -> Consent:
    """Return the consent that words after ``--set`` are: the code and the variables that the user typed."""
    if not overrides:
        return NO_CONSENT
    from benchtui.sessions.sweep.toml_reader import parse_sweep  # not needed by most commands

    try:
        return keys(needed_permissions(parse_sweep('model = "typed"', "--set", overrides)))
    except BenchtuiError:
        return NO_CONSENT  # no sweep without its file: the words have to be allowed as those of the file


def _require_consent(error: PermissionNeededError, trust: bool) -> None:
    if not trust and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise error
    click.echo("code or variables that you haven't allowed on this machine yet:", err=True)
    for line in permission_lines(error.permissions):
        click.echo(f"  {printable(line)}", err=True)
    if not trust:
        require_yes("allow this, now and from now on?")


def permission_lines(permissions: Sequence[Permission], most: int = MOST_SHOWN) -> list[str]:
    """Return a line for each permission, and one with the number of those beyond ``most``."""
    more = len(permissions) - most
    return [*map(str, permissions[:most]), *([f"and {more:,} more"] if more > 0 else [])]
