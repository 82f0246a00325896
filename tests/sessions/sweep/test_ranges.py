import re

import pytest

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sweep.ranges import MOST_VALUES, Words, one_of, whole_numbers, words


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (8, (8,)),
        ("8", (8,)),
        ([8, 1, 4], (8, 1, 4)),
        ("8, 1,4", (8, 1, 4)),
        ([1, "4", "8..16*2"], (1, 4, 8, 16)),
        ("1..4", (1, 2, 3, 4)),
        ("3..3", (3,)),
        ("1..10+3", (1, 4, 7, 10)),
        ("1..9+3", (1, 4, 7)),
        ("1..64*2", (1, 2, 4, 8, 16, 32, 64)),
        ("3..100*3", (3, 9, 27, 81)),
        (" 1 .. 8 * 2 ", (1, 2, 4, 8)),
        ("1..4*2,32..40+8", (1, 2, 4, 32, 40)),
        (10**9, (10**9,)),
        ("500000000..1000000000*2", (500_000_000, 1_000_000_000)),
    ],
)
def test_every_form_of_whole_numbers_expands(written: object, meant: tuple[int, ...]) -> None:
    assert whole_numbers(written, "batch_size") == meant


@pytest.mark.parametrize(
    "value",
    [
        0,
        -1,
        "0",
        "-1",
        1.5,
        "1.5",
        True,
        None,
        "",
        "x",
        "1 2..4",
        "1...4",
        "..4",
        "1..",
        "1..4-1",
        "1..4/2",
        "1..4**2",
        "٣",
        "1..٣",
        "0..4",
        "1e3",
        {},
        [[1]],
        10**9 + 1,
        "1..1000000001",
        "9" * 5000,
        "1.." + "9" * 5000,
    ],
    ids=lambda value: repr(value)[:20],
)
def test_what_is_no_whole_number_is_refused_with_what_is_allowed(value: object) -> None:
    with pytest.raises(
        BenchtuiError, match=r'^axes\.batch_size: .* is not a whole number from 1 to .*"a\.\.b\*factor"$'
    ):
        whole_numbers([value], "axes.batch_size")


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("8..1", "'8..1': start is larger than end"),
        ("1..8+0", "'1..8+0' never advances"),
        ("1..8*1", "'1..8*1' never advances"),
        ("1..8*0", "'1..8*0' never advances"),
        ("auto", "'auto' is not a whole number"),
        ([], "the list is empty"),
        ("4,,8", "'' is not a whole number"),
    ],
)
def test_a_range_that_can_not_be_is_refused_with_its_reason(value: object, why: str) -> None:
    with pytest.raises(BenchtuiError, match=rf"^batch_size: {re.escape(why)}"):
        whole_numbers(value, "batch_size")


def test_a_slip_of_the_keyboard_does_not_fill_the_memory() -> None:
    with pytest.raises(BenchtuiError, match=r"1,000,000,000 values; at most 10,000"):
        whole_numbers("1..1000000000", "batch_size")
    with pytest.raises(BenchtuiError, match=r"more than 100,000 values, repeated ones included"):
        whole_numbers(["1..10000"] * 50_000, "batch_size")


def test_the_most_values_are_allowed_and_repetitions_do_not_count() -> None:
    everything = f"1..{MOST_VALUES}"
    assert len(whole_numbers([everything, everything], "batch_size")) == MOST_VALUES
    with pytest.raises(BenchtuiError, match="10,001 values; at most 10,000 are allowed"):
        whole_numbers([everything, MOST_VALUES + 1], "batch_size")


@pytest.mark.parametrize("value", [3, [3], ["a", None], [["a"]], {"a": 1}])
def test_what_is_no_text_is_refused(value: object) -> None:
    with pytest.raises(BenchtuiError, match=r"^precision: .* is not text; write it in quotes$"):
        words(value, "precision", lambda word, _: word)


def test_number_that_no_quotes_would_allow_is_answered_with_what_is_allowed() -> None:
    with pytest.raises(BenchtuiError, match=r"^precision: '3' is not recognized; allowed: a$"):
        words(3, "precision", one_of(Words(("a",))))


def test_an_unknown_word_is_answered_with_the_nearest_and_the_known() -> None:
    check = one_of(Words(("fp32", "amp-fp16")))
    assert check("fp32", "precision") == "fp32"
    with pytest.raises(BenchtuiError) as caught:
        check("amp-fp61", "precision")
    assert check("AMP_FP16", "precision") == "amp-fp16"
    assert str(caught.value) == (
        "precision: 'amp-fp61' is not recognized (did you mean 'amp-fp16'?); allowed: fp32, amp-fp16"
    )
