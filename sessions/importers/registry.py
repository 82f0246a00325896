"""Importer registry: the maps of the supported tools, and detection of the tool that wrote a file."""

from functools import cache
from pathlib import Path

import msgspec
import platformdirs
from msgspec import structs

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.files import input_file
from benchtui.sessions.files.bounded_toml import parse_toml
from benchtui.sessions.importers import mapping, own_export, proposal, source
from benchtui.sessions.importers.file_map import FileMap, lacking, rows_of
from benchtui.sessions.importers.imported import Imported, with_checked_repeats
from benchtui.sessions.importers.quantities import DATA, OPTIONS
from benchtui.sessions.importers.source import Source
from benchtui.sessions.sweep import ranges

MIN_KEY_SHARE = 0.5
"""Minimum share of a map's identifying columns, without options, for an error message to name its tool."""


@cache
def maps() -> tuple[FileMap, ...]:
    """Return the maps of the supported tools. A tool with several kinds of files has several."""
    paths = sorted((DATA / "maps").glob("*.toml"))
    return tuple(msgspec.convert(parse_toml(path.read_text("utf-8")), FileMap) for path in paths)


def tools() -> tuple[str, ...]:
    """Return the names of the supported tools."""
    return (*dict.fromkeys(file_map.tool for file_map in maps()), own_export.TOOL)


def maps_path() -> Path:
    """Return the file of the user's own maps: a table ``[import.NAME]`` each."""
    return Path(platformdirs.user_config_dir("benchtui")) / "import.toml"


def read(path: Path, kind: str | None = None, map_text: str | None = None) -> Imported:
    """Read the results in a file, by the map that is given, or as those of the tool that wrote it.

    Raises BenchtuiError if it can't be read, no map fits it, or it has no measurement.
    """
    if kind is not None:
        ranges.one_of(ranges.Words(tools()))(kind, "--from")
    content = source.read(path)
    imported = _imported(content, kind, map_text)
    if not imported.measurements:
        raise BenchtuiError(f"{path}: contains no measurements")
    checked = with_checked_repeats(imported)
    return structs.replace(checked, file=path.name, notes=(*content.remarks, *checked.notes))


def _imported(content: Source, kind: str | None, map_text: str | None) -> Imported:
    if not map_text and kind in (None, own_export.TOOL) and own_export.is_export(content):
        return own_export.read(content)
    if kind == own_export.TOOL:
        raise BenchtuiError(f"{content.path}: not an export of benchtui")
    file_map = _named_map(map_text) if map_text else map_of(content, kind)
    if file_map:
        return mapping.apply(content, file_map)
    proposed = proposal.given(map_text, content) if map_text else _proposed(content)
    imported = mapping.apply(content, proposed)
    return structs.replace(imported, notes=(f"read by --map {proposal.shown(proposed)}", *imported.notes))


def _named_map(name: str) -> FileMap | None:
    """Return the user's map of this name; None if the text is a map itself. Raises BenchtuiError."""
    if "=" in name:
        return None
    path = maps_path()
    try:
        own = parse_toml(input_file.read_text(path)).get("import") if path.exists() else None
    except (OSError, ValueError) as error:
        raise BenchtuiError(f"{path}: {error}") from error
    by_name = own if isinstance(own, dict) else {}
    if isinstance(by_name.get(name), dict):
        return proposal.user_map({"tool": name, **by_name[name]}, f"{path}: import.{name}")
    maps = ", ".join([*by_name, *tools()])
    raise BenchtuiError(f"--map: neither COLUMN=QUANTITY nor a map: {name!r}; known maps are {maps} ({path})")


def detect(path: Path) -> str:
    """Return the tool that wrote a file. Raises BenchtuiError if it can't be read or no map fits it."""
    content = source.read(path)
    return own_export.TOOL if own_export.is_export(content) else (map_of(content) or _proposed(content)).tool


def _proposed(content: Source) -> FileMap:
    """Return the proposed map. Raises BenchtuiError with what a file resembles, and what to do."""
    if (proposed := proposal.propose(content)) is None:
        raise BenchtuiError(f"{content.path}: {_nearest(content)}")
    return proposed


def map_of(content: Source, kind: str | None = None) -> FileMap | None:
    """Return the map of a tool, or of any, that fits a file best; None if no map fits."""
    if "event" in content.first:
        raise BenchtuiError(f"{content.path}: already a benchtui session; open it directly")
    of_tool = [file_map for file_map in maps() if kind in (None, file_map.tool)]
    begins = content.beginning
    fitting = [one for one in of_tool if any(not lacking(row, one) for row in rows_of(begins, one)[:100])]
    if kind is not None and not fitting:
        return min(of_tool, key=lambda file_map: len(_lacks(content, file_map)))
    return max(fitting, key=lambda file_map: len(file_map.requires), default=None)


def _lacks(content: Source, file_map: FileMap) -> list[str]:
    begins = content.beginning
    rows = rows_of(begins, file_map) or rows_of(begins, structs.replace(file_map, rows=""))
    return min((lacking(row, file_map) for row in rows[:10]), key=len, default=list(file_map.requires))


def _nearest(content: Source) -> str:
    """Name the tool whose files a file resembles most, with the columns that it lacks, and what to do."""
    resembling = [(file_map, _lacks(content, file_map)) for file_map in maps()]
    nearest, lacks = min(resembling, key=lambda entry: len(entry[1]) / len(entry[0].requires))
    identifying = {*nearest.requires} - {*OPTIONS, "name"}
    if lacks and len(identifying - {*lacks}) >= MIN_KEY_SHARE * len(identifying) > 0:
        return f"looks like {nearest.tool}, but lacks {', '.join(column.partition('|')[0] for column in lacks)}"
    return proposal.why_not(content) or (
        "no column is recognized as a step time or a rate of cases: name them with --map COLUMN=QUANTITY, such"
        f" as --map latency_ms=step_ms,batch=batch_size; files of {', '.join(tools())} need no map"
    )
