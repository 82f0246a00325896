"""One yes gives permissions to everything that was refused for them."""

from benchtui.sessions.permissions.needed import Permission, PermissionNeededError, keys
from benchtui.tui.live.explainer import PermissionQuestion


def test_a_yes_gives_the_permissions_and_retries_what_was_refused() -> None:
    question, retried = PermissionQuestion(), list[str]()
    code = Permission(kind="code", name="/elsewhere/own.py", value="make")
    error = PermissionNeededError((code,))
    assert "/elsewhere/own.py" in question.refuse("case 1", error, lambda: retried.append("profile"))
    question.refuse("remedies", error, lambda: retried.append("trial"))
    question.refuse("case 1", error, lambda: retried.append("profile"))
    assert question.take() == (code,)
    assert question.take() == ()
    assert retried == []
    question.allow((code,))
    assert question.consent == keys((code,))
    assert retried == ["profile", "trial"]
    question.allow(())
    assert retried == ["profile", "trial"]
