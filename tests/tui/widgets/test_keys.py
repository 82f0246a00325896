from benchtui.themes.symbols import UNICODE
from benchtui.tui.widgets.keys import key_lines

KEYS = (("s", "sort"), ("/", "filter"), ("b", "swap base"), ("y", "copy case"), ("?", "help"), ("q", "quit"))


def text(width: int) -> str:
    (line,) = key_lines(KEYS, width, 1, UNICODE)
    return "".join(piece for piece, _ in line)


def test_all_keys_are_shown_in_order_if_they_fit() -> None:
    assert text(80) == " s sort  / filter  b swap base  y copy case  ? help  q quit "


def test_help_and_quit_stay_where_others_are_left_out() -> None:
    assert text(40) == " s sort  / filter  ? help  q quit "
    assert text(17) == " ? help  q quit "
    assert all(len(text(width)) <= width for width in range(1, 80))
