"""The bundled reviews are as long as reviews are, and without traces of the grammar that made them."""

import json
import re
from statistics import mean, quantiles

import pytest

from benchtui.engine.workloads.inputs.datasets import FILE


@pytest.fixture(scope="module")
def rows() -> list[dict[str, object]]:
    return [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def texts(rows: list[dict[str, object]]) -> list[str]:
    return [str(row["text"]) for row in rows]


def test_half_of_four_hundred_reviews_are_positive(rows: list[dict[str, object]]) -> None:
    assert [row["label"] for row in rows] == [0, 1] * 200


def test_length_distribution_matches_film_reviews(texts: list[str]) -> None:
    words = sorted(len(text.split()) for text in texts)
    percentiles = quantiles(words, n=100, method="inclusive")
    assert words[0] >= 20
    assert 90 <= percentiles[9] <= 100
    assert 165 <= percentiles[49] <= 180
    assert 225 <= mean(words) <= 240
    assert 550 <= percentiles[94] <= 620
    assert 1100 <= words[-1] <= 1300


def test_no_sentence_is_repeated_in_a_review(texts: list[str]) -> None:
    for text in texts:
        sentences = re.split(r"(?<=[.!?])\s+", text)
        assert len(sentences) == len(set(sentences)), text


def test_every_slot_is_filled_with_the_right_article(texts: list[str]) -> None:
    together = " ".join(texts)
    assert not re.search(r"[{}]", together)
    assert not re.search(r"\b[Aa] (?!one\b|uni|use)[aeiou]", together)
    assert not re.search(r"\b[Aa]n (?!hour|heir)[^aeiou]", together)


def test_file_stays_small() -> None:
    assert FILE.stat().st_size <= 800_000
