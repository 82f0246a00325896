"""``python -m benchtui.engine``: engine process, started by the client with a sweep on stdin."""

import argparse
import os
import sys
import threading
import traceback
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import msgspec

from benchtui.engine.control import (
    Answer,
    ExplainMessage,
    ExplainOptions,
    ResumeOptions,
    StartOptions,
    discard_starting_log,
    log_final_error,
    log_path,
    mark_started,
    refusal,
)
from benchtui.engine.executor import Executor
from benchtui.engine.node.runner import NodeRunner
from benchtui.engine.process_tree import adopt_orphans
from benchtui.engine.supervisor.supervisor import Supervisor, require_custom_code
from benchtui.engine.versions import require_packages
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.permissions.approved import require
from benchtui.sessions.permissions.needed import needed_permissions
from benchtui.sessions.sanitize import visible
from benchtui.sessions.secrets import KnownSecrets, masked
from benchtui.sessions.sweep import Sweep

OUT_OF_MEMORY = "the engine is out of memory; close other programs, or raise the limit (ulimit -v)"


def main() -> int:
    """Start the engine, report its start to the client as one JSON line, and run the sweep.

    Return 2 if the engine can't start and 1 if it has to give up. With ``--station`` as the only argument, run
    as a node agent and execute the cases that a remote engine sends on stdin.
    """
    adopt_orphans()
    sys.excepthook = _log_exception
    threading.excepthook = lambda raised: _log_exception(
        raised.exc_type, raised.exc_value or raised.exc_type(), raised.exc_traceback
    )
    if sys.argv[1:] == ["--station"]:
        return _serve_node()
    parser = argparse.ArgumentParser(prog="python -m benchtui.engine", description=__doc__)
    parser.add_argument("--id", required=True, help="id of the engine and of a new session")
    parser.add_argument("--resume", action="store_true", help="resume the session in that file")
    parser.add_argument("--explain", action="store_true", help="profile cases of the session in that file")
    parser.add_argument("--numbered", action="store_true", help="number a new file if its name is taken")
    parser.add_argument("path", type=Path, help="session file to write")
    arguments = parser.parse_args()
    if arguments.explain:
        return _explain(arguments.path)
    try:
        supervisor = _supervisor(arguments.id, arguments.path, arguments.resume, arguments.numbered)
    except (BenchtuiError, msgspec.MsgspecError, MemoryError) as error:
        full = Answer(ok=False, error=f"{visible(str(arguments.path))}: {OUT_OF_MEMORY}")
        _send_answer(full if isinstance(error, MemoryError) else refusal(error))
        discard_starting_log(arguments.id)
        return 2
    mark_started(arguments.id)
    _send_answer(
        Answer(
            ok=True,
            id=arguments.id,
            path=os.fsencode(supervisor.path),
            pid=os.getpid(),
            resumed_s=supervisor.resumed_s,
        )
    )
    try:
        supervisor.run()
    except (BenchtuiError, MemoryError) as error:
        log_final_error(arguments.id, masked(str(error)) or OUT_OF_MEMORY)
        return 1
    if not supervisor.log_needed:
        log_path(arguments.id).unlink(missing_ok=True)
    return 0


def _log_exception(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Log an unexpected exception without the secrets that its text may quote."""
    text = "".join(traceback.format_exception(kind, error, trace))
    sys.stderr.write(KnownSecrets(os.environ).masked(text))


def _serve_node() -> int:
    from benchtui.engine.node.agent import serve  # imported only in a node agent

    return serve(NodeRunner())


def _explain(path: Path) -> int:
    """Profile cases of a recorded session. Read the request from stdin, and print progress as JSON lines."""
    from benchtui.engine.supervisor.explain.recorded import RecordedExplanations  # not needed for a sweep

    options = msgspec.json.decode(sys.stdin.buffer.read(), type=ExplainOptions)
    try:
        executor = NodeRunner()
        try:
            explanations = RecordedExplanations(path, options, executor, _print_line)
        except BenchtuiError:
            executor.close()
            raise
        explanations.run()
    except (BenchtuiError, OSError) as error:
        answer = refusal(error)
        _print_line(ExplainMessage(error=answer.error, needed=answer.needed))
        return 2
    return 0


def _print_line(message: Answer | ExplainMessage) -> None:
    with suppress(BrokenPipeError):  # the client is gone; what it has started runs on
        sys.stdout.buffer.write(msgspec.json.encode(message) + b"\n")
        sys.stdout.buffer.flush()


def _supervisor(session_id: str, path: Path, resume: bool, numbered: bool) -> Supervisor:
    """Read the request from stdin, and return a supervisor for a new or resumed session."""
    request = sys.stdin.buffer.read()
    if not resume:
        options = msgspec.json.decode(request, type=StartOptions)
        sweep = options.sweep
        require_custom_code(sweep.task)
        require(needed_permissions(sweep), options.consent)
        return Supervisor(session_id, sweep, path, _executor(sweep), numbered=numbered, wait=options.wait)
    # slow import that a new session doesn't need
    from benchtui.engine.supervisor.resume import ResumableSession

    how = msgspec.json.decode(request, type=ResumeOptions)
    resumable = ResumableSession(path, how)
    recorded = resumable.session.start.sweep
    return Supervisor(session_id, recorded, path, _executor(recorded), resumable, wait=how.wait)


def _executor(sweep: Sweep) -> Executor:
    """Return the executor of a sweep; raise BenchtuiError if it can't be reached."""
    run = sweep.run
    if run.executor == "local":
        require_packages(sweep)
        return NodeRunner()
    try:
        from benchtui.engine.executors.ray import join  # an optional extra
    except ModuleNotFoundError as error:
        raise BenchtuiError(
            f"run.executor: 'ray' is not installed; run: pip install 'benchtui[ray]' ({error})"
        ) from error
    return join(run)


def _send_answer(answer: Answer) -> None:
    """Send the answer and close the pipes, so that the client doesn't wait for the engine to end."""
    _print_line(answer)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)


if __name__ == "__main__":
    sys.exit(main())
