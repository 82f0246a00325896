"""An anonymized session: identifying text in every field that takes text, and none of it in any output."""

import json
import os
from itertools import cycle
from pathlib import Path

import corpus
import pytest
from forked import Forked
from test_hostile import Place, fill

from benchtui.sessions.anonymize import Anonymizer, anonymous_copies
from benchtui.sessions.events import SessionStarted, Steps
from benchtui.sessions.export.case_export import as_csv
from benchtui.sessions.journal import reader
from benchtui.sessions.library.paths import demo_path
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics

HOST, USER = "dgx-acme-07.lab.acme-corp.example", "alicia"
IDENTIFYING = {
    "host": f"lost {HOST} and dgx-acme-07",
    "user": f"disturbed by {USER}'s job",
    "home": f"can't read /home/{USER}/secret-project/weights.bin: no such file",
    "quoted": "no file '/srv/team blue/big model/x.bin'",
    "elsewhere": "/mnt/acme-storage/bert-internal and -L/opt/acme-lib",
    "climbing": "../../brunhilde/steps/umbriel.py:12 and models/../../kunigunde/x",
    "tilde": "~brunhilde/data and ~/umbriel-folder/x",
    "windows": r"C:\Users\Brunhilde\model",
    "frame": '  File "/home/alicia/venv/lib/python3.11/site-packages/acme_private/layer.py", line 3',
    "uuid": "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6 and 123e4567-e89b-12d3-a456-426614174000",
    "pci": "GPU at 0000:3b:00.0, serial number 1653219012345",
    "ip": "10.20.30.40:6379 and fe80::1ff:fe23:4567:890a",
    "mac": "eth0 is 3c:ec:ef:12:34:56",
    "mail": "ask alicia.jones@acme-corp.example",
    "url": "https://artifactory.acme-corp.example/models/x and ray://head.acme-corp.example:10001",
}
HIDDEN = (
    *("acme", "alicia", "secret-project", "team blue", "big model", "bert-internal", "brunhilde", "Brunhilde"),
    *("kunigunde", "umbriel", "8932f937", "123e4567", "3b:00.0", "1653219012345", "10.20.30.40", "fe23:4567"),
    *("3c:ec:ef", "jones", "artifactory"),
)
FORMS = {
    "md": (),
    "full.md": ("--full",),
    "html": ("--format", "html"),
    "csv": ("--format", "csv"),
    "json": ("--format", "json"),
    "parquet": ("--format", "parquet"),
    "trace": ("--format", "trace"),
    "steps.csv": ("--format", "csv", "--steps"),
    "steps.json": ("--format", "json", "--steps"),
    "bmf": ("--format", "bmf"),
}


@pytest.fixture(scope="module")
def identifying(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session with every one of these texts, one after another, in all fields that may have them."""
    path, texts = tmp_path_factory.mktemp("dgx-acme-07") / "alicia.json", cycle(IDENTIFYING.values())

    def text_of(place: Place) -> str | None:
        if place[0] in ("created", "event", "version", "commit") or place[-1] == "digest":
            return None
        return HOST if place[-1] == "hostname" else next(texts)

    events = fill(path, text_of)
    events[0]["host"]["environment"] = {"LD_PRELOAD": "/opt/acme-lib/a b.so", "CUDA_VISIBLE_DEVICES": "0"}
    path.write_text("[\n" + ",\n".join(map(json.dumps, events)) + "\n]\n")
    return path


def visible_in(data: bytes) -> list[str]:
    return [text for text in HIDDEN if text.encode() in data]


def test_none_of_it_is_in_the_anonymized_session(identifying: Path, tmp_path: Path) -> None:
    assert visible_in(identifying.read_bytes()) == list(HIDDEN)
    output = tmp_path / "shared.json"
    Anonymizer().write(identifying, output)
    assert visible_in(output.read_bytes()) == []
    before, after = Session.load(identifying), Session.load(output)
    assert len(before.cases) == len(after.cases) and after.start.host.hostname == "host-1"
    for old, new in zip(before.cases, after.cases, strict=True):
        assert metrics(old) == metrics(new) and old.state == new.state
    started = reader.read(output).events[0]
    assert isinstance(started, SessionStarted) and started.host.environment
    assert started.host.environment["CUDA_VISIBLE_DEVICES"] == "0"


@pytest.mark.parametrize("form", FORMS)
def test_none_of_it_is_in_an_anonymous_export(identifying: Path, home: Path, forked: Forked, form: str) -> None:
    output = home / f"out.{form}"
    words = (
        "export",
        str(identifying),
        *FORMS[form],
        "--anonymous",
        "-o",
        str(output),
        "--figures",
        str(home / "f"),
    )
    words = words if form in ("md", "html", "csv") else words[:-2]
    ran = forked.run(words, home, os.environ)
    assert ran.returncode == 0, ran.stderr
    for file in (output, *(home / "f").glob("*.svg")):
        assert visible_in(file.read_bytes()) == [], file
    assert visible_in(ran.stdout + ran.stderr) == []


def test_comparison_has_the_same_stand_ins_for_both(identifying: Path, home: Path, forked: Forked) -> None:
    other = home / "brunhilde.json"
    other.write_bytes(identifying.read_bytes())
    words = ("export", str(identifying), str(other), "--anonymous")
    ran = forked.run(words, home, os.environ)
    assert ran.returncode == 0, ran.stderr
    assert b"host-1" in ran.stdout and b"session-2" in ran.stdout and visible_in(ran.stdout) == []
    with anonymous_copies([identifying, other]) as copies:
        assert copies[0].read_bytes() == copies[1].read_bytes()


def test_anonymize_writes_a_session_and_never_over_one(identifying: Path, home: Path, forked: Forked) -> None:
    output = home / "shared.json"
    words = ["anonymize", str(identifying), "-o", str(output), "--json"]
    ran = forked.run(words, home, os.environ)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == {"schema": 1, "$id": "urn:benchtui:anonymize:1", "session": str(output)}
    again = forked.run(words, home, os.environ)
    assert again.returncode == 2 and b"sessions are never overwritten" in again.stderr


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12 tokens/s at 3.5 ms/step, n/a", "12 tokens/s at 3.5 ms/step, n/a"),
        (
            "see /proc/vmstat and /sys/class/powercap: denied",
            "see /proc/vmstat and /sys/class/powercap: denied",
        ),
        ("File /a/b/site-packages/torch/nn/linear.py:12", "File /path-1/site-packages/torch/nn/linear.py:12"),
        ("/usr/lib/x86_64/libjemalloc.so.2", "/path-1/libjemalloc.so.2"),
        ("https://huggingface.co/docs", "https://huggingface.co/docs"),
        ("kernel:kernels-community/flash-attn@v1", "kernel:kernels-community/flash-attn@v1"),
        ("at::native::add, c10::Error at 10:05:33", "at::native::add, c10::Error at 10:05:33"),
        ("torch 2.10.0+cu128, driver 570.86.15", "torch 2.10.0+cu128, driver 570.86.15"),
        ("/data/x and /data/x, then /data/y", "/path-1 and /path-1, then /path-2"),
    ],
)
def test_what_stays_and_what_is_replaced(text: str, expected: str) -> None:
    assert Anonymizer().text(text) == expected


def test_long_columns_stay_the_same_numbers(tmp_path: Path) -> None:
    events = [event for event in corpus.session() if not isinstance(event, Steps)]
    times = [1.0 + index / 7 for index in range(5_000)]
    steps = Steps(t=1.0, case=0, phase="measure", wall_ms=times, parts_ms={"forward": times})
    path, output = tmp_path / "long.json", tmp_path / "shared.json"
    path.write_bytes(corpus.written([*events[:-1], steps, events[-1]]))
    Anonymizer().write(path, output)
    found = next(event for event in reader.read(output).events if isinstance(event, Steps))
    assert list(found.wall_ms) == times == list(found.parts_ms["forward"])


@pytest.mark.parametrize("name", ["demo", "demo-cpu"])
def test_results_of_an_anonymized_demo_are_the_same(name: str, tmp_path: Path) -> None:
    output = tmp_path / "shared.json"
    Anonymizer().write(demo_path(name), output)
    before, after = (as_csv(Session.load(path)) for path in (demo_path(name), output))
    assert before == after
