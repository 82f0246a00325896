"""An independent reader of reports, which objects to every sentence that the results contradict.

It takes what ``benchtui export --format json`` writes, and the report as markdown. Each sentence of judgment
has one of the shapes below, and each figure in it follows from the JSON by arithmetic of this module's own. A
sentence of no known shape is objected to as well: nobody adds one without the fact that it rests on.

A session's JSON holds each case against one baseline. Verdicts on other pairs stand in the JSON of the same
session with other baselines (``benchtui export --baseline``), which is the argument ``others``. Of figures that
no JSON has a verdict on, such as memory and energy, what follows from the figures alone is checked.
"""

import html
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, exp, inf, log, prod
from statistics import fmean
from typing import Any

Row = dict[str, Any]
"""A case of the JSON."""
Found = dict[str, str]
"""What stands in a sentence for what varies in its shape."""

OPTIONS = ("machine", "device", "precision", "attention", "compile", "threads", "padding", "sequence_length")
SHORT_OPTIONS = {"attention": "attn", "padding": "pad", "sequence_length": "seq"}
VERIFIED = ("precision", "compile", "attention")
DEFAULTS = ("fp32", "off", "auto", "unknown")
DISTURBANCES = ("disturbed", "throttled", "clock", "shared GPU", "beside")
PRECISIONS = {
    "amp-fp16": "Mixed precision (AMP, fp16)",
    "amp-bf16": "Mixed precision (AMP, bf16)",
    "int8": "INT8 (dynamic quantization)",
}
DTYPES = {"fp32": "float32", "tf32": "float32", "fp16": "float16", "bf16": "bfloat16", "int8": "qint8"}
OUTCOMES = {"oom": "out of memory", "running": "unfinished", "queued": "not started"}
REASONS_OF_OUTCOMES = {
    "queued": "hasn't been measured yet",
    "running": "hasn't been measured yet",
    "oom": "ran out of memory",
    "skipped": "was skipped",
    "failed": "failed",
    "timeout": "ran into its time limit",
    "interrupted": "was interrupted",
}
BOUNDS = {"arithmetic": "arithmetic", "memory bandwidth": "memory", "the host": "host"}
"""What limits a case, in a sentence and in the table."""
NEEDS_BY_LEAD = {"Highest throughput": "throughput", "Shortest step": "latency", "Least energy": "energy"}
NEEDS_BY_TITLE = {
    "Maximum throughput": "throughput",
    "Minimum latency": "latency",
    "Most throughput per MB of memory": "memory",
    "Least energy per sample": "energy",
    "Steadiest steps": "steadiness",
    "Balanced": "balanced",
}
NEEDS_BY_USE = {
    "For maximum throughput": "throughput",
    "For minimum latency": "latency",
    "Where memory is scarce": "memory",
    "For least energy": "energy",
    "For steady steps": "steadiness",
    "For a balance of all": "balanced",
}
SPEED = ("throughput", "latency")
OPTIONS_BY_LEAD = {"Device": "device", "Precision": "precision", "Compiling": "compile"}

LEAST_OFF = 0.005
"""By how much a whole interval lies off 1 for one case to be faster."""
LEAST_ROUNDS = 3
SAME_WITHIN = 0.02
MOST_MARGIN = 0.05
SMALL_LEAD = 0.1
"""Lead that is given up for a simpler case where it isn't established."""
LONGER_TAIL = 1.1
LEAST_TOKENIZING = 0.1
LEAST_MORE_MEMORY = 0.02
UNEVEN = 1.25


# --- the report as text


@dataclass
class Item:
    """A paragraph or an item of a list, with the bold words it begins with."""

    lead: str
    text: str
    quoted: bool = False


@dataclass
class Part:
    """What stands under a heading, up to the next one."""

    section: str
    """The heading of the second level."""
    title: str
    """The heading itself: the section's own where it has none below."""
    items: list[Item] = field(default_factory=list)
    tables: list[list[dict[str, str]]] = field(default_factory=list)

    @property
    def rows(self) -> list[dict[str, str]]:
        return self.tables[0] if self.tables else []


def parts_of(report: str) -> list[Part]:
    """The report by its headings."""
    found, fenced = [Part("", "")], False
    lines = report.splitlines()
    for place, line in enumerate(lines):
        fenced ^= line.startswith("```")
        if heading := None if fenced else re.fullmatch(r"(#+) (.*)", line):
            title = _plain(heading[2])
            found.append(Part(title if len(heading[1]) < 3 else found[-1].section, title))
        elif line.startswith("|"):
            if not lines[place - 1].startswith("|"):
                found[-1].tables.append(list(_rows(lines[place:])))
        elif line and not fenced:
            _add(found[-1].items, line, continued=bool(lines[place - 1]))
    return found


def _add(items: list[Item], line: str, *, continued: bool) -> None:
    match = re.match(r"(> |- |\d+\. )?(?:\*\*(.*?)\*\*(?:: |$))?(.*)", line)
    if match is None:
        return
    if continued and items and not match[1] and not match[2]:
        items[-1].text += f" {_plain(line)}"
    else:
        items.append(Item(_plain(match[2] or ""), _plain(match[3]), match[1] == "> "))


def _rows(lines: Iterable[str]) -> Iterator[dict[str, str]]:
    """The rows of a table, without the cells that are empty."""
    titles: list[str] = []
    for place, line in enumerate(lines):
        if not line.startswith("|"):
            return
        cells = [_plain(each.strip()) for each in re.split(r"(?<!\\)\|", line)[1:-1]]
        if place == 0:
            titles = cells
        elif place > 1:
            yield {title: cell for title, cell in zip(titles, cells, strict=True) if cell != "–"}


def _plain(text: str) -> str:
    return html.unescape(re.sub(r"\\(.)", r"\1", text)).strip()


# --- figures as they are printed, and the shapes of sentences

NUMBER = r"[-+]?\d[\d,]*(?:\.\d+)?"
KINDS = {
    "case": "⟦(?P<{}>\\d+)⟧",
    "cases": "(?P<{}>[⟦⟧\\d, andmore]+?)",
    "num": f"(?P<{{}}>{NUMBER})",
    "share": f"(?P<{{}}>{NUMBER} [%×])",
    "sizes": "(?P<{}>[\\d, ]+)",
    "unit": "(?P<{}>[%×])",
    "figure": "(?P<{}>[^⟦⟧;]+?)",
    "word": "(?P<{}>[^\\s⟦⟧;]+?)",
    "text": "(?P<{}>[^;]+?)",
    "inside": "(?P<{}>[^();]+)",
    "of": "(?P<{}>the throughput of|as fast as)",
    "peaks": "(?P<{}>the peak rate|the bandwidth)",
    "how": "(?P<{}> round by round| at typical steps)",
    "rising": "(?P<{}>and throughput was still rising)",
    "versus": f"(?P<{{}}>(?:which|the same|{NUMBER} ×) [^;]+)",
    "daily": f"(?P<{{}}>(?:about )?{NUMBER}(?: million)? samples/day)",
}
"""What may stand in a sentence for what varies."""


def shape(template: str) -> re.Pattern[str]:
    """A sentence with ``{name:kind}`` for what varies and ``[…]`` around what may be missing."""
    found = ""
    for piece in re.split(r"(\{\w+:\w+\}|\[|\])", template):
        if match := re.fullmatch(r"\{(\w+):(\w+)\}", piece):
            found += KINDS[match[2]].format(match[1])
        else:
            found += {"[": "(?:", "]": ")?"}.get(piece) or re.escape(piece)
    return re.compile(found)


def amount(shown: str) -> float:
    return float(shown.replace(",", ""))


def rounding(shown: str) -> float:
    """Half a unit of the last digit that is shown."""
    return 0.5 * 10.0 ** -len(shown.partition(".")[2])


def agrees(shown: str, value: float | None) -> bool:
    """Whether a number, rounded as it is shown, may be this one."""
    return value is not None and abs(amount(shown) - value) <= rounding(shown) * 1.000001 + 1e-6 * abs(value)


def share_of(shown: str) -> float:
    """A share that is told in percent or as a multiple."""
    number, unit = shown.split(" ")
    return amount(number) / 100 if unit == "%" else amount(number) - 1


def share_agrees(shown: str, value: float | None) -> bool:
    number, unit = shown.split(" ")
    return value is not None and agrees(number, 100 * value if unit == "%" else 1 + value)


def listed(text: str) -> list[str]:
    """``a, b and c`` taken apart."""
    return re.split(r", (?=\D)| and (?=\D)", text)


# --- a case


def labelled(row: Row) -> bool:
    """Whether a case goes by its tool's words, and its options say nothing."""
    return " bs=" not in row["name"]


def label(row: Row, varied: Iterable[str]) -> str:
    """A case in a sentence."""
    shown = [
        f"{SHORT_OPTIONS.get(name, name)}={row[name] or 'default'}" for name in OPTIONS[3:] if name in varied
    ]
    machine = [row["machine"]] if row["machine"] else []
    return " ".join([*machine, row["device"], row["precision"], *shown, f"bs={row['batch_size']}"])


def key(row: Row, without: str = "") -> tuple[object, ...]:
    """What tells a case from others, but for one option."""
    if labelled(row):
        return row["name"], *(row[name] for name in ("batch_size",) if name != without)
    return tuple(row[name] for name in (*OPTIONS, "batch_size") if name != without)


def told(row: Row) -> bool:
    """Whether a case's figures are a source's, which kept no steps."""
    return row["outliers"] is None


def typical(row: Row) -> float:
    """The typical step in milliseconds: the geometric mean of the rounds' medians."""
    rounds: Sequence[float] = row["rounds_p50_ms"]
    if rounds:
        return exp(fmean(log(each) for each in rounds))
    return float(row["latency_mean_ms"] if told(row) else row["latency_p50_ms"])


def step_ms(row: Row) -> float:
    """The step that a report names: the typical one, or what a source that kept no steps gives."""
    if not told(row):
        return typical(row)
    return float(row["latency_mean_ms"] if row["latency_p50_ms"] is None else row["latency_p50_ms"])


def kind_of_step(row: Row) -> str:
    """What that step is called."""
    if len(row["rounds_p50_ms"]) > 1 and not told(row):
        return "median over rounds"
    return "mean" if row["latency_p50_ms"] is None else "median"


def peak_mb(row: Row) -> float | None:
    """The highest peak that was read: of the worker for a case on the processor, else on the device."""
    if row["device"] == "cpu":
        return row["peak_rss_mb"]
    peaks = (row[f"peak_{name}_mb"] for name in ("device", "reserved", "allocated"))
    return max((each for each in peaks if each is not None), default=None)


def token_rate(row: Row) -> tuple[float | None, str]:
    if row["tokens_per_s"] is not None:
        return row["tokens_per_s"], "tokens/s"
    return row["padded_tokens_per_s"], "tokens/s with padding"


def cost(name: str, row: Row) -> float | None:
    """What a need looks at, the less the better; None where it isn't known or nothing."""
    rate, peak = row["samples_per_s"], peak_mb(row)
    found = {
        "throughput": 1000 / rate if rate else None,
        "latency": step_ms(row),
        "mb": peak,
        "memory": 1000 / rate * peak if rate and peak else None,
        "energy": row["energy_per_sample_j"],
        "steadiness": row["jitter_percent"],
    }
    return found[name] or None


def balanced_figures(fit: Sequence[Row]) -> list[str]:
    """Of what a balance is made: what all cases have."""
    return [name for name in ("throughput", "latency", "mb", "energy") if all(cost(name, row) for row in fit)]


def simplest(one: Row, others: Sequence[Row]) -> bool:
    """Whether none of the others is simpler: without a compiler, in less memory, with a shorter step."""
    left = [one, *others]
    for figure in (lambda row: float(row["compile"] not in ("off", "unknown")), peak_mb, step_ms):
        known = [(row, value) for row in left if (value := figure(row)) is not None]
        if len(known) == len(left):
            least = min(value for _, value in known)
            left = [row for row, value in known if value <= least * (1 + SAME_WITHIN)]
        if one not in left:
            return False
    return True


def longer_tail(need: str, row: Row, other: Row) -> tuple[str, float, float] | None:
    """The longest percentile that both have, where it is longer by more than a little, or a sample's is."""
    samples = row["samples_per_step"] / other["samples_per_step"] if need == "throughput" else 1
    for name in ("p99", "p90"):
        mine, theirs = row[f"latency_{name}_ms"], other[f"latency_{name}_ms"]
        if mine is not None and theirs is not None and need in SPEED:
            return (name, mine, theirs) if mine > LONGER_TAIL * theirs * samples else None
    return None


def in_force(row: Row, option: str) -> set[bool | None]:
    """Whether an option was in force: what may be true by the JSON, which hasn't all that was read back."""
    if option == "compile":
        return {None if row["compiled"] is None else row["compiled"] == (row["compile"] != "off")}
    if option == "attention":
        asked, used = row["attention"], row["attention_used"]
        return {True if asked == "auto" else None if used is None else used.startswith(asked)}
    asked, weights, autocast = (row[name] for name in ("precision", "weights_dtype", "autocast_dtype"))
    if asked.startswith("amp-"):
        wanted = DTYPES[asked.removeprefix("amp-")]
        return {None, False} if autocast is None else {autocast.removeprefix("torch.") == wanted}
    if weights is None or asked not in DTYPES:
        return {None}
    if weights.removeprefix("torch.") != DTYPES[asked] or autocast is not None:
        return {False}
    rounded: dict[str, set[bool | None]] = {"tf32": {True, False, None}, "fp32": {True, False}}
    return rounded.get(asked, {True})


def both_in_force(base: Row, new: Row, option: str) -> set[bool | None]:
    pairs = [{one, other} for one in in_force(base, option) for other in in_force(new, option)]
    return {False if False in each else None if None in each else True for each in pairs}


def kind_of_mark(mark: str) -> str:
    """A mark without its figures."""
    return next((name for name in DISTURBANCES if mark.startswith(name)), mark)


def disturbed(row: Row) -> bool:
    return any(kind_of_mark(mark) in DISTURBANCES for mark in row["marks"])


def comparable_memory(row: Row, base: Row) -> bool:
    """Whether two peaks are of the same kind of memory."""
    return (row["device"] == "cpu") == (base["device"] == "cpu")


def titled(row: Row, title: str) -> bool:
    """Whether a heading may be that of the case's series: it names only what holds for it."""
    if labelled(row):
        return bool(row["name"] == title)
    machine = f"{row['machine']} " if row["machine"] else ""
    head = f"{machine}{row['device'].upper()} – {PRECISIONS.get(row['precision'], row['precision'].upper())}"
    options = {
        f"attention {row['attention']}",
        f"compile {row['compile']}",
        f"{row['threads'] or 'default'} threads",
        f"padding {row['padding']}",
        f"{row['sequence_length']:,} tokens",
    }
    others = title.removeprefix(head)
    return title.startswith(head) and (not others or set(others.removeprefix(", ").split(", ")) <= options)


# --- facts


@dataclass(frozen=True)
class Pair:
    """How many times as good a case is as another; what isn't known from any JSON is None."""

    value: float
    low: float | None = None
    high: float | None = None
    verdict: str | None = None
    doubt: str | None = None
    resolution: float | None = None
    by_all: float | None = None
    """The same by all steps together, approximately."""
    known: bool = True
    """Whether bounds that are None are known to be missing."""
    exact: bool = True
    """Whether a report gives this very value, and not a mean over rounds, of which the JSON has none."""
    at_least: bool = False
    """Whether the bounds may be wider than these: the JSON doesn't have the memory of each round."""

    def times(self, factor: float, *, at_least: bool = False) -> "Pair":
        """The same for so many times the work; the verdict isn't known then."""
        word, doubt = ("unsure", "no interval") if self.doubt == "no interval" else (None, None)
        scaled = {name: getattr(self, name) for name in ("value", "low", "high", "by_all")}
        scaled = {name: None if each is None else each * factor for name, each in scaled.items()}
        return replace(self, **scaled, verdict=word, doubt=doubt, at_least=at_least and self.low is not None)


class Facts:
    """What the results say, by arithmetic of this module's own."""

    def __init__(self, results: Row, others: Sequence[Row], same_within: float) -> None:
        self.session: Row = results["session"]
        self.rows: list[Row] = results["cases"]
        self.same_within = same_within
        self.ok = [row for row in self.rows if row["outcome"] == "ok"]
        with_figures = [row for row in self.ok if row["latency_mean_ms"] is not None]
        self.measured = [row for row in with_figures if not row["again"]]
        self.again = next((row for row in with_figures if row["again"]), None)
        self._fits: dict[tuple[str, int | None], list[Row]] = {}
        self._judged: dict[tuple[int, int], Row] = {}
        for each in (*others, results):
            for row in each["cases"]:
                if row["verdict"] is not None:
                    self._judged[row["baseline"], row["case"]] = row

    def of_length(self, length: int | None) -> list[Row]:
        return [row for row in self.measured if length in (None, row["sequence_length"])]

    def base_of(self, row: Row) -> Row | None:
        """The case that the JSON holds one against."""
        return None if row["baseline"] is None else self.rows[row["baseline"]]

    def labels(self) -> dict[str, list[int]]:
        """Every way to write a case, with the numbers of the cases that it stands for."""
        varied = [name for name in OPTIONS if len({row[name] for row in self.rows}) > 1]
        found: dict[str, set[int]] = {}
        for row in self.rows:
            found.setdefault(row["name"], set()).add(row["case"])
            if not row["again"] and not labelled(row):
                found.setdefault(label(row, varied), set()).add(row["case"])
        return {text: sorted(numbers) for text, numbers in found.items()}

    def aa_pair(self) -> tuple[Row, Row] | None:
        """A case that was measured twice, where there is one."""
        first = next((row for row in self.measured if self.again and key(row) == key(self.again)), None)
        return (first, self.again) if first and self.again else None

    def margin(self, row: Row) -> float:
        """Within what a whole ratio is the same: more where equal cases differ on that kind of device."""
        pair, kind = self.aa_pair(), row["device"].partition(":")[0]
        if pair is None or pair[0]["device"].partition(":")[0] != kind:
            return self.same_within
        floor = abs(log(typical(pair[1]) / typical(pair[0])))
        return max(self.same_within, min(2 * floor, MOST_MARGIN))

    def series(self, row: Row) -> list[Row]:
        """The first measured case of each batch size that differs from a case in nothing else, by size."""
        alike = [each for each in self.measured if each["samples_per_s"]]
        alike = [each for each in alike if key(each, "batch_size") == key(row, "batch_size")]
        found = {each["batch_size"]: each for each in reversed(alike)}
        return [found[size] for size in sorted(found)]

    def throughput(self, base: Row, new: Row) -> Pair:
        """How many times as many samples a second the new case handles, at its typical step."""
        steps, samples = typical(base) / typical(new), new["samples_per_step"] / base["samples_per_step"]
        by_all = base["latency_mean_ms"] / new["latency_mean_ms"] * samples
        rates = base["samples_per_s"], new["samples_per_s"]
        value = rates[1] / rates[0] if told(base) and told(new) and all(rates) else steps * samples
        row = self._judged.get((base["case"], new["case"]))
        if row is None:
            return Pair(value, by_all=by_all, known=False)
        seen = row["verdict_resolution_percent"]
        resolution = None if seen is None else seen / 100
        ends = row["speedup_low"], row["speedup_high"]
        return Pair(value, *ends, row["verdict"], row["verdict_doubt"], resolution, by_all)

    def latency(self, base: Row, new: Row) -> Pair:
        """How many times as short the new case's typical step is."""
        found = self.throughput(base, new)
        scale = typical(base) / typical(new) / found.value
        return found if abs(scale - 1) < 1e-9 else found.times(scale)

    def pair(self, need: str, base: Row, new: Row, fit: Sequence[Row]) -> Pair:
        """How many times as good the new case is for a need."""
        match need:
            case "throughput":
                return self.throughput(base, new)
            case "latency":
                return self.latency(base, new)
            case "memory":
                return self._with_memory(self.throughput(base, new), base, new)
            case "balanced":
                return self._balanced(base, new, balanced_figures(fit))
        few = min(base["rounds"], new["rounds"]) < LEAST_ROUNDS
        value = (cost(need, base) or 0.0) / (cost(need, new) or inf)
        word, doubt = ("unsure", "no interval") if few else (None, None)
        return Pair(value, verdict=word, doubt=doubt, known=few, exact=few)

    def _with_memory(self, found: Pair, base: Row, new: Row) -> Pair:
        several = max(base["rounds"], new["rounds"]) > 1
        return found.times((peak_mb(base) or 0.0) / (peak_mb(new) or inf), at_least=several)

    def _balanced(self, base: Row, new: Row, figures: Sequence[str]) -> Pair:
        found = self.throughput(base, new)
        if "latency" in figures:
            found = _product(found, self.latency(base, new))
        if "mb" in figures:
            found = self._with_memory(found, base, new)
        if "energy" in figures:
            joules = self.pair("energy", base, new, [])
            found = replace(found.times(joules.value), low=None, high=None, known=False, exact=joules.exact)
        return found

    def fit(self, need: str, length: int | None) -> list[Row]:
        """The cases to choose from, the best first."""
        if (need, length) not in self._fits:
            able = [row for row in self.of_length(length) if need == "balanced" or cost(need, row)]
            self._fits[need, length] = sorted(able, key=lambda row: self.costs(need, row, able))
        return self._fits[need, length]

    def costs(self, need: str, row: Row, fit: Sequence[Row]) -> float:
        names = balanced_figures(fit) if need == "balanced" else (need,)
        return prod(cost(name, row) or 0.0 for name in names)

    def near(self, need: str, row: Row, fit: Sequence[Row]) -> bool | None:
        """Whether the lead of the best figure over a case is none to speak of; None where no JSON says."""
        pair = self.pair(need, row, fit[0], fit)
        lead = max(pair.value - 1, self.costs(need, row, fit) / self.costs(need, fit[0], fit) - 1)
        if lead >= SMALL_LEAD or row is fit[0]:
            return row is fit[0]
        if pair.verdict is None:
            return None
        return pair.verdict != "faster" and lead < (SAME_WITHIN if pair.low is None else SMALL_LEAD)


def _product(one: Pair, other: Pair) -> Pair:
    """Two ratios of the same steps: their intervals go together."""
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return replace(one.times(other.value), low=None, high=None, resolution=None)
    seen, least = one.resolution, 1 + LEAST_OFF
    return replace(
        one.times(other.value),
        low=one.low * other.low,
        high=one.high * other.high,
        by_all=one.by_all * other.by_all if one.by_all and other.by_all else None,
        resolution=None if seen is None else least * ((1 + seen) / least) ** 2 - 1,
    )


# --- a sentence and the reader

Read = Callable[..., None]
"""Checks what a sentence says, from what stands in it for what varies."""
Shapes = list[tuple[re.Pattern[str], Read]]


@dataclass
class About:
    """A text under check, and what it is about as far as it was read."""

    reader: "Reader"
    where: str
    text: str
    need: str = ""
    length: int | None = None
    best: Row = field(default_factory=dict)
    """The chosen case."""
    base: Row = field(default_factory=dict)
    new: Row = field(default_factory=dict)
    """The two cases of the ratio that further words are about."""
    ratio: float = 1.0
    """That ratio as it is told."""
    option: str = ""
    said: Found = field(default_factory=dict)
    """Of a sentence on an option: which one, and what was said of it so far."""

    @property
    def facts(self) -> Facts:
        return self.reader.facts

    @property
    def fit(self) -> list[Row]:
        """The cases that are chosen from, the best first."""
        return self.facts.fit(self.need, self.length)

    @property
    def others(self) -> list[Row]:
        return [row for row in self.fit if row is not self.best]

    @property
    def leads(self) -> bool:
        """Whether no case has a better figure than the chosen one."""
        costs = [self.facts.costs(self.need, row, self.fit) for row in self.fit]
        return self.facts.costs(self.need, self.best, self.fit) <= min(costs) * (1 + 1e-12)

    def row(self, number: str) -> Row:
        return self.facts.rows[int(number)]

    def pair(self, base: Row | None = None, new: Row | None = None) -> Pair:
        """How many times as good the newer case at hand is, or another."""
        return self.facts.pair(self.need, base or self.base, new or self.new, self.fit)

    def between(self, base: Row, new: Row) -> None:
        """Take two cases for those of the ratio at hand."""
        self.base, self.new = base, new

    def complain(self, why: str) -> None:
        text = re.sub(r"⟦(\d+)⟧", lambda match: self.row(match[1])["name"], self.text)
        self.reader.objections.append(f"{self.where}: {text!r}: {why}")

    def must(self, holds: object, why: str) -> None:
        if not holds:
            self.complain(why)

    def agree(self, shown: str, value: float | None, what: str) -> None:
        self.must(agrees(shown, value), f"{what} is {value}, not {shown}")

    def sentences(self, known: Shapes, *more: Any) -> None:
        """Check a text sentence by sentence: each as a whole, or else clause by clause."""
        for sentence in re.split(r"(?<=\.) ", self.text):
            self.must(sentence.endswith("."), "no full stop")
            whole = sentence.removesuffix(".")
            if not self._reads(whole, known, *more):
                for clause in whole.split("; "):
                    self.clause(clause, known, *more)

    def clause(self, text: str, known: Shapes, *more: Any) -> None:
        self.must(self._reads(text, known, *more), f"unknown words: {text!r}")

    def _reads(self, text: str, known: Shapes, *more: Any) -> bool:
        """Check a text by the first shape that it has; whether it has one."""
        for pattern, check in known:
            if match := pattern.fullmatch(text):
                try:
                    check(self, match.groupdict(), *more)
                except (ArithmeticError, LookupError, TypeError, ValueError) as error:
                    self.complain(f"nothing to hold it against: {error!r}")
                return True
        return False


class Reader:
    """Reads a report from its head to its end."""

    def __init__(self, facts: Facts, parts: list[Part]) -> None:
        self.facts, self.parts = facts, parts
        self.objections: list[str] = []
        self.chosen: dict[tuple[str, int | None], set[int]] = {}
        """By need and sequence length, the numbers of the cases that are recommended."""
        self.advice: list[tuple[str, str, str, str]] = []
        """What was said of an option's value: a word, the option, the value and the device."""
        self._labels = facts.labels()
        longest = sorted(self._labels, key=len, reverse=True)
        self._label = re.compile("|".join(rf"(?<![\w:]){re.escape(each)}(?![\w=])" for each in longest) or "$^")

    def read(self) -> list[str]:
        """Every objection."""
        for part in self.parts:
            self._part(part)
        self._consistent()
        return self.objections

    def about(self, where: str, text: str) -> About:
        """A text with the numbers of cases in place of their names."""
        about = About(self, where, text)

        def number(match: re.Match[str]) -> str:
            numbers = self._labels[match[0]]
            about.must(len(numbers) == 1, f"{match[0]!r} may be any of the cases {numbers}")
            return f"⟦{numbers[0]}⟧"

        about.text = self._label.sub(number, text)
        return about

    def case(self, name: str) -> Row:
        """A case by its name in a table."""
        return self.facts.rows[int(self.about("a table", name).text.strip("⟦⟧"))]

    def _part(self, part: Part) -> None:
        about = self.about(part.section, " ".join(item.text for item in part.items))
        if part.section.startswith("Benchmark report"):
            _head(self, part)
        elif part.title == part.section and part.section in INTRODUCTIONS:
            about.must(about.text == INTRODUCTIONS[part.section], "unknown words")
        elif part.section in SECTIONS:
            SECTIONS[part.section](self, part)
        elif part.section not in FACTS_ALONE and part.section:
            about.complain("unknown section")

    def _consistent(self) -> None:
        """One choice for each need, and no advice against it."""
        for (need, length), cases in self.chosen.items():
            names = [self.facts.rows[case]["name"] for case in cases]
            if len(names) > 1:
                self.objections.append(f"chosen for {need} at {length} tokens are {names}")
            for advice in self.advice:
                for case in cases:
                    self._advice_against(*advice, self.facts.rows[case], need)

    def _advice_against(self, word: str, option: str, value: str, device: str, best: Row, need: str) -> None:
        """What is said of an option's value, against a case that is recommended."""
        alike = [row for row in self.facts.measured if key(row, option) == key(best, option)]
        against = best[option] == value
        if word == "faster":
            slower = need in SPEED and best[option] in ("cpu", *DEFAULTS) and not against
            against = slower and any(row[option] == value for row in alike)
        if against and word != "unsure" and device in (value, best["device"]):
            self.objections.append(f"{option} {value} on {device} is {word}, and {need}: {best['name']}")


def objections(
    results: Row, report: str, others: Sequence[Row] = (), *, same_within: float = SAME_WITHIN
) -> list[str]:
    """What is wrong with a report's sentences; empty where each agrees with the results."""
    return Reader(Facts(results, others, same_within), parts_of(report)).read()


# --- ratios, and why they aren't called anything


def _ratio(about: About, shown: str) -> None:
    """A ratio without its interval."""
    pair, about.ratio = about.pair(), amount(shown)
    if pair.exact:
        about.agree(shown, pair.value, "the ratio")
    elif about.need == "balanced":  # of whose factors one is a mean over rounds
        about.must(abs(log(about.ratio / pair.value)) < SMALL_LEAD, f"the ratio is {pair.value}")
    else:
        about.must("round by round" in about.text, f"by these figures the ratio is {pair.value}")


def _interval(about: About, low: str, high: str) -> None:
    """The bounds of a ratio."""
    pair = about.pair()
    for shown, end, outwards in ((low, pair.low, -1), (high, pair.high, 1)):
        if pair.at_least and end is not None:
            wide = outwards * (amount(shown) - end) >= -1.000001 * rounding(shown)
            about.must(wide, f"{shown} isn't as far off as {end}")
        elif pair.known:
            about.agree(shown, end, "a bound")
    about.must(amount(low) <= amount(high), "bounds the wrong way round")


def _times(about: About, shown: Found) -> None:
    """``1.67 × (1.26 to 1.98)``; where a reason follows, the interval stands in that."""
    _ratio(about, shown["times"])
    if shown.get("low"):
        _interval(about, shown["low"], shown["high"])
        low, middle, high = (amount(shown[name]) for name in ("low", "times", "high"))
        slack = rounding(shown["times"])
        about.must(low - slack <= middle <= high + slack, "the ratio lies outside its interval")
    elif "why" not in shown:
        about.must(about.pair().low is None, "there is an interval")


def _verdict(about: About, pair: Pair, *words: str) -> None:
    """That a ratio is called one of these, or may be."""
    if pair.verdict is not None:
        about.must(pair.verdict in words, f"the verdict is {pair.verdict}")
    elif pair.low is not None and pair.high is not None:
        most = 1 + 2 * MOST_MARGIN
        possible = {
            "faster": pair.low > 1 + LEAST_OFF,
            "slower": pair.high < 1 / (1 + LEAST_OFF),
            "same": 1 / most <= pair.low and pair.high <= most,
            "unsure": True,
        }
        about.must(any(possible[word] for word in words), f"{pair.low} to {pair.high} can't be {words}")


def _why(about: About, text: str) -> None:
    _verdict(about, about.pair(), "unsure")
    about.clause(text, REASONS)


def _doubt(about: About, doubt: str) -> None:
    about.must(about.pair().doubt in (doubt, None), f"the doubt is {about.pair().doubt}")


def _no_interval(about: About, _: Found) -> None:
    _doubt(about, "no interval")
    about.must(about.pair().low is None, "there is an interval")


def _wide(about: About, shown: Found) -> None:
    _doubt(about, "wide")
    _interval(about, shown["low"], shown["high"])


def _fast_wide(about: About, shown: Found) -> None:
    """Of fast steps the JSON has no interval."""
    _doubt(about, "wide")
    about.must(amount(shown["low"]) <= amount(shown["high"]), "bounds the wrong way round")


def _fast_disagree(about: About, shown: Found) -> None:
    _doubt(about, "steps")
    _ratio(about, shown["typical"])
    _disagree(about, shown["typical"], shown["other"])


def _all_disagree(about: About, shown: Found) -> None:
    _doubt(about, "totals")
    _ratio(about, shown["typical"])
    by_all = about.pair().by_all or amount(shown["other"])
    about.must(abs(log(amount(shown["other"]) / by_all)) < SMALL_LEAD, f"by all steps it is {by_all}")
    _disagree(about, shown["typical"], shown["other"])


def _disagree(about: About, one: str, other: str) -> None:
    """That not both are far from 1 on the same side."""
    both = [log(amount(each)) for each in (one, other)]
    about.must(both[0] * both[1] <= 0 or min(map(abs, both)) <= MOST_MARGIN, f"{one} and {other} agree")


def _outside(about: About, shown: Found) -> None:
    _doubt(about, "outside")
    rows = (about.base, about.new)
    clocks = "clock" in shown["why"] and all(row["sm_clock_mhz"] for row in rows)  # of the last round alone
    about.must(any(map(disturbed, rows)) or clocks, "nothing disturbed these cases")


def _another_reason(about: About, _: Found) -> None:
    about.must("because" in about.text, "a reason for nothing")


def _resolution(about: About, shown: Found) -> None:
    """Which differences can't be told: among them the one that was measured."""
    pair = about.pair()
    _verdict(about, pair, "unsure")
    if pair.known and pair.resolution is not None and not pair.at_least:
        about.must(share_agrees(shown["seen"], pair.resolution), f"{pair.resolution} is resolved")
    number, unit = shown["seen"].split(" ")
    slack = rounding(number) / (100 if unit == "%" else 1)
    value = pair.value if pair.exact else about.ratio
    apart = max(value, 1 / value) - 1
    about.must(apart <= share_of(shown["seen"]) + slack, f"{apart:.1%} would have been resolved")


def _more_rounds(about: About, shown: Found) -> None:
    _verdict(about, about.pair(), "unsure")
    about.must(1 <= amount(shown["n"]) < 100, "no such number of rounds")


# --- the summary: counts, a choice, its baseline


def _need(about: About, lead: str, needs: dict[str, str]) -> bool:
    """Read need and sequence length of a lead or a title; whether it has a need."""
    match = re.fullmatch(r"(.*?)(?:, ([\d,]+) tokens)?", lead)
    if match is None or match[1] not in needs:
        return False
    about.where = f"{about.where}, {lead}"
    about.need, about.length = needs[match[1]], int(amount(match[2])) if match[2] else None
    lengths = {row["sequence_length"] for row in about.facts.measured}
    about.must(about.length in lengths or (about.length is None and len(lengths) == 1), "the sequence length")
    return True


def _choose(about: About, number: str) -> None:
    """Take note of the case that was chosen for a need."""
    about.best = about.row(number)
    about.reader.chosen.setdefault((about.need, about.length), set()).add(int(number))
    about.must(about.best in about.fit, "the chosen case isn't one to choose from")


def _figure(about: About, row: Row, shown: str) -> None:
    """The figures quoted of a case."""
    for pattern, values in _figures_of(row, about.need):
        if match := re.fullmatch(pattern, shown):
            for text, value in zip(match.groups(), values, strict=True):
                about.agree(text, value, f"of {row['name']}, {shown}: a figure")
            return
    about.complain(f"{shown!r} is no figure of {row['name']} for {about.need}")


def _figures_of(row: Row, need: str) -> list[tuple[str, tuple[float | None, ...]]]:
    """How the figures that a need looks at may be written, and what they are."""
    number, rate, peak = f"({NUMBER})", row["samples_per_s"], peak_mb(row)
    samples, step = f"{number} samples/s", f"{kind_of_step(row)} {number} ms"
    tokens, unit = token_rate(row)
    match need:
        case "throughput":
            return [
                (samples, (rate,)),
                (f"{number} {unit}, {samples}", (tokens, rate)),
                (f"{number} new tokens/s, {samples}", (row["new_tokens_per_s"], rate)),
            ]
        case "latency":
            return [(step, (step_ms(row),))]
        case "memory":
            per, what = (rate, "samples/s") if tokens is None else (tokens, unit)
            return [(f"{number} {what} per MB, peak {number} MB", (per / peak if per and peak else None, peak))]
        case "energy":
            return [(f"{number} J/sample", (row["energy_per_sample_j"],))]
        case "steadiness":
            return [(f"std {number} % of the mean step", (row["jitter_percent"],))]
    end, more = ("", ()) if peak is None else (f", {number} MB", (peak,))
    rates = _figures_of(row, "throughput")
    return [(f"{one}, {step}{end}", (*values, step_ms(row), *more)) for one, values in rates]


def _daily(about: About, text: str) -> None:
    match = re.fullmatch(rf"(?:about )?({NUMBER})( million)? samples/day", text)
    if match is None:
        about.complain("unknown words")
        return
    shown, a_day = amount(match[1]) * (1_000_000 if match[2] else 1), about.best["samples_per_s"] * 86_400
    about.must(abs(shown / a_day - 1) < 0.06, f"{a_day} samples a day")


def _summed(about: About, lead: str) -> None:
    if lead == "Measured":
        about.sentences(COUNTS)
    elif _need(about, lead, NEEDS_BY_LEAD):
        about.sentences(SUMMARY)
        _complete(about)
    else:
        about.complain(f"unknown lead: {lead!r}")


def _counted(about: About, shown: Found) -> None:
    states = Counter(row["outcome"] for row in about.facts.rows)
    about.agree(shown["n"], states["ok"], "number of measured cases")
    about.agree(shown["m"], len(about.facts.rows), "number of cases")
    about.must(set(states) <= {"ok"} or "measured" in about.text or ";" in about.text, "others aren't told")


def _counted_others(about: About, shown: Found) -> None:
    states = Counter(row["outcome"] for row in about.facts.rows if row["outcome"] != "ok")
    wanted = {OUTCOMES.get(state, state): number for state, number in states.items()}
    found = {
        word: amount(number)
        for number, word in (each.split(" ", 1) for each in re.split(", | and ", shown["others"]))
    }
    about.must(found == wanted, f"others are {wanted}")


def _is_best(about: About, shown: Found) -> None:
    _choose(about, shown["best"])
    _figure(about, about.best, shown["figure"])
    if shown["versus"]:
        about.clause(shown["versus"], VERSUS)
    else:
        about.must(about.need == "energy" or about.best["baseline"] is None, "nothing is said of its baseline")


def _itself(about: About, _: Found) -> None:
    about.must(about.best["baseline"] == about.best["case"], "it isn't the baseline")


def _baseline(about: About, shown: Found) -> None:
    """That the baseline is the one of the JSON, of the same length and with its own figure."""
    about.between(about.row(shown["base"]), about.best)
    same = about.base["sequence_length"] == about.best["sequence_length"]
    about.must(about.base["case"] == about.best["baseline"], f"the baseline is case {about.best['baseline']}")
    about.must(same, "the baseline has another sequence length")
    _figure(about, about.base, shown["theirs"])
    words = {"throughput": "the throughput of", "latency": "as fast as"}
    about.must(shown.get("of") in (None, words[about.need]), f"{shown.get('of')!r} of {about.need}")


def _versus(about: About, shown: Found) -> None:
    _baseline(about, shown)
    _verdict(about, about.pair(), "faster", "slower")
    _times(about, shown)
    about.must(not _contrary(about), "the two figures say the contrary of the ratio")


def _versus_contrary(about: About, shown: Found) -> None:
    _baseline(about, shown)
    _verdict(about, about.pair(), "faster", "slower")
    _times(about, shown)
    about.must(_contrary(about), "the two figures don't say the contrary of the ratio")


def _contrary(about: About) -> bool:
    """Whether of two cases the one with the better figure isn't the one with the better ratio."""
    costs = [cost(about.need, row) or inf for row in (about.base, about.best)]
    return (costs[0] - costs[1]) * (about.ratio - 1) < 0


def _versus_same(about: About, shown: Found) -> None:
    _baseline(about, shown)
    _verdict(about, about.pair(), "same")
    _times(about, shown)
    _margin(about, shown["margin"])
    ends = [abs(log(amount(shown[end]))) for end in ("low", "high")]
    about.must(max(ends) <= log(1 + share_of(shown["margin"])) + 1e-3, "the interval is wider than the margin")


def _versus_unsure(about: About, shown: Found) -> None:
    _baseline(about, shown)
    _ratio(about, shown["times"])
    _why(about, shown["why"])


def _margin(about: About, shown: str) -> None:
    margins = {about.facts.margin(row) for row in (about.base, about.new)}
    about.must(any(share_agrees(shown, each) for each in margins), f"margins are {margins}")


def _without_baseline(about: About, shown: Found) -> None:
    about.must(about.best["baseline"] is None, "there is a baseline")
    _no_baseline(about, shown["why"], about.best["sequence_length"])


def _no_baseline(about: About, why: str, length: int) -> None:
    """Why there is no baseline: none was planned, or it wasn't measured."""
    if match := re.fullmatch(r"[Nn]o case with (.+) was planned at ([\d,]+) tokens", why):
        about.agree(match[2], length, "the sequence length")
        wanted = [each.split("=") for each in match[1].split(", ") if each != "any"]
        rows = [row for row in about.facts.rows if row["sequence_length"] == length]
        planned = [row["name"] for row in rows if all(str(row[name]) == value for name, value in wanted)]
        about.must(not planned, f"planned are {planned}")
    elif match := re.fullmatch(r"[Tt]he baseline, ⟦(\d+)⟧, (.+)", why):
        row = about.row(match[1])
        words = REASONS_OF_OUTCOMES.get(row["outcome"], "has no figures")
        about.must((match[2], row["sequence_length"]) == (words, length), f"{row['name']} {words}")
    else:
        about.complain(f"unknown reason: {why!r}")


# --- how sure a choice is


def _alone(about: About, _: Found) -> None:
    about.must(len(about.fit) == 1, "there are other cases to choose from")


def _over_leader(about: About, shown: Found) -> None:
    """A simpler case in place of the one with the best figure."""
    about.between(about.row(shown["leader"]), about.best)
    fit, leader = about.fit, about.base
    _figure(about, leader, shown["figure"])
    costs = [about.facts.costs(about.need, row, fit) for row in fit]
    about.must(about.facts.costs(about.need, leader, fit) == min(costs), "another has a better figure")
    about.must(leader is not about.best, "it is the chosen one")
    about.must(simplest(about.best, [leader]), "the chosen case isn't simpler")
    if not shown.get("lead"):
        about.must(about.pair().value >= 1 or not about.pair().exact, "its lead is known")
        return
    _percent(about, shown["lead"], 1 / about.pair().value - 1)
    about.ratio = 1 / (1 + amount(shown["lead"]) / 100)
    about.must(0 <= amount(shown["lead"]) <= 100 * SMALL_LEAD, "the lead isn't small")


def _percent(about: About, shown: str, share: float) -> None:
    """A lead or an arrears in percent, which may be a mean over rounds."""
    if about.pair().exact:
        about.agree(shown, 100 * share, "it")
    else:
        about.must("round by round" in about.text or about.need == "balanced", f"it is {share:.1%}")


def _leads_within(about: About, shown: Found) -> None:
    _over_leader(about, shown)
    about.must(about.pair().verdict in ("same", None) or about.pair().low is None, "they aren't the same")
    _margin(about, shown["within"])
    about.must(amount(shown.get("lead") or "0") <= 100 * share_of(shown["within"]), "beyond the margin")


def _leads_unsure(about: About, shown: Found) -> None:
    _over_leader(about, shown)
    _verdict(about, about.pair(), "unsure", "faster")


def _would_cost(about: About, shown: Found) -> None:
    _costs(about, shown["costs"], about.base, about.best)


def _tied(about: About, number: int, besides: Row | None = None) -> None:
    """How many cases can't be told apart from the chosen one, nor from the one with the best figure.

    One that is told apart from the chosen case or from another of them may count either way.
    """
    near = {row["case"]: about.facts.near(about.need, row, about.fit) for row in about.fit}
    rows = [row for row in about.fit if near[row["case"]] is not False]
    for row in rows:
        words = {about.pair(row, other).verdict for other in rows if other is not row}
        if words & {"faster", None} or about.pair(row, about.best).verdict == "slower":
            near[row["case"]] = None
    counted = [near[row["case"]] for row in about.others if row is not besides]
    least, most = counted.count(True), len(counted) - counted.count(False)
    about.must(least <= number <= most and number > 0, f"{least} to {most} can't be told apart")


def _more_ties(about: About, shown: Found) -> None:
    _tied(about, int(amount(shown["n"])), besides=about.base)


def _not_told_apart(about: About, shown: Found) -> None:
    _tied(about, int(amount(shown["n"])))


def _ties(about: About, shown: Found) -> None:
    rows = [about.row(number) for number in re.findall(r"⟦(\d+)⟧", shown["ties"])]
    more = re.search(rf"({NUMBER}) more", shown["ties"])
    about.must(about.leads, "another has a better figure")
    _tied(about, len(rows) + (int(amount(more[1])) if more else 0))
    for row in rows:
        about.must(row in about.others, f"{row['name']} isn't one to choose from")
        pair, costs = (
            about.pair(row, about.best),
            [about.facts.costs(about.need, each, about.fit) for each in (row, about.best)],
        )
        if (costs[0] - costs[1]) * (pair.value - 1) >= 0:  # else figures and typical steps disagree
            _verdict(about, pair, "same", "unsure")
    about.must(simplest(about.best, rows), "it isn't the simplest")
    about.between(about.others[0], about.best)


def _the_simplest(about: About, _: Found) -> None:
    about.must("Indistinguishable from" in about.text, "of no others")


def _next(about: About, shown: Found) -> None:
    about.between(about.row(shown["next"]), about.best)
    costs = [about.facts.costs(about.need, row, about.fit) for row in about.others]
    nearest = about.facts.costs(about.need, about.base, about.fit) <= min(costs) * (1 + 1e-12)
    about.must(about.base in about.others and nearest, "it isn't the next")
    about.must(about.leads, "another has a better figure")
    _figure(about, about.base, shown["figure"])


def _next_behind(about: About, shown: Found) -> None:
    _next(about, shown)
    pair = about.pair()
    _verdict(about, pair, "faster")
    _percent(about, shown["behind"], 1 - 1 / pair.value)
    low, middle, high = (amount(shown[name]) for name in ("low", "behind", "high"))
    about.must(0 < low <= middle <= high, "it isn't surely behind")
    if pair.low and pair.high and not pair.at_least:
        about.agree(shown["low"], 100 - 100 / pair.low, "the lower bound")
        about.agree(shown["high"], 100 - 100 / pair.high, "the upper bound")


def _next_by_times(about: About, shown: Found) -> None:
    _next(about, shown)
    _verdict(about, about.pair(), "faster")
    _times(about, shown)
    about.must(amount(shown.get("low") or shown["times"]) > 1, "it isn't surely behind")


def _next_unsure(about: About, shown: Found) -> None:
    _next(about, shown)
    _ratio(about, shown["times"])
    _why(about, shown["why"])


def _next_contrary(about: About, shown: Found) -> None:
    _next(about, shown)
    _times(about, shown)
    _verdict(about, about.pair(), "slower", "same")
    about.must(amount(shown["times"]) < 1 + SAME_WITHIN, "it isn't the contrary")


def _longer(about: About, shown: Found) -> None:
    found = longer_tail(about.need, about.best, about.others[0])
    if found is None or found[0] != shown["name"]:
        about.complain(f"longer is {found}")
        return
    about.agree(shown["mine"], found[1], f"its {found[0]}")
    about.agree(shown["theirs"], found[2], f"the other's {found[0]}")


def _further_unsure(about: About, shown: Found) -> None:
    words = [about.pair(row, about.best).verdict for row in about.others]
    least, most = words.count("unsure"), words.count("unsure") + words.count(None)
    about.must(max(least, 1) <= amount(shown["n"]) <= most, f"unsure are {least} to {most}")


def _clearly(about: About, _: Found) -> None:
    about.must(about.others and about.leads, "another has a better figure")
    for row in about.others:
        pair = about.pair(row, about.best)
        _verdict(about, pair, "faster")
        about.must(pair.value > 1 or not pair.exact, f"{row['name']} isn't behind")
    longer = longer_tail(about.need, about.best, about.others[0])
    about.must(not longer, f"its slow steps are longer: {longer}")


def _but_in_slow_steps(about: About, shown: Found) -> None:
    found = longer_tail(about.need, about.best, about.others[0])
    about.must(found and found[0] == shown["name"], f"longer is {found}")
    _verdict(about, about.pair(about.others[0], about.best), "faster")


def _no_lead_interval(about: About, _: Found) -> None:
    about.must(about.pair(about.others[0], about.best).low is None, "there is an interval")


def _not_established(about: About, _: Found) -> None:
    words = {about.pair(row, about.best).verdict for row in about.others}
    about.must(words != {"faster"} or not about.leads, "it is surely ahead of all")


# --- costs, and options that weren't surely in force


def _asks(about: About, shown: Found) -> None:
    _costs(about, shown["costs"], about.best, about.facts.base_of(about.best))


def _costs(about: About, text: str, row: Row, base: Row | None) -> None:
    for each in text.split(", "):
        about.clause(each, COSTS, row, base or {})
    _all_costs(about, text, row, base)


def _all_costs(about: About, text: str, row: Row, base: Row | None) -> None:
    """That no cost is left out."""
    if row["compile"] not in DEFAULTS and row["cold_cost_ms"] is not None:
        about.must("s of compile time" in text, "the time of compiling isn't told")
    if row["precision"] not in DEFAULTS:
        about.must(f"{row['precision']}: accuracy not measured here" in text, "nothing is said of accuracy")
    peaks = peak_mb(row), peak_mb(base) if base and comparable_memory(row, base) else None
    more = peaks[0] and peaks[1] and peaks[0] / peaks[1] - 1 >= LEAST_MORE_MEMORY
    about.must(not more or "peak memory" in text, "the cost in memory isn't told")


def _complete(about: About) -> None:
    """That costs and doubts are told where there are some; those that are told have been checked."""
    if about.best and "It costs" not in about.text:
        _all_costs(about, "", about.best, about.facts.base_of(about.best))
    for option in VERIFIED:
        asked = bool(about.best) and about.best[option] not in DEFAULTS
        told = re.search("Not applied|Not verified", about.text)
        about.must(
            not asked or told or True in in_force(about.best, option), f"{option} wasn't surely in force"
        )


def _memory_cost(about: About, shown: Found, row: Row, base: Row) -> None:
    mine, theirs = peak_mb(row) or 0.0, peak_mb(base) or inf
    about.agree(shown["change"], 100 * (mine / theirs - 1), "the change of memory")
    about.agree(shown["theirs"], theirs, "the memory")
    about.agree(shown["mine"], mine, "the memory")
    about.must(mine > theirs, "less memory is no cost")
    about.must(comparable_memory(row, base), "memory of a device against that of a process")


def _compile_cost(about: About, shown: Found, row: Row, _: Row) -> None:
    about.must(row["compile"] not in DEFAULTS, "it isn't compiled")
    about.agree(shown["s"], row["cold_cost_ms"] / 1000, "the time of compiling")


def _accuracy(about: About, shown: Found, row: Row, _: Row) -> None:
    about.must(shown["precision"] == row["precision"] not in DEFAULTS, f"it is {row['precision']}")


def _not_in_force(about: About, shown: Found) -> None:
    _doubted(about, shown["values"], False)


def _not_verified(about: About, shown: Found) -> None:
    _doubted(about, shown["values"], None)


def _doubted(about: About, values: str, state: bool | None) -> None:
    for value in values.split(", "):
        options = [option for option in VERIFIED if about.best[option] == value]
        told = any(state in in_force(about.best, option) for option in options)
        about.must(told, f"{value} was in force, or not asked for")


# --- optimal configurations and recommendations


def _optimum(reader: Reader, part: Part) -> None:
    texts = {item.lead: reader.about(part.section, item.text) for item in part.items}
    about = texts.get("Configuration") or reader.about(part.section, "")
    match = re.fullmatch(r"⟦(\d+)⟧", about.text)
    if match is None or not _need(about, part.title, NEEDS_BY_TITLE):
        about.complain(f"unknown optimum: {part.title!r}")
        return
    _choose(about, match[1])
    for lead, each in texts.items():
        _fact_of(replace(about, where=f"{about.where}, {lead}", text=each.text), lead)


def _fact_of(about: About, lead: str) -> None:
    """A line of an optimal configuration."""
    joules = about.best["energy_per_sample_j"]
    numbers = {
        "Batch size": [about.best["batch_size"]],
        "p99": [about.best["latency_p99_ms"]],
        "Slow steps": [about.best["latency_p99_ms"], about.best["latency_p50_ms"]],
        "Samples per joule": [1 / joules if joules else None],
    }
    match lead:
        case "How sure":
            about.sentences(HOW_SURE)
        case "Throughput" | "Latency" | "Throughput per MB" | "Energy" | "Spread" | "Figures":
            _figure(about, about.best, about.text)
        case "A day at that rate":
            _daily(about, about.text)
        case _ if lead in numbers:
            shown = re.findall(rf"(?<![\w.]){NUMBER}", about.text)
            agreed = [agrees(*each) for each in zip(shown, numbers[lead], strict=True)]
            about.must(all(agreed), f"{numbers[lead]}")
        case "Configuration" | "Precision" | "Balanced means" | "Cost of a million samples":
            pass
        case _:
            about.complain(f"unknown lead: {lead!r}")


def _recommended(about: About, lead: str) -> None:
    if _need(about, lead, NEEDS_BY_USE):
        about.sentences(USES)
        _complete(about)
    elif lead.startswith("Memory, "):
        about.sentences(FRONTIERS, lead.removeprefix("Memory, "))
    elif lead in OPTIONS_BY_LEAD:
        about.option = OPTIONS_BY_LEAD[lead]
        about.sentences(OPTION_SENTENCES)
    else:
        about.complain(f"unknown lead: {lead!r}")


def _use(about: About, shown: Found) -> None:
    _choose(about, shown["best"])
    _figure(about, about.best, shown["figure"])
    if shown["daily"]:
        _daily(about, shown["daily"])


def _stay(about: About, shown: Found, title: str) -> None:
    """Where memory ends in a series."""
    ran, too_large, fits, beyond = _frontier(about, shown, title)
    about.must(fits == max(ran), f"measured are {ran}")
    about.must(beyond == min(too_large) > fits, f"out of memory are {too_large}")


def _larger_ran(about: About, shown: Found, title: str) -> None:
    ran, too_large, fits, beyond = _frontier(about, shown, title)
    about.must(fits == max(ran), f"measured are {ran}")
    about.must(beyond == min(too_large) < fits, f"out of memory are {too_large}")


def _frontier(about: About, shown: Found, title: str) -> tuple[set[int], set[int], int, int]:
    """The batch sizes of a series that ran, those that were out of memory, and the two that are named."""
    rows = [row for row in about.facts.rows if titled(row, title)]
    ran = {row["batch_size"] for row in rows if row["outcome"] == "ok" and not row["again"]}
    not_fit = {row["batch_size"] for row in rows if row["outcome"] == "oom"}
    return ran, not_fit - ran, int(amount(shown["fits"])), int(amount(shown["beyond"]))


# --- what another device, precision or way of compiling brings


def _pairs(about: About, said: Found) -> list[tuple[Row, Row]]:
    """The cases with a value of an option, with those that differ from them in this option alone."""
    rows, new = [row for row in about.facts.measured if not labelled(row)], said["new"].removeprefix("compile=")
    bases = {key(row, about.option): row for row in reversed(rows) if row[about.option] == said["base"]}
    on_device = [row for row in rows if said["device"] in (None, row["device"])]
    found = [(bases.get(key(row, about.option)), row) for row in on_device if row[about.option] == new]
    return [(base, row) for base, row in found if base]


def _words_for(about: About, base: Row, new: Row) -> set[str]:
    """What may be said of a pair."""
    verdict = about.facts.throughput(base, new).verdict or "unsure"
    if about.option == "device":
        return {verdict}
    words = {True: verdict, False: "not applied", None: "not verified to be applied"}
    return {words[each] for each in both_in_force(base, new, about.option)}


def _tally(text: str) -> dict[str, int]:
    """``faster in 2 and unsure in 1``."""
    return {word: int(amount(number)) for word, _, number in (each.rpartition(" in ") for each in listed(text))}


def _option(about: About, shown: Found, advice: str | None) -> None:
    """``compile=default against off on cpu: throughput -2 to +4 % in 4 pairs (unsure in 4)``."""
    about.said, pairs, told = shown, _pairs(about, shown), _tally(shown["tally"])
    about.agree(shown["n"], len(pairs), "number of pairs")
    about.must((shown["unit"] == "%") == (about.option != "device"), "the unit")
    values = [about.facts.throughput(*pair).value for pair in pairs]
    ends = [100 * (each - 1) if shown["unit"] == "%" else each for each in (min(values), max(values))]
    about.agree(shown["low"], ends[0], "the least")
    about.agree(shown["high"] or shown["low"], ends[1], "the most")
    allowed = [_words_for(about, *pair) for pair in pairs]
    for word in {*told, *(word for each in allowed for word in each)}:
        least, most = allowed.count({word}), sum(word in each for each in allowed)
        about.must(least <= told.get(word, 0) <= most, f"{word} are {least} to {most}")
    about.must(sum(told.values()) == len(pairs), "the words don't add up")
    if advice:
        about.must(set(told) == {advice}, f"that needs all to be {advice}")
        value = shown["new"].removeprefix("compile=")
        about.reader.advice.append((advice, about.option, value, shown["device"] or value))


def _advise_use(about: About, shown: Found) -> None:
    about.said = {"advice": "faster", **shown}


def _advise_leave(about: About, shown: Found) -> None:
    about.said = {"advice": "slower", **shown}


def _option_same(about: About, shown: Found) -> None:
    _option(about, shown, "same")


def _option_unsure(about: About, shown: Found) -> None:
    _option(about, shown, "unsure")


def _option_figures(about: About, shown: Found) -> None:
    advice = about.said.get("advice")
    about.must(about.said.get("new") in (None, shown["new"]), f"advice on {about.said.get('new')}")
    _option(about, shown, advice)
    words = set(_tally(shown["tally"]))
    silent = advice is None and len(words) == 1 and words <= {"faster", "slower", "same", "unsure"}
    about.must(not silent or _against_a_choice(about, shown), "nothing is made of what all pairs agree in")


def _against_a_choice(about: About, shown: Found) -> bool:
    """Whether advice might be against what is recommended, so that there is none."""
    chosen = [
        (need, about.facts.rows[each]) for (need, _), cases in about.reader.chosen.items() for each in cases
    ]
    value = shown["new"].removeprefix("compile=")
    there = [each for each in chosen if shown["device"] in (None, each[1]["device"])]
    return any(row[about.option] == value or need in SPEED for need, row in there)


def _pays(about: About, shown: Found) -> None:
    """After how many steps compiling has paid for itself."""
    faster = [pair for pair in _pairs(about, about.said) if "faster" in _words_for(about, *pair)]
    saved = [(new["cold_cost_ms"], step_ms(base) - step_ms(new)) for base, new in faster]
    steps = [ceil(cold / gain) for cold, gain in saved if cold is not None and gain > 0]
    paid = about.option == "compile" and "faster" in _tally(about.said["tally"]) and steps
    about.must(paid, "no pair is faster")
    if steps:
        about.agree(shown["low"], min(steps), "the least number of steps")
        about.agree(shown["high"] or shown["low"], max(steps), "the most steps")


# --- the conclusion


def _to_run(about: About, shown: Found) -> None:
    about.need = "throughput"
    about.length = int(amount(shown["length"])) if shown["length"] else None
    _choose(about, shown["best"])
    about.agree(shown["n"], len(about.facts.of_length(about.length)), "number of measured cases")
    about.clause(shown["sure"], SURENESS)


def _series(about: About, shown: Found) -> list[Row]:
    """The one series that the words stand for, by its batch sizes."""
    names = {short: name for name, short in SHORT_OPTIONS.items()}
    options = [each.split("=") for each in (shown["options"] or "").split()]
    wanted = {names.get(name, name): value for name, value in options}
    wanted |= {"device": shown["device"], "precision": shown["precision"]}
    length = int(amount(shown["length"]))
    rows = [row for row in about.facts.measured if row["sequence_length"] == length]
    rows = [row for row in rows if all(str(row[name] or "default") == value for name, value in wanted.items())]
    about.must(len({key(row, "batch_size") for row in rows}) == 1, "several series are called so")
    return about.facts.series(rows[0])


def _no_larger(about: About, shown: Found) -> None:
    series = _series(about, shown)
    about.agree(shown["peak"], series[0]["batch_size"], "the smallest batch size")
    more = [row["batch_size"] for row in series if row["samples_per_s"] > series[0]["samples_per_s"]]
    about.must(not more, f"{more} bring more")


def _peak(about: About, shown: Found) -> None:
    """The batch size of highest throughput, and the first."""
    series, about.need = _series(about, shown), "throughput"
    about.best = max(series, key=lambda row: row["samples_per_s"])
    about.agree(shown["peak"], about.best["batch_size"], "the batch size of highest throughput")
    about.agree(shown["first"], series[0]["batch_size"], "the first batch size")
    about.between(series[0], about.best)


def _highest(about: About, shown: Found) -> None:
    _peak(about, shown)
    _times(about, shown)
    about.must(amount(shown["times"]) >= 1 - LEAST_OFF, "the highest is below the first")


def _highest_unsure(about: About, shown: Found) -> None:
    _highest(about, shown)
    _why(about, shown["why"])


def _highest_by_all(about: About, shown: Found) -> None:
    _peak(about, shown)
    _by_both(about, shown)


def _by_both(about: About, shown: Found) -> None:
    """A ratio by all steps together, and one by typical steps that says the contrary."""
    by_all, by_typical = about.new["samples_per_s"] / about.base["samples_per_s"], about.pair().value
    about.agree(shown["times"], by_all, "the ratio by all steps")
    about.agree(shown["typical"], by_typical, "the ratio by typical steps")
    about.must((by_all - 1) * (by_typical - 1) < 0, "they don't say the contrary")


def _largest(about: About, shown: Found) -> None:
    series = about.facts.series(about.best)
    about.must(series[-1] is about.best, "it isn't the largest")
    word = about.facts.throughput(series[-2], series[-1]).verdict
    about.must(not shown["rising"] or word in ("faster", None), f"the last step up is {word}")


def _last(about: About, shown: Found) -> None:
    """The largest batch size against that of highest throughput."""
    series = about.facts.series(about.best)
    about.agree(shown["last"], series[-1]["batch_size"], "the last batch size")
    about.between(about.best, series[-1])


def _last_gives(about: About, shown: Found) -> None:
    _last(about, shown)
    _times(about, shown)
    about.must(amount(shown["times"]) <= 1 + LEAST_OFF, "the last is above the highest")


def _last_unsure(about: About, shown: Found) -> None:
    _last_gives(about, shown)
    _why(about, shown["why"])


def _last_by_all(about: About, shown: Found) -> None:
    _last(about, shown)
    _by_both(about, shown)


def _tokenizing(about: About, shown: Found) -> None:
    rows = [row for row in about.facts.measured if "tokenize" in row["parts_ms"]]
    shares = {row["case"]: row["parts_ms"]["tokenize"]["mean"] / row["latency_mean_ms"] for row in rows}
    most = max(shares.values())
    about.agree(shown["share"], 100 * most, "the largest share")
    about.must(shares[int(shown["most"])] == most >= LEAST_TOKENIZING, "another's share, or a small one")


# --- words before tables


def _items(read: Callable[[About, str], None]) -> Callable[[Reader, Part], None]:
    """Reads each item of a section by itself."""

    def each(reader: Reader, part: Part) -> None:
        for item in part.items:
            read(reader.about(f"{part.section}, {item.lead or part.title}", item.text), item.lead)

    return each


def _before_a_series(reader: Reader, part: Part) -> None:
    for item in part.items:
        reader.about(f"{part.section}, {part.title}", item.text).sentences(LEADS_OF_SERIES, part)


def _unmeasured(about: About, shown: Found, part: Part) -> None:
    """``Not measured: batch size 4 (out of memory), 8 (skipped)``."""
    for size, outcome in re.findall(rf"({NUMBER}) \(([^()]+)\)", shown["sizes"]):
        rows = [
            row for row in about.facts.rows if row["batch_size"] == amount(size) and titled(row, part.title)
        ]
        words = {OUTCOMES.get(row["outcome"], row["outcome"]) for row in rows}
        waiting = outcome == "unfinished" and "not started" in words
        about.must(outcome in words or waiting, f"batch size {size} is {words}")


def _scaled(about: About, shown: Found, part: Part) -> None:
    """``Batch size 1 to 8: 1.87 × the throughput, …``."""
    sizes = [amount(row["Batch size"]) for row in part.rows]
    every = {
        key(row, "batch_size"): about.facts.series(row)
        for row in about.facts.measured
        if titled(row, part.title)
    }
    found = [rows for rows in every.values() if [row["batch_size"] for row in rows] == sizes]
    about.must(len(found) == 1, f"{len(found)} series are called so")
    first, last = found[0][0], found[0][-1]
    grown = last["samples_per_s"] / first["samples_per_s"]
    highest = max(found[0], key=lambda row: row["samples_per_s"])
    about.agree(shown["first"], first["batch_size"], "the first batch size")
    about.agree(shown["last"], last["batch_size"], "the last batch size")
    about.agree(shown["times"], grown, "the throughput")
    about.agree(shown["each"], grown * first["batch_size"] / last["batch_size"], "the throughput per item")
    about.agree(shown["peak"], highest["batch_size"], "the batch size of highest throughput")


def _gains(reader: Reader, part: Part) -> None:
    for item in part.items:
        reader.about(f"{part.section}, {part.title}", item.lead or item.text).clause(
            item.lead or item.text, GAINS, part
        )


def _rows_not_applied(about: About, shown: Found, part: Part) -> None:
    _rows_with(about, shown, part, "no")


def _rows_not_verified(about: About, shown: Found, part: Part) -> None:
    _rows_with(about, shown, part, "not verified")


def _rows_with(about: About, shown: Found, part: Part, applied: str) -> None:
    """In which rows of a table an option wasn't surely in force."""
    sizes = [row["Batch size"] for row in part.rows if row["Applied"] == applied]
    about.agree(shown["n"], len(sizes), f"number of rows with {applied!r} under Applied")
    about.must(shown["sizes"].split(", ") == sizes, f"the batch sizes are {sizes}")


def _leaderboard(reader: Reader, part: Part) -> None:
    about = reader.about(f"{part.section}, {part.title}", " ".join(item.text for item in part.items))
    length = int(amount(part.title.removeprefix("Ranked, ").removesuffix(" tokens")))
    rated = [row for row in about.facts.of_length(length) if row["samples_per_s"]]
    about.clause(about.text, LEADERBOARD, length)
    ranked = [reader.case(row["Case"]) for row in part.rows]
    about.must(
        sorted(row["case"] for row in ranked) == [row["case"] for row in rated], "not the measured cases"
    )
    about.must([row["Rank"] for row in part.rows] == [str(n + 1) for n in range(len(ranked))], "the ranks")
    rates = [row["samples_per_s"] for row in ranked]
    about.must(rates == sorted(rates, reverse=True), "not by throughput")
    for case, row in zip(ranked, part.rows, strict=True):
        _place(replace(about, text=str(row)), case, row)


def _against(about: About, shown: Found, length: int) -> None:
    about.base = about.row(shown["base"])
    about.agree(shown["rate"], about.base["samples_per_s"], "the baseline's throughput")
    about.must(about.base["sequence_length"] == length, "the baseline has another sequence length")


def _against_none(about: About, shown: Found, length: int) -> None:
    _no_baseline(about, shown["why"], length)


def _place(about: About, case: Row, row: dict[str, str]) -> None:
    """A row of the leaderboard."""
    about.agree(row["Throughput (samples/s)"], case["samples_per_s"], "the throughput")
    about.must(case["baseline"] == about.base.get("case"), f"its baseline is case {case['baseline']}")
    if case is about.base or not about.base:
        about.must(row.get("Verdict") == ("the baseline" if about.base else None), "the verdict")
        return
    pair = about.facts.throughput(about.base, case)
    about.agree(row["Against the baseline (%)"], 100 * (pair.value - 1), "the change")
    about.must(row["Verdict"].partition(":")[0] == pair.verdict, f"the verdict is {pair.verdict}")
    ends = [100 * (end - 1) for end in (pair.low, pair.high) if end is not None]
    shown = re.findall(NUMBER, row.get("95% interval (%)", ""))
    about.must(bool(shown) == bool(ends), "the interval")
    for text, end in zip((shown[0], shown[-1]) if shown else (), ends, strict=True):
        about.agree(text, end, "a bound")


def _disturbed_cases(reader: Reader, part: Part) -> None:
    rows = [row["name"] for row in reader.facts.rows if disturbed(row)]
    shown = [row["Case"] for row in part.rows]
    reader.about(part.section, str(shown)).must(shown == rows, f"disturbed are {rows}")


# --- limits

SHARE, BANDWIDTH = "Share of the peak rate (%)", "Share of the bandwidth, from above (%)"


def _limits(reader: Reader, part: Part) -> None:
    for item in part.items:
        if not item.lead and item.text != HOW_CLOSE:
            reader.about("Limits", item.text).sentences(LIMITS, part)
    for row in part.rows:
        _shares(reader.about("Limits", str(row)), reader.case(row["Case"]), row)


def _shares(about: About, case: Row, row: dict[str, str]) -> None:
    """That no share is above 100 %, and that each follows from the figures beside it."""
    for title in (SHARE, BANDWIDTH, "Device at work (%)"):
        shown = row.get(title, "0")
        about.must((title, shown) == (BANDWIDTH, "> 100") or amount(shown) <= 100, f"{title} above 100")
    step = case["device_p50_ms"] or case["latency_p50_ms"] or case["latency_mean_ms"]
    if "GFLOP/s" in row:
        rate = amount(row["GFLOP/step"]) / step * 1000
        about.must(abs(amount(row["GFLOP/s"]) / rate - 1) < 0.02, f"{rate} GFLOP/s")
    if SHARE in row:
        share = 100 * amount(row["GFLOP/s"]) / amount(row["Peak (GFLOP/s)"])
        about.must(abs(amount(row[SHARE]) - share) < 0.06 + 0.02 * share, f"{share} % of the peak")


def _limited(about: About, shown: Found, part: Part) -> None:
    """``Arithmetic limits 2 of 4 cases and the host limits 1 of 4 cases``."""
    told: dict[str, int] = {}
    for each in listed(shown["limits"]):
        match = re.fullmatch(rf"(.+) limits ({NUMBER}) of ({NUMBER}) cases?", each)
        if match is None or match[1].lower() not in BOUNDS:
            about.complain(f"unknown words: {each!r}")
            continue
        told[BOUNDS[match[1].lower()]] = int(amount(match[2]))
        about.agree(match[3], len(part.rows), "number of cases")
    held = Counter(row["Held back by"] for row in part.rows if "Held back by" in row)
    about.must(told == held, f"the table says {dict(held)}")


def _nearest(about: About, shown: Found, part: Part) -> None:
    shares = {about.reader.case(row["Case"])["case"]: amount(row[SHARE]) for row in part.rows if SHARE in row}
    most = max(shares.values())
    about.must(shares.get(int(shown["case"])) == most, f"the most is {most}")
    about.must(abs(amount(shown["share"]) - most) <= 0.55, f"the most is {most}")


def _unsound(about: About, shown: Found, part: Part) -> None:
    """Peaks of which no share is given; those with threads of their own aren't told apart here."""
    title = {"the peak rate": SHARE, "the bandwidth": BANDWIDTH}[shown["what"]]
    for device, precision in re.findall(r"(cpu|cuda:\d+) (\w+)(?!, \d)", shown["peaks"]):
        for row in part.rows:
            case = about.reader.case(row["Case"])
            held = case["device"], case["precision"].removeprefix("amp-"), case["threads"]
            about.must(held != (device, precision, 0) or title not in row, f"{row['Case']} has one")


# --- head, notes and method


def _head(reader: Reader, part: Part) -> None:
    imported = any(item.lead == "Taken over from" for each in reader.parts for item in each.items)
    for item in part.items:
        about = reader.about(f"the note {item.lead!r}" if item.quoted else "the head", item.text)
        if item.quoted:
            _note(about, item.lead)
        elif imported:
            day = str(about.facts.session["created"])[:10]
            about.must(f"Measured on {day}" not in item.text, "that was the import")


def _note(about: About, lead: str) -> None:
    marks = {kind_of_mark(mark) for row in about.facts.rows for mark in row["marks"]}
    mark = next((each for each in marks if each[:1].upper() + each[1:] == lead), None)
    if mark is not None:
        _marked(about, mark)
    elif lead in NOTES:
        known = NOTES[lead]
        whole = [each for each in known if each[0].fullmatch(about.text)]
        about.must(whole, "unknown words")
        if whole:
            about.clause(about.text, whole, lead)
    else:
        about.must(lead in FACTS_IN_NOTES, "unknown note")


def _of_the_session(about: About, shown: Found, _: str) -> None:
    if "n" in shown:
        _counted(about, shown)


def _marked(about: About, name: str) -> None:
    """How many cases bear a mark."""
    bearing = sum(name in map(kind_of_mark, row["marks"]) for row in about.facts.rows)
    match = re.search(rf"(?:all ({NUMBER}) cases?|({NUMBER}) of ({NUMBER}) cases?|the only case)", about.text)
    if match is None:
        about.complain("no number of cases")
        return
    about.agree(match[1] or match[2] or "1", bearing, "number of cases that bear it")
    of = amount(match[1] or match[3] or "1")
    about.must(max(len(about.facts.ok), bearing) <= of <= len(about.facts.rows), "number of cases that ran")
    if used := re.search(rf"up to ({NUMBER}) processors", about.text):
        marks = [re.search(r"others used (\d+)%", mark) for row in about.facts.rows for mark in row["marks"]]
        most = [float(mark[1]) for mark in marks if mark]
        about.agree(
            used[1], max(most + [row["others_cpu_percent"] or 0.0 for row in about.facts.rows]) / 100, "it"
        )


def _doubted_in(about: About, shown: Found, lead: str) -> None:
    """In how many cases an option wasn't in force, or nothing says that it was."""
    state = {"Not verified": None, "Not applied": False}[lead]
    rows = [
        (row, option) for option in VERIFIED for row in about.facts.measured if row[option] == shown["value"]
    ]
    found = [in_force(*each) for each in rows]
    least, most = found.count({state}), sum(state in each for each in found)
    about.must(least <= amount(shown["k"]) <= most, f"{least} to {most}")


def _uneven(about: About, shown: Found, _: str) -> None:
    found = [row for row in about.facts.measured if row["latency_mean_ms"] > UNEVEN * step_ms(row)]
    about.agree(shown["k"], len(found), "number of uneven cases")
    named = [about.row(number) for number in re.findall(r"⟦(\d+)⟧", shown["such"])]
    about.must(all(row in found for row in named), "a case that is even")


def _method(reader: Reader, part: Part) -> None:
    for item in part.items:
        if item.lead == "Noise floor":
            about = reader.about("Method, Noise floor", item.text)
            about.clause(about.text, NOISE_FLOOR)


def _noise_floor(about: About, shown: Found) -> None:
    first, again = about.facts.aa_pair() or ({}, {})
    change = typical(again) / typical(first) - 1
    about.must(int(shown["case"]) == first["case"], "another case was measured twice")
    about.agree(shown["change"], 100 * change, "the change")
    about.must(shown["word"] != "same" or abs(change) <= MOST_MARGIN, "that isn't the same")
    kinds = (None, first["device"].partition(":")[0]) if shown["kind"] else (None,)
    about.must(shown["kind"] in kinds, "it was measured on another device")
    rows = about.facts.measured
    for base in (row for row in rows if shown["kind"] in (None, row["device"].partition(":")[0])):
        for new in rows:
            pair = about.facts.throughput(base, new)
            smaller = abs(log(pair.value)) < abs(log(1 + change))
            counts = smaller and pair.verdict in ("faster", "slower")
            about.must(not counts, f"{new['name']} against {base['name']} is {pair.verdict}")


# --- the shapes of sentences


def shapes(*known: tuple[Read, *tuple[str, ...]]) -> Shapes:
    """Sentences with what checks them, in the order in which they are tried."""
    return [(shape(template), check) for check, *templates in known for template in templates]


REASONS = shapes(
    (_no_interval, "there is no interval to test it with"),
    (_wide, "the interval ({low:num} to {high:num} ×) is too wide to call[, also because {also:text}]"),
    (
        _fast_wide,
        "the interval of fast steps ({low:num} to {high:num} ×) is too wide to call"
        "[, also because {also:text}]",
    ),
    (_fast_disagree, "typical steps ({typical:num} ×) and fast steps ({other:num} ×) disagree"),
    (_all_disagree, "typical steps ({typical:num} ×) and all steps together ({other:num} ×) disagree"),
    (_outside, "that may be because {why:text}"),
)
MORE_OF_A_RATIO = shapes(
    (_resolution, "differences below {seen:share} can't be resolved"),
    (_more_rounds, "about {n:num} more round[s] would decide it"),
    (
        _another_reason,
        "other processes were running[{rest:text}]",
        "the machine stood still[{rest:text}]",
        "another process used the GPU[{rest:text}]",
        "the GPU was throttled[{rest:text}]",
        "the GPU ran below its default clock[{rest:text}]",
    ),
)
AFTERWARDS = shapes(
    (_asks, "It costs {costs:text}"),
    (_without_baseline, "No ratio to a baseline: {why:text}"),
    (_not_in_force, "Not applied: {values:text}"),
    (_not_verified, "Not verified: {values:text}"),
)
_LEADER = "{leader:case} ({figure:figure})"
_AHEAD = f"{_LEADER} is {{lead:num}} % ahead[{{how:how}}]"
_THE_NEXT = "The next, {next:case} ({figure:figure}), is"
HOW_SURE = [
    *shapes(
        (_alone, "There is no other case to choose from"),
        (
            _leads_within,
            f"{_AHEAD}, which is within {{within:share}}",
            f"{_LEADER} has the better value, which is within {{within:share}}",
        ),
        (
            _leads_unsure,
            f"{_AHEAD}, which isn't established",
            f"{_LEADER} has the better value, which isn't established",
        ),
        (_ties, "Indistinguishable from {ties:cases}"),
        (_next_behind, f"{_THE_NEXT} {{behind:num}} % behind ({{low:num}} to {{high:num}} %)[{{how:how}}]"),
        (
            _next_by_times,
            f"{_THE_NEXT} behind by {{times:num}} × ({{low:num}} to {{high:num}})[{{how:how}}]",
            f"{_THE_NEXT} behind by {{times:num}} × (no interval)",
        ),
        (_next_unsure, "The next is {next:case} ({figure:figure}): {times:num} ×[{how:how}], but {why:text}"),
        (
            _next_contrary,
            "The next is {next:case} ({figure:figure}): {times:num} × ({low:num} to {high:num}){how:how}, "
            "which contradicts these values",
        ),
        (_would_cost, "it would cost {costs:text}"),
        (_more_ties, "{n:num} more case[s] can't be distinguished either"),
        (_the_simplest, "it is the simplest of them"),
        (_longer, "but its {name:word} is longer: {mine:num} against {theirs:num} ms"),
        (_further_unsure, "{n:num} case[s] further behind can't be distinguished with certainty"),
    ),
    *MORE_OF_A_RATIO,
    *AFTERWARDS,
]
_BASELINE = "the baseline, {base:case} ({theirs:figure})"
VERSUS = shapes(
    (_itself, "which is the baseline itself"),
    (
        _versus_same,
        f"the same as {_BASELINE}, within {{margin:share}}: {{times:num}} × ({{low:num}} to {{high:num}})",
    ),
    (_versus_unsure, f"{{times:num}} × {{of:of}} {_BASELINE}, but {{why:text}}"),
    (_versus, f"{{times:num}} × ({{low:num}} to {{high:num}}) {{of:of}} {_BASELINE}"),
    (
        _versus_contrary,
        f"{{times:num}} × ({{low:num}} to {{high:num}}) {{of:of}} {_BASELINE} at typical steps, "
        "though not by all steps together",
    ),
)
SUMMARY = [*shapes((_is_best, "{best:case}: {figure:figure}[, {versus:versus}]")), *HOW_SURE]
COUNTS = shapes((_counted, "{n:num} of {m:num}[ planned] case[s]"), (_counted_others, "{others:text}"))
SURENESS = shapes(
    (_alone, "the only case"),
    (_not_told_apart, "indistinguishable from {n:num} other[s]"),
    (_clearly, "clearly ahead of the next"),
    (_but_in_slow_steps, "ahead of the next, but not in its slow steps ({name:word})"),
    (_no_lead_interval, "no interval to test its lead with"),
    (_not_established, "its lead isn't established"),
)
USES = [*shapes((_use, "use {best:case}: {figure:figure}[, {daily:daily}]")), *SURENESS, *AFTERWARDS]
FRONTIERS = shapes(
    (_stay, "stay at batch size {fits:num} or below; {beyond:num} ran out of memory"),
    (_larger_ran, "batch size {beyond:num} ran out of memory, although {fits:num} didn't"),
)
COSTS = shapes(
    (_memory_cost, "{change:num} % peak memory ({theirs:num} to {mine:num} MB)"),
    (_compile_cost, "{s:num} s of compile time"),
    (_accuracy, "possibly accuracy ({precision:word}: accuracy not measured here)"),
)
_TO_BASE = "{base:word}[ on {device:word}]"
_PAIRS = (
    "[throughput ]{low:num}[ to {high:num}] {unit:unit}[ the throughput] in {n:num} pair[s] ({tally:inside})"
)
OPTION_SENTENCES = shapes(
    (_advise_use, "use {new:word}"),
    (_advise_leave, "leave {new:word} alone"),
    (_option_same, f"{{new:word}} makes no difference to {_TO_BASE}: {_PAIRS}"),
    (_option_unsure, f"no effect of {{new:word}} against {_TO_BASE} is established: {_PAIRS}"),
    (_option_figures, f"{{new:word}} against {_TO_BASE}: {_PAIRS}"),
    (_pays, "where faster it pays for itself after {low:num}[ to {high:num}] steps"),
)
_ON = "On {device:word} with {precision:word}[ {options:text}] at {length:num} tokens, "
_HIGHEST = f"{_ON}throughput is highest at batch size {{peak:num}}: {{times:num}} ×"
_LAST = "batch size {last:num} gives {times:num} ×"
_BY_BOTH = "by all steps together, {typical:num} × by typical steps"
CONCLUSIONS = [
    *shapes(
        (
            _to_run,
            "{best:case} is the one to run for throughput, of {n:num} measured case[s][, {length:num} tokens]: "
            "{sure:text}",
        ),
        (_no_larger, f"{_ON}no batch size above {{peak:num}} brings more throughput"),
        (
            _highest,
            f"{_HIGHEST} ({{low:num}} to {{high:num}}) that of {{first:num}}",
            f"{_HIGHEST} (no interval) that of {{first:num}}",
        ),
        (_highest_unsure, f"{_HIGHEST} that of {{first:num}}, but {{why:text}}"),
        (_highest_by_all, f"{_HIGHEST} that of {{first:num}} {_BY_BOTH}"),
        (_largest, "it is the largest size measured[, {rising:rising}]"),
        (
            _last_gives,
            f"{_LAST} ({{low:num}} to {{high:num}}) that of the peak",
            f"{_LAST} (no interval) that of the peak",
        ),
        (_last_unsure, f"{_LAST} that of the peak, but {{why:text}}"),
        (_last_by_all, f"{_LAST} that of the peak {_BY_BOTH}"),
        (_tokenizing, "Tokenizing, which is in the total, takes up to {share:num} % of a step ({most:case})"),
    ),
    *MORE_OF_A_RATIO,
]
LEADS_OF_SERIES = shapes(
    (_unmeasured, "Not measured: batch size {sizes:text}"),
    (
        _scaled,
        "Batch size {first:num} to {last:num}: {times:num} × the throughput, {each:num} × the throughput per "
        "item; highest throughput at batch size {peak:num}",
    ),
)
LEADERBOARD = shapes(
    (_against, "Against {base:case}, {rate:num} samples/s; ratios are of typical steps, per sample."),
    (_against_none, "{why:text}."),
)
LIMITS = shapes(
    (_nearest, "Nearest to the peak rate of products: {case:case}, with {share:num} % of it"),
    (
        _unsound,
        "No share of {what:peaks} is given for {peaks:text}: a case exceeded it, so it was measured too low",
    ),
    (_limited, "{limits:text}"),
)
_IN_ROWS = "in {n:num} row[s] (batch size {sizes:sizes})"
GAINS = shapes(
    (_rows_not_applied, f"{{word:word}} was not applied {_IN_ROWS}: the difference there isn't its doing."),
    (
        _rows_not_verified,
        f"{{word:word}} was not verified to be in force {_IN_ROWS}: no gain there can be put down to it.",
    ),
)
NOISE_FLOOR = shapes(
    (
        _noise_floor,
        "{case:case} measured twice: typical steps {change:num} % apart ({word:inside}); "
        "no smaller difference counts[ on {kind:word}]",
    )
)
_MEASURED = "{n:num} of {m:num}[ planned] case[s] measured."
NOTES = {
    "Cut off": shapes(
        (_of_the_session, "the record ends after {s:num} s without the session's end; " + _MEASURED)
    ),
    "Interrupted": shapes((_of_the_session, "the session didn't complete[: {why:text}]; " + _MEASURED)),
    "Failed": shapes((_of_the_session, "the session didn't complete[: {why:text}]; " + _MEASURED)),
    "Torn line": shapes((_of_the_session, "the last line of the file was unfinished, and was dropped.")),
    "Not verified": shapes(
        (_doubted_in, "whether {value:word} was in force isn't recorded in {k:num} case[s].")
    ),
    "Not applied": shapes((_doubted_in, "{value:word} was asked for and not in force in {k:num} case[s].")),
    "Uneven steps": shapes(
        (
            _uneven,
            "a few slow steps dominate {k:num} case[s], such as {such:cases} (mean over 1.25 × the median); "
            "throughput includes them.",
        )
    ),
}
FACTS_IN_NOTES = ("Resumed elsewhere", "Unlike nodes", "Random weights")
"""Notes on what no results hold."""


# --- the sections of a report

SECTIONS: dict[str, Callable[[Reader, Part], None]] = {
    "Summary": _items(_summed),
    "Method": _method,
    "Performance metrics": _before_a_series,
    "Optimal configurations": _optimum,
    "Leaderboard": _leaderboard,
    "Scaling with batch size": _before_a_series,
    "Precision gain": _gains,
    "Compile gain": _gains,
    "Disturbed cases": _disturbed_cases,
    "Limits": _limits,
    "Recommendations": _items(_recommended),
    "Conclusion": _items(lambda about, _: about.sentences(CONCLUSIONS)),
}
"""Sections with sentences, and what reads them."""
INTRODUCTIONS = {
    "Performance metrics": "",
    "Optimal configurations": "",
    "Leaderboard": "",
    "Scaling with batch size": (
        "Relative to linear scaling: above 1, a larger batch gives more samples/s. Throughput per item always "
        "falls when batching pays less than linearly (other tools call it scaling efficiency)."
    ),
    "Precision gain": (
        "Against fp32 at the same batch size: how much throughput rises, and how much of the latency is saved."
    ),
    "Compile gain": (
        "Compiling happens in the first steps, so its cost is what the first step took beyond a steady one."
    ),
}
"""What stands under the heading of a section whose tables have headings of their own."""
HOW_CLOSE = "How close each case comes to the device's measured peaks, and what limits it."
FACTS_ALONE = (
    "Model information",
    "System information",
    "Generation",
    "Training",
    "Device speedup",
    "Machine comparison",
    "Parts of a step",
    "Memory",
    "Out of memory",
    "Energy",
    "Jitter",
    "Anomalies",
    "Every case",
    "Warnings",
    "How to reproduce",
)
"""Sections without a sentence of judgment."""
