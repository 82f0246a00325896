"""``benchtui schema --check``: a document or a session against its schema; the first difference in one line."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.export.json_document import schema_name
from benchtui.sessions.files.input_file import read_text
from benchtui.sessions.sanitize import quoted
from benchtui.tui.cli.schema.command import NAMES, document_schema, document_type

_WHERE = re.compile(r"(?P<problem>.*) - at `(?P<place>\$.*)`", re.DOTALL)
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")
_MISSING = re.compile(r"Object missing required field `(.*)`")
MOST_BYTES = 2**30


def check(path: Path, name: str | None) -> str:
    """Compare a file with a schema, by default the one that it names; return what it is, in one line.

    Raises:
        BenchtuiError: if it doesn't match, with the place, the value and what is allowed there; or if it can't
            be read, or doesn't say what it is.
    """
    documents = list(_documents(path))
    whole = [document for _, document in documents]
    name = name or schema_name(whole[0] if len(whole) == 1 else whole)
    if name not in NAMES:
        raise BenchtuiError(f"{path}: no $id that names its schema: benchtui schema NAME --check FILE")
    if len(documents) > 1 and name == "session":
        documents = [("", whole)]
    for where, document in documents:
        _check(f"{path}{where}", document, name)
    return f"{path}: matches the schema {document_schema(name)['$id']}"


def _documents(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the file's document; or those of its lines, as ``run --json`` and unfinished sessions have them."""
    try:
        text = read_text(path, MOST_BYTES)
    except OSError as error:
        raise BenchtuiError(f"{path}: can't be read: {error.strerror}") from error
    except ValueError as error:
        raise BenchtuiError(f"{path}: not a UTF-8 text file") from error
    try:
        yield "", msgspec.json.decode(text)
        return
    except msgspec.DecodeError as error:
        problem = str(error)
    lines = [(number, line.strip().rstrip(",")) for number, line in enumerate(text.splitlines(), 1)]
    filled = [(number, line) for number, line in lines if line not in ("", "[", "]")]
    for number, line in filled:
        try:
            yield f", line {number}", msgspec.json.decode(line)
        except msgspec.DecodeError:
            if number == filled[-1][0] and number > 1:  # torn by a crash
                return
            raise BenchtuiError(f"{path}: not JSON: {problem}") from None
    if not filled:
        raise BenchtuiError(f"{path}: not JSON: the file is empty")


def _check(where: str, document: Any, name: str) -> None:  # noqa: ANN401  (parsed JSON)
    schema = document_schema(name)
    newest = int(schema["$id"].rpartition(":")[2])
    version = document.get("schema") if isinstance(document, dict) else None
    if isinstance(version, int) and version > newest:
        raise BenchtuiError(f"{where}: $.schema is {version}; this version of benchtui knows up to {newest}")
    kind = document_type(name)
    if isinstance(kind, tuple):
        kind = max(
            kind,
            key=lambda one: len({field.encode_name for field in msgspec.structs.fields(one)} & {*document}),
        )
        schema = {**schema, "$ref": f"#/$defs/{kind.__name__}"}
    try:
        msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        raise BenchtuiError(f"{where}: {_difference(str(error), document, schema)}") from error


def _difference(error: str, document: Any, schema: dict[str, Any]) -> str:  # noqa: ANN401  (parsed JSON)
    """Return the place, its value, and what is allowed there."""
    match = _WHERE.fullmatch(error)
    problem, place = (match["problem"], match["place"]) if match else (error, "$")
    if missing := _MISSING.fullmatch(problem):
        return f"{place}.{missing[1]} is missing; required: {_allowed(schema, f'{place}.{missing[1]}')}"
    return f"{place} is {quoted(_value(document, place))}; allowed: {_allowed(schema, place) or problem}"


def _value(document: Any, place: str) -> object:  # noqa: ANN401  (parsed JSON)
    for key, index in _STEP.findall(place):
        document = document[int(index)] if index else document[key]
    return document


def _allowed(schema: dict[str, Any], place: str) -> str:
    """Return the values or types that a schema allows at a place; empty if it says nothing about it."""
    shapes = [schema]
    for key, _ in _STEP.findall(place):
        shapes = [inner for shape in _resolved(shapes, schema) if (inner := _inner(shape, key))]
    shapes = list(_resolved(shapes, schema))
    values = [str(value) for shape in shapes for value in shape.get("enum", ())]
    types = [str(shape["type"]) for shape in shapes if "type" in shape and "enum" not in shape]
    return ", ".join(dict.fromkeys((*values, *types)))


def _inner(shape: dict[str, Any], key: str) -> Any:  # noqa: ANN401  (a schema, or nothing)
    """Return the schema of a field, or of the entries of a list if the key is empty."""
    return (
        shape.get("properties", {}).get(key, shape.get("additionalProperties")) if key else shape.get("items")
    )


def _resolved(shapes: list[dict[str, Any]], schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the alternatives of schemas, without references."""
    for shape in shapes:
        if "$ref" in shape:
            yield from _resolved([schema["$defs"][shape["$ref"].rpartition("/")[2]]], schema)
        elif "anyOf" in shape:
            yield from _resolved(shape["anyOf"], schema)
        else:
            yield shape
