"""Plain script around a step: python plain.py FILE. Prints ``ready``, then the milliseconds of each step."""

import importlib
import sys
import time
from pathlib import Path
from types import SimpleNamespace


def main(file: Path) -> None:
    sys.path.insert(0, str(file.parent.parent if file.parent.name == "in_package" else file.parent))
    name = f"in_package.{file.stem}" if file.parent.name == "in_package" else file.stem
    step = importlib.import_module(name).make(SimpleNamespace(lap=lambda part: None))
    step.step()
    print("ready", flush=True)
    while True:
        begin_s = time.perf_counter()
        step.step()
        print((time.perf_counter() - begin_s) * 1000, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
