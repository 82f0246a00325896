"""A real run with secrets wherever a sweep or its environment may have them: no output shows one."""

import os
import subprocess
from pathlib import Path

import pytest
from forked import Forked

from benchtui.engine.control import runtime_folder
from benchtui.sessions.library import paths
from benchtui.sessions.state.session import Session
from benchtui.tui.app import BenchtuiApp
from benchtui.tui.editor.screen import Editor
from benchtui.tui.shell.context import AppContext

RUN_OPTIONS = ("--trust",)
"""What a run of one's own step needs in addition."""
ENV = {
    "HF_TOKEN": "planted-01-hf-token",
    "OPENAI_API_KEY": "planted-02-openai",
    "DB_PASSWORD": "planted-03 with a space",
    "HTTPS_PROXY": "http://me:planted-04-proxy@localhost:9",
    "INDEX_URL": "https://localhost/simple?token=planted-05-index",
}
API_KEYS = ("planted-06-first", "planted-07-second")
PASSWORDS = ("planted-08-works", "planted-09-fails")
AMBIENT = {
    "AWS_SECRET_ACCESS_KEY": "planted-10/aws+secret",
    "GH_TOKEN": "planted-11-gh",
    "WANDB_API_KEY": "planted-12-wandb",
    "TORCH_TOKEN": "planted-13-prefix",
    "PGPASSWORD": "planted-14-postgres",
    "CUDNN_LOGDEST_DBG": "https://me:planted-15-logs@localhost",
}
RAISED = {
    "hf": "hf_Planted16AbCdEfGhIjKlMnOpQrStUv",
    "ghp": "ghp_Planted17abcdefghijklmnopqrstuvw",
    "akia": "AKIAPLANTED18EXAMPLE",
    "sk": "sk-proj-Planted19abcdefghijklmnop",
    "xox": "xoxb-Planted20-abcdefghijkl",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJQbGFudGVkMjEi.Planted21_signature",
    "pem": "-----BEGIN RSA PRIVATE KEY-----\nPlanted22MIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----",
    "url": "https://me:planted-23-url@localhost/x",
    "query": "https://localhost/x?api_key=planted-24-query&n=1",
    "header": "{'Authorization': 'Bearer planted-25-bearer'}",
    "json": '{"client_secret": "planted-26-json"}',
    "flag": "command failed: tool --password planted-27-flag",
    "pair": "MY_PASSPHRASE=planted-28-pair",
}
DATASET = "https://me:planted-29-dataset@localhost/x.jsonl"
NAME = "sweep ghp_planted30abcdefghijklmnopqrstu"
PIECES = (
    *(f"planted-{number:02}" for number in range(1, 31)),
    *(f"{word}{number}" for number in range(16, 31) for word in ("Planted", "planted", "PLANTED")),
    "eyJQbGFudGVkMjEi",
)
STEP = """
import os, sys, time

class Step:
    samples = 1
    def step(self):
        time.sleep(0.001)

def make(case):
    password = case.parameters["password"]
    with open("seen.txt", "a") as seen:
        seen.write("|".join([password, os.environ["API_KEY"], os.environ["HF_TOKEN"], os.environ["HTTPS_PROXY"],
                             os.environ["DB_PASSWORD"], case.dataset]) + chr(10))
    print("stdout", os.environ["GH_TOKEN"])
    if password.endswith("fails"):
        named = [value for name, value in os.environ.items() if name in sys.argv or name in NAMES]
        raise RuntimeError("x" * BEFORE + " ".join([*named, *RAISED]))
    return Step()
"""


def sweep_file(folder: Path) -> Path:
    names = [*ENV, *AMBIENT, "API_KEY"]
    long_text = "BEFORE = 0 if os.environ['API_KEY'].endswith('first') else 10_000\n"
    step = f"{STEP}\nNAMES = {names!r}\nRAISED = {list(RAISED.values())!r}\n{long_text}"
    (folder / "step.py").write_text(step)
    variables = "\n".join(f'{name} = "{value}"' for name, value in ENV.items())
    path = folder / "sweep.toml"
    path.write_text(
        f"""
name = "{NAME}"
task = "step.py:make"
dataset = "{DATASET}"
[run]
wait_for_quiet = "off"
[measure]
warmup = 0
iterations = 3
peaks = false
[env]
{variables}
[axes.env]
API_KEY = {list(API_KEYS)}
[axes.parameters]
password = {list(PASSWORDS)}
"""
    )
    return path


def shown(text: str | bytes) -> list[str]:
    """The secrets in a text."""
    data = text if isinstance(text, bytes) else text.encode()
    return [piece for piece in PIECES if piece.encode() in data]


def ran(folder: Path, forked: Forked, *words: str) -> bytes:
    done = forked.run(words, folder, os.environ)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout + done.stderr


async def screens(home: Path, source: Path, *pressed: str) -> str:
    """The text of the app that opens a file, after each of these keys."""
    here = AppContext(
        start=lambda _sweep: pytest.fail("nothing is to be started"),
        running=list,
        find=lambda _path: None,
        recorded=paths.entries,
        name_of=paths.library_name,
        folder=home,
    )
    edited = source.suffix == ".toml"
    app, text = BenchtuiApp(here, None if edited else source), ""
    async with app.run_test(size=(160, 50)) as pilot:
        await pilot.pause()
        if edited:
            await app.action_go("sweep")
            assert isinstance(app.screen, Editor)
            app.screen.edit(source)
        for key in ("", *pressed):
            await pilot.press(*filter(None, [key]))
            await pilot.pause()
            text += "\n".join(strip.text for strip in app.screen._compositor.render_strips())
    return text


async def test_no_planted_secret_is_in_any_output(
    home: Path, command: str, forked: Forked, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in AMBIENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(home)
    sweep, session = sweep_file(home), home / "s.json"
    outputs = {
        "plan": ran(home, forked, "plan", "sweep.toml"),
        "plan --json": ran(home, forked, "plan", "sweep.toml", "--json"),
        "run": ran(home, forked, "run", "sweep.toml", "-o", str(session), "--json", *RUN_OPTIONS),
    }
    _require_real_values_in_workers(home)
    recorded = Session.load(session)
    assert [case.state for case in recorded.cases] == ["ok", "failed", "ok", "failed"]
    assert len({case.config for case in recorded.cases}) == 4
    assert "password=***2" in recorded.cases[1].name
    further = [mark for case in recorded.cases for mark in case.marks[1:]]
    assert all(mark.startswith("disturbed: ") for mark in further), "of a loaded machine"
    outputs["session"] = session.read_bytes()
    logs = list(runtime_folder().glob("*.log"))
    assert logs, "the long reason is in the engine's log"
    outputs |= {f"log {log}": log.read_bytes() for log in logs}
    for form in ("md", "html", "csv", "json", "parquet", "trace", "bmf"):
        words = ("--full", "--figures", "figures") if form == "md" else ()
        outputs[f"messages of {form}"] = ran(
            home, forked, "export", "s.json", "--format", form, "-o", f"out.{form}", *words
        )
        outputs[form] = (home / f"out.{form}").read_bytes()
    outputs |= {str(each): each.read_bytes() for each in (home / "figures").glob("*.svg")}
    for words in (("optimal", "s.json"), ("next", "s.json"), ("replay", "s.json", "--plain")):
        outputs[words[0]] = ran(home, forked, *words)
    pages = ("2", "enter", "escape", "3", "4", "enter", "escape", "1", "down", "l")
    outputs["pages of the session"] = (await screens(home, session, *pages)).encode()
    form = ("down", "down", "tab", "down", "tab", *["down"] * 30)
    outputs["pages of the sweep"] = (await screens(home, sweep, *form)).encode()
    assert {what: found for what, data in outputs.items() if (found := shown(data))} == {}
    assert (
        b'API_KEY = ["***", "***"]' in outputs["pages of the sweep"]
        and b"***2" in outputs["pages of the session"]
    )
    _require_explained_refusal(home, command)


def _require_real_values_in_workers(home: Path) -> None:
    seen = [line.split("|") for line in (home / "seen.txt").read_text().splitlines()]
    rest = [ENV["HF_TOKEN"], ENV["HTTPS_PROXY"], ENV["DB_PASSWORD"], DATASET]
    assert seen == [[password, key, *rest] for key in API_KEYS for password in PASSWORDS]


def _require_explained_refusal(home: Path, command: str) -> None:
    """Resuming needs values that the session doesn't have: one line says which."""
    environment = {name: value for name, value in os.environ.items() if name not in ENV}
    words = [command, "run", "--resume", "s.json", "--retry-failed", *RUN_OPTIONS]
    done = subprocess.run(words, cwd=home, env=environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].endswith(
        "HF_TOKEN is masked in the session: set it in the environment to resume"
    )


def test_masked_variable_of_the_environment_resumes(home: Path, command: str, forked: Forked) -> None:
    """A session whose only secret is a variable resumes with the value of the environment."""
    (home / "one.py").write_text(
        "import os\nclass Step:\n    samples = 1\n    def step(self): pass\n"
        "def make(case):\n    assert os.environ['HF_TOKEN'] == 'planted-value', 'no'\n"
        "    if not os.path.exists('good'): raise RuntimeError('not yet')\n    return Step()\n"
    )
    (home / "one.toml").write_text(
        'task = "one.py:make"\n[run]\nwait_for_quiet = "off"\n'
        "[measure]\nwarmup = 0\niterations = 2\npeaks = false\n"
        '[env]\nHF_TOKEN = "planted-value"\n'
    )
    ran(home, forked, "run", "one.toml", "-o", "one.json", *RUN_OPTIONS)
    (home / "good").touch()
    words = [command, "run", "--resume", "one.json", "--retry-failed", *RUN_OPTIONS]
    environment = os.environ | {"HF_TOKEN": "planted-value"}
    done = subprocess.run(words, cwd=home, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "planted-value" not in (home / "one.json").read_text() + done.stderr
    assert Session.load(home / "one.json").cases[0].state == "ok"
