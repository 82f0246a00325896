"""``python -m benchtui.engine``: the engine's process, started by the client with a sweep on its input."""

import argparse
import os
import sys
from pathlib import Path

import msgspec

from benchtui.engine.control import Answer, Resumption, log_path, say_last
from benchtui.engine.executor import Executor
from benchtui.engine.executors.local import LocalExecutor
from benchtui.engine.process_tree import adopt_orphans
from benchtui.engine.supervisor.supervisor import Supervisor
from benchtui.sessions.errors import BenchtuiError, NothingLeftError
from benchtui.sessions.sanitize import visible
from benchtui.sessions.sweep import Run, Sweep


def main() -> int:
    """Come up, say so in one JSON line, and run the sweep; 2 when it can't come up, 1 when it can't go on.

    With ``--station`` alone, run the cases that an engine elsewhere sends over the input.
    """
    adopt_orphans()
    if sys.argv[1:] == ["--station"]:
        return _serve()
    parser = argparse.ArgumentParser(prog="python -m benchtui.engine", description=__doc__)
    parser.add_argument("--id", required=True, help="the engine's id, and that of a session it begins")
    parser.add_argument("--resume", action="store_true", help="go on with the session of that file")
    parser.add_argument("path", type=Path, help="the session file to be written")
    arguments = parser.parse_args()
    try:
        supervisor = _supervisor(arguments.id, arguments.path, arguments.resume)
    except (BenchtuiError, msgspec.MsgspecError) as error:
        _say(Answer(ok=False, error=visible(str(error)), nothing_left=isinstance(error, NothingLeftError)))
        return 2
    _say(
        Answer(
            ok=True,
            id=arguments.id,
            path=os.fsencode(arguments.path),
            pid=os.getpid(),
            resumed_s=supervisor.resumed_s,
        )
    )
    try:
        supervisor.run()
    except BenchtuiError as error:
        say_last(arguments.id, str(error))
        return 1
    if not supervisor.log_needed:
        log_path(arguments.id).unlink(missing_ok=True)
    return 0


def _serve() -> int:
    from benchtui.engine.node.agent import serve  # most engines have no need of either
    from benchtui.engine.node.runner import NodeRunner

    return serve(NodeRunner())


def _supervisor(session_id: str, path: Path, resume: bool) -> Supervisor:
    """A supervisor that has begun a session, or resumed one; what it is asked to do comes on the input."""
    asked = sys.stdin.buffer.read()
    if not resume:
        sweep = msgspec.json.decode(asked, type=Sweep)
        return Supervisor(session_id, sweep, path, _executor(sweep.run))
    # reading a session and what differs loads much that an engine otherwise doesn't need
    from benchtui.engine.supervisor.resume import ResumableSession

    left = ResumableSession(path, msgspec.json.decode(asked, type=Resumption))
    sweep = left.session.start.sweep
    return Supervisor(session_id, sweep, path, _executor(sweep.run), left)


def _executor(run: Run) -> Executor:
    """Where the cases of a sweep run; raises BenchtuiError where that can't be reached."""
    if run.executor == "local":
        return LocalExecutor()
    try:
        from benchtui.engine.executors.ray import join  # an extra that most have no need of
    except ModuleNotFoundError as error:
        raise BenchtuiError(
            f"run.executor: 'ray' needs the extra: pip install 'benchtui[ray]' ({error})"
        ) from error
    return join(run)


def _say(answer: Answer) -> None:
    """Answer the client, and let go of its pipe: it isn't to wait for the end."""
    sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
    sys.stdout.flush()
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)


if __name__ == "__main__":
    sys.exit(main())
