"""Fresh worker process, whose libraries see its environment variables on import.

The fork server has already imported them, so a worker with additional variables replaces its program.
"""

import os
import sys
import tempfile
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import NoReturn


def replace_process(
    job: bytes, events: Connection, stderr: Connection, variables: Mapping[str, str]
) -> NoReturn:
    """Replace this process with a new interpreter that runs the job. The process id stays the same."""
    from benchtui.engine.worker.isolation import (
        leave_fork_server,  # imported in the worker, whose fork server has loaded it
    )

    leave_fork_server()
    with tempfile.TemporaryFile() as file:
        file.write(job)
        file.flush()
        handles = (file.fileno(), events.fileno(), stderr.fileno())
        for handle in handles:
            os.set_inheritable(handle, True)
        program = [sys.executable, "-m", __name__, *map(str, handles)]
        os.execve(sys.executable, program, {**os.environ, **variables})


def main() -> None:
    """Run the job in the file of the first handle. The other handles are pipes for events and error output."""
    job, events, stderr = map(int, sys.argv[1:])
    os.dup2(stderr, 2)  # before the imports, which may fail
    from benchtui.engine.worker import (
        preload,  # noqa: F401  (torch is imported in this process, never in the supervisor)
    )
    from benchtui.engine.worker.main import main  # as above

    with os.fdopen(job, "rb") as file:
        file.seek(0)
        content = file.read()
    main(content, Connection(events, readable=False), Connection(stderr, readable=False))


if __name__ == "__main__":
    main()
