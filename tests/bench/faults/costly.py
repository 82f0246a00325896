"""Makes files of up to a megabyte that are as expensive to read as their format allows.

A recipe aims at what is known to hurt a format: nesting, dots, repeated keys, long keys and numbers, many
columns, rows, cases or aliases. Other files are good ones in which one place has grown: a list, a table, a
text, a number, or the number of lines.
"""

import copy
import json
import random
import struct
from collections.abc import Callable, Iterator
from typing import Any

import corpus

MOST_BYTES = 1_000_000
"""Maximum bytes of a file."""
FULL = 980_000
"""Bytes of its large part."""
SMALL = 100_000
Recipe = Callable[[], str | bytes]


def filled(piece: str, size: int = FULL) -> str:
    """A piece repeated up to a size."""
    return piece * max(1, size // len(piece))


def counted(line: str, size: int = FULL) -> str:
    """A line repeated up to a size, with ``%d`` in it counting."""
    return "".join(line.replace("%d", str(number)) for number in range(size // (len(line) + 4)))


def _toml(head: str, axes: str = "[axes]\n") -> dict[str, Recipe]:
    """Recipes of TOML, after entries that the reader expects."""
    values = {
        "dots": lambda: head + filled("a.") + "a = 1",
        "dots below an axis": lambda: head + axes + filled("env.") + "a = 1",
        "spaced dots": lambda: head + filled("a . ") + "a = 1",
        "quoted dots": lambda: head + filled('"a".') + "a = 1",
        "dotted header": lambda: head + "[" + filled("a.") + "a]",
        "dotted array header": lambda: head + "[[" + filled("a.") + "a]]",
        "brackets": lambda: head + "a = " + filled("["),
        "closed brackets": lambda: head + "a = " + "[" * (FULL // 2) + "]" * (FULL // 2),
        "inline tables": lambda: head + "a = " + filled("{a="),
        "dots in inline tables": lambda: head + "a = {" + filled("a.") + "a=1}",
        "many keys of many dots": lambda: head + counted("a." * 45 + "k%d = 1\n"),
        "many headers of many dots": lambda: head + counted("[" + "a." * 45 + "k%d]\n"),
        "one key again": lambda: head + filled("name = 1\n"),
        "many keys": lambda: head + counted("a%d = 1\n"),
        "many tables": lambda: head + counted("[a%d]\n"),
        "array of tables": lambda: head + filled("[[exclude]]\n"),
        "long key": lambda: head + filled("a") + " = 1",
        "long quoted key": lambda: head + f'"{filled("a")}" = 1',
        "long integer": lambda: head + "a = " + filled("1"),
        "long hexadecimal": lambda: head + "a = 0x" + filled("f"),
        "long float": lambda: head + "a = 1." + filled("1"),
        "large exponent": lambda: head + "a = 1e" + filled("1"),
        "underscores": lambda: head + "a = " + filled("1_") + "1",
        "date": lambda: head + "a = " + filled("2026-01-01"),
        "text": lambda: head + f'a = "{filled("a")}"',
        "open text": lambda: head + "a = " + filled('"""a'),
        "escapes": lambda: head + 'a = "' + filled("\\u0041") + '"',
        "folded lines": lambda: head + 'a = """' + filled("\\\n") + '"""',
        "short list items": lambda: head + "a = [" + filled("1,") + "]",
        "short tables": lambda: head + "a = [" + filled("{a=1},") + "]",
        "quotes": lambda: head + filled("'"),
        "comments": lambda: head + filled("#\n"),
        "empty lines": lambda: head + filled("\n"),
        "spaces": lambda: head + "a" + filled(" ") + "= 1",
        "wide characters": lambda: head + 'a = "' + "\U0001f600" * (FULL // 4) + '"',
    }
    return values


SWEEP = 'name = "s"\nmodel = "m"\n'
AXES = f"{SWEEP}[axes]\n"


def _sweeps() -> dict[str, Recipe]:
    entries = {
        "hexadecimal batch size": lambda: AXES + "batch_size = 0x" + filled("f"),
        "ranges again": lambda: AXES + 'batch_size = "' + filled("1..10000,") + '1"',
        "listed ranges again": lambda: AXES + "batch_size = [" + filled('"1..10000",') + "]",
        "a wide range": lambda: AXES + 'batch_size = "1..1000000000"',
        "a slow range": lambda: AXES + 'batch_size = "1..1000000000+1"',
        "many cases": lambda: AXES + 'batch_size = "1..10000"\nsequence_length = "1..10000"',
        "many variables": lambda: f"{AXES[:-7]}[axes.env]\n" + counted('A%d = "1..10000"\n', SMALL),
        "ten variables": lambda: f"{AXES[:-7]}[axes.env]\n" + counted('A%d = "1..100"\n', 200),
        "many parameters": lambda: f"{AXES[:-7]}[axes.parameters]\n" + counted("A%d = [1,2]\n", 1000),
        "sizes of numbers": lambda: AXES + "batch_size = [" + counted("%d9,") + "1]",
        "one word again": lambda: AXES + "precision = [" + filled('"fp32",') + "]",
        "a long word": lambda: AXES + f'precision = "{filled("fp32")}"',
        "a long model": lambda: f'model = "{filled("m")}"',
        "many models": lambda: "model = [" + counted('"m%d",') + "]",
        "a duration with spaces": lambda: f'{SWEEP}[measure]\ntimeout = "1h{filled(" ")}x"',
        "a long duration": lambda: f'{SWEEP}[measure]\ntimeout = "{filled("1")}s"',
        "a long percentage": lambda: f'{SWEEP}[measure]\nuntil = "{filled("1")}%"',
        "a long address": lambda: f'{SWEEP}[run]\naddress = "{filled("a.")}"',
        "a long task": lambda: f'{SWEEP}task = "{filled(".py:")}"',
        "a long attention": lambda: f'{AXES}attention = "kernel:{filled("a/")}"',
        "a long draft": lambda: f'{AXES}draft = "lookup:{filled("1")}"',
        "quoted variables": lambda: f"{AXES}env = '''{filled('A=1 ')}'''",
        "long variables": lambda: f"{SWEEP}[env]\n" + counted("A%d = 1\n"),
        "one exclusion again": lambda: SWEEP + filled("[[exclude]]\nbatch_size = 8\n"),
        "many exclusions": lambda: (
            AXES + 'batch_size = "1..10000"\nthreads = "1..9"\n' + counted("[[exclude]]\nbatch_size = %d\n")
        ),
        "kinds of exclusions": _kinds_of_exclusions,
    }
    return _toml(SWEEP) | entries


def _kinds_of_exclusions() -> str:
    """Exclusions that each name other options, of 90,000 cases."""
    values = {"batch_size": 7777, "sequence_length": 7777, "threads": 77, "tokenizer_threads": 77}
    words = {"precision": "int8", "compile": "default", "device": "cuda:0", "attention": "sdpa", "lora": "r8"}
    more = {"padding": "longest", "cache": "static", "pooling": "mean", "liger": "on", "optimizer": "sgd"}
    entries = [f"{name} = {json.dumps(value)}\n" for name, value in {**values, **words, **more}.items()]
    tables = [
        "[[exclude]]\n" + "".join(entry for bit, entry in enumerate(entries) if number >> bit & 1)
        for number in range(1, 2**13)
    ]
    text = AXES + 'batch_size = "1..9000"\nthreads = "1..10"\n'
    for table in tables:
        if len(text) + len(table) > FULL:
            break
        text += table
    return text


def _yamls() -> dict[str, Recipe]:
    head = "model: m\n"
    return {
        "brackets": lambda: head + "a: " + filled("["),
        "braces": lambda: head + "a: " + filled("{"),
        "open pairs": lambda: head + "a: " + filled("{a: "),
        "closed brackets": lambda: head + "a: " + "[" * (FULL // 2) + "]" * (FULL // 2),
        "dashes": lambda: "- " * (FULL // 2) + "a",
        "questions": lambda: "? " * (FULL // 2) + "a",
        "indents": lambda: "".join(f"{' ' * level}a:\n" for level in range(1400)),
        "aliases": lambda: "a: &a [1]\nb: [" + filled("*a,") + "]",
        "anchors": lambda: head + "a: [" + counted("&a%d 1,") + "]",
        "laughs": lambda: "".join(f"a{n}: &a{n} [{f'*a{n - 1},' * 9}]\n" for n in range(1, 30)),
        "tags": lambda: head + "a: " + filled("!!str "),
        "long key": lambda: head + filled("a") + ": 1",
        "long quoted key": lambda: head + '? "' + filled("a") + '"\n: 1',
        "many keys": lambda: head + counted("a%d: 1\n"),
        "one key again": lambda: filled("model: m\n"),
        "list": lambda: head + "a: [" + filled("1,") + "]",
        "block list": lambda: head + "a:\n" + filled("- 1\n"),
        "texts": lambda: head + "a: [" + filled('"a",') + "]",
        "long text": lambda: head + "a: " + filled("a"),
        "words": lambda: head + "a: " + filled("a "),
        "quotes": lambda: head + "a: " + filled('"'),
        "escapes": lambda: head + 'a: "' + filled("\\x41") + '"',
        "folded": lambda: head + "a: >\n" + filled("  a\n\n"),
        "long integer": lambda: head + "a: " + filled("1"),
        "base 60": lambda: head + "a: 1" + filled(":59"),
        "hexadecimal": lambda: head + "a: 0x" + filled("f"),
        "long float": lambda: head + "a: 1." + filled("1"),
        "comments": lambda: head + filled("#\n"),
        "documents": lambda: filled("---\n"),
        "colons": lambda: head + "a: " + filled("a: "),
        "merges": lambda: head + "a: {" + filled("<<: {a: 1}, ") + "}",
        "spaces": lambda: head + "a:" + filled(" ") + "1",
        "tabs": lambda: head + "a:" + filled("\t") + "1",
        "batch sizes": lambda: head + "axes:\n  batch_size: [" + filled("1,") + "1]",
    }


def _values() -> dict[str, Recipe]:
    """Values of ``--set``, as ``key=value``."""
    return {
        "dots": lambda: filled("a.") + "a=1",
        "dots below env": lambda: "env." + filled("a.") + "a=1",
        "dots in parameters": lambda: "axes.parameters." + filled("a.") + "a=1",
        "brackets": lambda: "batch_size=" + filled("["),
        "closed brackets": lambda: "batch_size=" + "[" * (FULL // 2) + "]" * (FULL // 2),
        "tables": lambda: "env=" + filled("{a="),
        "ranges": lambda: "batch_size=" + filled("1..10000,") + "1",
        "hexadecimal": lambda: "batch_size=0x" + filled("f"),
        "hexadecimal iterations": lambda: "iterations=0x" + filled("f"),
        "duration": lambda: "timeout=1h" + filled(" ") + "x",
        "unknown": lambda: filled("a") + "=1",
        "word": lambda: "precision=" + filled("a"),
        "words": lambda: "precision=" + filled("a,"),
        "numbers": lambda: "batch_size=" + filled("1,"),
        "line breaks": lambda: "batch_size=" + filled("\n"),
    }


def _jsons() -> dict[str, Recipe]:
    return {
        "brackets": lambda: filled("["),
        "closed brackets": lambda: "[" * (FULL // 2) + "]" * (FULL // 2),
        "objects": lambda: filled('{"a":'),
        "deep results": lambda: '{"results":' + filled("["),
        "one key again": lambda: "{" + filled('"results":[],') + '"results":[]}',
        "many keys": lambda: "{" + counted('"a%d":1,') + '"results":[]}',
        "long key": lambda: '{"' + filled("a") + '":1}',
        "long number": lambda: '{"results":[' + filled("1") + "]}",
        "short items": lambda: "[" + filled("1,") + "1]",
        "short objects": lambda: "[" + filled("{},") + "{}]",
        "unknown fields": lambda: '{"results":[{' + counted('"a%d":1,') + '"command":"x","mean":1}]}',
        "commands": lambda: '{"results":[' + counted('{"command":"%d","mean":1},')[:-1] + "]}",
        "one command": lambda: '{"results":[' + filled('{"command":"a","mean":1},')[:-1] + "]}",
        "times": lambda: '{"results":[{"command":"x","mean":1,"times":[' + filled("1,") + "1]}]}",
        "parameters": lambda: (
            '{"results":[{"command":"x","mean":1,"parameters":{' + counted('"a%d":"1",') + '"b":"2"}}]}'
        ),
        "empty lines": lambda: filled("\n") + "{}",
        "short lines": lambda: filled("{}\n"),
        "broken lines": lambda: filled("{\n"),
        "quotes": lambda: filled('"'),
        "columns": lambda: counted("a%d,") + "\n1",
        "commas": lambda: filled(",") + "\n",
        "cells": lambda: corpus.IMPORTS[1].decode().splitlines()[0] + "\n" + filled(",1"),
        "open cell": lambda: corpus.IMPORTS[1].decode().splitlines()[0] + '\n"' + filled("a\n"),
        "quoted cells": lambda: corpus.IMPORTS[1].decode().splitlines()[0] + "\n" + filled('""'),
        "underscores": lambda: "name\n" + filled("_T_"),
        "pipes": lambda: filled("|") + "\n",
    }


def _notes() -> dict[str, Recipe]:
    return {
        "words": lambda: filled("a "),
        "line breaks": lambda: filled("\n"),
        "escapes": lambda: filled("\x1b[2J"),
        "no text": lambda: b"\xff" * FULL,
    }


def _weights() -> dict[str, Recipe]:
    """Files of weights: a length of 8 bytes, then JSON."""

    def stored(header: str, length: int | None = None) -> bytes:
        return struct.pack("<Q", len(header) if length is None else length) + header.encode()

    return {
        "terabytes claimed": lambda: stored("{}", 2**60),
        "as much as allowed": lambda: stored("{}", 10**8),
        "brackets": lambda: stored(filled("[")),
        "objects": lambda: stored(filled('{"a":')),
        "sizes": lambda: stored('{"a":{"shape":[' + filled("9,") + "9]}}"),
        "large sizes": lambda: stored('{"a":{"shape":[' + filled("999999999999999999,") + "9]}}"),
        "tensors": lambda: stored("{" + counted('"a%d":{"shape":[1]},') + '"b":{"shape":[2]}}'),
        "long size": lambda: stored('{"a":{"shape":[' + filled("9") + "]}}"),
    }


def _session_recipes() -> dict[str, Recipe]:
    lines = corpus.SESSIONS[0].decode().splitlines()
    head, tail = "\n".join(lines[:2]) + "\n", "\n".join(lines[2:])
    started = json.loads(lines[1].rstrip(","))

    def after_start(events: str) -> str:
        return head + events + tail

    def before_end(events: str) -> str:
        return "\n".join(lines[:-2]) + "\n" + events + "\n".join(lines[-2:])

    def planned(sizes: list[int], events: str = "") -> str:
        changed = copy.deepcopy(started)
        changed["plan"] = [{"device": "cpu", "batch_size": size} for size in sizes]
        return "[\n" + json.dumps(changed, separators=(",", ":")) + ",\n" + events + lines[-2] + "\n]\n"

    def axes() -> str:
        changed = copy.deepcopy(started)
        changed["sweep"]["axes"] |= {"batch_size": list(range(1, 90_000)), "threads": list(range(4000))}
        return "[\n" + json.dumps(changed, separators=(",", ":")) + ",\n" + tail

    skipped = '{"event":"case_finished","t":1,"case":%d,"outcome":"skipped","reason":"x"},\n'
    added = '{"event":"case_added","t":1,"case":%d,"why":"more","config":{"device":"cpu","batch_size":%d}},\n'
    joined = '{"event":"node_joined","t":1,"node":"n%d","kind":"k","labels":{},"resources":{},"host":{}},\n'
    reading = '{"event":"telemetry","t":1,"at_s":[1],"host":{"cpu_percent":[1]}},\n'
    return {
        "brackets": lambda: head + filled("["),
        "objects": lambda: head + filled('{"event":'),
        "one long line": lambda: head + filled("a"),
        "empty lines": lambda: after_start(filled("\n")),
        "commas": lambda: after_start(filled(",\n")),
        "unknown events": lambda: after_start(filled('{"event":"x","t":1},\n')),
        "messages": lambda: after_start(filled('{"event":"message","t":1,"level":"info","text":"a"},\n')),
        "added cases": lambda: planned([], counted(added)),
        "nodes": lambda: after_start(counted(joined)),
        "readings": lambda: after_start(filled(reading)),
        "planned cases": lambda: planned([1] * (FULL // 35)),
        "different cases": lambda: planned(list(range(1, FULL // 38))),
        "skipped cases": lambda: planned(list(range(1, FULL // 120)), counted(skipped, FULL * 6 // 10)),
        "too many cases": lambda: planned([1] * 200_000),
        "wide axes": axes,
        "pauses": lambda: before_end(filled('{"event":"paused","t":14},\n{"event":"continued","t":14},\n')),
        "orders": lambda: before_end(filled('{"event":"order_changed","t":14,"cases":[]},\n')),
    }


RECIPES: dict[str, dict[str, Recipe]] = {
    "sweep": _sweeps(),
    "yaml": _yamls(),
    "set": _values(),
    "settings": _toml("hz = 4\n", "[keys]\n")
    | {
        "keys": lambda: "[keys]\n" + counted('"a%d" = "x"\n'),
        "columns": lambda: "columns = [" + filled('"p50",') + "]",
        "hexadecimal": lambda: "hz = 0x" + filled("f"),
        "a long theme": lambda: f'theme = "{filled("a")}"',
    },
    "theme": _toml("dark = true\n", "[colors]\n")
    | {
        "lines": lambda: "[colors]\nlines = [" + filled('"#112233",') + "]",
        "hexadecimal": lambda: "dark = 0x" + filled("f"),
    },
    "import": _jsons(),
    "session": _session_recipes(),
    "note": _notes(),
    "weights": _weights(),
    "cache": _jsons(),
}
"""Recipes by kind of file."""
GROWING: dict[str, tuple[bytes, ...]] = {"session": corpus.SESSIONS, "import": corpus.IMPORTS}
"""Good files, one place of which can grow."""


def every(kind: str) -> Iterator[tuple[str, bytes]]:
    """The file of each recipe of a kind, with its name."""
    for name, recipe in RECIPES[kind].items():
        data = recipe()
        yield name, (data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass"))[:MOST_BYTES]


def grown(kind: str, dice: random.Random) -> bytes:
    """A good file of a kind, one place of which has grown up to a megabyte."""
    data = dice.choice(GROWING[kind])
    lines = [line.rstrip(b",") for line in data.splitlines() if line.strip() not in (b"[", b"]", b"")]
    try:
        known = [json.loads(line) for line in lines]
    except ValueError:
        return _grown_text(data, dice)
    at, room = dice.randrange(len(known)), FULL - len(data)
    if dice.random() < 0.5:
        again = max(1, room // (len(lines[at]) + 20))
        known[at:at] = [_varied(known[at], number, dice.random() < 0.9) for number in range(again)]
    else:
        _grow(known[at], dice, room)
    lead, between, end = (b"[\n", b",\n", b"\n]\n") if data.startswith(b"[\n") else (b"", b"\n", b"\n")
    return lead + between.join(json.dumps(each, separators=(",", ":")).encode() for each in known) + end


def _grown_text(data: bytes, dice: random.Random) -> bytes:
    """One document of JSON with a larger place, or a table with more rows."""
    try:
        whole = json.loads(data)
    except ValueError:
        head, *rows = data.splitlines(keepends=True)
        row = dice.choice(rows)
        return head + row * ((FULL - len(head)) // len(row))
    _grow(whole, dice, FULL - len(data))
    return json.dumps(whole, separators=(",", ":")).encode()


def _grow(whole: Any, dice: random.Random, room: int) -> None:
    """Enlarge one place of a value."""
    places = list(_places(whole))
    if not places:
        return
    holder, key = dice.choice(places)
    holder[key] = _larger(holder[key], dice, room)


def _larger(value: Any, dice: random.Random, room: int) -> Any:
    distinct = dice.random() < 0.7
    match value:
        case list() if value:
            again = max(1, room // (len(json.dumps(value)) + 8))
            return [_varied(each, number, distinct) for number in range(again) for each in value]
        case dict() if value:
            again = max(1, room // (len(json.dumps(value)) + 8))
            return {f"{key}{number or ''}": each for number in range(again) for key, each in value.items()}
        case str():
            return (value or "a") * (room // max(1, len(value)))
        case int() | float() if dice.random() < 0.5:
            return [value] * (room // (len(str(value)) + 2))
        case int():
            return 10**4000
    return value


def _varied(value: Any, number: int, distinct: bool) -> Any:
    """The same value with other numbers and names."""
    if not distinct:
        return value
    match value:
        case bool() | None:
            return value
        case int():
            return value + number
        case str() if len(value) < 20 and not value.isalpha():
            return f"{value}{number}"
        case dict():
            return {
                key: each if key in ("event", "schema") else _varied(each, number, True)
                for key, each in value.items()
            }
    return value


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(pairs):
        yield value, key
        yield from _places(inner)
