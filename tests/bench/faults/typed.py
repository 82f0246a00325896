"""Makes files whose values all have the right types, and little else that is right.

A value is drawn from the type of its field as msgspec describes it, bounds included, so that a new field is
covered without a line here. Files begin as good ones: what is left of that gets them past the first look.
"""

import csv
import io
import json
import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import corpus
import msgspec
import mutations
from msgspec import inspect

from benchtui import themes
from benchtui.sessions.events import AnyEvent
from benchtui.sessions.sweep import TASKS, Sweep, toml_reader
from benchtui.sessions.sweep.entries import FIELDS
from benchtui.sessions.sweep.options import ATTENTIONS, COMPILE_MODES, PADDINGS, PRECISIONS
from benchtui.themes import user_themes
from benchtui.tui.shell.settings import Settings

BROKEN = ("\ud800", "\udfff\ud800", "a\udc80b")
"""Text that is none in Unicode."""
HOSTILE = (
    *(text for text in mutations.TEXTS if "\ud800" not in text),
    f"a\n\n# h\n\n{mutations.TAG}\n\n| a | b |\n|---|---|\n",
    "\n```\nx",
    "<!-- ",
    "]]>&#60;script>alert(1)</script>",
    "+1+1",
    "-2+3",
    "\t=1+1",
    '"\n=1+1',
    "\ud7ff",
    "\x7f\x80\x9b",
    "\u2066\u2069",
    "\U0010ffff",
    "$\\frac{1}$_^",
    "%(x)s%n",
    "1" * 5000,
    "\x1b[2J" * 2000,
)
"""Text that a terminal, a page, a table or a template may obey."""
WORDS = ("cpu", "cuda:0", "cuda:1", "gpu 0", "processor", "n1", "n2", "flops", "bytes", "forward", "auto", "a")
"""Text that means something in some place."""
CHOICES = (*PRECISIONS, *ATTENTIONS, *COMPILE_MODES, *PADDINGS, *TASKS)
NO_VARIABLES = [""]
"""The axis ``env`` of a sweep without it, for which a file has no entry: it would be a table of names."""
WILDNESS = (0.002, 0.01, 0.05, 0.3)
"""How large a share of a file's values is drawn anew."""
MOST_ITEMS = 2000
FLOATS = (
    *(0.0, -0.0, 5e-324, -5e-324, 2.2e-308, 1e-300, 1e-18, 1e-9, 0.1, 1.0, 10.0, 99.999, 1e3, 1e6, 1e9, 1e15),
    *(1e17, 1e18, -1e18, 1e19, 1.8e308, -1e308, math.pi),
)
ODD_FLOATS = (math.nan, math.inf, -math.inf)
INTS = (
    0,
    1,
    2,
    3,
    5,
    10,
    77,
    512,
    4096,
    10**6,
    10**9,
    2**31,
    2**53 + 1,
    10**15,
    10**18,
    2**63 - 1,
    -1,
    -(10**18),
)
REFERENCES: dict[str, tuple[Any, ...]] = {
    "case": (0, 0, 1, 2, 3),
    "round": (0, 0, 1),
    "of": (None, 0, 1),
    "after": (None, 0, 1),
    "node": (None, None, "n1", "n2"),
    "schema": (1, 2, 3),
}
"""What fields of these names refer to in the session that all begin as."""
ABSENT = object()
"""Stands for a value that the file doesn't have."""


@cache
def described(kind: Any) -> inspect.Type:
    """The type as msgspec sees it."""
    return inspect.type_info(kind)


@dataclass(slots=True)
class Draw:
    """Draws values of types."""

    dice: random.Random
    wildness: float
    breaking: bool = False
    """Whether numbers and texts come that a strict reader must refuse: no JSON, or no Unicode."""
    unlike: bool = False
    """Whether columns have lengths that don't fit those beside them."""
    loose: bool = False
    """Whether cases, rounds and nodes are referred to that aren't there."""
    length: int = 1
    """Entries of the columns of the record that is drawn."""

    @classmethod
    def of(cls, dice: random.Random) -> "Draw":
        """A way of drawing for one file; most have what a reader must refuse in few places, or none."""
        return cls(
            dice,
            dice.choice(WILDNESS),
            breaking=dice.random() < 0.03,
            unlike=dice.random() < 0.1,
            loose=dice.random() < 0.1,
        )

    def record(self, kind: inspect.Type, value: Any = ABSENT) -> Any:
        """A record of this type with columns of one length."""
        columns = [each for each in (value if isinstance(value, dict) else {}).values() if _is_column(each)]
        self.length = len(columns[0]) if columns else self.dice.choice((0, 1, 1, 2, 3, 30))
        if not columns and self.dice.random() < 0.02:
            self.length = MOST_ITEMS
        return self.vary(kind, value)

    def vary(self, kind: inspect.Type, value: Any = ABSENT) -> Any:
        """A value of this type: mostly the one that is there, with some of what it consists of drawn anew."""
        if value is ABSENT or self.dice.random() < self.wildness:
            return self.fresh(kind)
        match kind:
            case inspect.Metadata():
                return self.vary(kind.type, value)
            case inspect.UnionType():
                return self.vary(_fitting(kind, value), value)
            case inspect.StructType() if isinstance(value, dict):
                return self._record(kind, value)
            case inspect.ListType() | inspect.VarTupleType() if isinstance(value, list):
                return self._lengthened([self.vary(kind.item_type, each) for each in value], kind.item_type)
            case inspect.TupleType() if isinstance(value, list):
                return [self.vary(each, item) for each, item in zip(kind.item_types, value, strict=False)]
            case inspect.DictType() if isinstance(value, dict):
                return {key: self.vary(kind.value_type, each) for key, each in value.items()}
            case inspect.AnyType() if isinstance(value, dict):
                return {key: self.vary(kind, each) for key, each in value.items()}
            case inspect.AnyType() if isinstance(value, list):
                return [self.vary(kind, each) for each in value]
        return value

    def fresh(self, kind: inspect.Type) -> Any:
        """A new value of this type."""
        match kind:
            case inspect.Metadata():
                return self.fresh(kind.type)
            case inspect.UnionType():
                return self.fresh(self.dice.choice(kind.types))
            case inspect.StructType():
                return self._record(kind, {})
            case inspect.ListType() | inspect.VarTupleType():
                return self._column(kind.item_type)
            case inspect.TupleType():
                return [self.fresh(each) for each in kind.item_types]
            case inspect.DictType():
                return {self.text(): self.fresh(kind.value_type) for _ in range(self.dice.choice((0, 1, 2, 5)))}
            case inspect.LiteralType():
                return self.dice.choice(kind.values)
        return self._plain(kind)

    def _plain(self, kind: inspect.Type) -> Any:
        match kind:
            case inspect.IntType():
                return self._within(kind, [*INTS, self.dice.randrange(4), self.dice.randrange(1000)], 1)
            case inspect.FloatType() if self.breaking and self.dice.random() < 0.1:
                return self.dice.choice(ODD_FLOATS)
            case inspect.FloatType():
                number = self.dice.choice((self.dice.random() * 100, self.dice.lognormvariate(0, 8)))
                return self._within(kind, [*FLOATS, number, number], 0.0)
            case inspect.BoolType():
                return self.dice.random() < 0.5
            case inspect.StrType():
                return self.text()
            case inspect.NoneType():
                return None
        return mutations.value(self.dice)

    def text(self) -> str:
        """Hostile text, or a word that means something."""
        if self.breaking and self.dice.random() < 0.1:
            return self.dice.choice(BROKEN)
        return self.dice.choice((HOSTILE, HOSTILE, WORDS, CHOICES)[self.dice.randrange(4)])

    def _record(self, kind: inspect.StructType, value: dict[str, Any]) -> dict[str, Any]:
        tag = {kind.tag_field: kind.tag} if kind.tag_field else {}
        made = tag | {key: each for key, each in value.items() if key not in tag}
        anew = self.wildness if value else 0.3
        for field in kind.fields:
            known = value.get(field.encode_name, ABSENT)
            if known is not ABSENT or field.required or self.dice.random() < anew:
                made[field.encode_name] = self._field(field, known)
        return made

    def _field(self, field: inspect.Field, known: Any) -> Any:
        """A field, whose name may say that it refers to something."""
        if field.encode_name not in REFERENCES or self.loose:
            return self.vary(field.type, known)
        if known is not ABSENT and self.dice.random() >= self.wildness:
            return known
        among = [each for each in REFERENCES[field.encode_name] if each is not None or not field.required]
        return self.dice.choice(among)

    def _column(self, kind: inspect.Type) -> list[Any]:
        if not _is_of_numbers(kind) or self.unlike:
            return [self.fresh(kind) for _ in range(self.dice.choice((0, 1, 1, 2, 3, 30)))]
        few = [self.fresh(kind) for _ in range(20)]
        return (few * (self.length // 20 + 1))[: self.length]

    def _lengthened(self, items: list[Any], kind: inspect.Type) -> list[Any]:
        """The column with some more entries or fewer, so that it is unlike those beside it."""
        if self.dice.random() >= self.wildness or (_is_of_numbers(kind) and not self.unlike):
            return items
        cut = self.dice.randrange(len(items) + 1)
        return self.dice.choice((items[:cut], [*items, *self._column(kind)], items[cut:], items * 2))

    def _within(self, kind: inspect.IntType | inspect.FloatType, numbers: Sequence[Any], least: Any) -> Any:
        """One of the numbers that the bounds of the type allow, or one of the bounds."""
        bounds = [bound for bound in (kind.ge, kind.le) if bound is not None]
        allowed = [each for each in (*numbers, *bounds, *bounds) if _allows(kind, each)]
        return self.dice.choice(allowed or [least])


def session(dice: random.Random) -> bytes:
    """A session of events that are all of the right types, in an order that need not be right."""
    draw, kinds = Draw.of(dice), _events()
    first, *rest = [draw.record(kinds[each["event"]], each) for each in _corpus_events()]
    _reorder(rest, dice)
    for _ in range(dice.choice((0, 0, 0, 1, 3))):
        rest.insert(dice.randrange(len(rest) + 1), draw.record(dice.choice(list(kinds.values()))))
    ending = "\n]\n" if dice.random() < 0.9 else ",\n"
    return ("[\n" + ",\n".join(map(json.dumps, [first, *rest])) + ending).encode()


def _reorder(events: list[Any], dice: random.Random) -> None:
    """Move, double, drop or shuffle events."""
    for _ in range(dice.choice((0, 0, 0, 0, 0, 1, 2, 8)) if events else 0):
        at = dice.randrange(len(events))
        match dice.randrange(5):
            case 0 if len(events) > 1:
                del events[at]
            case 1:
                events.insert(dice.randrange(len(events) + 1), dict(events[at]))
            case 2 if dice.random() < 0.2:
                dice.shuffle(events)
            case 3 if dice.random() < 0.3:
                events.sort(key=lambda event: str(event["event"]))
            case _:
                events.insert(dice.randrange(len(events)), events.pop(at))


@cache
def _events() -> dict[str, inspect.Type]:
    union = described(AnyEvent)
    types = union.types if isinstance(union, inspect.UnionType) else ()
    return {str(each.tag): each for each in types if isinstance(each, inspect.StructType)}


@cache
def _corpus_events() -> list[Any]:
    return list(json.loads(corpus.SESSIONS[0]))


def sweep(dice: random.Random) -> bytes:
    """A sweep in TOML whose entries have the types of its fields; those of a good one stay in part."""
    whole = dice.choice(_corpus_sweeps())
    return _toml_file(_entries_of(Draw.of(dice).record(described(Sweep), whole)))


@cache
def _corpus_sweeps() -> list[Any]:
    sweeps = [toml_reader.parse_sweep(data.decode(), "corpus") for data in corpus.SWEEPS]
    return [json.loads(msgspec.json.encode(each)) for each in sweeps]


def _entries_of(fields: dict[str, Any]) -> dict[str, Any]:
    """The entries of a file for the fields of a sweep, by the names that a file has for them."""
    inside = {entry.partition(".")[0] for entry in toml_reader.entries() if "." in entry}
    table = {key: value for key, value in fields.items() if key not in inside}
    for entry in toml_reader.entries():
        home, _, name = entry.rpartition(".")
        holder = fields.get(home) if home else None
        field = FIELDS.get(name, name)
        if isinstance(holder, dict) and field in holder and holder[field] != NO_VARIABLES:
            auto = any(holder.get(f"{part}_auto") for part in (name, field.removesuffix("_percent")))
            table.setdefault(home, {})[name] = "auto" if auto else holder[field]
    return table


def settings(dice: random.Random) -> bytes:
    """Settings whose entries have the right types."""
    from benchtui.tui.table.columns import KEYS  # Textual takes its time

    draw = Draw(dice, dice.choice((0.1, 0.5, 0.9)))
    good = {"theme": "dark", "hz": 4.0, "columns": list(KEYS[:3]), "sort": "p50", "quiet": "auto"}
    keys = {name: dice.choice(("f2", "ctrl+t", "x,y", draw.text())) for name in ("app.theme", "app.help")}
    return _toml_file(draw.vary(described(Settings), good | {"keys": keys | {draw.text(): draw.text()}}))


def theme(dice: random.Random) -> bytes:
    """A theme whose entries have the right types."""
    draw, ansi = Draw(dice, 0.0), dice.random() < 0.5

    def colour() -> str:
        good = dice.choice(user_themes.ANSI) if ansi else f"#{dice.randrange(16**6):06x}"
        return draw.text() if dice.random() < 0.02 else good

    colors: dict[str, Any] = {key: colour() for key in themes.COLORS if dice.random() < 0.9}
    if dice.random() < 0.7:
        colors["lines"] = [colour() for _ in range(dice.choice((0, 1, 3, 20)))]
    if dice.random() < 0.05:
        colors[draw.text()] = colour()
    return _toml_file({"dark": dice.random() < 0.5, "ansi": ansi, "colors": colors})


NESTED = (
    b'{"device":"cuda:0","batch_size":8,"mixed_precision":true,"model":"m","max_length":128,"iterations":5,'
    b'"metrics":{"latency_ms_mean":15.4,"throughput_mean":517.7,"latency_ms_std":1.0},'
    b'"system_info":{"hostname":"h","gpu_info":[{"name":"T4"}]},"model_info":{"num_parameters":7}}\n'
)
BENCHMARK_V2 = (
    b'{"metadata":{"model_id":"some/model","timestamp":"2026-01-15T14:30:22+00:00","hardware_info":'
    b'{"gpu_name":"G","gpu_memory_total_gb":22.0,"torch_version":"2.9.0"}},"measurements":{"e2e_latency":'
    b'[0.5,0.52,0.48],"time_to_first_token":[0.1,0.11,0.09],"inter_token_latency":[0.08,0.081,0.079]},"config":'
    b'{"name":"n","warmup_iterations":5,"batch_size":2,"sequence_length":128,"num_tokens_to_generate":5}}\n'
)


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _json_lines(values: Iterable[Any]) -> bytes:
    return "\n".join(map(json.dumps, values)).encode()


def _csv_file(rows: Iterable[dict[str, Any]]) -> bytes:
    written, table = io.StringIO(), list(rows)
    names = list(dict.fromkeys(name for row in table for name in row))
    rows_of = csv.DictWriter(written, names)
    rows_of.writeheader()
    rows_of.writerows(table)
    return written.getvalue().encode("utf-8", "surrogatepass")


MAPPED = (
    *("hyperfine", "pyperf", "pytest-benchmark", "torch-benchmark", "guidellm", "aiperf", "nvbench"),
    "optimum-benchmark",
)
"""Tools with a JSON file among the fixtures."""
IMPORTS: tuple[tuple[bytes, Callable[[Any], bytes]], ...] = (
    (corpus.IMPORTS[1], _csv_file),
    (corpus.IMPORTS[3], _json),
    (corpus.IMPORTS[4], _json_lines),
    (NESTED, _json_lines),
    (corpus.IMPORTS[5], _csv_file),
    (BENCHMARK_V2, _json_lines),
    *((corpus.fixture(f"{tool}.json"), _json) for tool in MAPPED),
    (corpus.fixture("vllm-bench.jsonl"), _json_lines),
)
"""Good results of each tool, and how they are written. A map reads them, so that a value may have any type."""


def results(dice: random.Random) -> bytes:
    """Results of another tool, of the right types."""
    draw, place = Draw.of(dice), dice.randrange(len(IMPORTS))
    kind, write = dict[str, Any], IMPORTS[place][1]
    value = _corpus_imports()[place]
    if not isinstance(value, list):
        return write(draw.record(described(kind), value))
    rows = [draw.record(described(kind), each) for each in value[:20]]
    rows += [draw.record(described(kind)) for _ in range(dice.choice((0, 0, 0, 1, 2)))]
    return write(rows)


@cache
def _corpus_imports() -> list[Any]:
    found: list[Any] = []
    for data, write in IMPORTS:
        if write is _csv_file:
            found.append(list(csv.DictReader(io.StringIO(data.decode()))))
        elif write is _json_lines:
            found.append([json.loads(line) for line in data.splitlines()])
        else:
            found.append(json.loads(data))
    return found


def _fitting(kind: inspect.UnionType, value: Any) -> inspect.Type:
    """The member of a union that a value is of."""
    wanted: tuple[type, ...] = {
        dict: (inspect.StructType, inspect.DictType),
        list: (inspect.ListType, inspect.VarTupleType, inspect.TupleType),
        type(None): (inspect.NoneType,),
    }.get(type(value), ())
    found = [each for each in kind.types if isinstance(_bare(each), wanted)] if wanted else []
    others = [each for each in kind.types if not isinstance(each, inspect.NoneType)]
    return next(iter(found or others))


def _bare(kind: inspect.Type) -> inspect.Type:
    return _bare(kind.type) if isinstance(kind, inspect.Metadata) else kind


def _is_column(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and not isinstance(value[0], dict)


def _is_of_numbers(kind: inspect.Type) -> bool:
    types = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
    return any(isinstance(_bare(each), inspect.IntType | inspect.FloatType) for each in types)


def _allows(kind: inspect.IntType | inspect.FloatType, number: Any) -> bool:
    return (
        (kind.ge is None or number >= kind.ge)
        and (kind.le is None or number <= kind.le)
        and (kind.gt is None or number > kind.gt)
        and (kind.lt is None or number < kind.lt)
    )


def _toml_file(table: dict[str, Any]) -> bytes:
    """Entries as TOML, each table within a line; what has no value is left out."""
    lines = [f"{_toml(key)} = {_toml(value)}" for key, value in table.items() if value is not None]
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _toml(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case list():
            return f"[{', '.join(_toml(each) for each in value if each is not None)}]"
        case dict():
            pairs = (f"{_toml(key)} = {_toml(each)}" for key, each in value.items() if each is not None)
            return "{" + ", ".join(pairs) + "}"
        case _:
            return repr(value)


MAKERS: dict[str, tuple[int, Callable[[random.Random], bytes]]] = {
    "session": (5, session),
    "sweep": (3, sweep),
    "settings": (1, settings),
    "theme": (1, theme),
    "import": (3, results),
}
"""How often a kind comes, and what makes it."""
