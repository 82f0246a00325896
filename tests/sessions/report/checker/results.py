"""Check every cell of the results by device and precision."""

import re
from collections.abc import Callable
from math import log2

from .case_tables import UTILIZATION, Cell, operations_per_s, peak_rate
from .cases import OPTIONS, Row, mark_kind, matches_title, peak_mb, step_ms
from .claims import Claim, Reader
from .facts import Facts
from .remarks import REMARKS
from .report_text import NUMBER, Part, parse_number
from .tables import LIMITS, SHARE

TITLES = {
    "Tokens": "sequence_length",
    **{
        name.replace("_", " ").capitalize(): name
        for name in (*OPTIONS, "batch_size")
        if name != "sequence_length"
    },
}
LIMIT_TITLES = ("GFLOP/s", "Of the measured peak (%)", *UTILIZATION, "Limited by")


def check_results(reader: Reader, part: Part) -> None:
    if part.title in ("Results", "Remarks"):
        counted = Part("Results", "Remarks", tables=[reader.limits])
        for item in part.items:
            claim = reader.claim("Results, Remarks", item.text)
            is_limit = re.search(r" limits [\d,]+ of |^(The highest share of|No share of) ", claim.text)
            claim.check_sentences(*((LIMITS, counted) if is_limit else (REMARKS,)))
        return
    shown = [(_find(reader, part, row), row) for row in part.rows]
    same = next(
        (match[1] for item in part.items if (match := re.match(r"All rows: (.+?)\.(?: The |$)", item.text))), ""
    )
    for case, row in shown:
        if case:
            _note_limit(reader, case, row, same)
    for case, row in shown:
        if case:
            _check_cells(reader.claim(f"Results, {part.title}", str(row)), case, row)
    for item in part.items:
        _check_line(reader, part, item.text, [case for case, _ in shown if case])


def _note_limit(reader: Reader, case: Row, row: dict[str, str], same: str) -> None:
    """Note what the table says of the limits of a case, for the sentences on these."""
    found = {"Case": case["name"]}
    for title, name in (("Of the measured peak (%)", SHARE), ("Limited by", "Limited by")):
        common = re.search(rf"{title[:1].lower()}{re.escape(title[1:].partition(' (')[0])} = ([^,%]+)", same)
        if title in row or common:
            found[name] = row.get(title) or (common[1].strip() if common else "")
    claim = reader.claim("Results", str(row))
    claim.require(parse_number(found.get(SHARE, "0")) <= 100, "above 100")
    if "GFLOP/s" in row or " GFLOP/s = " in f" {same}":
        reader.limits.append(found)  # its operations were counted


def _find(reader: Reader, part: Part, row: dict[str, str]) -> Row | None:
    """Return the case of a row, by the heading and the cells that name options."""
    if part.title == "Cases":
        return reader.case(row["Case"])
    wanted = {TITLES[title]: cell for title, cell in row.items() if title in TITLES}
    found = [
        case
        for case in reader.facts.measured
        if matches_title(case, part.title) and all(_cell(case[name]) == cell for name, cell in wanted.items())
    ]
    if len(found) != 1:
        reader.objections.append(f"Results, {part.title}: {len(found)} cases have {wanted}")
    return found[0] if found else None


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _check_line(reader: Reader, part: Part, text: str, cases: list[Row]) -> None:
    """Check ``All rows: n = 20, peak memory = 655 MB. The 40 fastest of 90 cases.``"""
    claim = reader.claim(f"Results, {part.title}", text)
    pattern = rf"(?:All rows: (.+?)\.)?(?: ?The ({NUMBER}) fastest of ({NUMBER}) cases\.)?"
    match = re.fullmatch(pattern, text)
    if match is None:
        claim.add_objection("unknown words")
        return
    for each in re.split(r", (?=[^,=]+ = )", match[1] or ""):
        name, _, value = each.partition(" = ")
        if name:
            _check_common(claim, name, value, cases)
    if match[2]:
        group = [case for case in reader.facts.measured if matches_title(case, part.title)]
        claim.require_value(match[2], len(cases), "number of rows")
        claim.require_value(match[3], len(group), "number of cases")


def _check_common(claim: Claim, name: str, value: str, cases: list[Row]) -> None:
    """Check a value that all rows share."""
    titles = [
        title
        for title in (*COLUMNS, *WORDS, *LIMIT_TITLES)
        if title.partition(" (")[0].lower() == name.lower() and value.endswith(_unit(title))
    ]
    claim.require(titles, f"unknown column: {name}")
    for title in titles[:1]:
        shown = value.removesuffix(_unit(title)).strip()
        for case in cases:
            _check_cells(claim, case, {title: shown})


def _unit(title: str) -> str:
    return title.removesuffix(")").partition(" (")[2]


def _check_cells(claim: Claim, case: Row, row: dict[str, str]) -> None:
    for title, cell in row.items():
        if title in COLUMNS:
            claim.require_value(cell, COLUMNS[title](claim.facts, case), f"{case['name']}: {title}")
        elif title in LIMIT_TITLES:
            _check_limit(claim, Cell(claim.facts, case, claim.reader.recording), title, cell)
        elif title in WORDS:
            WORDS[title](claim, case, cell)
        else:
            claim.require(title in TITLES or title == "Case", f"unknown column: {title}")


def _check_limit(claim: Claim, cell: Cell, title: str, shown: str) -> None:
    """Check the rate of operations, and its share of the peak. No JSON has these, nor what limits a case."""
    if cell.recording is None or title == "Limited by":
        return
    if title in UTILIZATION:
        UTILIZATION[title](claim, cell, shown)
        return
    rate, peak = operations_per_s(cell), peak_rate("flops_per_s")(cell)
    value = rate if title == "GFLOP/s" else 100 * rate / peak if rate and peak else None
    claim.require_value(shown, value, f"{cell.row['name']}: {title}")


def _peak(size: float) -> Callable[[Facts, Row], float | None]:
    def value(_: Facts, case: Row) -> float | None:
        peak = peak_mb(case)
        return peak / size if peak else None

    return value


def _against_linear(facts: Facts, case: Row) -> float | None:
    series = facts.series(case)
    return case["samples_per_s"] / series[0]["samples_per_s"] if len(series) > 1 else None


def _per_doubling(facts: Facts, case: Row) -> float | None:
    series = facts.series(case)
    place = next(place for place, row in enumerate(series) if row["batch_size"] == case["batch_size"])
    if not place:
        return None
    before = series[place - 1]
    doublings = log2(case["batch_size"] / before["batch_size"])
    return 100 * (facts.throughput(before, case).value ** (1 / doublings) - 1)


def _check_half_width(claim: Claim, case: Row, cell: str) -> None:
    claim.require_half_width(cell, case["latency_typical_percent"], f"{case['name']}: half the interval")
    low, high = case["latency_typical_low_ms"], case["latency_typical_high_ms"]
    half = None if low is None else 50 * (high - low) / step_ms(case)
    claim.require_half_width(cell, half, f"{case['name']}: half the interval")


def _check_interval(claim: Claim, case: Row, cell: str) -> None:
    low, _, high = cell.partition(" to ")
    claim.require_value(low, case["samples_per_s_low"], "the lower bound")
    claim.require_value(high or low, case["samples_per_s_high"], "the upper bound")


def _check_parts(claim: Claim, case: Row, cell: str) -> None:
    shares = []
    for each in cell.split(", "):
        name, _, share = each.rpartition(" ")
        claim.require_value(share, 100 * case["parts_ms"][name]["mean"] / case["latency_mean_ms"], name)
        shares.append(parse_number(share))
    claim.require(shares == sorted(shares, reverse=True), "not the largest first")


def _check_marks(claim: Claim, case: Row, cell: str) -> None:
    kinds = {mark_kind(mark) for mark in case["marks"]}
    text = cell
    for kind in sorted(kinds, key=len, reverse=True):
        text = text.replace(kind, "")
    claim.require(not text.strip(", "), f"its marks are {kinds}")


def _of(name: str) -> Callable[[Facts, Row], float | None]:
    return lambda _, case: case[name]


def _per_sample(_: Facts, case: Row) -> float | None:
    return 1000 / case["samples_per_s"] if case["samples_per_s"] else None


COLUMNS: dict[str, Callable[[Facts, Row], float | None]] = {
    "n": _of("n"),
    "Step (ms)": lambda _, case: step_ms(case),
    "Mean (ms)": _of("latency_mean_ms"),
    "p90 (ms)": _of("latency_p90_ms"),
    "p99 (ms)": _of("latency_p99_ms"),
    "Std/mean (%)": _of("jitter_percent"),
    "Time per sample (ms)": _per_sample,
    "Tokens/s": _of("tokens_per_s"),
    "Tokens/s with padding": _of("padded_tokens_per_s"),
    "New tokens/s": _of("new_tokens_per_s"),
    "Samples/s": _of("samples_per_s"),
    "Against linear (×)": _against_linear,
    "Per doubling (%)": _per_doubling,
    "Peak memory (MB)": _peak(1),
    "Peak memory (GB)": _peak(1000),
    "Power (W)": _of("mean_power_w"),
    "J/sample": _of("energy_per_sample_j"),
}
WORDS: dict[str, Callable[[Claim, Row, str], None]] = {
    "± 95% (%)": _check_half_width,
    "95% interval": _check_interval,
    "Step breakdown (%)": _check_parts,
    "Marks": _check_marks,
}
