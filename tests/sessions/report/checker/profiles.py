"""Check the section of explained cases: every figure and sentence, from the recorded profiles."""

import re

from .cases import Groups, Row
from .claims import Claim, Reader, shapes
from .profile import FAMILIES, Profile
from .profile_difference import Difference
from .profile_sentences import OF_A_CASE
from .report_text import NUMBER, Item, Part, rounds_to

SLOWED = 0.15
"""Share by which two times of a step differ when the report has to say so."""
TOLERANCE = 1e-3
"""Rounding of recorded times, as a share of the step."""
SIZES = {"T": 1e12, "G": 1e9, "M": 1e6, "k": 1e3}


def check_profiles(reader: Reader, part: Part) -> None:
    """Check the section, or one of its subsections."""
    known = reader.profiles
    if not known:
        reader.objections.append(f"{part.section}: no profiles are known")
    elif part.title == part.section:
        _check_lead(reader, part, known)
    elif part.title.startswith("Operators of "):
        _check_operators(reader, part, known[reader.case(part.title.removeprefix("Operators of "))["case"]])
    else:
        new, base = (reader.case(each)["case"] for each in part.title.split(" against "))
        Difference(reader, part, known[base], known[new]).check()


def _check_lead(reader: Reader, part: Part, known: dict[int, Profile]) -> None:
    for item in part.items:
        claim = reader.claim(f"{part.section}, {item.lead}", item.text)
        if item.lead:
            text = re.sub(r" Confidence: (high|medium|low)\.$", "", claim.text)
            claim.check_clause(text, OF_A_CASE, known[reader.case(item.lead)["case"]])
        else:
            claim.check_clause(claim.text, OF_ALL, part, known)
    for table in part.tables:
        for title in dict.fromkeys(title for row in table for title in row):
            if title != "ms per step":
                profile = known[reader.case(title)["case"]]
                _check_families(reader, title, table, profile)
                _check_notes(reader, title, [item for item in part.items if item.lead == title], profile)


def _check_families(reader: Reader, title: str, table: list[dict[str, str]], profile: Profile) -> None:
    """Check times and shares of all families, and that they sum to the profiled step."""
    claim, seen = reader.claim("families", title), 0.0
    for row in table:
        ms = profile.ms(FAMILIES[row["ms per step"]])
        seen += ms
        if match := re.fullmatch(rf"({NUMBER}) \((\d+)%\)", row.get(title, "")):
            claim.require_value(match[1], ms, row["ms per step"])
            claim.require_value(match[2], 100 * ms / profile.step_ms, f"the share of {row['ms per step']}")
        else:
            claim.require(not ms and title not in row, f"{row['ms per step']} takes {ms} ms")
    claim.require(abs(seen - profile.step_ms) < TOLERANCE * profile.step_ms, f"they sum to {seen}")


def _check_notes(reader: Reader, title: str, items: list[Item], profile: Profile) -> None:
    """Require that the report says how much profiling slowed the step, and what else is different."""
    claim = reader.claim("notes", title)
    slower, measured_ms = profile.step_ms / profile.plain_ms - 1, profile.measured_ms
    drift = profile.plain_ms / measured_ms - 1 if measured_ms else 0.0
    apart = profile.step_ms / measured_ms - 1 if measured_ms else 0.0
    for words, needed in (
        ("Profiling lengthened the step", slower > SLOWED),
        ("Without the profiler, the step of this run took", abs(drift) > SLOWED),
        ("The profiled step took", slower <= SLOWED and abs(drift) <= SLOWED < abs(apart)),
        ("Changed since the case was measured", bool(profile.changed)),
    ):
        said = any(item.text.startswith(words) for item in items)
        claim.require(said == needed, f"{words!r} is{'' if said else ' not'} said")


def _check_operators(reader: Reader, part: Part, profile: Profile) -> None:
    """Check the table of the most expensive operators, row by row."""
    claim = reader.claim(part.title, part.title)
    claim.require(len(part.rows) == min(10, len(profile.kernels)), f"{len(profile.kernels)} are known")
    for row, kernel in zip(part.rows, profile.kernels, strict=False):
        _check_kernel(claim, dict(row), kernel, profile)


def _check_kernel(claim: Claim, row: dict[str, str], kernel: Row, profile: Profile) -> None:
    claim.require(row.pop("operator or kernel") == kernel["name"], f"it is {kernel['name']}")
    claim.require(FAMILIES[row.pop("family")] == kernel["family"], f"it is {kernel['family']}")
    claim.require(row.pop("inputs", None) == kernel.get("shape"), f"inputs are {kernel.get('shape')}")
    claim.require_value(row.pop("ms per step"), kernel["ms"], "its time")
    claim.require_value(row.pop("share %"), 100 * kernel["ms"] / profile.step_ms, "its share")
    claim.require_value(row.pop("calls"), kernel["count"], "its calls")
    amount, unit = _work(kernel)
    rate = amount / kernel["ms"] * 1000 if amount and kernel["ms"] else None
    peak = profile.peaks.get("flops_per_s" if unit == "FLOP/s" else "bytes_per_s")
    share = 100 * rate / peak if rate and peak else None
    shown_rate, shown_share = row.pop("rate", None), row.pop("of peak %", None)
    claim.require((shown_rate is None) == (rate is None), f"its rate is {rate}")
    claim.require(shown_rate is None or _rate_rounds_to(shown_rate, rate, unit), f"its rate is {rate} {unit}")
    claim.require((shown_share is None) == (share is None), f"its share of the peak is {share}")
    if shown_share == "cached":
        claim.require(unit == "B/s" and (share or 0.0) > 100, f"it is {share} %")
    elif shown_share:
        claim.require_value(shown_share, share, "its share of the peak")
    claim.require(not row, f"unknown columns: {list(row)}")


def _work(kernel: Row) -> tuple[float | None, str]:
    flops: float | None = kernel.get("flops")
    return (flops, "FLOP/s") if flops else (kernel.get("bytes"), "B/s")


def _rate_rounds_to(shown: str, rate: float | None, unit: str) -> bool:
    number, size = shown.split(" ")
    return rate is not None and size[1:] == unit and rounds_to(number, rate / SIZES[size[0]])


def _ignore(claim: Claim, shown: Groups, part: Part, known: dict[int, Profile]) -> None:
    """Accept an explanation without a number."""


def _check_more(claim: Claim, shown: Groups, part: Part, known: dict[int, Profile]) -> None:
    columns = {title for table in part.tables for row in table for title in row} - {"ms per step"}
    others = sum(not each.absent for each in known.values()) - len(columns)
    claim.require_value(shown["k"], others, "the number of others")


def _check_missing(claim: Claim, shown: Groups, part: Part, known: dict[int, Profile]) -> None:
    claim.require(known[int(shown["case"])].absent == shown["reason"], "another reason")


OF_ALL = shapes(
    (
        _ignore,
        "These cases were rerun in separate processes, for a few steps under torch's profiler. On a CPU, the"
        " times are those of the main thread in its operators, on a GPU those of kernels and copies; they sum"
        " to the profiled step.",
    ),
    (_check_more, "{k:num} more explained case[s]: benchtui explain, or --full."),
    (_check_missing, "No profile of {case:case}: {reason:any}."),
)
