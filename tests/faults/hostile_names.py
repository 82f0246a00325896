"""A home and a working folder in which every name is hostile: of files, folders, themes and settings."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

import corpus

OBEYED = "\x1b]0;PWN\x07\x1b[2J\x1b]52;c;cHduZWQ=\x07\x9b31m\u202e\u2066\r\n$(touch pwned)`touch pwned`'\";#"
"""What a terminal or a shell would obey; the base64 is ``pwned``."""
NAMES = {"controls": f"n{OBEYED}", "bytes": os.fsdecode(b"n\xff\xfe\x1b[31m"), "option": f"-x{OBEYED}"}
"""Names of files; the first part may not be a slash, the rest anything but NUL and slash."""


@dataclass(frozen=True)
class World:
    """Names in the working folder and in the library."""

    folder: Path
    """Working folder, whose own name is hostile."""
    name: str

    def file(self, suffix: str) -> str:
        """Relative path of the file of this kind, which is never taken for an option."""
        return f"./{self.name}{suffix}"

    @property
    def environment(self) -> dict[str, str]:
        """Variables that make the folders of the user's files hostile too."""
        kinds = ("data", "config", "cache", "state")
        return {f"XDG_{kind.upper()}_HOME": str(self.folder / kind) for kind in kinds}


def build(home: Path, name: str, session: bytes) -> World:
    """Write files of every kind, each with this name and with hostile text inside."""
    world = World(home / name, name)
    themes, library = world.folder / "config/benchtui/themes", world.folder / "data/benchtui/sessions"
    for folder in (themes, library, world.folder / f"{name}.model", world.folder / f"{name}.empty"):
        folder.mkdir(parents=True)
    text = json.dumps(f"m{OBEYED}")  # TOML has the same escapes
    files = {
        f"{name}.json": session,
        f"{name}.2.json": session,
        f"{name}.toml": (
            f"name = {text}\nmodel = {text}\ndataset = {text}\n[axes]\nenv = {{ A = [{text}] }}\n"
            f"[env]\nB = {text}\n[run]\nwait_for_quiet = 'off'\n[measure]\npeaks = false\n"
        ).encode(),
        f"{name}.bad.toml": f"{text} = {text}\n".encode(),
        f"{name}.step.toml": f"task = {json.dumps(f'{OBEYED}.py:make')}\n".encode(),
        f"{name}.tool.json": json.dumps(
            {"results": [{"command": f"c{OBEYED}", "mean": 1.0, "times": [1.0], "exit_codes": [0]}]}
        ).encode(),
        f"{name}.bad.json": json.dumps([{"event": OBEYED, OBEYED: OBEYED}]).encode(),
        f"{name}.model/config.json": json.dumps({"model_type": OBEYED, OBEYED: OBEYED}).encode(),
    }
    for each, data in files.items():
        (world.folder / each).write_bytes(data)
    (library / f"{name}.json").write_bytes(session)
    (library / f"{name}.note").write_text(OBEYED)
    (themes / f"{name}.toml").write_bytes(corpus.THEME)
    (themes / f"{name}.bad.toml").write_text(f"[colors]\n{text} = {text}\n")
    (world.folder / "config/benchtui/config.toml").write_text(
        f'theme = {text}\nsort = {text}\n[keys]\n{text} = {text}\n"app.theme" = {text}\n'
    )
    for each in (*world.folder.glob("*.json"), *library.glob("*.json")):
        os.utime(each, (0, 0))  # else a sweep of another machine is taken to run still
    return world


def commands(world: World) -> list[tuple[str, ...]]:
    """Every command, with hostile names and arguments wherever one may stand."""
    session, other, sweep, name = world.file(".json"), world.file(".2.json"), world.file(".toml"), world.name
    return [
        ("anonymize", session, "-o", world.file(".anonymized.json")),
        ("anonymize", session, "-o", session, "--json"),
        ("attach", session),
        ("attach", "--plain", session),
        ("attach", "--json", session),
        ("cache",),
        ("cache", "--json"),
        ("cache", "--unused", OBEYED),
        ("compare", session, other),
        ("compare", session, other, "--json"),
        ("compare", session, other, "--format", "md"),
        ("completion", OBEYED),
        ("continue", session),
        ("demo", OBEYED),
        ("doctor", "--json", OBEYED),
        ("explain", session, "case 1"),
        ("explain", session, "--json", OBEYED),
        *(
            ("export", session, "--format", form)
            for form in ("md", "html", "csv", "json", "trace", "bmf", "gab")
        ),
        ("export", session, "--steps", "--format", "csv"),
        ("export", session, "--steps", "--format", "json"),
        ("export", session, other),
        ("export", session, other, "--format", "json"),
        ("export", session, "-o", f"{world.file('.empty')}/{name}/r.md"),
        ("export", session, "-o", other),
        ("export", world.file(".bad.json")),
        ("import", world.file(".tool.json")),
        ("import", world.file(".tool.json"), "--json"),
        ("import", world.file(".tool.json"), "-o", world.file(".new.json")),
        ("import", world.file(".tool.json"), "-o", world.file(".new.json")),
        ("import", session),
        ("init-step", world.file(".py")),
        ("init-step", OBEYED),
        ("find", OBEYED, "--print-toml"),
        ("find", world.file(".model"), "--print-toml"),
        ("keys",),
        ("keys", "--json"),
        ("next", session),
        ("next", session, "--json"),
        ("next", session, "--toml"),
        ("optimal", session),
        ("optimal", session, "--json"),
        ("optimal", session, "--toml", "-"),
        ("optimal", session, "--model", OBEYED),
        ("pause", session),
        ("plan", sweep),
        ("plan", sweep, "--json"),
        ("plan", sweep, "--set", f"precision={OBEYED}"),
        ("plan", world.file(".bad.toml")),
        ("plan", world.file(".step.toml")),
        ("plan", session),
        ("plan", world.file(".tool.json")),
        ("plan", OBEYED),
        ("plan", sweep, "--set", f"model={world.file('.model')}"),
        ("plan", f"--{OBEYED}"),
        ("replay", session),
        ("replay", session, "--plain"),
        ("reproduce", session),
        ("reproduce", OBEYED, "--json"),
        ("replay", session, "--json"),
        ("replay", session, "--plain", "--from", OBEYED),
        ("run", sweep, "-o", session),
        ("run", "--resume", session),
        ("run", "--resume", world.file(".bad.json")),
        ("run", "--optimal-from", world.file(".bad.json")),
        ("schema", OBEYED),
        ("sessions",),
        ("sessions", "--json"),
        ("sessions", "add", session),
        ("sessions", "note", session, OBEYED),
        ("sessions", "note", name, OBEYED),
        ("sessions", "rename", name, OBEYED),
        ("sessions", "rename", "--json", session, OBEYED),
        ("sessions", "delete", name),
        ("sessions", "delete", session),
        ("slurm", sweep, "-o", world.file(".new.json")),
        ("slurm", sweep, "--json"),
        ("slurm", sweep, "--gpus", OBEYED),
        ("stop", session),
        ("themes",),
        ("themes", "--json"),
        (f"{OBEYED}",),
        (f"{OBEYED}", "--help"),
        ("--theme", OBEYED),
        (session,),
        (sweep, "--set", OBEYED),
    ]
