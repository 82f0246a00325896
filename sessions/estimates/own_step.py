"""Own step: whether its file and its function are there, read without running the file."""

import ast
import warnings
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from benchtui.sessions.errors import os_error_text
from benchtui.sessions.files.input_file import read_plain
from benchtui.sessions.sweep.ranges import nearest

_DYNAMIC = {"*", "globals", "exec", "setattr", "vars", "__getattr__"}
"""Names in a file that may define any others."""


def step_problem(file: str, function: str) -> str:
    """Return why a step can't be loaded; empty if nothing is known to be wrong with it."""
    path = Path(file)
    try:
        status = path.stat()
        names = _names(path, status.st_size, status.st_mtime_ns)
    except FileNotFoundError:
        return f"no file {file}" + ("" if path.is_absolute() else f" in the working directory, {Path.cwd()}")
    except SyntaxError as error:
        return f"{file}:{error.lineno or 1}: {type(error).__name__}: {error.msg}"
    except OSError as error:
        return f"{file} can't be read: {os_error_text(error)}"
    except (ValueError, RecursionError):
        return f"{file} is not a file of Python"
    if function in names or _DYNAMIC & names:
        return ""
    return f"{file} has no function {function}{nearest(function, sorted(names))}"


@lru_cache(maxsize=16)
def _names(path: Path, _size: int, _modified_ns: int) -> frozenset[str]:
    """Return what a file defines at its top level. It is read again once it is modified."""
    with warnings.catch_warnings(action="ignore"):  # of unusual code, which the case's process shows
        return frozenset(_defined(ast.parse(read_plain(path))))


def _defined(node: ast.AST) -> Iterator[str]:
    """Yield the names that statements define or use, without those inside functions and classes."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield child.name
        elif isinstance(child, ast.alias):
            yield (child.asname or child.name).partition(".")[0]
        else:
            if isinstance(child, ast.Name) and (isinstance(child.ctx, ast.Store) or child.id in _DYNAMIC):
                yield child.id
            yield from _defined(child)
