"""Command handler: user commands for a running sweep. Each is executed completely or rejected in one line."""

from benchtui.engine.control import Command
from benchtui.engine.supervisor.scheduler import Scheduler
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import Continued, Paused
from benchtui.sessions.sweep import MOST_CASES
from benchtui.sessions.sweep.toml_reader import validate_config


def execute(command: Command, scheduler: Scheduler) -> tuple[int, ...]:
    """Execute a command and return the numbers of new cases; raise BenchtuiError if it is rejected."""
    if command.command not in ("status", "stop"):
        scheduler.require_not_stopping()
    match command.command:
        case "stop":
            scheduler.stop(f"stopped by {command.cause}")
        case "pause" | "continue":
            paused = command.command == "pause"
            if scheduler.queue.paused != paused:
                scheduler.queue.paused = paused
                scheduler.log.write((Paused if paused else Continued)(t=scheduler.log.now_s()))
        case "skip":
            _skip(scheduler, command.cases)
        case "drop":
            cases = [scheduler.queue.require_unended(index) for index in _require_cases(command)]
            scheduler.end_pending(cases, "skipped", "dropped by the user")
        case "order":
            scheduler.rearrange(_require_cases(command))
        case "add":
            return _add(scheduler, command)
        case "again":
            return _rerun(scheduler, _require_cases(command))
    return ()


def _require_cases(command: Command) -> tuple[int, ...]:
    if not command.cases:
        raise BenchtuiError("no case number given")
    return command.cases


def _skip(scheduler: Scheduler, cases: tuple[int, ...]) -> None:
    running = scheduler.queue.running
    if not cases and len(running) != 1:
        names = ", ".join(str(index + 1) for index in running)
        raise BenchtuiError(
            f"{len(running)} cases are running: {names}; specify one" if running else "no case is running"
        )
    cases = cases or tuple(running)
    for index in cases:
        if scheduler.queue.has_ended(index):
            raise BenchtuiError(f"case {index + 1} has already ended")
    for index in cases:
        if index in running:
            scheduler.end(index, "skipped", "skipped by the user")
        else:
            scheduler.end_pending([scheduler.queue.cases[index]], "skipped", "skipped by the user")


def _add(scheduler: Scheduler, command: Command) -> tuple[int, ...]:
    if not command.configs:
        raise BenchtuiError("no cases to add")
    configs = [validate_config(config) for config in command.configs]
    _require_room(scheduler, len(configs))
    return tuple(scheduler.add(config, "added by the user").index for config in configs)


def _rerun(scheduler: Scheduler, cases: tuple[int, ...]) -> tuple[int, ...]:
    for index in cases:
        if not scheduler.queue.is_measured(index):
            raise BenchtuiError(f"case {index + 1} hasn't ended yet; only ended cases can be rerun")
    if changed := scheduler.files.changes(scheduler.queue.cases[index].config for index in cases):
        raise BenchtuiError(
            f"files have changed since they were measured with: {'; '.join(changed)}; to measure with the"
            " changed files, add a case with these options"
        )
    _require_room(scheduler, len(cases))
    return tuple(scheduler.add(scheduler.queue.cases[index].config, "again", of=index).index for index in cases)


def _require_room(scheduler: Scheduler, amount: int) -> None:
    planned = len(scheduler.queue.cases)
    if planned + amount > MOST_CASES:
        raise BenchtuiError(f"can't add {amount:,} cases to {planned:,}: a sweep has at most {MOST_CASES:,}")
