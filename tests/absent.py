"""Run commands in a process in which modules and functions of the system are absent.

``python absent.py '{"modules": [...], "functions": {"os": [...]}, "commands": [[...]]}'`` writes the exit
status, the output and the errors of each command as JSON.
"""

import io
import json
import sys
from collections.abc import Sequence
from importlib import import_module

LOADED_BEFORE = (
    *(
        "asyncio",
        "ctypes",
        "multiprocessing",
        "shutil",
        "signal",
        "socket",
        "subprocess",
        "tempfile",
        "zipfile",
    ),
    *("click.shell_completion", "jinja2", "markdown_it", "msgspec", "platformdirs", "psutil"),
    *("rich.console", "rich.markdown", "tomlkit"),
)
"""What has versions of its own for every system; benchtui's modules are loaded without what is absent."""


def run(words: Sequence[str]) -> tuple[int, str, str]:
    """Run a command, and return its exit status, output and errors."""
    from benchtui.tui import cli

    sys.argv = ["benchtui", *words]
    sys.stdout, sys.stderr = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    status = 0
    try:
        cli.main()
    except SystemExit as end:
        status = int(end.code or 0)
    said = [stream.buffer.getvalue().decode() for stream in (sys.stdout, sys.stderr)]
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    return status, said[0], said[1]


def main() -> None:
    """Remove what is absent, and run the commands."""
    wanted = json.loads(sys.argv[1])
    for name in LOADED_BEFORE:
        import_module(name)
    for name in wanted["modules"]:
        sys.modules[name] = None  # type: ignore[assignment]
    for module, names in wanted["functions"].items():
        for name in names:
            vars(import_module(module)).pop(name, None)
    sys.stdout.write(json.dumps([run(words) for words in wanted["commands"]]))


if __name__ == "__main__":
    main()
