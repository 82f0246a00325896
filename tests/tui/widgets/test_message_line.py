from benchtui.themes.symbols import UNICODE
from benchtui.tui.widgets.message_line import Log, log_lines


def texts(log: Log, width: int, height: int) -> list[str]:
    return ["".join(text for text, _ in row) for row in log_lines(log, width, height, UNICODE)]


def test_a_word_that_is_too_long_ends_with_an_ellipsis() -> None:
    log = Log(word="one two three four")
    assert texts(log, 8, 3) == ["one two", "three", "four"]
    assert texts(log, 8, 2) == ["one two", "three f…"]
    assert texts(log, 8, 1) == ["one two…"]
    assert texts(log, 8, 0) == []


def test_an_error_stands_below_the_word() -> None:
    log = Log(word="one two three", error="no such file or directory")
    assert texts(log, 8, 2) == ["one two…", "no such…"]
    assert texts(log, 8, 1) == ["no such…"]
