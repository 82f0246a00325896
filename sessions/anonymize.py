"""Anonymized sessions: the same figures, with stand-ins for everything that tells where they were measured.

Replaced are host and node names, users, paths, addresses, UUIDs and serial numbers. A stand-in is the same
wherever its text occurs. Events and fields that this version doesn't know are left out: what they contain isn't
known.
"""

import getpass
import platform
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

import msgspec

from benchtui.sessions.events import AnyEvent, CasePrepared, CaseStarted, NodeJoined, SessionStarted
from benchtui.sessions.files.output_file import output_file
from benchtui.sessions.journal import reader
from benchtui.sessions.record_texts import replace_texts
from benchtui.sessions.secrets import masked_variable
from benchtui.sessions.sweep import Config, Sweep, custom_task, named_values
from benchtui.sessions.sweep.options import BY_NAME
from benchtui.sessions.sweep_secrets import Secrets

_LEAST_WORD_CHARS = 3
_COMMON = frozenset(
    (
        *("admin", "all", "any", "app", "auto", "best", "case", "checkpoint", "cpu", "cuda", "data"),
        *("default", "demo", "dev", "gpu", "home", "host", "linux", "local", "localhost", "main", "model"),
        *("models", "node", "none", "output", "root", "run", "sample", "synthetic", "sys", "task", "test"),
        *("tmp", "torch", "train", "user", "weights", "x86_64"),
    )
)
"""Names that say nothing about anybody, and that occur as other words."""
_FIXED = frozenset(
    (
        *("caches", "commit", "created", "digest", "executor", "explain", "family", "level", "lost"),
        *("measured", "mode", "outcome", "phase", "verdict", "version", "weights"),
    )
)
"""Fields that have one of a few values, or that say nothing about a machine."""
_PATH_STARTS = ("/", "~", "./", "../")
_DATA_FILES = (".arrow", ".csv", ".gz", ".json", ".jsonl", ".parquet", ".tsv", ".txt", ".zst")
_PUBLIC_HOST = re.compile(
    r"(?:[\w-]+\.)*(?:huggingface\.co|hf\.co|github\.com|pytorch\.org|python\.org|nvidia\.com|ui\.perfetto\.dev)"
)
_PUBLIC_FILE = re.compile(
    r"(?:site|dist)-packages/(?:torch|torchvision|torchao|triton|transformers|tokenizers|datasets|numpy|accelerate"
    r"|bitsandbytes|peft|liger_kernel|kernels|benchtui|safetensors|huggingface_hub)/[\w./+-]+\Z"
    r"|lib(?:jemalloc|tcmalloc\w*|mimalloc|iomp5|gomp|omp)[\w.-]*\.so[\w.]*\Z"
)
"""End of a path that is the same on every machine: a file of a public library."""
_KERNEL_FILE = re.compile(r"/(?:proc|sys)(?:/|\Z)|/dev/(?:null|zero|full|shm|tty|nvidia[\w-]*|kfd|dri)\Z")
_USERS = (
    re.compile(r"(?:/home|/Users|/home/users|\\Users)[/\\]([^/\\\s:;,'\"]+)"),
    re.compile(r"(?<![\w.+/:-])([A-Za-z_][\w.-]*)@[A-Za-z0-9]"),
    re.compile(r"(?<!\w)~([A-Za-z_][\w.-]*)"),
)
"""Places of a user's name."""
_REST = r"[^\s:;'\"<>|]"
_HEX = "[0-9A-Fa-f]"
_SHAPES = rf"""
      (?P<email>(?<![\w.+/-])[\w.+-]+@[A-Za-z0-9][\w-]*(?:\.[A-Za-z0-9-]+)*)
    | (?P<url>\b[A-Za-z][A-Za-z0-9+.-]{{0,20}}://[^\s'"<>)\]]+)
    | (?P<gpu>\b(?:GPU|MIG)-{_HEX}[0-9A-Fa-f/-]{{3,}})
    | (?P<uuid>\b{_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}\b)
    | (?P<pci>\b(?:{_HEX}{{4,8}}:)?{_HEX}{{2}}:{_HEX}{{2}}\.[0-7]\b)
    | (?P<mac>(?<![\w:])(?:{_HEX}{{2}}[:-]){{5}}{_HEX}{{2}}(?![\w:]))
    | (?P<ipv6>(?<![\w:.])(?:(?:{_HEX}{{1,4}}:){{3,7}}:?{_HEX}{{1,4}}
        |(?:{_HEX}{{1,4}}:){{1,6}}(?::{_HEX}{{1,4}}){{1,6}}
        |(?:{_HEX}{{1,4}}:){{1,7}}:|::(?:{_HEX}{{1,4}}:)*{_HEX}{{1,4}})(?![\w:]))
    | (?P<ipv4>(?<![\w.])(?:\d{{1,3}}\.){{3}}\d{{1,3}}(?![\w.]))
    | (?P<serial>(?:(?<=[Ss]erial[ :=#])|(?<=[Ss]erial:[ ])|(?<=[Nn]umber[ :=#])|(?<=[Nn]umber:[ ]))
        (?=[A-Za-z-]*\d)[\w-]{{5,}})
    | (?P<hex>(?<![\w-]){_HEX}{{32,}}(?![\w-]))
    | (?P<quote>['"])(?P<quoted>(?:~[\w.-]*|\.{{1,2}})?/(?!/)(?:(?!(?P=quote)).)+)(?P=quote)
    | (?P<path>(?:(?<![\w.~<\\/-])|(?<=--)|(?<=\s-[A-Za-z]))(?:
          (?:~[\w.-]*|\.{{1,2}})?/(?!/){_REST}{{2,}}
        | ~[A-Za-z_][\w.-]*(?!\w)
        | [\w.-]+(?:/[\w.-]+)*?/\.\.(?:/{_REST}*)?
        | [A-Za-z]:\\{_REST}+ | \\\\[\w.$-]+\\{_REST}+))
"""
_WORDS = {"email": "address", "mac": "address", "ipv6": "address", "ipv4": "address", "hex": "id"}
"""Words of the stand-ins of shapes that have another name here."""


@contextmanager
def anonymous_copies(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """Provide anonymized copies of sessions, in which the same text has the same stand-in, until the end."""
    anonymizer = Anonymizer()
    with TemporaryDirectory(prefix="benchtui-") as folder:
        copies = [Path(folder) / f"session-{number}.json" for number, _ in enumerate(paths, 1)]
        for path, copy in zip(paths, copies, strict=True):
            anonymizer.write(path, copy)
        yield copies


class Anonymizer:
    """Replaces what identifies a machine or a person. It has to learn a whole session before it replaces."""

    def __init__(self) -> None:
        """Start with the names of this machine and user, which may have recorded the session."""
        self._stand_ins: dict[tuple[str, str], str] = {}
        self._numbers: dict[str, int] = {}
        self._paths: dict[str, str] = {}
        self._words: dict[str, str] = {}
        """Paths and words of the session that identify something, with their stand-ins."""
        self._secrets = Secrets()
        self._pattern = re.compile(_SHAPES, re.VERBOSE)
        self._learn_host(platform.node())
        with suppress(OSError, KeyError):  # a user without an entry in the password database
            self._learn_word("user", getpass.getuser())

    def write(self, path: Path, output: Path) -> None:
        """Write an anonymized session. Raises BenchtuiError if it can't be read or written."""
        for event in _events(path):
            self.learn(event)
        paths, words = _alternatives(self._paths), _alternatives(self._words)
        self._pattern = re.compile(f"(?P<known>{paths})|{_SHAPES}|(?P<word>{words})", re.VERBOSE)
        with output_file(output, (path,), private=True) as out:
            lead = b"[\n"
            for event in _events(path):
                out.write(lead + msgspec.json.encode(self.anonymized(event)))
                lead = b",\n"
            out.write(b"\n]\n")

    def learn(self, event: AnyEvent) -> None:
        """Collect names and paths that identify something. Free text may contain them anywhere."""
        match event:
            case SessionStarted():
                self._learn_paths(_paths_of(event.sweep), event.plan)
                self._learn_path(event.source_file or "")
            case NodeJoined():
                for label in event.labels.values():
                    if label != event.kind:
                        self._learn_word("label", label)
            case CaseStarted():
                self._learn_paths((), (event.config,))
            case CasePrepared() if event.model.source == "folder":
                self._learn_path(event.model.name)
        replace_texts(event, self._learn_text)

    def anonymized(self, event: AnyEvent) -> AnyEvent:
        """Return an event with stand-ins, and with its secrets masked."""
        if isinstance(event, NodeJoined):
            resources = {self.text(name): value for name, value in event.resources.items()}
            event = msgspec.structs.replace(event, resources=resources)
        return replace_texts(event, self._replaced)

    def _replaced(self, name: str, text: str) -> str:
        option = BY_NAME.get(name)
        if not text or name in _FIXED or (option and text in option.values):
            return text
        if name in ("hostname", "node"):
            return self._stand_in("host", _short(text))
        if option and option.named_values:
            return self._line(self._secrets.cleaned(name, text))
        if name == "address" and text != "auto":
            return self._stand_in("address", text)
        safe = masked_variable(name, text)
        return self._value(safe) if name.isupper() else self.text(safe)  # a variable, or a field

    def _line(self, line: str) -> str:
        """Replace in the values of a line of ``name=value`` pairs, some of which may be paths with spaces."""
        try:
            values = named_values.texts(line)
        except ValueError:
            return self.text(line)
        return named_values.text_of({name: self._value(value) for name, value in values.items()})

    def _value(self, text: str) -> str:
        """Replace in a value, which as a whole may be a path with spaces."""
        whole = text.startswith(_PATH_STARTS) and text not in self._paths
        return self._path(text) if whole else self.text(text)

    def text(self, text: str) -> str:
        """Return a text with stand-ins."""
        return self._pattern.sub(self._of_match, text)

    def _of_match(self, match: re.Match[str]) -> str:
        text, kind = match[0], match.lastgroup or ""
        if kind in ("known", "word"):
            return self._paths[text] if kind == "known" else self._words[text]
        if match["quote"]:
            return f"{match['quote']}{self._path(match['quoted'])}{match['quote']}"
        if kind == "path":
            end = text[len(text.rstrip(".,)]}")) :]
            return self._path(text.removesuffix(end)) + end
        if kind == "gpu":
            return f"{text[:3]}-{self._stand_in('uuid', text)}"
        if kind == "url":
            return self._url(text)
        if kind == "ipv6" and not any(map(str.isdigit, text)):  # a name in C++, such as ``add::dead``
            return text
        return self._stand_in(_WORDS.get(kind, kind), text)

    def _url(self, text: str) -> str:
        scheme, _, rest = text.partition("://")
        host = re.split("[/?#]", rest, maxsplit=1)[0].rpartition("@")[2]
        if _PUBLIC_HOST.fullmatch(host.partition(":")[0]):
            return text
        return self._path(rest) if scheme == "file" else f"{scheme}://{self._stand_in('address', host)}"

    def _path(self, path: str) -> str:
        """Return the stand-in of a path, with the end of its name that tells the kind of file."""
        if _KERNEL_FILE.match(path):
            return path
        public = _PUBLIC_FILE.search(path)
        number = self._stand_in("path", path)
        root = "/" if path.startswith(("/", "~", "..", "\\")) else ""
        if public:
            return f"{root}{number}/{public[0]}"
        suffix = PurePosixPath(path).suffix
        return f"{root}{number}{suffix if re.fullmatch('[.][a-z0-9]{1,12}', suffix) else ''}"

    def _stand_in(self, kind: str, text: str) -> str:
        """Return the stand-in of a text, such as ``host-1``, numbered in the order of first occurrence."""
        if (kind, text) not in self._stand_ins:
            self._numbers[kind] = number = self._numbers.get(kind, 0) + 1
            self._stand_ins[kind, text] = f"{kind}-{number}"
        return self._stand_ins[kind, text]

    def _learn_text(self, name: str, text: str) -> str:
        if name in ("hostname", "node"):
            self._learn_host(text)
        if "/" in text or "@" in text or "~" in text or "\\" in text:
            for user in (user for pattern in _USERS for user in pattern.findall(text)):
                self._learn_word("user", user)
        return text

    def _learn_host(self, name: str) -> None:
        """Learn a host by its full name and by its first label."""
        for form in (name, _short(name)):
            self._learn_word("host", form, _short(name))

    def _learn_word(self, kind: str, word: str, of: str = "") -> None:
        if len(word) >= _LEAST_WORD_CHARS and word.lower() not in _COMMON and not word.isdigit():
            self._words.setdefault(word, self._stand_in(kind, of or word))

    def _learn_paths(self, paths: Iterable[str], configs: Iterable[Config]) -> None:
        models = dict.fromkeys(config.model for config in configs)
        for path in (*paths, *(model for model in models if _is_path(model))):
            self._learn_path(path)

    def _learn_path(self, path: str) -> None:
        """Learn a path, and its last part, which texts may contain alone."""
        name = PurePosixPath(path).name
        for form in (path, name):
            if len(form) > _LEAST_WORD_CHARS and form.lower() not in _COMMON:
                self._paths.setdefault(form, self._path(path))


def _events(path: Path) -> Iterator[AnyEvent]:
    for events, _ in reader.slices(path):
        yield from (event for event in events if not isinstance(event, reader.Unknown))


def _alternatives(names: Iterable[str]) -> str:
    pattern = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return rf"(?<![A-Za-z0-9])(?:{pattern})(?![A-Za-z0-9])" if pattern else r"(?!)"


def _short(host: str) -> str:
    return host.partition(".")[0] if not host.replace(".", "").isdigit() else host


def _is_path(text: str) -> bool:
    """Return whether a value is a path rather than a name: a hub id has at most one slash."""
    return text.startswith(_PATH_STARTS) or text.count("/") > 1 or "\\" in text


def _paths_of(sweep: Sweep) -> Iterator[str]:
    """Yield the paths that a sweep names: its step, its models and its dataset."""
    own = custom_task(sweep.task)
    if own:
        yield own[0]
    yield from (name for name in (sweep.model, *sweep.axes.model) if _is_path(name) and not custom_task(name))
    if _is_path(sweep.dataset) or sweep.dataset.endswith(_DATA_FILES):
        yield sweep.dataset
