"""Write ``sample.jsonl``, the bundled reviews, from ``grammar.txt``, the same in every run.

Run ``python tests/bench/recording/make_sample.py``.
"""

import json
import random
import re
from itertools import pairwise
from pathlib import Path

GRAMMAR = Path(__file__).with_name("grammar.txt")
SAMPLE = Path(__file__).parents[3] / "engine" / "workloads" / "inputs" / "data" / "sample.jsonl"
SEED = 20261121
REVIEWS = 400

LENGTHS = ((0, 27), (10, 94), (25, 126), (50, 170), (75, 274), (90, 442), (95, 584), (99, 905), (100, 1200))
"""Pairs of percentile and word count, close to those of real film reviews. Interpolated linearly."""

MIDDLE = ("plot", "acting", "direction", "camera", "music", "pacing", "dialogue", "comparison", "anecdote")
LATE = ("craft", "ending")

CONTRACTIONS = {
    "I am": "I'm",
    "I have": "I've",
    "I would": "I'd",
    "it is": "it's",
    "It is": "It's",
    "there is": "there's",
    "There is": "There's",
    "That is": "That's",
    "do not": "don't",
    "does not": "doesn't",
    "did not": "didn't",
    "is not": "isn't",
    "was not": "wasn't",
    "could not": "couldn't",
    "cannot": "can't",
    "will not": "won't",
}
LONG_FORMS = re.compile(rf"\b({'|'.join(CONTRACTIONS)})(?= \w)")
BEFORE_VOWEL = re.compile(r"\b([Aa])(?= (?:(?!one\b|uni|use)[aeiou]|hour))")
SLOT = re.compile(r"\{(\w+)\}")

Grammar = dict[str, list[str]]


def read_grammar() -> Grammar:
    """Read the pools and the topics' sentences of ``grammar.txt``, by name."""
    grammar: Grammar = {}
    for line in GRAMMAR.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            entries = grammar[line[1:-1]] = []
        elif line and not line.startswith("#"):
            entries.append(line)
    return grammar


def film(grammar: Grammar, rng: random.Random) -> dict[str, str]:
    """Draw the facts of one review: a film, its story and people, and two films to compare it with."""
    title, other, other2 = rng.sample(grammar["title"], 3)
    hero, rival, child = rng.sample(grammar["name"], 3)
    first_names = rng.sample(grammar["man"] + grammar["woman"], 4)
    lead, co, director, writer = rng.sample(grammar["surname"], 4)
    year = rng.randint(1958, 2004)
    return {
        "title": title,
        "other": other,
        "other2": other2,
        "hero": hero,
        "rival": rival,
        "child": child,
        "lead": f"{first_names[0]} {lead}",
        "lead_last": lead,
        "co": f"{first_names[1]} {co}",
        "co_last": co,
        "director": f"{first_names[2]} {director}",
        "director_last": director,
        "writer": f"{first_names[3]} {writer}",
        "year": str(year),
        "earlier": str(year - rng.randint(6, 25)),
        "later": str(year + rng.randint(8, 20)),
        "decade": f"the {(year - rng.randint(10, 30)) // 10}0s",
        "minutes": str(rng.randint(78, 181)),
        "high_score": str(rng.randint(7, 10)),
        "low_score": str(rng.randint(1, 4)),
        **{name: rng.choice(grammar[name]) for name in ("town", "genre", "job", "trouble", "object")},
    }


class Reviewer:
    """Author of one review: one film, one style, no repeated sentence."""

    def __init__(self, grammar: Grammar, rng: random.Random, *, likes: bool) -> None:
        self._grammar = grammar
        self._rng = rng
        self._mood = " +" if likes else " -"
        self._facts = film(grammar, rng)
        self._decks: Grammar = {}
        self._contracts = rng.random() < 0.6
        self._dash = rng.choice((" -- ", " - ", " — "))

    def write(self, words: int) -> str:
        """Return a review of about ``words`` words."""
        opening = self._paragraph("opening", words // 8)
        verdict = self._paragraph("verdict", min(words // 8, 24))
        body = self._body(words - count_words(opening) - count_words(verdict))
        gap = "\n\n" if words > 110 and self._rng.random() < 0.7 else " "
        return gap.join([opening, *body, verdict])

    def _body(self, words: int) -> list[str]:
        topics = self._rng.sample(MIDDLE, len(MIDDLE)) + self._rng.sample(LATE, len(LATE))
        chosen = sorted(self._rng.sample(range(len(topics)), min(len(topics), 1 + words // 45)))
        body: list[str] = []
        for remaining, topic in zip(range(len(chosen), 0, -1), chosen, strict=True):
            body.append(self._paragraph(topics[topic], words // remaining))
            words -= count_words(body[-1])
        return body

    def _paragraph(self, topic: str, words: int) -> str:
        """Return at least one sentence on a topic, stopping where the length is closest to ``words``."""
        text = self._sentence(topic)
        while self._decks[topic]:
            sentence = self._sentence(topic)
            if count_words(text) + count_words(sentence) / 2 > words:
                break
            text = f"{text} {sentence}"
        return text

    def _sentence(self, topic: str) -> str:
        deck = self._deck(topic, self._grammar[topic] + self._grammar[topic + self._mood])
        text = BEFORE_VOWEL.sub(r"\1n", self._filled(deck.pop())).replace(" -- ", self._dash)
        if self._contracts:
            text = LONG_FORMS.sub(lambda match: CONTRACTIONS[match[1]], text)
        return text[0].upper() + text[1:]

    def _filled(self, template: str) -> str:
        return SLOT.sub(lambda match: self._facts.get(match[1]) or self._phrase(match[1]), template)

    def _phrase(self, pool: str) -> str:
        return self._filled(self._deck(pool, self._grammar[pool]).pop())

    def _deck(self, name: str, entries: list[str]) -> list[str]:
        """Return the unused entries in random order. Starts over when none is left."""
        if not self._decks.get(name):
            self._decks[name] = self._rng.sample(entries, len(entries))
        return self._decks[name]


def count_words(text: str) -> int:
    """Number of words separated by whitespace."""
    return len(text.split())


def length(index: int) -> int:
    """Number of words of the review with this rank in length."""
    share = 100 * index / (REVIEWS - 1)
    for (low, short), (high, long) in pairwise(LENGTHS):
        if share <= high:
            return round(short + (long - short) * (share - low) / (high - low))
    raise ValueError(f"review {index} of {REVIEWS}")


def make_sample() -> str:
    """Return the text of ``sample.jsonl``: one review per line, half of them positive (label 1)."""
    grammar = read_grammar()
    rng = random.Random(SEED)
    lines = []
    for place, index in enumerate(rng.sample(range(REVIEWS), REVIEWS)):
        label = place % 2
        text = Reviewer(grammar, rng, likes=label == 1).write(length(index))
        lines.append(json.dumps({"text": text, "label": label}, ensure_ascii=False))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    SAMPLE.write_text(make_sample(), encoding="utf-8", newline="\n")
