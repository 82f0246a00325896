"""Breaks files: bytes, values of JSON and TOML, and the structure around them."""

import copy
import json
import random
import re
from collections.abc import Iterator
from typing import Any

TAG = "<img src=x onerror=alert(1)>"
"""Must reach no page as it is."""
TEXTS = (
    "",
    " ",
    TAG,
    f"{TAG}|{TAG}",
    "</td></table><script>alert(1)</script>",
    "a|b\\|c\\",
    "`x` **b** [l](javascript:alert(1)) ![i](http://evil.example/x)",
    "\x1b[2J\x1b]0;title\x07\x9b31m",
    "\x00",
    "\r\n\u2028\u2029\x85\v\f",
    "\u202e\u200b\ufeff",
    "[bold]x[/bold] [@click=app.quit]y[/] [/] [",
    "{{ 7 * 7 }}{% raw %}$x$ %s %(a)s {0}",
    "=1+1|'cmd'!A0",
    "@SUM(A1)",
    "../../../etc/passwd",
    "/etc/passwd",
    "~root/x",
    "CON",
    "x" * 5000,
    "中" * 200,
    "e\u0301" * 50,
    "\U0001f600\U0001f469\u200d\U0001f4bb",
    "\ud800",
    "cpu",
    "cuda:0",
    "cuda:99999999999",
    "unknown",
    "auto",
    "1..10**9",
    "1..1000000000*2",
    "1e999",
    "NaN",
    "case_finished",
    "trap.py:make",
)
NUMBERS = (
    *(0, -0.0, -1, 1, 2, 0.5, 1e-308, 5e-324, 1e308, -1e308, 1e18, -1e18, 1e9),
    *(10**9, 10**18, 10**18 + 1, 2**31, 2**63, 2**64, 10**40, True, False),
)
ODD = (None, [], {}, [[]], [None], {"": None}, [1.0] * 5, [0] * 2000, {"a": {"b": {"c": []}}})
TOKENS = (
    *(b"[", b"]", b"{", b"}", b",", b":", b'"', b"\\", b"\n", b"\r", b"\0", b"\xff", b"\xef\xbb\xbf"),
    *(b"[" * 5000, b'{"a":' * 2000, b"null", b"NaN", b"-", b"1e400", b"9" * 5000, b"\\ud800", b"\x1b[2J"),
    *(b"[[", b"]]", b"=", b"'''", b'"""', b"#", b"..", b"*", b"%", b"0x", b"1_000", b"inf", b"2026-01-01"),
)


def value(dice: random.Random) -> Any:
    """A value that nobody expects; a new one at each call."""
    kind = dice.random()
    if kind < 0.45:
        return dice.choice(TEXTS)
    if kind < 0.75:
        return dice.choice(NUMBERS)
    return copy.deepcopy(dice.choice(ODD))


def bytes_of(data: bytes, dice: random.Random, other: bytes) -> bytes:
    """The file with a few places flipped, cut, doubled, filled, or with a piece of another file."""
    broken = bytearray(data)
    for _ in range(dice.choice((1, 1, 2, 5))):
        at, size = dice.randrange(len(broken) + 1), dice.choice((1, 3, 20, 400))
        match dice.randrange(6):
            case 0 if broken:
                broken[at % len(broken)] = dice.randrange(256)
            case 1:
                del broken[at : at + size]
            case 2:
                broken[at:at] = broken[at : at + size]
            case 3:
                broken[at:at] = dice.choice(TOKENS)
            case 4:
                del broken[at:]
            case _:
                start = dice.randrange(len(other) + 1)
                broken[at:at] = other[start : start + size]
    return bytes(broken)


def json_of(data: bytes, dice: random.Random) -> bytes:
    """The same JSON, line by line where it has lines, with other values, lost keys, events doubled or moved."""
    lines = [line.rstrip(b",") for line in data.splitlines() if line.strip() not in (b"[", b"]", b"")]
    try:
        known = [json.loads(line) for line in lines]
    except ValueError:
        return json.dumps(_changed(json.loads(data), dice)).encode()
    for _ in range(dice.choice((1, 1, 2, 4))):
        _change_lines(known, dice)
    layout = dice.random()
    if layout < 0.05:
        return json.dumps(known, indent=1).encode()
    lead, between, end = (b"[\n", b",\n", b"\n]\n") if b"[" in data.splitlines()[:1] else (b"", b"\n", b"\n")
    end = b",\n" if layout < 0.15 and end.strip() else end
    return lead + between.join(json.dumps(each).encode() for each in known) + end


def _change_lines(known: list[Any], dice: random.Random) -> None:
    at = dice.randrange(len(known)) if known else 0
    match dice.randrange(10):
        case 0 if known:
            del known[at]
        case 1 if known:
            known.insert(dice.randrange(len(known) + 1), copy.deepcopy(known[at]))
        case 2 if known:
            known.insert(dice.randrange(len(known)), known.pop(at))
        case 3:
            known.insert(at, value(dice))
        case _ if known:
            known[at] = _changed(known[at], dice)


def _changed(whole: Any, dice: random.Random) -> Any:
    """The value with one place within it replaced, taken away, or with something new beside it."""
    found = list(_places(whole))
    if not found:
        return value(dice)
    holder, key = dice.choice(found)
    match dice.randrange(8):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder[str(value(dice))] = value(dice)
        case 1:
            holder.insert(key, value(dice))
        case 2 if isinstance(holder, dict):
            holder[dice.choice(TEXTS)] = holder.pop(key)
        case _:
            holder[key] = value(dice)
    return whole


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(pairs):
        yield value, key
        yield from _places(inner)


def toml_of(data: bytes, dice: random.Random) -> bytes:
    """The same lines of TOML with other values and names, doubled, moved or lost."""
    lines = data.decode().splitlines()
    for _ in range(dice.choice((1, 1, 2, 4))):
        at = dice.randrange(len(lines))
        match dice.randrange(6):
            case 0:
                lines.insert(dice.randrange(len(lines) + 1), lines[at])
            case 1 if len(lines) > 1:
                del lines[at]
            case 2:
                lines[at] = re.sub(r"^[\w.]+", json.dumps(dice.choice(TEXTS)).replace("\\", "\\\\"), lines[at])
            case _:
                name = lines[at].partition("=")[0]
                lines[at] = f"{name}= {_toml(value(dice))}"
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _toml(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case None:
            return '""'
        case list():
            return f"[{', '.join(_toml(each) for each in value)}]"
        case dict():
            return "{" + ", ".join(f"{json.dumps(key)} = {_toml(each)}" for key, each in value.items()) + "}"
        case str():
            return json.dumps(value)
        case _:
            return repr(value)
