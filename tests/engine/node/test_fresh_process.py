"""A case with environment variables of its own runs in an interpreter that had them when it started."""

import os
import subprocess
import sys
from multiprocessing import Pipe

REPLACED = """
import multiprocessing.connection, sys
from benchtui.engine.node import fresh_process
from benchtui.engine.worker import isolation

isolation.leave_fork_server = lambda: None
pipes = [multiprocessing.connection.Connection(int(fd), readable=False) for fd in sys.argv[1:]]
fresh_process.replace_process(b"job", *pipes, {"BENCHTUI_TEST": "a b"})
"""
PROGRAM = """
import os, sys
job, events = int(sys.argv[3]), int(sys.argv[4])
os.lseek(job, 0, 0)
os.write(events, os.read(job, 99) + b" " + os.environ["BENCHTUI_TEST"].encode())
"""


def test_the_program_is_replaced_with_the_job_and_the_variables(tmp_path: object) -> None:
    fake = f"{tmp_path}/python"
    with open(fake, "w") as file:
        file.write(f"#!{sys.executable}\n{PROGRAM}")
    os.chmod(fake, 0o755)
    ours, events = Pipe(duplex=False)
    handles = [str(events.fileno())] * 2
    subprocess.run(
        [sys.executable, "-c", f"import sys\nsys.executable = {fake!r}\n{REPLACED}", *handles],
        pass_fds=[events.fileno()],
        check=True,
        timeout=60,
    )
    assert os.read(ours.fileno(), 99) == b"job a b"
