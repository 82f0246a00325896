"""Module of a user-defined step: the user's file, imported under its own name as plain Python does.

Its folder comes first on ``sys.path``, as that of a script, so that its neighbors and the processes it starts
can import it. A file in a package is imported as a module of that package, as by ``python -m package.module``.
"""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from benchtui.sessions.errors import BenchtuiError


def import_file(path: Path, task: str) -> ModuleType:
    """Import a file once. ``task`` names it in errors.

    Raises BenchtuiError if there is no such file, or if its name is that of another module.
    """
    if not path.is_file():
        raise BenchtuiError(f"task {task!r}: no file {path}")
    package = _package(path.parent)
    root = path.parents[len(package)]
    name = ".".join((*package, path.stem))
    _require_free(package[0] if package else name, root / package[0] / "__init__.py" if package else path, task)
    _put_first(path.parent, root)
    sys.argv[:] = [str(path)]  # those of the engine mean nothing to the file
    if package:
        importlib.import_module(".".join(package))
    return sys.modules.get(name) or _execute(name, path)


def _package(folder: Path) -> tuple[str, ...]:
    """Return the names of the packages that a folder belongs to, outermost first; empty for a plain folder."""
    return (*_package(folder.parent), folder.name) if (folder / "__init__.py").is_file() else ()


def _require_free(name: str, file: Path, task: str) -> None:
    """Raise BenchtuiError if a module from another file has the name. Importing it would give that one."""
    loaded = sys.modules.get(name)
    if name in sys.stdlib_module_names or (loaded and getattr(loaded, "__file__", None) != str(file)):
        what = file.name if file.stem == name else f"the folder {name}"
        raise BenchtuiError(f"task {task!r}: {name} is also the name of a Python module in use; rename {what}")


def _put_first(*folders: Path) -> None:
    """Put folders first on the path, the last one of them at its head."""
    for folder in map(str, folders):
        if folder in sys.path:
            sys.path.remove(folder)
        sys.path.insert(0, folder)


def _execute(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise BenchtuiError(f"{path} can't be imported as a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
