"""What the user may ask of a sweep on its way; each command is carried out whole or refused in one line."""

from benchtui.engine.control import Command
from benchtui.engine.supervisor.scheduler import Scheduler
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import Continued, OrderChanged, Paused
from benchtui.sessions.sweep import MOST_CASES
from benchtui.sessions.sweep.toml_reader import checked


def execute(command: Command, course: Scheduler) -> tuple[int, ...]:
    """Carry out a command, or raise BenchtuiError; gives the numbers of the cases it made."""
    if course.stopping and command.command not in ("status", "stop"):
        raise BenchtuiError(f"the sweep is ending: {course.stopping}")
    match command.command:
        case "stop":
            course.stop("stopped by the user")
        case "pause" | "continue":
            _pause(course, command.command == "pause")
        case "skip":
            _skip(course, command.cases)
        case "drop":
            cases = [course.queue.require_pending(index) for index in _named(command)]
            course.dismiss(cases, "skipped", "dropped by the user")
        case "order":
            course.queue.rearrange(_named(command))
            order = tuple(each.index for each in course.queue.pending)
            course.log.write(OrderChanged(t=course.log.now_s(), cases=order))
        case "add":
            return _add(course, command)
        case "again":
            return _again(course, _named(command))
    return ()


def _named(command: Command) -> tuple[int, ...]:
    if not command.cases:
        raise BenchtuiError("no case is named")
    return command.cases


def _pause(course: Scheduler, paused: bool) -> None:
    """Pausing what is paused changes nothing, and is no mistake."""
    if course.queue.paused != paused:
        course.queue.paused = paused
        course.log.write((Paused if paused else Continued)(t=course.log.now_s()))


def _skip(course: Scheduler, cases: tuple[int, ...]) -> None:
    running = course.queue.running
    if not cases and len(running) != 1:
        names = ", ".join(str(index) for index in running)
        raise BenchtuiError(
            f"{len(running)} cases are running: {names}; name one" if running else "no case is running"
        )
    cases = cases or tuple(running)
    for index in cases:
        if course.queue.has_ended(index):
            raise BenchtuiError(f"case {index} has ended already")
    for index in cases:
        if index in running:
            course.end(index, "skipped", "skipped by the user")
        else:
            course.dismiss([course.queue.cases[index]], "skipped", "skipped by the user")


def _add(course: Scheduler, command: Command) -> tuple[int, ...]:
    if not command.configs:
        raise BenchtuiError("no case is given")
    configs = [checked(config) for config in command.configs]
    _require_room(course, len(configs))
    return tuple(course.plan(config, "added by the user").index for config in configs)


def _again(course: Scheduler, cases: tuple[int, ...]) -> tuple[int, ...]:
    for index in cases:
        if not course.queue.has_ended(index):
            raise BenchtuiError(f"case {index} hasn't ended yet")
    _require_room(course, len(cases))
    return tuple(course.plan(course.queue.cases[index].config, "again", of=index).index for index in cases)


def _require_room(course: Scheduler, amount: int) -> None:
    there = len(course.queue.cases)
    if there + amount > MOST_CASES:
        raise BenchtuiError(f"{amount:,} more cases beside {there:,}: at most {MOST_CASES:,} are allowed")
