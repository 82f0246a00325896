"""Reading of rows by a map: the values of each case, and remarks on cells that say nothing."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from benchtui.sessions.importers import quantities
from benchtui.sessions.importers.case_values import CaseValues
from benchtui.sessions.importers.file_map import FileMap, Row, Text, columns_in, filled, plain, words
from benchtui.sessions.importers.quantities import RATES, Target, is_empty, target
from benchtui.sessions.sanitize import LONGEST_VALUE, quoted, visible

_SUCCESS = re.compile(r"(?i)succe|pass|\bok\b")
"""Column of status whose 0 isn't an exit status."""


class Reader:
    """Reads the cases of rows. What it learned from all rows together is computed once."""

    def __init__(self, file_map: FileMap, rows: Sequence[Row]) -> None:
        self._map = file_map
        self.remarks: list[str] = []
        self._targets = [pair for column, names in file_map.columns.items() for pair in _targets(column, names)]
        self._unit_column = next((column for column, of in self._targets if of.name == "unit"), "")
        optional = [part for part in file_map.name if isinstance(part, str) and part.startswith("?")]
        self._varying = {part for part in optional if len({filled(part[1:], row) for row in rows}) > 1}
        self._used = _used(file_map, rows)
        parts = [(filled(file_map.short_name, row), self._joined(file_map.name, row)) for row in rows]
        self._short_names = Counter(short for short, _ in set(parts))
        self._options, self.shared_options = self._rest(rows)

    def cases(self, row: Row) -> Iterator[CaseValues]:
        """Yield the values of each case of a row: one, or one for each value of an option in a wide table."""
        wide = self._wide(row)
        for (option, text), targets in wide.items():
            yield self._read(row, {option: self._in_words(option, text)}, [*self._targets, *targets])
        stated = [(column, of.key) for column, of in self._targets if not is_empty(row.get(column))]
        several = Counter(key for _, key in stated)
        key = next((key for _, key in stated if several[key] > 1 and key in ("step_mean", *RATES)), "")
        parts = {column: _parts(column) for column, of in stated if of == key and not wide}
        for column, words_of in parts.items():
            own = words_of - frozenset.intersection(*parts.values())
            shared = [
                (other, of)
                for other, of in self._targets
                if other == column or (of.key != key and (several[of.key] < 2 or own & _parts(other)))
            ]
            values = self._read(row, {}, shared)
            values.options["column"] = column
            yield values
        if not (wide or parts):
            yield self._read(row, {}, self._targets)

    def reads(self, column: str) -> bool:
        """Return whether a quantity, a name, an option or a pattern covers a column, or some of its value."""
        patterns = (*self._map.derived, *(pattern for pattern in self._map.columns if "*" in pattern))
        return (
            column in {*self._options, *self.shared_options}
            or any(f"{used}.".startswith(f"{column}.") for used in self._used)
            or any(fnmatchcase(column, pattern) for pattern in patterns)
        )

    def _wide(self, row: Row) -> dict[tuple[str, str], list[tuple[str, Target]]]:
        """Return the columns, with quantities, of each option and value that columns stand for."""
        wide: dict[tuple[str, str], list[tuple[str, Target]]] = {}
        for pattern, names in self._map.columns.items():
            option, sign, name = str(names).partition(":")
            option, _, value = option.partition("=")
            before, _, after = pattern.replace("[0-9]*", "*").replace("[[]", "[").partition("*")
            for column, cell in row.levels[0].items() if sign else ():
                if (column == pattern or fnmatchcase(column, pattern)) and not is_empty(cell):
                    text = value or column.removeprefix(before).removesuffix(after).strip(" _=-()")
                    of = target(name, f"map {self._map.tool}")
                    wide.setdefault((option, text), []).append((column, of))
        return wide

    def _read(self, row: Row, stated: dict[str, str], targets: Sequence[tuple[str, Target]]) -> CaseValues:
        values = CaseValues(row.place, population=self._map.population, words=dict(stated))
        own: list[tuple[str, Target]] = []
        for rule in self._map.when:
            if rule.applies(row):
                own += [(column, target(name, "map")) for column, name in rule.columns.items()]
                texts = {name: filled(text, row) for name, text in rule.set.items()}
                values.lists.setdefault("marks", []).extend(filter(None, [texts.pop("marks", None)]))
                stated_by_rule = {name: self._in_words(name, text) for name, text in texts.items() if text}
                values.words = stated_by_rule | values.words
        values.unit = str(row.get(self._unit_column) or "") or self._map.unit or None
        for column, of in (*targets, *own):
            shown = next((path for path in column.split("|") if row.get(path) is not None), column)
            self._store(values, shown, of, self._cell(row, column, of))
        texts = {name: filled(text, row) for name, text in self._map.set.items()}
        values.defaults = {name: self._in_words(name, text) for name, text in texts.items() if text}
        cells = {name: cell for name, cell in row.levels[0].items() if name in self._options}
        values.options.update({name: words(cell) for name, cell in cells.items() if not is_empty(cell)})
        if self._map.name:
            short = filled(self._map.short_name, row)
            whole = self._joined(self._map.name, row)
            values.name = short if short and self._short_names[short] == 1 else whole
        if self._map.group:
            values.words["group"] = self._joined(self._map.group, row) or values.name
        return values

    def _in_words(self, name: str, text: str) -> str:
        by_pattern = self._map.values.get(name, {})
        return next((value for one, value in by_pattern.items() if fnmatchcase(text.lower(), one)), text)

    def _cell(self, row: Row, column: str, of: Target) -> object:
        """Return a cell without what the map removes, and in the words of the map."""
        cell = row.get(column)
        if isinstance(cell, str) and column in self._map.remove:
            cell = re.sub(self._map.remove[column], "", cell).strip()
        if of.name == "status" and plain(cell) == "0" and _SUCCESS.search(column):
            return "failed"
        if of.name not in self._map.values or isinstance(cell, list | dict) or cell is None:
            return cell
        instead = self._in_words(of.name, text := plain(cell))
        return cell if instead == text else instead

    def _store(self, values: CaseValues, column: str, of: Target, cell: object) -> None:
        if is_empty(cell) or of.name in ("ignored", "unit"):
            return
        if of.name == "option":
            options = cell if isinstance(cell, dict) else {column.rpartition(".")[2]: cell}
            values.options |= {str(option): words(value) for option, value in options.items()}
        elif of.name in quantities.LISTS or (isinstance(cell, list) and of.name in quantities.SIZES):
            values.lists.setdefault(of.name, []).extend(self._list(values, column, of, cell))
        elif of.is_figure:
            self._store_figure(values, column, of, cell)
        elif of.name == "package":
            values.packages[column.rpartition(".")[2].removesuffix("_version")] = words(cell)
        elif of.name not in values.words:
            text = ", ".join(map(words, cell)) if isinstance(cell, list) else words(cell)
            if of.name == "measured":
                text = quantities.moment(cell) or text
            if of.name == "reason":  # which a sentence may follow
                text = text.rstrip(". ")
            values.words[of.name] = text
            if of.name in quantities.WHOLE and values.whole(of.name) is None and plain(text) != "0":
                values.options[column] = values.words.pop(of.name)
                self._remark(values, column, cell, "isn't a positive whole number")

    def _store_figure(self, values: CaseValues, column: str, of: Target, cell: object) -> None:
        if of.name == "failed" and words(cell).lower() in ("true", "false"):
            values.words.setdefault("status", "failed" if words(cell).lower() == "true" else "ok")
            return
        numbers = self._numbers(values, column, of, cell)
        if numbers and of.key == "tokens":
            values.figures["tokens"] = values.figures.get("tokens", 0.0) + numbers[0]
        elif numbers and of.name in quantities.SIZES:
            values.figures[of.key] = max(numbers[0], values.figures.get(of.key, 0.0))
        elif numbers and of.key not in values.figures:
            values.figures[of.key] = numbers[0]
            if len(numbers) > 1 and of.key.endswith("_mean"):
                values.figures.setdefault(f"{of.name}_std", numbers[1])

    def _list(self, values: CaseValues, column: str, of: Target, cell: object) -> list[object]:
        separator = "; " if of.name == "marks" else r"[;,]\s*|\s+"
        items = cell if isinstance(cell, list) else re.split(separator, str(cell).strip("[]() "))
        if of.is_figure:
            return [number for item in items for number in self._numbers(values, column, of, item)[:1]]
        return [item if isinstance(item, int | None) else visible(str(item), LONGEST_VALUE) for item in items]

    def _numbers(self, values: CaseValues, column: str, of: Target, cell: object) -> list[float]:
        """Read a figure and its deviation. A word in its place may be the outcome of the case."""
        try:
            return quantities.figure(cell, of, values.unit)
        except ValueError as error:
            text = visible(str(cell), LONGEST_VALUE)
            outcome = quantities.failed_outcome(text) if isinstance(cell, str) else None
            if outcome is None:
                self._remark(values, column, cell, str(error))
            elif values.outcome is None or of.name == "step":
                values.outcome, values.reason = outcome, f"{column} is {text}"
        return []

    def _remark(self, values: CaseValues, column: str, cell: object, why: str) -> None:
        values.unreadable.append(f"{column} {quoted(cell)} {why}")
        self.remarks.append(f"{values.unreadable[-1]}; imported as unknown")

    def _joined(self, parts: Sequence[Text], row: Row) -> str:
        shown = [part for part in parts if not str(part).startswith("?") or part in self._varying]
        texts = [filled(part.lstrip("?") if isinstance(part, str) else part, row) for part in shown]
        for pattern in self._map.remove.values():
            texts = [re.sub(pattern, "", text) for text in texts]
        return " ".join(text.strip() for text in texts if text)

    def _rest(self, rows: Sequence[Row]) -> tuple[frozenset[str], dict[str, str]]:
        """Return the columns that are options of a case: settings that a sweep or a tool added.

        Those in which no rows differ are returned apart if only those that vary are options.
        """
        texts: dict[str, set[str]] = {}
        for row in rows if self._map.options else ():
            for name, cell in row.levels[0].items():
                if isinstance(cell, str | int | float) and not is_empty(cell) and self._is_option(name):
                    texts.setdefault(name, set()).add(words(cell))
        varied = self._map.options == "varied"
        shared = {name: min(cells) for name, cells in texts.items() if len(cells) == 1 and varied}
        return frozenset(texts) - set(shared), shared

    def _is_option(self, name: str) -> bool:
        """Return whether a column may be an option; one that only sets another quantity is, if it varies."""
        if any(fnmatchcase(name, pattern) for pattern in (*self._map.unread, *self._map.derived)):
            return False
        named = {column for text in (*self._map.name, *self._map.group) for column in columns_in(text)}
        options = {column for column, of in self._targets if of.name in quantities.OPTIONS} - named
        return (self._map.options == "varied" and name in options) or name not in self._used


def _used(file_map: FileMap, rows: Sequence[Row]) -> frozenset[str]:
    """Return the columns that a map reads in these rows."""
    texts = (*file_map.name, *file_map.group, file_map.short_name, *file_map.set.values())
    columns = {column for text in texts for column in columns_in(text)}
    for rule in file_map.when:
        columns |= {*rule.columns} if any(map(rule.applies, rows)) else set()
        columns |= set() if file_map.options == "varied" else {rule.column}
    columns |= {*file_map.columns, *file_map.keep}
    return frozenset(path.lstrip("^") for column in columns for path in column.split("|"))


def _parts(column: str) -> frozenset[str]:
    """Return the words of a column's name, which say whose figure it is if several columns have a quantity."""
    return frozenset(re.findall(r"[^\W_]+", column.lower()))


def _targets(column: str, names: str | Sequence[str]) -> Iterator[tuple[str, Target]]:
    for name in [names] if isinstance(names, str) else names:
        if ":" not in name:
            yield column, target(name, "map")
