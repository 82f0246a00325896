"""Permission question: what work in the background isn't allowed to run or set, and what a yes starts again."""

from collections.abc import Callable, Iterable

from benchtui.sessions.permissions.needed import (
    NO_CONSENT,
    Permission,
    PermissionNeededError,
    keys,
    summary,
)


class PermissionQuestion:
    """Permissions of one session's work in the background: those given, and those that it needs."""

    def __init__(self) -> None:
        self.consent = NO_CONSENT
        """Permissions that were given."""
        self._needed: tuple[Permission, ...] = ()
        self._refused: dict[str, Callable[[], object]] = {}

    def refuse(self, work: str, error: PermissionNeededError, retry: Callable[[], object]) -> str:
        """Ask for permissions, and retry this work once they are given. Return the problem."""
        self._needed = error.permissions
        self._refused[work] = retry
        return f"not allowed on this machine yet: {summary(error.permissions)}"

    def take(self) -> tuple[Permission, ...]:
        """Return the permissions to ask for, once for each refusal; empty if none are needed."""
        needed, self._needed = self._needed, ()
        return needed

    def allow(self, permissions: Iterable[Permission]) -> None:
        """Give permissions, and retry what was refused for them."""
        self.consent |= keys(permissions)
        refused, self._refused = self._refused, {}
        for retry in refused.values():
            retry()
