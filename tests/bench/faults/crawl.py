"""Calls every command with every option over odd files, names, descriptors, limits and homes: none may break.

``python tests/bench/faults/crawl.py --count 2000 --seed 1`` says how the calls ended, and prints each kind of
fault with the call that had it. Exit status 1 where there was one. Commands and options are those that click
knows. Each call is a fork of this process, which has loaded the program already; permissions bind it also as
root.
"""

import argparse
import ctypes
import json
import os
import random
import resource
import shlex
import shutil
import signal
import socket
import stat
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import click
import corpus
import forked
import mutations
import psutil

STATUSES = (0, 1, 2, 130)
"""Exit statuses that README and docs tell of."""
MISSING_DEVICE = 3
"""With ``--strict``, if a case was skipped because its device is missing."""
OWN_CPU_S = 2.0
"""Processor time of a call, the start of Python not counted."""
FIGURES_CPU_S = 10.0
"""The same of a call that draws every figure twice."""
WALL_S = 20.0
ENGINE_S = 90.0
"""The same of a command that may start an engine."""
MOST_LINES = 7
"""Lines on standard error of a call that fails."""
MOST_GROWN_MB = 400
"""Memory of a call beyond what the program takes when loaded."""
ROOM_MB = 1200
"""Address space that is left where a call has little."""
WITH_ENGINE = ("run", "doctor")
"""Commands that start processes of their own."""
TALKATIVE = ("run", "import", "keys", "themes")
"""Commands that say more than an error on standard error."""
_SUBREAPER, _DROP_FROM_BOUNDS = 36, 24  # PR_SET_CHILD_SUBREAPER and PR_CAPBSET_DROP of prctl(2)
_OVERRIDES = (1, 2, 3)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH and CAP_FOWNER of capabilities(7)
_CAPABILITIES_3 = 0x20080522  # _LINUX_CAPABILITY_VERSION_3 of capget(2)
SWEEP = (
    b'model = "no/such-model"\nweights = "random"\n[run]\nwait_for_quiet = "off"\n'
    b"[measure]\npeaks = false\niterations = 1\nwarmup = 0\n"
)
ODD_NAMES = (b"latin\xff.json", b"new\nline.json", b"esc\x1b[2J.json", b"-dash.json", "üñ中.json".encode())
SESSIONS = (b"s.json", b"t.json", b"x" * 250 + b".json", b"cut.json", *ODD_NAMES)
SPECIAL = tuple(b"fifo socket zero null full folder dangling loop closed sparse".split())
OTHER = tuple(b"empty text.txt sweep.toml results.json results.csv no/such/file new folder/new".split())
_DEVICES = ("/dev/zero", "/dev/full", "/dev/null")
"""What root could remove."""
DEVICES = (*b"/dev/zero /dev/full /dev/null /proc/self/mem / . .. - ~".split(), b"", b"a" * 300)
NAMES = (b"latest", b"demo", b"old", b"quick", b"smoke", b"5b99b6e42f48")
NUMBERS = (b"0", b"1", b"-1", b"2.5", b"64", b"1e999", b"nan", b"inf", b"5%", b"9" * 400, "٣".encode())
PAIRS = (
    *(
        b"batch_size=1",
        b"batch_size=1..4",
        b"precision=fp32",
        b"device=cpu",
        b"=",
        b"a",
        b"a.b=1",
        b"name=\xff",
    ),
    *(b"measure=1", b"axes.device=cuda:*", b"model=", b"env.A=\x1b[2J", b"batch_size=[[[["),
)
MOMENTS = (b"90", b"1:30", b"50%", b"case 3", b"case 999999999999", b"-1", b"nan")
TEXTS = tuple(text.encode("utf-8", "surrogatepass") for text in mutations.TEXTS if "\0" not in text)


@dataclass(frozen=True, slots=True)
class Call:
    """A command with its arguments, and what it finds."""

    command: str
    words: tuple[bytes, ...]
    stdin: str = "null"
    stdout: str = "read"
    stderr: str = "read"
    encoding: tuple[str, str] = ("utf-8", "strict")
    home: str = "usual"
    limits: tuple[tuple[int, int], ...] = ()
    config: str = "none"

    def __str__(self) -> str:
        line = shlex.join(os.fsdecode(word) for word in self.words)
        usual = Call(self.command, self.words)
        names = ("stdin", "stdout", "stderr", "encoding", "home", "limits", "config")
        odd = [f"{name}={getattr(self, name)}" for name in names if getattr(self, name) != getattr(usual, name)]
        return f"benchtui {line!r} {' '.join(odd)}"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a call ended."""

    status: int | None
    """Exit status, less the signal that killed it; None where it hung."""
    out: bytes
    err: bytes
    cpu_s: float
    grown_mb: float


@dataclass
class Found:
    """What came of calls."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: dict[str, str] = field(default_factory=dict)
    """A call with what it said, by kind of fault."""


KEPT = (
    Call("export", (b"export", b"s.json"), stdout="closed"),
    Call("export", (b"export", b"s.json"), stdout="full"),
    Call("compare", (b"compare",), stderr="closed"),
    Call("", (), stdin="closed"),
    Call("plan", (b"plan", b"quick"), encoding=("latin-1", "strict")),
    Call("sessions add", (b"sessions", b"add", b"sparse")),
    Call("run", (b"run", b"--resume", b"zero")),
    Call("run", (b"run", b"--resume", b"empty")),
    Call("sessions delete", (b"sessions", b"delete", b"old"), stdin="full"),
    Call("sessions delete", (b"sessions", b"delete", b"old"), stdin="closed"),
)
"""Calls that once were a fault; each crawl begins with them."""


def commands() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command with the words that name it."""
    from benchtui.tui.cli import app  # what it loads is to be loaded in the place of ``main``

    def within(
        words: tuple[str, ...], command: click.Command
    ) -> Iterator[tuple[tuple[str, ...], click.Command]]:
        yield words, command
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in sorted(command.list_commands(context)):
                if each := command.get_command(context, name):
                    yield from within((*words, name), each)

    yield from within((), app)


def call_of(seed: int, number: int) -> Call:
    """The call of this number; commands and options take turns, and all else is drawn."""
    dice = random.Random(seed * 1_000_003 + number)
    places = [(words, command, option) for words, command in commands() for option in [None, *command.params]]
    words, command, focus = places[number % len(places)]
    arguments: list[bytes] = []
    for each in command.params:
        arguments += _given(each, dice, wanted=each is focus)
    name = " ".join(words)
    if name == "run":  # an engine costs seconds, a sweep that ships with us minutes
        costly = _GOOD["sweep"][dice.random() < 0.05 :]
        arguments = [word for word in arguments if word not in costly]
    quiet = dice.random() < 0.4  # odd words alone, and nothing odd around them
    return Call(
        name,
        (*(word.encode() for word in words), *arguments),
        stdin=dice.choice(("null", "null", "closed", "yes", "full")),
        stdout="read" if quiet else dice.choice(("read", "read", "closed", "full", "unread")),
        stderr="read" if quiet else dice.choice(("read", "read", "read", "closed", "full")),
        encoding=dice.choice(
            (("utf-8", "strict"), ("utf-8", "surrogateescape"), ("ascii", "strict"), ("latin-1", "strict"))
        ),
        home="usual" if quiet else dice.choice(("usual", "usual", "none", "readonly", "absent", "file")),
        limits=() if quiet or name in WITH_ENGINE else dice.choice(_LIMITS),
        config=dice.choice(("none", "none", "good", "fifo", "zero", "sparse", "folder", "broken")),
    )


_LIMITS: tuple[tuple[tuple[int, int], ...], ...] = (
    *((), (), ()),
    *(((resource.RLIMIT_FSIZE, most),) for most in (0, 10, 5000)),
    *(((resource.RLIMIT_NOFILE, most),) for most in (6, 10, 20)),
    ((resource.RLIMIT_AS, ROOM_MB * 10**6),),
)


def _given(parameter: click.Parameter, dice: random.Random, *, wanted: bool) -> list[bytes]:
    """A parameter as it is written, with a value: an odd one where it is ``wanted``, else mostly a good one."""
    odd = dice.random() < (0.6 if wanted else 0.07)
    if isinstance(parameter, click.Argument):
        if dice.random() < 0.03 and not wanted:
            return []
        count = dice.choice((1, 2, 3)) if parameter.nargs == -1 else 1
        return [_value(parameter, dice, odd=odd) for _ in range(count)]
    if not (wanted or (parameter.required and dice.random() < 0.95) or dice.random() < 0.12):
        return []
    name = dice.choice([*parameter.opts, *parameter.secondary_opts]).encode()
    return [name] if getattr(parameter, "is_flag", False) else [name, _value(parameter, dice, odd=odd)]


def _value(parameter: click.Parameter, dice: random.Random, *, odd: bool) -> bytes:
    """A value of the parameter's kind: one that it may have, or any that is odd."""
    kind = _kind(parameter)
    if kind == "choice" and isinstance(parameter.type, click.Choice):
        good: Sequence[bytes] = [os.fsencode(str(each)) for each in parameter.type.choices]
    else:
        good = _GOOD[kind]
    return dice.choice(_ODD.get(kind, TEXTS) if odd else good)


def _kind(parameter: click.Parameter) -> str:
    """What a parameter stands for, by its type, its name and how the help calls it."""
    metavar, name = (getattr(parameter, "metavar", None) or "").upper(), parameter.name or ""
    if isinstance(parameter.type, click.Choice):
        return "choice"
    if isinstance(parameter.type, click.Path):
        return "output" if isinstance(parameter, click.Option) else "results"
    if parameter.type.name.partition(" ")[0] in ("integer", "float"):
        return "number"
    if "=" in metavar:
        return "pair"
    if "session" in name or metavar == "SESSION":
        return "session"
    return {"PERCENT": "percent", "MOMENT": "moment"}.get(metavar, name if name in _GOOD else "text")


_FILES_OF_ALL_KINDS = (*SPECIAL, *OTHER, *DEVICES, *ODD_NAMES, *TEXTS)
_GOOD = {
    "output": (b"new", b"new.md", b"new.csv", b"folder/new.html", b"new.png"),
    "results": (b"results.json", b"results.csv", b"s.json"),
    "number": (b"64", b"1", b"2"),
    "pair": (b"precision=fp32", b"batch_size=1", b"device=cpu"),
    "session": (*SESSIONS, *SESSIONS, *NAMES),
    "sweep": (b"sweep.toml", b"quick", b"quick", b"gpt2-train"),
    "percent": (b"5%", b"1"),
    "moment": (b"50%", b"case 1", b"5"),
    "theme": (b"okabe-ito", b"terminal"),
    "text": (b"a", b"text", b"b c"),
}
"""Values that a parameter may have, by what it stands for."""
_ODD: dict[str, tuple[bytes, ...]] = {
    "output": (*SESSIONS, *_FILES_OF_ALL_KINDS),
    "results": _FILES_OF_ALL_KINDS,
    "number": (*NUMBERS, *TEXTS),
    "pair": (*PAIRS, *TEXTS),
    "session": _FILES_OF_ALL_KINDS,
    "sweep": (*SESSIONS, *_FILES_OF_ALL_KINDS),
    "percent": NUMBERS,
    "moment": MOMENTS,
}


def furnish(place: Path, call: Call) -> None:
    """Make the working folder and the home of a call, with all that is odd in them."""
    work, home = place / "work", place / "home"
    for folder in (work, work / "folder", home, place / "tmp", place / "run"):
        folder.mkdir(mode=0o700)
    whole = corpus.SESSIONS[0]
    library = home / ".local/share/benchtui/sessions"
    library.mkdir(parents=True, mode=0o700)
    (library / "old.json").write_bytes(whole)
    (library / "closed.json").mkdir()
    os.mkfifo(library / "fifo.json")
    for name in SESSIONS:
        (work / os.fsdecode(name)).write_bytes(whole)
    (work / "cut.json").write_bytes(whole[: len(whole) // 2])
    for name, target in (("zero", "/dev/zero"), ("null", "/dev/null"), ("full", "/dev/full")):
        (work / name).symlink_to(target)
    (work / "dangling").symlink_to("nowhere/x")
    (work / "loop").symlink_to("loop")
    os.mkfifo(work / "fifo")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(work / "socket"))
    for path in (*work.glob("*.json"), *library.glob("old*")):
        os.utime(path, (0, 0))  # else a sweep of another machine is taken to run still
    _sparse(work / "sparse")
    for name, data in _FILES.items():
        (work / name).write_bytes(data)
    (work / "closed").write_bytes(whole)
    (work / "closed").chmod(0)
    _configure(home / ".config/benchtui", call.config)
    if call.home == "file":
        shutil.rmtree(home)
        home.write_bytes(b"")
    elif call.home == "readonly":
        for each in (home, *(path for path in home.rglob("*") if path.is_dir())):
            each.chmod(0o555)


_FILES = {
    "empty": b"",
    "text.txt": b"text\n",
    "sweep.toml": SWEEP,
    "results.json": corpus.IMPORTS[2],
    "results.csv": corpus.IMPORTS[1],
}


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(6 * 10**9)


def _configure(folder: Path, kind: str) -> None:
    """Settings and a theme of the user's that are good, broken, or no files at all."""
    makers: dict[str, Callable[[Path], object]] = {
        "good": lambda path: path.write_bytes(corpus.SETTINGS if path.stem == "config" else corpus.THEME),
        "broken": lambda path: path.write_bytes(b'theme = "\x1b[2J"\n\xff'),
        "fifo": os.mkfifo,
        "zero": lambda path: path.symlink_to("/dev/zero"),
        "sparse": _sparse,
        "folder": lambda path: path.mkdir(),
    }
    if make := makers.get(kind):
        (folder / "themes").mkdir(parents=True)
        make(folder / "config.toml")
        make(folder / "themes/mine.toml")


def examine(call: Call) -> tuple[Ended, list[str]]:
    """Make a call in a place of its own; how it ended, and what was wrong with that."""
    place = Path(tempfile.mkdtemp(prefix="cr-", dir="/tmp"))
    try:
        furnish(place, call)
        before = _looks(place)
        ended = _run(call, place)
        return ended, [*said_wrong(call, ended), *left_behind(call, ended, before, _looks(place))]
    finally:
        _end_children()
        shutil.rmtree(place, onerror=lambda *_: None)


def said_wrong(call: Call, ended: Ended) -> Iterator[str]:
    """What is wrong with the end of a call and with what it said."""
    if ended.status is None:
        yield "hangs"
    elif ended.status not in STATUSES and (ended.status, b"--strict" in call.words) != (MISSING_DEVICE, True):
        yield f"ends with status {ended.status}"
    most_s = FIGURES_CPU_S if b"--figures" in call.words else OWN_CPU_S
    if ended.cpu_s > most_s and call.command not in WITH_ENGINE:
        yield "takes too long"
    if ended.grown_mb > MOST_GROWN_MB and call.command not in WITH_ENGINE:
        yield f"takes {ended.grown_mb:.0f} MB"
    if ended.status == 2 and not ended.err and call.stderr == "read":
        yield "fails without a word"
    yield from _texts_wrong(call, ended)


def _texts_wrong(call: Call, ended: Ended) -> Iterator[str]:
    err, out = ended.err.decode("utf-8", "replace"), ended.out.decode("utf-8", "replace")
    if broken := [text for text in (err, out) if "Traceback" in text or "Exception ignored" in text]:
        yield f"traceback: {_last_line(broken[0])}"
    lines = err.splitlines()
    if len(lines) > MOST_LINES and ended.status and call.command not in TALKATIVE:
        yield f"{len(lines)} lines on standard error"
    if "[Errno" in err:
        yield "says what Python says of an error"
    if "Usage:" in out and ended.status:
        yield "says on standard output what is wrong"
    odd = {letter for letter in err + out if not letter.isprintable() and letter not in "\n\t\r"}
    if odd:
        yield f"lets {min(odd)!r} through"


def _last_line(text: str) -> str:
    """The error at the end of a traceback, with the innermost line of ours."""
    lines = text.splitlines()
    places = [
        line.strip() for line in lines if "File" in line and "site-packages" not in line and "lib/" not in line
    ]
    return f"{lines[-1][:150]} at {places[-1] if places else '?'}"


Looks = dict[Path, tuple[int, int, int]]
"""Mode, size and time of change, by path within the place."""


def _looks(place: Path) -> Looks:
    found = {}
    for path in [each for top in ("work", "home", "tmp") for each in (place / top).rglob("*")]:
        looks = path.lstat()
        if not stat.S_ISDIR(looks.st_mode):
            found[path.relative_to(place)] = (looks.st_mode, looks.st_size, looks.st_mtime_ns)
    return found


def left_behind(call: Call, ended: Ended, before: Looks, after: Looks) -> Iterator[str]:
    """What a call changed or left that it wasn't to write."""
    yield from (f"removes {each}" for each in _DEVICES if not os.path.exists(each))
    named = {os.fsdecode(word).split("/")[0] for word in call.words}
    anywhere = bool(named & {"", "."})
    killed = call.command in WITH_ENGINE  # an engine that was leaves its caches to the next
    appends = call.command == "explain" or b"--resume" in call.words
    for path in sorted(before.keys() | after.keys()):
        if before.get(path) == after.get(path) or (killed and path.parts[0] == "tmp"):
            continue
        top, name = path.parts[0], path.name
        new = path not in before
        if common := _never_right(path, after):
            yield common
        elif new and not after[path][1] and ended.status:
            yield f"leaves an empty file in {top}"
        elif top == "work" and not new and os.fsencode(name) in SESSIONS and not appends:
            yield "changes a session"
        elif top == "work" and not anywhere and path.parts[1] not in named and not _is_of_batch(path):
            yield f"{'leaves' if new else 'changes'} {path.name!r}, which wasn't named"
        elif top == "home" and "benchtui" not in path.parts and b"--install" not in call.words:
            yield f"leaves {path} in the home"
        elif top == "home" and not new and name.startswith("old") and call.words[:1] != (b"sessions",):
            yield "changes the library"


def _never_right(path: Path, after: Looks) -> str | None:
    """What is wrong with a changed path whatever the call was."""
    if ".benchtui-" in path.name:
        return "leaves a partial file"
    if path.parts[0] == "tmp":
        return "leaves a temporary file"
    return f"removes {path.name!r}" if path.parts[0] == "work" and path not in after else None


def _is_of_batch(path: Path) -> bool:
    """Whether a file is named after a file that was (a note, or a picture beside a report)."""
    return len(path.parts) > 2


def _run(call: Call, place: Path) -> Ended:
    """Fork, make the call, and collect what it says through pipes."""
    (out, out_end), (err, err_end) = os.pipe(), os.pipe()
    loaded_kb = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() // 1024
    pid = os.fork()
    if pid == 0:
        try:
            os.close(out)
            _become(call, place, out_end, err_end)
        except BaseException:  # noqa: BLE001  (a fault of the crawler)
            traceback.print_exc()
        finally:
            os._exit(99)
    os.close(out_end)
    os.close(err_end)
    if call.stdout == "unread":
        os.close(out)
        out = os.open(os.devnull, os.O_RDONLY)
    said = (bytearray(), bytearray())
    most_s = ENGINE_S if call.command in WITH_ENGINE else WALL_S
    status, usage = _follow(pid, {out: said[0], err: said[1]}, most_s)
    code = None if status is None else os.waitstatus_to_exitcode(status)
    grown_mb = (usage.ru_maxrss - loaded_kb) / 1000
    return Ended(code, bytes(said[0]), bytes(said[1]), usage.ru_utime + usage.ru_stime, grown_mb)


def _follow(pid: int, pipes: dict[int, bytearray], most_s: float) -> tuple[int | None, resource.struct_rusage]:
    """Read pipes until the process ends, and close them; it is killed after a time, and has no status then.

    What may take longer than most is asked to stop before, as with Ctrl-C.
    """
    asked_s = time.monotonic() + WALL_S
    deadline_s = time.monotonic() + most_s
    for pipe in pipes:
        os.set_blocking(pipe, False)
    try:
        while True:
            done, status, usage = os.wait4(pid, os.WNOHANG)
            for pipe, said in pipes.items():
                _read(pipe, said)
            if done:
                return status, usage
            if asked_s < time.monotonic() < deadline_s:
                os.kill(pid, signal.SIGINT)
                asked_s = deadline_s
            if time.monotonic() > deadline_s:
                os.kill(pid, signal.SIGKILL)
                return None, os.wait4(pid, 0)[2]
            time.sleep(0.003)
    finally:
        for pipe in pipes:
            os.close(pipe)


def _read(pipe: int, said: bytearray) -> None:
    with suppress(BlockingIOError):
        while chunk := os.read(pipe, 1 << 16):
            said += chunk


def _become(call: Call, place: Path, out: int, err: int) -> None:
    """In the forked process: everything as the call is to find it, and then the command."""
    _drop_privileges()
    os.chdir(place / "work")
    os.environ.clear()
    os.environ |= _environment(call, place)
    for target, kind, pipe in ((0, call.stdin, -1), (1, call.stdout, out), (2, call.stderr, err)):
        _connect(target, kind, pipe)
    os.closerange(3, 256)
    encoding, errors = call.encoding
    sys.stdin = None if call.stdin == "closed" else open(0, encoding=encoding)  # noqa: SIM115
    sys.stdout = _stream(1, call.stdout, encoding, errors)
    sys.stderr = _stream(2, call.stderr, encoding, "backslashreplace")
    sys.argv = ["benchtui", *(os.fsdecode(word) for word in call.words)]
    _limit(call)
    os._exit(forked.status_of_main())


def _stream(descriptor: int, kind: str, encoding: str, errors: str) -> Any:
    """What Python has in the place of this descriptor: nothing where it is closed."""
    if kind == "closed":
        return None
    return open(descriptor, "w", encoding=encoding, errors=errors, closefd=False)


def _environment(call: Call, place: Path) -> dict[str, str]:
    found = {
        "PATH": os.defpath,
        "TERM": "xterm",
        "TMPDIR": str(place / "tmp"),
        "BENCHTUI_RUNTIME_DIR": str(place / "run"),
        "HF_HUB_OFFLINE": "1",
        "LC_ALL": "C.UTF-8" if call.encoding[0] == "utf-8" else "POSIX",
    }
    if call.home != "none":
        return found | {"HOME": str(place / ("no-home" if call.home == "absent" else "home"))}
    home = str(place / "home")  # as if the system's entry of the user said so: the real home is none of ours
    os.path.expanduser = lambda path: os.fspath(path).replace("~", home, 1)
    return found


def _connect(target: int, kind: str, pipe: int) -> None:
    """Make a descriptor what the call is to find there."""
    if kind == "closed":
        os.close(target)
        return
    if kind == "yes":
        pipe, end = os.pipe()
        os.write(end, b"y\n")
    elif kind in ("null", "full"):
        pipe = os.open(f"/dev/{kind}", os.O_RDWR)
    os.dup2(pipe, target)


def _limit(call: Call) -> None:
    """Set the limits of a call; that of address space counts from what is taken already."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    for which, most in call.limits:
        soft = used + most if which == resource.RLIMIT_AS else most
        resource.setrlimit(which, (soft, soft))


def _drop_privileges() -> None:
    """Let permissions of files count for root too, who else may read and write everything."""
    if os.geteuid():
        return
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in _OVERRIDES:
        libc.prctl(_DROP_FROM_BOUNDS, capability, 0, 0, 0)
    header, sets = (ctypes.c_uint32 * 2)(_CAPABILITIES_3, 0), (ctypes.c_uint32 * 6)()
    libc.capget(header, sets)
    for place in range(3):  # effective, permitted and inheritable, of the first 32
        sets[place] &= ~sum(1 << each for each in _OVERRIDES)
    if libc.capset(header, sets):
        raise OSError(ctypes.get_errno(), "capset")


def _end_children() -> None:
    """Kill what a call started, engines among them: they come to this process as their parents end."""
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            process.kill()
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def run(seed: int, numbers: Iterable[int]) -> Found:
    """Make the calls that are kept, and those of these numbers."""
    found = Found()
    drawn = ((f"{number}", call_of(seed, number)) for number in numbers)
    for name, call in chain((("kept", each) for each in KEPT), drawn):
        ended, wrong = examine(call)
        found.counts[f"status {ended.status}"] += 1
        for each in wrong:
            kind = f"{call.command or 'benchtui'}: {each}"
            found.counts[f"fault {kind}"] += 1
            found.faults.setdefault(kind, f"{name}: {call}\n{ended.err.decode('utf-8', 'replace')[-1500:]}")
    return found


def main() -> int:
    """Make many calls and print the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--start", type=int, default=0, help="number of the first call")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    forked.load()
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)  # processes whose parents end become children of this one
    found = run(options.seed, range(options.start, options.start + options.count))
    for kind, told in sorted(found.faults.items()):
        print(f"\n== {kind}\n{told}")
    print(json.dumps(dict(sorted(found.counts.items())), indent=1))
    print(f"{options.count} calls, {len(found.faults)} kinds of faults")
    return 1 if found.faults else 0


if __name__ == "__main__":
    sys.exit(main())
