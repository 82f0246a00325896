"""Tables in text: CSV with any separator, Markdown, and tables drawn on a terminal.

Log lines, comments and repeated headers are skipped. Numbers with decimal commas or thousands separators become
plain ones. Whatever was skipped or converted is remarked on.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

import msgspec
from msgspec import structs

from benchtui.sessions.importers.imported import counted, named
from benchtui.sessions.importers.quantities import EMPTY, UNIT_NAMES

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", "&": "ampersand"}
SEPARATORS |= {"  ": "two spaces or more", " ": "spaces"}
INDEX_NAMES = ("", "index", "Unnamed: 0", "level_0", "__index_level_0__")
FEWEST_NAMES = 3
"""Minimum number of names in printed results of several runs."""
MOST_NAMED = 5
"""Maximum number of lines or fields to name in a remark."""
MOST_LINES = 50_000
"""Maximum number of lines of a table with all text around it."""
MOST_HEADERS = 100
"""Maximum number of lines to try as the header of a table."""
_NO_DATA = re.compile(r"\s*(?:#|//|%|\\|$)")
"""Empty line or comment."""
_COMMENT = re.compile(r"\s*[#%]")
_RULE = re.compile(r"^[\s|:+\-=_━─═┏┓┗┛┡┩┠┨├┤┼╇╈┳┻┴┬╭╮╰╯┌┐└┘╞╡╪╤╧╔╗╚╝╠╣╬╦╩┿┯┷╂]+$")
_BARS = str.maketrans({"│": "|", "┃": "|", "║": "|", "┆": "|", "╎": "|"})
_NUMBER = re.compile(r"[-+~≈]?\d[\d.,' \u00a0\u202f_]*(?:[eE][-+]?\d+)?")
_FIGURE = re.compile(
    rf"{_NUMBER.pattern}\s?(?:[a-zµμ%/]{{0,8}}(?:\d+(?:\.\d+)?s)?|[kmg]i?b|k? ?\w+/s)(?:\s*(?:±|\+/?-).*)?",
    re.IGNORECASE,
)
"""Number, maybe with a unit and a deviation."""
_CERTAIN_COMMA = re.compile(
    r"[-+]?(?:0,\d+|\d{4,},\d+|\d+,(?:\d{1,2}|\d{4,}))(?:[eE][-+]?\d+)?"
    r"|[-+]?\d{1,3}(?:[. \u00a0\u202f]\d{3})+,\d+"
)
_POINT = re.compile(r"(?![-+]?[1-9]\d{0,2}(?:\.\d{3})+$)[-+]?\d*\.\d+(?:[eE][-+]?\d+)?")
_GROUPED_BY_COMMA = re.compile(r"[-+]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?(?:\s?[A-Za-zµμ%/]{1,10})?")
_GROUPED_BY_OTHER = re.compile(r"[-+]?[1-9]\d{0,2}(?:[ '’_\u00a0\u202f]\d{3})+(?:[.,]\d+)?")
_NAMED_VALUE = re.compile(r"([^:=|,;{}\[][^:=|,;{}]{0,80}?)\s*[:=]\s*(\S.{0,200})")
_PAIR = re.compile(
    rf"(?<![\w./%()-])([A-Za-z][\w./%()-]{{0,80}})=(\"[^\"]*\"|[^\s,;|\]]+(?:\s(?:{'|'.join(UNIT_NAMES)}|%|[a-z]+/s(?:ec)?)(?![\w=]))?)",
    re.IGNORECASE,
)
_LOG_PREFIX = re.compile(
    r"(?:\[[^\]]*\][\s:]*|\d{4}-\d\d-\d\d[ T]\S+\s+|\d\d:\d\d:\S+\s+|(?:INFO|DEBUG|WARNING)\b[\s:|-]*|- )+"
)
_INSERT = re.compile(
    r"INSERT\s+INTO\s+[^\s(]+\s*(?:\(([^)]*)\)\s*)?VALUES((?:[\s,]*\((?:'(?:[^']|'')*'|[^'()])*\))+)",
    re.IGNORECASE,
)
_TUPLE = re.compile(r"\(((?:'(?:[^']|'')*'|[^'()])*)\)")
_OF_BENCHMARK = re.compile(r"^(Benchmark) #?\d+$")
_TRACEBACK = re.compile(r"^Traceback \(most recent call last\):\n(?:[ \t].*\n)*.*", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_EMPHASIS = re.compile(r"^(?:\*\*|__|`|\*)(.*?)(?:\*\*|__|`|\*)$")
_OF_COLUMN = re.compile(
    rf"-*|str|bool|cat|[uif]\d{{1,3}}|[(\[]?(?:({'|'.join(UNIT_NAMES)}|min|h|[a-z]+/s(?:ec)?)|count|%|#)[)\]]?",
    re.IGNORECASE,
)
"""Cell below a header that has the unit or type of the column."""
Row = dict[str, object]
NumberedRow = tuple[int, Row]
Line = tuple[int, str]


class _Block(msgspec.Struct, frozen=True):
    """Consecutive lines that split into cells under a header."""

    separator: str
    header: tuple[str, ...]
    rows: tuple[tuple[int, tuple[str, ...]], ...]
    """Line number and cells of each row."""
    ragged: tuple[int, ...]
    """Lines inside with another number of cells."""


def parse(text: str) -> tuple[list[NumberedRow], list[str]]:
    """Return the rows of all tables in a text by column, each with its line, and remarks. Empty without one."""
    if text.count("\n") > MOST_LINES:
        return [], []
    text = _TRACEBACK.sub(lambda match: "\n" * match[0].count("\n"), text)
    lines = list(enumerate(re.sub("(?m)^> ", "", text.translate(_BARS)).split("\n"), 1))
    data = [(number, line) for number, line in lines if not _NO_DATA.match(line)]
    if not data:  # results that somebody keeps as comments
        data = [(number, bare) for number, line in lines if (bare := line.lstrip(" \t#/%"))]
    plain = [(number, line.removesuffix("\\\\").rstrip()) for number, line in data if not _RULE.match(line)]
    if inserted := _inserted(text):
        return inserted, ["read as SQL"]
    pairs = _lines_of_pairs(plain)
    printed = pairs if len(pairs) * 2 >= len(plain) else _named_values(plain)
    blocks = [] if printed else list(_pipe_tables(data)) or list(_best(plain))
    comments = [(number, line.lstrip("#%/ \t")) for number, line in lines if _COMMENT.match(line)]
    if comments and not (blocks or printed):  # the last one is a header, as gnuplot and NumPy write it
        blocks = list(_best([comments[-1], *plain]))
    if not blocks:
        printed = printed or pairs
        return printed, [f"read as {counted(len(printed), 'case')} of lines with names and values"]
    is_marked = blocks[0].separator == "|"
    if blocks[0].ragged and not is_marked:
        blocks = _with_second(blocks[0], plain)
    rows: list[NumberedRow] = []
    remarks: list[str] = []
    headings = [(number, line.strip("# ")) for number, line in lines if line.startswith("#")]
    for block in blocks:
        cells, said = _plain(block)
        before = [text for number, text in headings if number < block.rows[0][0]]
        heading = {"table": before[-1]} if len(blocks) > 1 and before else {}
        rows += [(number, heading | row) for number, row in cells]
        remarks += said
    skipped = [number for number, _ in data if number < min(block.rows[0][0] for block in blocks)][:-1]
    if skipped and not is_marked:
        remarks.append(lines_remark(skipped, "before the table"))
    return rows, list(dict.fromkeys(remarks))


def _with_second(block: _Block, lines: Sequence[Line]) -> list[_Block]:
    """Return a block, and the table that its lines with another number of cells make, if they do."""
    second = list(_blocks([line for line in lines if line[0] in block.ragged], block.separator))
    begin = second[0].rows[0][0] - 1 if second else len(lines) + 1
    return [structs.replace(block, ragged=tuple(line for line in block.ragged if line < begin)), *second]


def _named_values(lines: Sequence[Line]) -> list[NumberedRow]:
    """Return the rows that lines such as ``Latency (ms): 5.5`` make, as tools print their results.

    A name that comes again begins the next row, of another run; all rows must have the same names.
    """
    pairs = [(number, match) for number, line in lines if (match := _NAMED_VALUE.fullmatch(line.strip()))]
    numbers = [match for _, match in pairs if _NUMBER.match(match[2])]
    if len(numbers) < 2 or len(pairs) * 2 < len(lines):
        return []
    rows: list[NumberedRow] = []
    for number, match in pairs:
        name = _OF_BENCHMARK.sub(r"\1", match[1].strip())
        if not rows or name in rows[-1][1]:
            rows.append((number, {}))
        rows[-1][1][name] = _stated(_plain_number(match[2], False)[0])
    names = [set(row) for _, row in rows]
    several = len(names[0]) >= FEWEST_NAMES and all(of_row == names[0] for of_row in names)
    return rows if len(rows) == 1 or several else []


def _lines_of_pairs(lines: Sequence[Line]) -> list[NumberedRow]:
    """Return the rows of lines such as ``batch=1 latency=5.2ms``, as scripts print them."""
    rows = [(number, row) for number, line in lines if len(row := _pairs(line)) > 1]
    amounts = Counter(frozenset(row) for _, row in rows)
    return [(number, row) for number, row in rows if amounts[frozenset(row)] > 1]


def _pairs(line: str) -> Row:
    """Return the names and values that make up a line; TensorRT-LLM prints only words after each other."""
    bare = _LOG_PREFIX.sub("", line.strip(), 1)
    if line.startswith("[BENCHMARK] "):
        return dict(zip(bare.split()[::2], bare.split()[1::2], strict=False))
    pairs = [match.groups() for match in _PAIR.finditer(bare)]
    if re.search(r"[,;|\t]\s*[-+]?\d", _PAIR.sub("", bare)):
        return {}  # a row of a table, in which a cell has pairs
    if sum(len(name) + len(value) + 2 for name, value in pairs) < 0.6 * len(bare):
        parts = re.split(r"[,;|]\s+|\t|\s\|", bare)
        named = [match for part in parts if (match := _NAMED_VALUE.fullmatch(part.strip()))]
        pairs = [match.groups() for match in named] if len(named) * 2 > len(parts) else []
    return {name: _stated(value.strip('"')) for name, value in pairs}


def _stated(cell: str) -> str | None:
    return None if cell.lower() in EMPTY else cell


def _inserted(text: str) -> list[NumberedRow]:
    """Return the rows that SQL inserts, as llama-bench and dumps of databases write it."""
    rows: list[NumberedRow] = []
    names: list[str] = []
    for statement in _INSERT.finditer(text):
        names = [name.strip(' "`[]') for name in statement[1].split(",")] if statement[1] else names
        for values in _TUPLE.finditer(statement[2]):
            cells = next(csv.reader([values[1]], quotechar="'", skipinitialspace=True))
            row: Row = dict(zip(names, map(_stated, cells), strict=False))
            rows.append((text.count("\n", 0, statement.start()) + 1, row))
    return rows


def by_columns(document: dict[str, object]) -> list[Row] | None:
    """Return the rows of a table that was written by columns, as pandas does; None for any other object."""
    data, names, columns = document.get("data"), document.get("columns"), list(document.values())
    header = names if isinstance(names, list) else []
    if isinstance(data, list) and (header or set(document) == {"schema", "data"}):
        names_of = [*map(str, header)]
        cells = [dict(zip(names_of, row, strict=False)) if isinstance(row, list) else row for row in data]
        rows = [row for row in cells if isinstance(row, dict) and row]
        return rows if len(rows) == len(cells) else None
    if all(isinstance(column, dict) and all(map(str.isdecimal, column)) for column in columns):
        by_index = [column for column in columns if isinstance(column, dict)]
        columns = [list(column.values()) for column in by_index if list(column) == list(by_index[0])]
    lists = [column for column in columns if isinstance(column, list)]
    is_whole = len(lists) >= max(2, len(document)) and len({*map(len, lists)}) == 1 and lists[0]
    if not is_whole or any(isinstance(cell, dict) for column in lists for cell in column):
        return None
    return [dict(zip(document, row, strict=True)) for row in zip(*lists, strict=True)]


def _pipe_tables(lines: Sequence[Line]) -> Iterator[_Block]:
    """Yield the tables whose lines begin with a bar: Markdown, and those drawn on a terminal."""
    tables: list[list[tuple[int, tuple[str, ...]]]] = [[]]
    last = 0
    for number, line in lines:
        stripped = line.strip()
        is_rule = _RULE.match(stripped) is not None
        is_next = number == last + 1
        if is_rule or stripped.startswith("|") or (stripped.count("|") > 1 and is_next and tables[-1]):
            tables += [] if is_next else [[]]
            if not is_rule:
                cells = re.split(r"(?<!\\)\|", stripped.strip("|"))
                tables[-1].append((number, tuple(map(_unmarked, cells))))
            last = number
    for (_, header), *rows in filter(None, tables):
        whole = [(number, cells) for number, cells in rows if len(cells) == len(header)]
        ragged = tuple(number for number, cells in rows if len(cells) != len(header))
        if whole and len(header) > 1:
            yield _Block("|", header, tuple(whole), ragged)


def _unmarked(cell: str) -> str:
    text = _LINK.sub(r"\1", cell.strip().replace("\\|", "|").replace("<br>", " "))
    match = _EMPHASIS.match(text)
    return match[1].strip() if match else text


def _best(lines: Sequence[Line]) -> Iterator[_Block]:
    blocks = [block for separator in SEPARATORS if separator != " " for block in _blocks(lines, separator)]
    if not any(len(block.header) > 1 for block in blocks):
        blocks = list(_blocks(lines, " ")) or blocks
    if blocks:
        yield max(blocks, key=lambda block: len(block.rows) * len(block.header))


def _blocks(lines: Sequence[Line], separator: str) -> Iterator[_Block]:
    """Yield a block for each line that can be its header: words, followed by rows that have numbers."""
    split = list(_split(lines, separator))
    headers = (place for place, (_, cells) in enumerate(split) if _is_header(_without_empty_end(cells)))
    for place in islice(headers, MOST_HEADERS):
        header = _without_empty_end(split[place][1])
        if len(header) == 1 and separator != ",":
            continue
        body = [(number, cells) for number, cells in split[place + 1 :] if cells]
        if separator.isspace() and body and len(body[0][1]) == len(header) + 1:
            header = ("", *header)  # pandas prints no name above its index
        if all(len(cells) < len(header) for _, cells in body):
            continue  # which column they lack isn't known
        rows = [(number, _fitted(cells, header)) for number, cells in body]
        whole = [(number, cells) for number, cells in rows if cells is not None]
        ragged = tuple(number for number, cells in rows if cells is None)
        has_units = len(whole) > 1 and all(map(_OF_COLUMN.fullmatch, whole[0][1]))
        first = whole[has_units][1] if whole else ()
        within = [line for line in ragged if line < whole[-1][0]] if whole else []
        if any(map(_FIGURE.fullmatch, first)) and len(whole) > len(within):
            yield _Block(separator, header, tuple(whole), ragged)
            return


def _split(lines: Sequence[Line], separator: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    if separator.isspace() and separator != "\t":
        pattern = r"\s+" if separator == " " else r"\s{2,}|\t"
        yield from ((number, tuple(re.split(pattern, line.strip()))) for number, line in lines)
        return
    numbers = [number for number, _ in lines]
    reader = csv.reader((line + "\n" for _, line in lines), delimiter=separator, skipinitialspace=True)
    while True:
        start = reader.line_num
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error:
            continue
        yield numbers[start], tuple(cell.strip() for cell in cells)


def _without_empty_end(cells: tuple[str, ...]) -> tuple[str, ...]:
    """Return cells without the empty ones at the end, which a spreadsheet may write."""
    return cells[: max((place for place, cell in enumerate(cells, 1) if cell), default=None)]


def _is_header(cells: Sequence[str]) -> bool:
    """Return whether cells are names, or a name and different whole numbers, such as batch sizes."""
    words = [cell for cell in cells if cell and not _NUMBER.fullmatch(cell)]
    is_named = len(words) >= max(1, len(cells) - 1) and len(set(words)) * 2 > len(words)
    sizes = {cell for cell in cells[1:] if cell.isdecimal()}
    is_wide = len(sizes) == len(cells) - 1 > 1 and not _NUMBER.fullmatch(cells[0])
    return (is_named or is_wide) and all(len(cell) < 100 for cell in cells)


def _fitted(cells: tuple[str, ...], header: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return a row with as many cells as the header; None if it has more of them, or is something else."""
    extra = len(cells) - len(header)
    if extra > 0:
        return cells[: len(header)] if not any(cells[len(header) :]) else None
    missing = -extra
    is_row = len(cells) > 1 and missing <= len(header) // 2 and any(map(_FIGURE.fullmatch, cells))
    return cells + ("",) * missing if is_row or not missing else None


def _plain(block: _Block) -> tuple[list[NumberedRow], list[str]]:
    rows = [(number, cells) for number, cells in block.rows if cells != block.header]
    units = [match for cell in rows[0][1] if (match := _OF_COLUMN.fullmatch(cell))] if rows else []
    if rows and len(units) == len(block.header):
        del rows[0]
        named_units = zip(block.header, (unit[1] for unit in units), strict=True)
        header = tuple(f"{name} ({unit})" if unit else name for name, unit in named_units)
        block = structs.replace(block, header=header)
    columns = _columns(block.header, [cells for _, cells in rows])
    every = [cell for _, cells in rows for cell in cells]
    # some cells have a certain decimal comma, and none has a point
    comma = any(map(_CERTAIN_COMMA.fullmatch, every)) and not any(map(_POINT.fullmatch, every))
    converted = Counter[str]()
    above = ""
    records: list[NumberedRow] = []
    for number, cells in rows:
        if not any(cells):
            continue
        record: Row = {}
        for place, name in columns:
            text, how = _plain_number(cells[place], comma)
            if place == 0 and not text and above and not _FIGURE.fullmatch(above):
                text, how = above, "names from the row above"
            above = text if place == 0 else above
            converted[how] += how != ""
            record[name] = _stated(text)
        records.append((number, record))
    return records, list(_remarks(block, len(block.rows) - len(rows), converted, columns))


def _columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[tuple[int, str]]:
    """Return the place and name of each column, without an index, which only counts the rows."""
    counting = [[str(number + start) for number in range(len(rows))] for start in (0, 1)]
    before = [header[:place].count(name) for place, name in enumerate(header)]
    return [
        (place, (f"({before[place] + 1}) {name}" if before[place] else name) or f"column {place + 1}")
        for place, name in enumerate(header)
        if not (name.strip() in INDEX_NAMES and [row[place] for row in rows] in counting)
        and (name or any(row[place] for row in rows))
    ]


def _plain_number(cell: str, comma: bool) -> tuple[str, str]:
    """Return a number without separators of thousands and with a point, and what was converted."""
    if comma and re.fullmatch(r"[-+]?[\d. '\u00a0\u202f]+(?:,\d+)?(?:[eE][-+]?\d+)?", cell) and cell:
        plain = re.sub(r"[. '\u00a0\u202f]", "", cell).replace(",", ".")
        return plain, "decimal commas" if plain != cell else ""
    if _GROUPED_BY_COMMA.fullmatch(cell):
        return cell.replace(",", ""), "thousands separators"
    if _GROUPED_BY_OTHER.fullmatch(cell):
        return re.sub(r"[ '’_\u00a0\u202f]", "", cell).replace(",", "."), "thousands separators"
    return cell, ""


def _remarks(block: _Block, headers: int, converted: Counter[str], columns: Sequence[Line]) -> Iterator[str]:
    if block.separator not in (",", "|"):
        yield f"columns are separated by {SEPARATORS[block.separator]}"
    yield from (f"{how} in {counted(amount, 'cell')}" for how, amount in converted.items() if how and amount)
    if headers:
        yield f"skipped {counted(headers, 'repeated header')}"
    if len(columns) < len([name for name in block.header if name or any(row[1][0] for row in block.rows)]):
        yield "skipped an index column"
    if block.ragged:
        yield lines_remark(block.ragged, f"without {len(block.header)} cells")


def lines_remark(lines: Sequence[int], what: str) -> str:
    """Return a remark that names the first of these skipped lines."""
    numbers = named([f"{line:,}" for line in lines], MOST_NAMED)
    return f"skipped {counted(len(lines), 'line')} {what}: {numbers}"
