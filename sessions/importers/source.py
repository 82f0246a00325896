"""Source of an import: the records of a file, however the field wrote it, and remarks on its oddities.

A record is a JSON object, or a row of a table. A file may be compressed, have a byte order mark or another
encoding, log lines before its data, several documents, and NaN where a value is unknown.
"""

import gzip
import io
import json
import re
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from math import isfinite
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from benchtui.sessions.errors import BenchtuiError, os_errors_as
from benchtui.sessions.files import input_file
from benchtui.sessions.importers import tables
from benchtui.sessions.importers.imported import named
from benchtui.sessions.sanitize import LONGEST_VALUE, shortened, visible

MOST_BYTES = 500_000_000
"""Maximum size of a file, also when decompressed. No benchmark result is larger."""
MOST_LOOKED_AT = 100
"""Maximum number of records to look at to recognize a file."""
MOST_BROKEN = 100
"""Maximum number of lines that begin like JSON and aren't, before a text isn't read as JSON."""
Documents = list[tuple[str, object]]
"""JSON documents, each with its place."""
_REFUSED = {
    rb"PK\x03\x04": "a ZIP archive, or a spreadsheet's own format; extract it, or save the table as CSV",
    rb"(?:\xef\xbb\xbf)?[ \t\r\n]*<": "HTML or XML; copy its table into a CSV file",
    rb"\x80[\x02-\x05]": "a Python pickle, which could run any code; save the results as JSON or CSV",
    rb"\x93NUMPY": "a NumPy array; save it as CSV with a header",
    rb"SQLite format 3": "an SQLite database; export the table as CSV",
    rb"%PDF": "a PDF document; copy the table into a CSV file",
    rb"BZh": "compressed with bzip2; decompress it first",
    rb"\xfd7zXZ": "compressed with xz; decompress it first",
    rb"[\s\S]{257}ustar": "a tar archive; extract it first",
}
"""Formats that aren't read by their first bytes, each with what to do."""
_OTHER_TEXT = {
    r"\s*(?:---\s*\n|- ?[\w\"' ]+:\s)": "YAML; write it as JSON",
    r"\s*(?:Running .+ test @ |This is ApacheBench|Summary:\s)": "print of wrk, ab or hey; write it as CSV",
    r"\s*(?:Performance counter stats|# started on)": "counters of perf stat; import times of hyperfine",
    r"\s*[\[({]+\s*'[^'\n]*'\s*:": "Python's repr of a dict; write it with json.dump",
}
"""Texts that aren't read by a pattern of their beginning, each with what to do."""
_CONTROLS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x1a\x1e]")
"""Colors of a terminal, the end of a file in DOS, and separators of JSON text sequences."""
_ASSIGNED = re.compile(r"\A\s*(?:(?:var|let|const)\s+)?[\w.]+\s*=\s*(?=[\[{]\s)")
"""Assignment of JSON in a file of JavaScript."""
_LOGGED = re.compile(r"[^{\n]{1,200}(\{\".*\})\s*")
_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*[\s\S]*?\*/|,(?=\s*[\]}])')
"""Strings, which are kept, and comments and trailing commas, which JSON doesn't allow."""


class Record(msgspec.Struct, frozen=True):
    """A JSON object, or a row of a table by column, and its place for messages."""

    place: str
    value: dict[str, object]


class Source(msgspec.Struct, frozen=True):
    """All records of a file."""

    path: Path
    records: tuple[Record, ...]
    remarks: tuple[str, ...] = ()
    """What was unusual about the file, and how it was read."""
    table: bool = False
    """Whether the records are rows of a table, whose cells are text."""

    @property
    def beginning(self) -> "Source":
        """The source with its first records, which say what it is."""
        return structs.replace(self, records=self.records[:MOST_LOOKED_AT])

    @property
    def first(self) -> dict[str, object]:
        """The first record's value; empty if there is none."""
        return self.records[0].value if self.records else {}


def read(path: Path) -> Source:
    """Read a file's records. Raises BenchtuiError with the cause and the remedy if it can't."""
    with os_errors_as(path, "can't be read"):
        written = input_file.read_plain(path, MOST_BYTES)
    remarks: list[str] = []
    data = _decompressed(path, written, remarks)
    if data.startswith(b"PAR1"):
        return Source(path, tuple(_parquet(path, data)), tuple(remarks), table=True)
    text = _text(path, data, remarks)
    if not (documents := _documents(path, text, remarks)):
        return _table(path, text, remarks)
    unknown: list[str] = []
    finite = ((place, _finite(document, "", unknown)) for place, document in documents)
    records = [record for place, document in finite for record in _objects(place, document)]
    if unknown:
        fields = [visible(field, LONGEST_VALUE) for field in dict.fromkeys(unknown)]
        remarks.append(f"NaN or Infinity, imported as unknown: {named(fields, tables.MOST_NAMED)}")
    return Source(path, tuple(records), tuple(remarks))


def _table(path: Path, text: str, remarks: list[str]) -> Source:
    for pattern, cause in _OTHER_TEXT.items():
        if re.match(pattern, text):
            raise BenchtuiError(f"{path}: {cause}")
    rows, more = tables.parse(text)
    if not rows:
        _refuse_malformed(path, text)
        cause = "neither JSON nor a table with a header and rows of numbers with as many cells"
        raise BenchtuiError(f"{path}: {cause if text.strip() else 'the file is empty'}")
    records = [Record(f"line {line}", row) for line, row in rows]
    return Source(path, tuple(records), (*remarks, *more), table=True)


def _decompressed(path: Path, data: bytes, remarks: list[str]) -> bytes:
    """Return the content of a compressed file, with a remark. Other files are returned as they are."""
    stream: Any
    try:
        if data.startswith(b"\x1f\x8b"):
            how, stream = "decompressed with gzip", gzip.open(io.BytesIO(data))  # noqa: SIM115  (in memory)
        elif data.startswith(b"\x28\xb5\x2f\xfd"):
            how = "decompressed with zstd"
            stream = import_module("zstandard").ZstdDecompressor().stream_reader(data)
        elif data.startswith(b"PK\x03\x04") and (member := _only_member(data)):
            stream = zipfile.ZipFile(io.BytesIO(data)).open(member)  # noqa: SIM115  (in memory)
            how = f"extracted {visible(member, LONGEST_VALUE)}"
        else:
            return data
        data = stream.read(MOST_BYTES + 1)
    except ModuleNotFoundError as error:
        cause = "compressed with zstd: run pip install zstandard, or decompress it with zstd -d"
        raise BenchtuiError(f"{path}: {cause}") from error
    except Exception as error:
        raise BenchtuiError(f"{path}: can't be decompressed: {shortened(str(error) or 'damaged')}") from error
    if len(data) > MOST_BYTES:
        raise BenchtuiError(f"{path}: larger than {MOST_BYTES / 1e6:g} MB when decompressed; split it")
    remarks.append(how)
    return data


def _only_member(data: bytes) -> str | None:
    """Return the name of the only file in a ZIP archive; None if it has several, as a spreadsheet does."""
    with suppress(zipfile.BadZipFile):
        members = zipfile.ZipFile(io.BytesIO(data)).namelist()
        names = [name for name in members if not (name.endswith("/") or name.startswith("__MACOSX/"))]
        return names[0] if len(names) == 1 else None
    return None


def _text(path: Path, data: bytes, remarks: list[str]) -> str:
    """Decode a file's text, with line ends normalized, and remark on an encoding other than UTF-8."""
    for pattern, what in _REFUSED.items():
        if re.match(pattern, data):
            raise BenchtuiError(f"{path}: {what}")
    encoding: str = json.detect_encoding(data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        if b"\0" in data:
            raise BenchtuiError(f"{path}: binary data, not text; save the results as JSON or CSV") from None
        encoding, text = "Windows-1252", data.decode("cp1252", "replace")
    remarks += [] if encoding.startswith("utf-8") else [f"not UTF-8: read as {encoding.upper()}"]
    plain = _ASSIGNED.sub("", _CONTROLS.sub("", text.removeprefix("\ufeff").strip("\0")))
    return plain.replace("\r\n", "\n").replace("\r", "\n")


def _documents(path: Path, text: str, remarks: list[str]) -> Documents:
    """Return the JSON documents of a text, with a remark on the lines between them.

    A document begins at the beginning of a line, so that an incomplete one isn't read in pieces.
    """
    if not re.search(r"^\s*[\[{]", text, re.MULTILINE):
        return _logged(text, remarks)
    if (whole := _without_comments(text)) is not None:
        remarks.append("comments and trailing commas in JSON are ignored")
        return [("", whole)]
    decoder = json.JSONDecoder()
    documents: list[tuple[int, object]] = []
    skipped: list[int] = []
    at, line, broken = 0, 1, 0
    while at < len(text) and broken <= MOST_BROKEN:
        end = text.find("\n", at) + 1 or len(text)
        start = at if text[at] in "[{" else at + len(text[at:end]) - len(text[at:end].lstrip())
        if text[start : start + 1] in ("[", "{") and (start == at or not (documents or broken)):
            try:
                value, after = decoder.raw_decode(text, start)
                documents.append((line, value))
                line += text.count("\n", at, after)
                at = after
                continue
            except RecursionError as error:
                raise BenchtuiError(f"{path}: not valid JSON: nested too deeply") from error
            except ValueError:
                broken += 1  # each one costs the decoder a count of all lines before it
        if text[at:end].strip(" \t\n,;"):
            skipped.append(line)
        at, line = end, line + 1
    return [] if broken > MOST_BROKEN else _checked(documents, skipped, remarks)


def _logged(text: str, remarks: list[str]) -> Documents:
    """Return the JSON objects at the ends of log lines, with a remark."""
    matches = ((number, _LOGGED.fullmatch(line)) for number, line in enumerate(text.split("\n"), 1))
    objects: Documents = []
    with suppress(ValueError, RecursionError):
        objects = [(f"line {number}", json.loads(match[1])) for number, match in matches if match]
        remarks += [f"read the JSON at the end of {len(objects):,} lines"] if objects else []
    return objects


def _without_comments(text: str) -> object:
    """Return the value of JSON that has comments or trailing commas; None for any other text."""
    if not _COMMENT.search(text) or not re.match(r"\s*(?:[\[{]|//|/\*)", text):
        return None
    with suppress(ValueError, RecursionError):
        json.loads(text)
        return None
    with suppress(ValueError, RecursionError):
        value = json.loads(_COMMENT.sub(lambda match: match[0] if match[0].startswith('"') else "", text))
        return value if isinstance(value, dict | list) else None
    return None


def _checked(documents: list[tuple[int, object]], skipped: list[int], remarks: list[str]) -> Documents:
    """Return the documents if they are the content of the text, rather than brackets in its lines."""
    objects = [(line, value) for line, value in documents if isinstance(value, dict | list) and value]
    if not objects or (len(skipped) > 20 and len(skipped) > 5 * len(objects)):
        return []
    what = "that isn't JSON" if len(skipped) == 1 else "that aren't JSON"
    remarks += [tables.lines_remark(skipped, what)] if skipped else []
    several = len(objects) > 1
    return [(f"line {line}" if several else "", value) for line, value in objects]


def _refuse_malformed(path: Path, text: str) -> None:
    """Raise BenchtuiError with the place of the error if a text begins like JSON."""
    if not text.lstrip().startswith(("{", "[")):
        return
    try:
        json.loads(text)
    except (RecursionError, ValueError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else shortened(str(error))
        if isinstance(error, json.JSONDecodeError):
            cause = "unexpected end of file" if error.pos >= len(text.rstrip()) else shortened(error.msg)
            why = f"line {error.lineno}, column {error.colno}: {cause}"
        raise BenchtuiError(f"{path}: not valid JSON: {why}") from error


def _finite(value: object, place: str, unknown: list[str]) -> object:
    """Return a JSON value with NaN and Infinity as None; their fields are appended to ``unknown``.

    Half of a surrogate pair, which JSON may contain but no file, becomes a question mark.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, float) and not isfinite(value):
        unknown.append(place)
        return None
    if isinstance(value, dict):
        return {
            str(_finite(name, place, unknown)): _finite(item, f"{place}.{name}" if place else name, unknown)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [_finite(item, place, unknown) for item in value]
    return value


def _objects(place: str, document: object) -> Iterator[Record]:
    """Yield the objects of a document: those of a list, the rows of a table by columns, or the only one."""
    if isinstance(document, list) and len(document) > 1 and all(isinstance(item, list) for item in document):
        document = {"columns": document[0], "data": document[1:]}
    if isinstance(document, list):
        for number, item in enumerate(document, 1):
            yield from _objects(_within(place, f"entry {number}"), item)
    elif isinstance(document, dict):
        rows = tables.by_columns(document)
        if rows is None:
            yield Record(place, document)
        else:
            yield from (Record(_within(place, f"row {number}"), row) for number, row in enumerate(rows, 1))


def _within(place: str, part: str) -> str:
    return f"{place}, {part}" if place else part


def _parquet(path: Path, data: bytes) -> Iterator[Record]:
    rows: list[dict[str, object]]
    try:
        rows = import_module("pyarrow.parquet").read_table(io.BytesIO(data)).to_pylist()
    except ModuleNotFoundError:
        try:
            rows = import_module("pandas").read_parquet(io.BytesIO(data)).to_dict("records")
        except ImportError as error:
            cause = "Parquet needs pyarrow or fastparquet: run pip install pyarrow, or save the table as CSV"
            raise BenchtuiError(f"{path}: {cause}") from error
    except Exception as error:
        raise BenchtuiError(f"{path}: damaged Parquet: {shortened(str(error))}") from error
    for number, row in enumerate(rows, 1):
        cells = {name: cell for name, cell in row.items() if name not in tables.INDEX_NAMES}
        yield Record(f"row {number}", {name: _finite(cell, name, []) for name, cell in cells.items()})
