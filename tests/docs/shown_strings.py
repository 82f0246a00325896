"""Every text that a user may see, with its place: ``python tests/docs/shown_strings.py`` lists them.

Texts are the string literals of the code with at least two words, docstrings aside (those of commands are their
help), placeholders of f-strings as ``{}``, and the lines of templates and themes.
"""

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = ("engine", "sessions", "themes", "tui")
WORDS = re.compile(r"[A-Za-z][a-z']+[ ,:;]+(?:\S+ +)*?[A-Za-z][a-z']+")
"""Two words at least: names of fields, keys and formats are no texts."""


@dataclass(frozen=True)
class Text:
    """Text and where it stands."""

    path: str
    line: int
    text: str


def texts() -> Iterator[Text]:
    """Return all texts of the code, its templates and presets."""
    for folder in CODE:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix == ".py":
                yield from _of_code(path)
            elif path.suffix in (".j2", ".js") or path.parent.name == "presets":
                lines = enumerate(path.read_text("utf-8").splitlines(), 1)
                yield from (Text(_name(path), at, line.strip()) for at, line in lines if WORDS.search(line))


def _of_code(path: Path) -> Iterator[Text]:
    tree = ast.parse(path.read_text("utf-8"))
    skipped = {id(part) for node in ast.walk(tree) for part in _not_shown(node)}
    for node in ast.walk(tree):
        if id(node) in skipped or not isinstance(node, ast.Constant | ast.JoinedStr):
            continue
        text = _text(node)
        if WORDS.search(text):
            yield Text(_name(path), node.lineno, " ".join(text.split()))


def _not_shown(node: ast.AST) -> Iterator[ast.AST]:
    """Parts of a node that are no texts of their own: docstrings, and the pieces of an f-string."""
    if isinstance(node, ast.JoinedStr):
        yield from (part for part in ast.walk(node) if part is not node and isinstance(part, ast.Constant))
    body = getattr(node, "body", None)
    if not isinstance(body, list):
        return
    command = any("command" in ast.dump(each) for each in getattr(node, "decorator_list", ()))
    for at, statement in enumerate(body):
        if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
            continue
        if not (command and at == 0):  # a command's docstring is its help
            yield statement.value


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


if __name__ == "__main__":
    for each in texts():
        sys.stdout.write(f"{each.path}:{each.line}: {each.text}\n")
