import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchtui.sessions.files import visible_json


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_is_printable_as_json_and_read_back_exactly(text: str) -> None:
    encoded = visible_json.encode({text: [text]}).decode()
    assert encoded.isprintable()
    assert json.loads(encoded) == {text: [text]}


@pytest.mark.parametrize(
    ("text", "encoded"),
    [
        ("naïve 中 😀", '"naïve 中 😀"'),
        ("\x1b\x9b\x7f\u202e\n", r'"\u001b\u009b\u007f\u202e\n"'),
        ("\U000e0001", r'"\udb40\udc01"'),
        ("a\udcff", r'"a\udcff"'),
    ],
)
def test_only_unprintable_characters_are_escaped(text: str, encoded: str) -> None:
    assert visible_json.encode(text).decode() == encoded


def test_records_are_encoded_as_msgspec_does() -> None:
    class Record(msgspec.Struct):
        share: float | None
        names: tuple[str, ...]

    for record in (Record(0.1, ("a",)), Record(None, ("\udcff",))):
        same = visible_json.encode(record)
        assert msgspec.json.decode(same.replace(rb"\udcff", b"x"), type=Record).share == record.share
