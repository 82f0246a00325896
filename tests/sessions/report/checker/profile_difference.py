"""Check the difference of two explained cases: its sentences and its table."""

import re
from collections.abc import Iterator

from .cases import Groups
from .claims import Claim, Reader, shapes
from .profile import FAMILIES, Profile
from .report_text import NUMBER, Part

SAME = 0.02
"""Share within which two steps take about the same time."""
NOT_SHOWN = 0.5
"""Share of a difference that isn't in the profiles, beyond which no cause is named."""
REMAINDER, WHOLE = "remainder: not in the profiles", "measured difference"


class Difference:
    """Subsection on the difference of two cases."""

    def __init__(self, reader: Reader, part: Part, base: Profile, new: Profile) -> None:
        self.reader, self.part, self.base, self.new = reader, part, base, new
        ends = base.measured_ms, new.measured_ms
        one, other = (base.plain_ms, new.plain_ms) if ends[0] is None or ends[1] is None else (ends[0], ends[1])
        sizes = base.row["samples_per_step"], new.row["samples_per_step"]
        self.what = "step" if sizes[0] == sizes[1] else "sample"
        self.per = (1, 1) if self.what == "step" else sizes
        self.base_ms, self.new_ms = one / self.per[0], other / self.per[1]
        self.gap_ms = self.new_ms - self.base_ms
        self.remainder_ms = self.gap_ms - sum(map(self.family_gap_ms, FAMILIES))

    def check(self) -> None:
        """Check sentences and table."""
        for item in self.part.items:
            claim = self.reader.claim(self.part.title, item.text)
            for sentence in re.split(r"(?<=\.) (?=[A-Z])", claim.text):
                claim.check_clause(sentence, OF_TWO, self)
        if self.part.tables:
            self._check_table()

    def family_gap_ms(self, name: str) -> float:
        base_ms, new_ms = self.family_ms(name)
        return new_ms - base_ms

    def family_ms(self, name: str) -> tuple[float, float]:
        return self.base.ms(FAMILIES[name]) / self.per[0], self.new.ms(FAMILIES[name]) / self.per[1]

    def _check_table(self) -> None:
        claim = self.reader.claim(self.part.title, "its table")
        for row in self.part.rows:
            base_ms, new_ms, gap_ms = self._values(row["family"])
            cells = list(row)
            for title, shown in row.items():
                if title in ("difference, ms", "difference, ms per sample"):
                    claim.require(title.endswith("sample") is (self.what == "sample"), "the wrong unit")
                    claim.require_value(shown, gap_ms, f"the difference in {row['family']}")
                elif title == "share %":
                    claim.require_value(shown, 100 * gap_ms / self.gap_ms, f"the share of {row['family']}")
                elif title != "family":
                    value = base_ms if cells.index(title) == 1 else new_ms
                    claim.require_value(shown, value, f"{row['family']} in {title}")
        names = [row["family"] for row in self.part.rows]
        known = {name for name, family in FAMILIES.items() if self.base.ms(family) or self.new.ms(family)}
        claim.require({*names} == known | {REMAINDER, WHOLE}, f"families are {known}")
        gaps = [round(abs(self.family_gap_ms(name)), 6) for name in names[:-2]]
        claim.require(gaps == sorted(gaps, reverse=True), "not the largest difference first")

    def _values(self, name: str) -> tuple[float | None, float | None, float]:
        if name == REMAINDER:
            return None, None, self.remainder_ms
        if name == WHOLE:
            return self.base_ms, self.new_ms, self.gap_ms
        return *self.family_ms(name), self.family_gap_ms(name)


def _check_gap(claim: Claim, shown: Groups, two: Difference) -> None:
    claim.require_value(shown["gap"], abs(two.gap_ms), "the difference")
    claim.require_value(shown["share"], 100 * abs(two.gap_ms) / two.base_ms, "its share")
    claim.require(shown["how"] == ("longer" if two.gap_ms > 0 else "shorter"), "the other way round")
    _check_sides(claim, shown, two)


def _check_same(claim: Claim, shown: Groups, two: Difference) -> None:
    claim.require(abs(two.gap_ms) < SAME * two.base_ms, f"they differ by {two.gap_ms}")
    _check_sides(claim, shown, two)


def _check_sides(claim: Claim, shown: Groups, two: Difference) -> None:
    claim.require(shown["what"] == two.what, f"it is of a {two.what}")
    sides = [int(shown["base"]), int(shown["new"])]
    claim.require(sides == [two.base.row["case"], two.new.row["case"]], "other cases")


def _check_not_shown(claim: Claim, shown: Groups, two: Difference) -> None:
    claim.require(abs(two.remainder_ms) > NOT_SHOWN * abs(two.gap_ms), "the profiles show most of it")
    claim.require(shown["what"] == two.what, f"it is of a {two.what}")
    claim.require_value(shown["gap"], two.gap_ms - two.remainder_ms, "the difference of the profiles")


def _check_causes(claim: Claim, shown: Groups, two: Difference) -> None:
    named = list(_causes(shown["parts"]))
    gaps = []
    for name, gap, share in named:
        gaps.append(round(abs(two.family_gap_ms(name)), 6))
        claim.require_value(gap, two.family_gap_ms(name), name)
        claim.require_value(share, 100 * two.family_gap_ms(name) / two.gap_ms, f"the share of {name}")
    claim.require(named and gaps == sorted(gaps, reverse=True), "not the largest first")


def _causes(parts: str) -> Iterator[tuple[str, str, str]]:
    """Yield the families named in a sentence, with their difference and its share."""
    pattern = rf"([^(]+?) \(({NUMBER}) ms, ({NUMBER})% of it\)(?:, | and |$)"
    for match in re.finditer(pattern, parts):
        yield match[1], match[2], match[3]


def _check_operator(claim: Claim, shown: Groups, two: Difference) -> None:
    base, new = two.base.by_name, two.new.by_name
    gaps = {name: new[name] / two.per[1] - base[name] / two.per[0] for name in {**base, **new}}
    alike = {name: gap for name, gap in gaps.items() if gap * two.gap_ms > 0}
    claim.require_value(shown["gap"], gaps[shown["name"]], "its difference")
    claim.require(abs(gaps[shown["name"]]) >= max(map(abs, alike.values())) - 1e-9, "another one differs more")


def _ignore(claim: Claim, shown: Groups, two: Difference) -> None:
    """Accept advice without a number."""


def _check_rest(claim: Claim, shown: Groups, two: Difference) -> None:
    claim.require_value(shown["gap"], two.remainder_ms, "the remainder")


OF_TWO = shapes(
    (
        _check_gap,
        "A {what:word} of {new:case} is {gap:num} ms {how:word} than one of {base:case} ({share:num}%).",
    ),
    (_check_same, "The {what:word}s of {base:case} and {new:case} take about the same time."),
    (
        _check_not_shown,
        "The profiles don't show this difference: their own {what:word}s differ by {gap:num} ms.",
    ),
    (_ignore, "Profile both cases again while the machine is idle."),
    (_check_causes, "It comes from {parts:any}."),
    (_check_operator, "The operator with the largest difference is {name:any}: {gap:num} ms."),
    (_check_rest, "The profiles don't show {gap:num} ms of the difference."),
)
