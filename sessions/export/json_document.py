"""Documents for other programs: what names each one's schema, and the descriptions of its fields."""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import msgspec

from benchtui.sessions.files.bounded_toml import parse_toml
from benchtui.sessions.metrics.catalogue import BY_KEY
from benchtui.sessions.sweep.options import OPTIONS

SCHEMA = 1
"""Version of documents that state no other."""
PREFIX = "urn:benchtui:"
_ID = re.compile(rf"{PREFIX}(?P<name>[a-z-]+):\d+")


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """Fields that every document begins with."""

    schema: int = SCHEMA
    """Version of the document's layout. Fields may be added to a version, but aren't renamed."""
    id_: str = msgspec.field(name="$id", default="")
    """Name of the document's JSON Schema, with its version: ``urn:benchtui:NAME:VERSION``."""


def document_id(name: str, version: int = SCHEMA) -> Any:  # noqa: ANN401  (takes the place of a default)
    """Return the field ``$id`` of a document whose schema ``benchtui schema`` prints under this name."""
    return msgspec.field(name="$id", default=f"{PREFIX}{name}:{version}")


def schema_name(document: object) -> str | None:
    """Return the name of the schema of a parsed document, or of the entries of a list of them."""
    first = document[0] if isinstance(document, list) and document else document
    if not isinstance(first, dict):
        return None
    if match := _ID.fullmatch(str(first.get("$id", ""))):
        return match["name"]
    if first.get("event") == "session_started":
        return "session" if isinstance(document, list) else "event"
    return None


def describe(definitions: dict[str, Any], types: tuple[object, ...]) -> None:
    """Describe the fields in a schema's definitions: by docstrings, else by the meaning of their names."""
    classes = {cls.__name__: cls for kind in types for cls in _structs(msgspec.inspect.type_info(kind), set())}
    for name, definition in definitions.items():
        texts = _field_texts(classes[name]) if name in classes else {}
        for field, schema in definition.get("properties", {}).items():
            of_quantity = BY_KEY[field].help if field in BY_KEY else ""
            if text := texts.get(field) or _meanings().get(field) or of_quantity:
                schema.setdefault("description", text)


@cache
def _meanings() -> dict[str, str]:
    """Return the meaning of options, and of fields that mean the same in every record, by their names."""
    named = {option.name: f"{option.name.replace('_', ' ').capitalize()}: {option.help}." for option in OPTIONS}
    return named | parse_toml(Path(__file__).with_name("field_texts.toml").read_text("utf-8"))


def _structs(info: object, seen: set[type]) -> Iterator[type]:
    if isinstance(info, msgspec.inspect.StructType):
        if info.cls in seen:
            return
        seen.add(info.cls)
        yield info.cls
    if isinstance(info, msgspec.Struct):
        for value in msgspec.structs.asdict(info).values():
            for part in value if isinstance(value, tuple) else (value,):
                yield from _structs(part, seen)


@cache
def _field_texts(record: type) -> dict[str, str]:
    """Return the docstrings below the fields of a record, by the fields' names in JSON."""
    names = {field.name: field.encode_name for field in msgspec.structs.fields(cast(Any, record))}
    texts: dict[str, str] = {}
    for base in reversed(record.__mro__[:-2]):
        texts |= {names[name]: text for name, text in _documented(base) if name in names}
    return texts


def _documented(record: type) -> Iterator[tuple[str, str]]:
    """Yield the annotated names of a class that a string follows, with the string."""
    try:
        (node,) = ast.parse(textwrap.dedent(inspect.getsource(record))).body
    except (OSError, TypeError):  # made without source, as the row of a case is
        return
    statements = node.body if isinstance(node, ast.ClassDef) else []
    for field, text in pairwise(statements):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                yield name, " ".join(words.replace("``", "`").split())
