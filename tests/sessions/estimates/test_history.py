import shutil
from pathlib import Path
from typing import Any

import pytest

from benchtui.sessions.estimates import history, memory
from benchtui.sessions.estimates.history import HistoryEstimator, load_history
from benchtui.sessions.events import CaseFinished, CasePrepared, CaseStarted, SessionStarted, Steps
from benchtui.sessions.journal.session_file import SessionFile
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.payloads import Host, Memory, Model
from benchtui.sessions.stored_models.file_digests import file_digest, weights_digest
from benchtui.sessions.sweep import Axes, Config, Measure, Sweep

RULES = Measure(warmup=2, iterations=8)


def sweep(**entries: Any) -> Sweep:
    return Sweep(**{"name": "s", "model": "m", "measure": RULES, "axes": Axes(batch_size=(1, 2, 4))} | entries)


def config(**options: Any) -> Config:
    return Config(**{"device": "cpu", "batch_size": 1} | options)


class Library:
    """Hand-written sessions. Each case loads for 1 s, then runs as many warm-up steps as measured ones."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.entries: list[SessionFile] = []
        self.model, self.files = "m", dict[str, str]()
        """Loaded model of the next cases, unless they name one, and the digests of its files."""

    def add(
        self,
        *configs: Config,
        swept: Sweep | None = None,
        host: str = "box",
        folder: str | None = None,
        **how: Any,
    ) -> SessionFile:
        path = self._folder / f"{len(self.entries)}.json"
        journal = Journal(path)
        start = SessionStarted(
            t=0,
            id="x",
            created="2026",
            sweep=swept or sweep(),
            plan=configs,
            host=Host(hostname=host),
            folder=folder,
        )
        journal.append(start)
        for case, each in enumerate(configs):
            self._case(journal, case, each, **how)
        journal.close()
        self.entries.append(SessionFile(path, start, True))
        return self.entries[-1]

    def _case(
        self, journal: Journal, case: int, of: Config, ms: float = 10.0, oom: bool = False, steps: int = 5
    ) -> None:
        step_ms = [ms * of.batch_size] * steps
        journal.append(CaseStarted(t=0, case=case, config=of))
        if oom:
            journal.append(CaseFinished(t=1, case=case, outcome="oom"))
            return
        model = Model(name=of.model or self.model, parameters=1_000_000)
        journal.append(CasePrepared(t=1, case=case, model=model, files=self.files))
        journal.append(Steps(t=1, case=case, phase="warmup", wall_ms=step_ms))
        journal.append(Steps(t=1, case=case, phase="measure", wall_ms=step_ms))
        end_s = 1 + sum(step_ms) * 2 / 1000
        memory = Memory(peak_rss_mb=500.0 + 100 * of.batch_size, peak_reserved_mb=7.0)
        journal.append(CaseFinished(t=end_s, case=case, outcome="ok", memory=memory))

    def learned(self, wanted: Sweep | None = None) -> HistoryEstimator:
        return load_history(self.entries, wanted or sweep(), "box")


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path)


def test_measured_case_is_predicted_to_take_as_long_again(library: Library) -> None:
    library.add(config(batch_size=2))
    prediction = library.learned().predict(config(batch_size=2), sweep())
    assert prediction.seconds == pytest.approx(1 + 10 * 0.02)
    assert (prediction.time_basis, prediction.memory_mb, prediction.memory_basis) == (
        "measured",
        700,
        "measured",
    )


def test_other_sizes_scale_time_and_interpolate_memory(library: Library) -> None:
    library.add(config(batch_size=1), config(batch_size=2))
    prediction = library.learned().predict(config(batch_size=4), sweep())
    assert prediction.seconds == pytest.approx(1 + 10 * 0.04)
    assert prediction.memory_mb == pytest.approx(900)
    assert (prediction.time_basis, prediction.memory_basis) == ("near", "near")


def test_another_device_is_guessed_from_the_parameter_count(library: Library) -> None:
    library.add(config())
    known = library.learned().predict(config(device="cuda:0"), sweep())
    unknown = HistoryEstimator().predict(config(device="cuda:0"), sweep())
    assert (known.time_basis, known.memory_basis) == ("guess", "guess")
    assert known.memory_mb is not None and unknown.memory_mb is not None
    assert known.memory_mb == pytest.approx(504) and unknown.memory_mb == pytest.approx(900)
    assert known.seconds is not None and known.seconds > history.ASSUMED_OVERHEAD_S


@pytest.mark.parametrize(
    ("task", "options", "copies"),
    [
        ("lm-forward", {"device": "cpu", "quantization": "bnb-nf4"}, 4.0),
        ("lm-forward", {"device": "cuda:0", "quantization": "bnb-nf4"}, 0.5),
        ("lm-forward", {"device": "cuda:0", "quantization": "torchao-int8"}, 1.0),
        ("lm-forward", {"device": "cuda:0", "quantization": "checkpoint", "precision": "bf16"}, 2.0),
        ("lm-train", {"optimizer": "sgd"}, 8.0),
        ("lm-train", {"optimizer": "adamw-8bit"}, 10.0),
        ("lm-train", {"lora": "r8"}, 4.0),
        ("lm-train", {}, 16.0),
    ],
)
def test_guessed_memory_knows_how_weights_are_stored_and_trained(
    task: str, options: dict[str, Any], copies: float
) -> None:
    guess = HistoryEstimator().predict(config(**options), sweep(task=task))
    assert guess.memory_mb == memory.RUNTIME_MB + copies * history.ASSUMED_PARAMETERS / 1e6


@pytest.mark.parametrize(
    "option",
    [{"quantization": "bnb-nf4"}, {"draft": "lookup:4"}, {"lora": "r8"}, {"cache": "static"}, {"model": "b"}],
)
def test_cases_with_another_option_are_not_taken_for_measured(library: Library, option: Any) -> None:
    library.add(config())
    assert library.learned().predict(config(), sweep()).time_basis == "measured"
    other = library.learned().predict(config(**option), sweep())
    assert "measured" not in (other.time_basis, other.memory_basis)


def test_custom_step_without_history_has_no_prediction() -> None:
    prediction = HistoryEstimator().predict(config(), sweep(task="mine.py:step"))
    assert (prediction.seconds, prediction.memory_mb) == (None, None)


@pytest.mark.parametrize(
    "other", [{"host": "elsewhere"}, {"swept": sweep(model="other")}, {"swept": sweep(task="lm-forward")}]
)
def test_other_machines_models_and_tasks_are_ignored(library: Library, other: dict[str, Any]) -> None:
    library.add(config(), **other)
    learned = library.learned()
    assert learned.sessions == 0
    assert learned.predict(config(), sweep()).time_basis == "guess"


def test_time_limit_and_rounds_are_included(library: Library) -> None:
    library.add(config())
    learned = library.learned()
    rules = Measure(warmup=0, iterations=1000, max_time_s=2.0, rounds=3)
    assert learned.predict(config(), sweep(measure=rules)).seconds == pytest.approx(3 * (1 + 2))
    killed = Measure(warmup=0, iterations=1000, timeout_s=5.0)
    assert learned.predict(config(), sweep(measure=killed)).seconds == pytest.approx(5)


@pytest.mark.parametrize(
    ("until", "ms", "round_s"),
    [
        ({"until_percent": 1.0}, 100.0, 1 + 0.8),  # the minimum number of steps
        ({"until_percent": 1.0}, 10.0, 1 + 0.5),  # the minimum time before a width counts
        ({"until_auto": True}, 100.0, 1 + 1.0),
        ({"until_auto": True}, 10_000.0, 1 + 60),
        ({"until_auto": True, "max_time_s": 20.0}, 10_000.0, 1 + 20),
        ({"until_percent": 1.0, "timeout_s": 50.0}, 10_000.0, 1 + 25),
    ],
)
def test_until_decides_the_measured_time(
    library: Library, until: dict[str, Any], ms: float, round_s: float
) -> None:
    library.add(config(), ms=ms)
    rules = Measure(warmup=0, iterations=8, **until)
    assert library.learned().predict(config(), sweep(measure=rules)).seconds == pytest.approx(round_s)


def test_until_is_expected_to_take_as_many_steps_as_earlier_rounds(library: Library) -> None:
    library.add(config(), ms=100.0, steps=40)
    rules = Measure(warmup=0, iterations=8, until_percent=1.0)
    assert library.learned().predict(config(), sweep(measure=rules)).seconds == pytest.approx(1 + 4.0)


def test_case_that_ran_out_of_memory_is_predicted_to_again(library: Library) -> None:
    library.add(config(batch_size=4), oom=True)
    learned = library.learned()
    assert [learned.predict(config(batch_size=size), sweep()).ran_out for size in (2, 4, 8)] == [
        False,
        True,
        True,
    ]
    assert not learned.predict(config(batch_size=8, precision="bf16"), sweep()).ran_out


def test_only_the_newest_sessions_are_read_and_broken_ones_skipped(library: Library) -> None:
    for _ in range(history.NEWEST + 2):
        library.add(config())
    library.entries[0].path.write_text("[\nno\n")
    library.entries[1].path.unlink()
    assert library.learned().sessions == history.NEWEST - 2


def write_model(folder: Path, weights: bytes = b"w") -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text('{"hidden_size": 1}')
    (folder / "model.safetensors").write_bytes(weights)
    return folder


def basis(library: Library, model: str) -> str:
    wanted = sweep(model=model, axes=Axes(batch_size=(2,)))
    return library.learned(wanted).predict(config(batch_size=2), wanted).time_basis


@pytest.mark.parametrize("recorded", ["./here/m", "here/m/", "here/../here/m", "{here}/here/m", "~/here/m"])
@pytest.mark.parametrize("planned", ["{here}/here/m", "here/m/", "link", "org/m"])
def test_a_model_is_the_same_under_other_names(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recorded: str, planned: str
) -> None:
    snapshot = tmp_path / "hub" / "models--org--m" / "snapshots" / "1a"
    write_model(snapshot)
    (snapshot.parents[1] / "refs").mkdir()
    (snapshot.parents[1] / "refs" / "main").write_text("1a")
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "m").symlink_to(snapshot)
    (tmp_path / "link").symlink_to(tmp_path / "here" / "m")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    library.add(config(batch_size=2), swept=sweep(model=recorded.format(here=tmp_path)), folder=str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert basis(library, planned.format(here=tmp_path)) == "measured"
    assert basis(library, "other") == "guess"
    monkeypatch.chdir(tmp_path / "elsewhere")
    above = "../" if planned in ("here/m/", "link") else ""
    assert basis(library, above + planned.format(here=tmp_path)) == "measured"


def test_a_copy_of_a_model_is_the_same_and_other_weights_are_not(library: Library, tmp_path: Path) -> None:
    first, copy, tuned = (tmp_path / name for name in ("first", "copy", "tuned"))
    write_model(first), write_model(copy), write_model(tuned, b"tuned")
    digests = file_digest(first / "config.json"), weights_digest(first)
    library.files = dict(zip(("config.json", "weights"), map(str, digests), strict=True))
    library.model = str(first)
    library.add(config(batch_size=2), swept=sweep(model=str(first)))
    assert [basis(library, str(model)) for model in (first, copy, tuned)] == ["measured", "measured", "guess"]
    shutil.rmtree(first)
    assert basis(library, str(copy)) == "measured"


def test_one_model_is_known_from_a_session_of_several(library: Library) -> None:
    swept = sweep(model="a, b", axes=Axes(model=("a", "b"), batch_size=(2,)))
    library.add(config(batch_size=2, model="a"), config(batch_size=2, model="b"), swept=swept)
    assert basis(library, "b") == "measured"
    wanted = sweep(model="c, a", axes=Axes(model=("c", "a"), batch_size=(2,)))
    predicted = [library.learned(wanted).predict(config(batch_size=2, model=name), wanted) for name in "ca"]
    assert [prediction.time_basis for prediction in predicted] == ["guess", "measured"]


def test_an_own_step_is_known_by_the_place_of_its_file(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    swept = sweep(task="step.py:make", model="step.py:make")
    library.add(config(batch_size=2), swept=swept, folder=str(tmp_path))

    def known(task: str) -> str:
        wanted = sweep(task=task, model=task)
        return library.learned(wanted).predict(config(batch_size=2), wanted).time_basis

    assert [known("step.py:make"), known(f"{tmp_path}/step.py:make")] == ["measured", "measured"]
    assert [known("step.py:other"), known("other/step.py:make")] == ["guess", "guess"]
