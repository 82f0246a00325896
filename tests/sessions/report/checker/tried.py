"""Check the remedies that were tried: the gain of the case that has the options of the remedy."""

from .cases import Row
from .claims import Reader
from .report_text import Part, parse_number


def check_tried(reader: Reader, part: Part) -> None:
    """Check the table row by row; the prediction is the profile's, which the results don't contain."""
    for shown in part.rows:
        claim, base = reader.claim(part.section, str(shown)), reader.case(shown["Case"])
        options = dict(option.split("=", 1) for option in shown["Remedy"].split(" "))
        tried = [row for row in reader.facts.measured if _has(base, row, options)]
        claim.require(len(tried) == 1, f"{len(tried)} cases have these options")
        if tried and shown["Measured (×)"]:
            pair = reader.facts.throughput(base, tried[0])
            claim.require_value(shown["Measured (×)"], pair.value, "the gain")
        claim.require(parse_number(shown["Predicted at most (×)"] or "1") >= 1, "a bound below 1")


def _has(base: Row, row: Row, options: dict[str, str]) -> bool:
    """Return whether a case has the base's options but for these."""
    names = ("device", "precision", "batch_size", "compile", "threads", "attention", "sequence_length")
    return all(str(row[name]) == options.get(name, str(base[name])) for name in names)
