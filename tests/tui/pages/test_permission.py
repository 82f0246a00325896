"""The page that asks for permission, with hostile and with very many permissions."""

from benchtui.sessions.permissions.needed import Permission
from benchtui.tui.drawing.styled_text import width_of
from benchtui.tui.pages.questions import MOST_SHOWN, permission_lines

PLANTED = "\x1b]0;x\x07\x9b31m\r\n\u202e[bold]"


def test_hostile_names_and_values_are_shown_as_text_within_the_width() -> None:
    permissions = [
        Permission(kind="code", name=f"/{PLANTED}/{'long/' * 200}evil.py", value=PLANTED),
        Permission(kind="variable", name=PLANTED, value=PLANTED + "v" * 100_000),
        Permission(kind="variable", name="WIDE", value="測試" * 30),
    ]
    lines = permission_lines(PLANTED, permissions, 40)
    text = "".join(part for line in lines for part, _ in line)
    assert text.isprintable() and "evil.py" in text
    assert all(width_of(line) <= 40 for line in lines) and len(lines) < 40


def test_thousands_of_variables_are_counted() -> None:
    permissions = [
        Permission(kind="variable", name=f"N{number}", value="1") for number in range(MOST_SHOWN + 4321)
    ]
    text = ["".join(part for part, _ in line) for line in permission_lines("s", permissions, 80)]
    assert "  and 4,321 more" in text and text[-1].startswith("Allow this")
