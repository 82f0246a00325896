import colorsys

import pytest

from benchtui import themes
from benchtui.themes import symbols, user_themes

NAMES = themes.names()
OF_TEXT = ("foreground", "bright", "muted", "accent", "good", "warning", "bad")
OF_LINES = ("faint", "soft")
"""Roles of axes, tracks and fills, which need less contrast because they are recognized by shape."""


def luminance(color: str) -> float:
    """Return the relative luminance by WCAG 2, from 0 to 1."""
    channels = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def hue(color: str) -> float:
    red, green, blue = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return colorsys.rgb_to_hls(red, green, blue)[0]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_default_theme_comes_first_and_a_light_one_exists() -> None:
    assert NAMES[0] == themes.DEFAULT
    assert any(not themes.load(name).dark for name in NAMES)


PAINTED = [name for name in NAMES if not themes.load(name).ansi]


@pytest.mark.parametrize("name", PAINTED)
def test_text_has_enough_contrast(name: str) -> None:
    theme = themes.load(name)
    colors = {role: getattr(theme, role) for role in OF_TEXT} | {
        f"line {n}": c for n, c in enumerate(theme.lines)
    }
    low = {role: contrast(color, theme.background) for role, color in colors.items()}
    assert min(low.values()) >= 4.5, low


@pytest.mark.parametrize("name", PAINTED)
def test_lines_and_fills_have_enough_contrast(name: str) -> None:
    theme = themes.load(name)
    assert min(contrast(getattr(theme, role), theme.background) for role in OF_LINES) >= 3


@pytest.mark.parametrize("name", PAINTED)
def test_selected_row_has_enough_contrast(name: str) -> None:
    theme = themes.load(name)
    assert (
        min(contrast(getattr(theme, role), theme.cursor) for role in ("foreground", "bright", "muted")) >= 4.5
    )
    # colored states also have a symbol and a word
    assert min(contrast(getattr(theme, role), theme.cursor) for role in ("good", "warning", "bad")) >= 3


@pytest.mark.parametrize("name", [name for name in NAMES if name not in PAINTED])
def test_terminal_theme_uses_only_ansi_colors(name: str) -> None:
    theme = themes.load(name)
    values = [*(getattr(theme, role) for role in themes.COLORS), *theme.lines]
    assert all(value in user_themes.ANSI for value in values)


@pytest.mark.parametrize("name", NAMES)
def test_chart_lines_have_distinct_colors(name: str) -> None:
    assert len(set(themes.load(name).lines)) == themes.LINES


def test_dark_and_light_themes_share_the_accent_hue() -> None:
    dark, light = (hue(themes.load(name).accent) for name in (themes.DEFAULT, themes.LIGHT))
    assert dark == pytest.approx(light, abs=0.02)


def test_unknown_theme_is_rejected() -> None:
    with pytest.raises(KeyError):
        themes.load("../pyproject")


def test_ascii_symbols_are_ascii() -> None:
    values = [getattr(symbols.ASCII, field) for field in symbols.Symbols.__slots__]
    assert all(value.isascii() for value in values)


@pytest.mark.parametrize("symbols", [symbols.UNICODE, symbols.ASCII])
def test_states_differ_in_shape_and_fill_levels_start_empty(symbols: symbols.Symbols) -> None:
    states = ("running", "queued", "ok", "oom", "skipped", "failed", "timeout", "interrupted")
    assert len({getattr(symbols, state) for state in states}) == len(states)
    assert symbols.up[0] == " "
