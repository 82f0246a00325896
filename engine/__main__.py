"""``python -m benchtui.engine``: engine process, started by the client with a sweep on stdin."""

import argparse
import os
import sys
from contextlib import suppress
from pathlib import Path

import msgspec

from benchtui.engine.control import (
    Answer,
    ExplainMessage,
    ExplainOptions,
    ResumeOptions,
    log_final_error,
    log_path,
)
from benchtui.engine.executor import Executor
from benchtui.engine.executors.local import LocalExecutor
from benchtui.engine.process_tree import adopt_orphans
from benchtui.engine.supervisor.supervisor import Supervisor
from benchtui.engine.versions import require_packages
from benchtui.sessions.errors import BenchtuiError, NothingToResumeError
from benchtui.sessions.sanitize import visible
from benchtui.sessions.sweep import Sweep


def main() -> int:
    """Start the engine, report its start to the client as one JSON line, and run the sweep.

    Return 2 if the engine can't start and 1 if it has to give up. With ``--station`` as the only argument, run
    as a node agent and execute the cases that a remote engine sends on stdin.
    """
    adopt_orphans()
    if sys.argv[1:] == ["--station"]:
        return _serve_node()
    parser = argparse.ArgumentParser(prog="python -m benchtui.engine", description=__doc__)
    parser.add_argument("--id", required=True, help="id of the engine and of a new session")
    parser.add_argument("--resume", action="store_true", help="resume the session in that file")
    parser.add_argument("--explain", action="store_true", help="profile cases of the session in that file")
    parser.add_argument("path", type=Path, help="session file to write")
    arguments = parser.parse_args()
    if arguments.explain:
        return _explain(arguments.path)
    try:
        supervisor = _supervisor(arguments.id, arguments.path, arguments.resume)
    except (BenchtuiError, msgspec.MsgspecError) as error:
        nothing_left = isinstance(error, NothingToResumeError)
        _send_answer(Answer(ok=False, error=visible(str(error)), nothing_left=nothing_left))
        return 2
    _send_answer(
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
        log_final_error(arguments.id, str(error))
        return 1
    if not supervisor.log_needed:
        log_path(arguments.id).unlink(missing_ok=True)
    return 0


def _serve_node() -> int:
    from benchtui.engine.node.agent import serve  # imported only in a node agent
    from benchtui.engine.node.runner import NodeRunner

    return serve(NodeRunner())


def _explain(path: Path) -> int:
    """Profile cases of a recorded session. Read the request from stdin, and print progress as JSON lines."""
    from benchtui.engine.supervisor.explain.recorded import RecordedExplanations  # not needed for a sweep

    options = msgspec.json.decode(sys.stdin.buffer.read(), type=ExplainOptions)
    try:
        executor = LocalExecutor()
        try:
            explanations = RecordedExplanations(path, options, executor, _print_line)
        except BenchtuiError:
            executor.close()
            raise
        explanations.run()
    except (BenchtuiError, OSError) as error:
        _print_line(ExplainMessage(error=visible(str(error))))
        return 2
    return 0


def _print_line(message: ExplainMessage) -> None:
    with suppress(BrokenPipeError):  # the reader has closed the pipe; the profile is recorded anyway
        sys.stdout.buffer.write(msgspec.json.encode(message) + b"\n")
        sys.stdout.buffer.flush()


def _supervisor(session_id: str, path: Path, resume: bool) -> Supervisor:
    """Read the request from stdin, and return a supervisor for a new or resumed session."""
    request = sys.stdin.buffer.read()
    if not resume:
        sweep = msgspec.json.decode(request, type=Sweep)
        return Supervisor(session_id, sweep, path, _executor(sweep))
    # slow import that a new session doesn't need
    from benchtui.engine.supervisor.resume import ResumableSession

    resumable = ResumableSession(path, msgspec.json.decode(request, type=ResumeOptions))
    sweep = resumable.session.start.sweep
    return Supervisor(session_id, sweep, path, _executor(sweep), resumable)


def _executor(sweep: Sweep) -> Executor:
    """Return the executor of a sweep; raise BenchtuiError if it can't be reached."""
    run = sweep.run
    if run.executor == "local":
        require_packages(sweep)
        return LocalExecutor()
    try:
        from benchtui.engine.executors.ray import join  # an optional extra
    except ModuleNotFoundError as error:
        raise BenchtuiError(
            f"run.executor: 'ray' is not installed; run: pip install 'benchtui[ray]' ({error})"
        ) from error
    return join(run)


def _send_answer(answer: Answer) -> None:
    """Send the answer and close the pipes, so that the client doesn't wait for the engine to end."""
    sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
    sys.stdout.flush()
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)


if __name__ == "__main__":
    sys.exit(main())
