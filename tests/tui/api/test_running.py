from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import benchtui
from benchtui.engine import client
from benchtui.sessions.library.paths import CPU_DEMO, demo_path
from benchtui.sessions.sweep import Sweep
from benchtui.tui.api import running
from benchtui.tui.cli.text import progress


def test_run_returns_the_session_and_prints_progress(
    home: Path, tiny_model: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    sweep = {
        "model": str(tiny_model),
        "weights": "random",
        "dataset": "synthetic",
        "axes": {"device": "cpu", "sequence_length": 8, "batch_size": [1, 2]},
        "measure": {"warmup": 1, "iterations": 3, "peaks": False, "answers": False},
        "run": {"wait_for_quiet": "off"},
    }
    session = benchtui.run(sweep, output=home / "out.json")
    assert session.path == home / "out.json"
    assert session.cases()["batch_size"].tolist() == [1, 2]
    assert session.cases(all=True)["n"].tolist() == [3, 3]
    captured = capfd.readouterr()
    assert captured.out == ""
    assert "[2/2] cpu fp32 compile=off bs=2 seq=8" in captured.err
    assert not client.running()


@pytest.mark.parametrize(
    ("sweep", "message"),
    [
        ("no-such-preset", "no-such-preset: no such file or preset"),
        ({"axes": {}}, "sweep: model is missing"),
        ({"modle": "gpt2"}, "sweep: modle: unknown entry (did you mean 'model'?)"),
        ({"model": "gpt2", "axes": {"batch_size": 0}}, "sweep: axes.batch_size: 0"),
        ({"model": "gpt2", "axes": {4: 5}}, "sweep: 4 isn't the name of an entry"),
        ({"model": "gpt2", 3: 4}, "sweep: 3 isn't the name of an entry"),
    ],
)
def test_invalid_sweep_is_an_error_of_one_line(home: Path, sweep: Any, message: str) -> None:
    with pytest.raises(benchtui.BenchtuiError) as raised:
        benchtui.run(sweep)
    assert str(raised.value).startswith(message) and "\n" not in str(raised.value)
    assert not client.running()


class Interrupted:
    """An engine whose sweep is interrupted while it is followed, and then ends."""

    resumed_s = None
    path = demo_path(CPU_DEMO)

    def __init__(self) -> None:
        self.stopped = 0

    def stop(self) -> None:
        self.stopped += 1

    def alive(self) -> bool:
        return not self.stopped

    def last_words(self) -> str:
        return "the disk is full"


def test_interrupt_stops_the_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, followed = Interrupted(), 0

    def follow(*arguments: Any) -> Iterator[Any]:
        nonlocal followed
        followed += 1
        if followed == 1:
            raise KeyboardInterrupt
        assert engine.stopped
        yield from ()

    monkeypatch.setattr(progress, "follow", follow)
    with pytest.raises(KeyboardInterrupt):
        running._finish(engine, progress=False)  # type: ignore[arg-type]
    assert (engine.stopped, followed) == (1, 2)


def test_crash_of_the_engine_is_an_error_with_its_reason(tmp_path: Path) -> None:
    engine = Interrupted()
    engine.path, engine.stopped = tmp_path / "s.json", 1
    engine.path.write_bytes(b"\n".join(demo_path(CPU_DEMO).read_bytes().splitlines()[:3]) + b"\n")
    with pytest.raises(benchtui.BenchtuiError, match=r"the engine crashed, and .*: the disk is full") as raised:
        running._finish(engine, progress=False)  # type: ignore[arg-type]
    assert "\n" not in str(raised.value)


def test_sweep_may_be_an_object(tiny_sweep: Callable[..., Sweep]) -> None:
    sweep = tiny_sweep()
    assert running._sweep(sweep) is sweep
    made = running._sweep({"model": Path("some") / "model", "name": "mine", "axes": {"batch_size": (1, 2)}})
    assert (made.name, made.model, made.axes.batch_size) == ("mine", "some/model", (1, 2))
    assert running._sweep(Path("quick")).name == "quick"
