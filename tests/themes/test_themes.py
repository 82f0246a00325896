import colorsys

import pytest

from benchtui import themes
from benchtui.themes import symbols, user_themes

NAMES = themes.names()
OF_TEXT = ("foreground", "bright", "muted", "accent", "good", "warning", "bad")
OF_LINES = ("faint", "soft")
"""Of axes, tracks and fills: told apart by their shape, never read."""


def luminance(colour: str) -> float:
    """Relative luminance by WCAG 2, from 0 to 1."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def hue(colour: str) -> float:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return colorsys.rgb_to_hls(red, green, blue)[0]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_default_comes_first_and_there_is_a_light_one() -> None:
    assert NAMES[0] == themes.DEFAULT
    assert any(not themes.load(name).dark for name in NAMES)


PAINTED = [name for name in NAMES if not themes.load(name).ansi]


@pytest.mark.parametrize("name", PAINTED)
def test_text_can_be_read(name: str) -> None:
    theme = themes.load(name)
    colours = {role: getattr(theme, role) for role in OF_TEXT} | {
        f"line {n}": c for n, c in enumerate(theme.lines)
    }
    low = {role: contrast(colour, theme.background) for role, colour in colours.items()}
    assert min(low.values()) >= 4.5, low


@pytest.mark.parametrize("name", PAINTED)
def test_lines_and_fills_can_be_seen(name: str) -> None:
    theme = themes.load(name)
    assert min(contrast(getattr(theme, role), theme.background) for role in OF_LINES) >= 3


@pytest.mark.parametrize("name", PAINTED)
def test_the_chosen_row_can_be_read(name: str) -> None:
    theme = themes.load(name)
    assert (
        min(contrast(getattr(theme, role), theme.cursor) for role in ("foreground", "bright", "muted")) >= 4.5
    )
    # states in colour have a sign and a word as well
    assert min(contrast(getattr(theme, role), theme.cursor) for role in ("good", "warning", "bad")) >= 3


@pytest.mark.parametrize("name", [name for name in NAMES if name not in PAINTED])
def test_the_terminals_own_colours_stay_its_own(name: str) -> None:
    theme = themes.load(name)
    values = [*(getattr(theme, role) for role in themes.COLOURS), *theme.lines]
    assert all(value in user_themes.ANSI for value in values)


@pytest.mark.parametrize("name", NAMES)
def test_a_charts_lines_have_colours_of_their_own(name: str) -> None:
    assert len(set(themes.load(name).lines)) == themes.LINES


def test_dark_and_light_share_the_hue_of_their_accent() -> None:
    dark, light = (hue(themes.load(name).accent) for name in (themes.DEFAULT, themes.LIGHT))
    assert dark == pytest.approx(light, abs=0.02)


def test_an_unknown_theme_is_refused() -> None:
    with pytest.raises(KeyError):
        themes.load("../pyproject")


def test_the_ascii_signs_are_ascii() -> None:
    values = [getattr(symbols.ASCII, field) for field in symbols.Symbols.__slots__]
    assert all(value.isascii() for value in values)


@pytest.mark.parametrize("symbols", [symbols.UNICODE, symbols.ASCII])
def test_states_differ_in_shape_and_fills_begin_with_nothing(symbols: symbols.Symbols) -> None:
    states = ("running", "queued", "ok", "oom", "skipped", "failed", "timeout", "interrupted")
    assert len({getattr(symbols, state) for state in states}) == len(states)
    assert symbols.up[0] == " "
