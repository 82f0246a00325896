import pytest

from benchtui import themes

NAMES = themes.names()
COLOURS = ("foreground", "bright", "muted", "good", "warning", "bad", "accent")


def luminance(colour: str) -> float:
    """Relative luminance by WCAG 2, from 0 to 1."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_default_comes_first_and_there_is_a_light_one() -> None:
    assert NAMES[0] == themes.DEFAULT
    assert any(not themes.load(name).dark for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("colour", COLOURS)
def test_text_can_be_read(name: str, colour: str) -> None:
    theme = themes.load(name)
    if theme.ansi:
        assert getattr(theme, colour).startswith("ansi_")
    else:
        least = 3.0 if colour == "accent" else 4.4
        assert contrast(getattr(theme, colour), theme.background) >= least


def test_dark_and_light_share_their_accent() -> None:
    assert themes.load("benchtui-dark").accent == themes.load("benchtui-light").accent


def test_an_unknown_theme_is_refused() -> None:
    with pytest.raises(KeyError):
        themes.load("../pyproject")


def test_the_ascii_signs_are_ascii() -> None:
    values = [getattr(themes.ASCII, field) for field in themes.Symbols.__slots__]
    assert all(value.isascii() for value in values)


@pytest.mark.parametrize("symbols", [themes.UNICODE, themes.ASCII])
def test_states_differ_in_shape_and_fills_begin_with_nothing(symbols: themes.Symbols) -> None:
    states = ("running", "queued", "ok", "oom", "skipped", "failed", "timeout", "interrupted")
    assert len({getattr(symbols, state) for state in states}) == len(states)
    assert symbols.up[0] == " "
