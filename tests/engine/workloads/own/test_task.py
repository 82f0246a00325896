import sys
from collections.abc import Callable
from pathlib import Path
from time import sleep

import pytest

from benchtui.engine.devices.registry import open_device
from benchtui.engine.workloads.own.task import CustomTask, error_location
from benchtui.engine.workloads.registry import make_workload
from benchtui.sessions.analysis.applied_options import unapplied_options
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sweep import Axes, Config, Sweep, cases

EXAMPLE = Path(__file__).parents[3] / "fixtures" / "own_step.py"


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., CustomTask]:
    """Write my_step.py into the working folder and make its function ``make`` ready."""
    monkeypatch.chdir(tmp_path)

    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # a file that is written twice would run as it was
    monkeypatch.setitem(sys.modules, "my_step", sys)  # undone at the end, whatever was imported

    def made(text: str, axes: Axes | None = None, **options: object) -> CustomTask:
        sys.modules.pop("my_step", None)
        (tmp_path / "my_step.py").write_text(text)
        sweep = Sweep(name="s", model="mine", task="my_step.py:make", axes=axes or Axes())
        config = Config(device="cpu", **options)  # type: ignore[arg-type]
        workload = make_workload(sweep, config, open_device("cpu"))
        assert isinstance(workload, CustomTask)
        return workload

    return made


def nothing(part: str) -> None:
    """A part that isn't timed."""


def test_example_runs_with_its_parts() -> None:
    sweep = Sweep(name="s", model="mine", task=f"{EXAMPLE}:make_step")
    (case,) = cases(sweep)
    workload = make_workload(sweep, case.config, open_device("cpu"))
    time, done = open_device("cpu").time(workload.step)
    assert list(time.parts_ms) == ["first", "second", "rest"]
    assert sum(time.parts_ms.values()) == pytest.approx(time.wall_ms, rel=0.2)
    assert (workload.samples, workload.count(done).tokens, workload.data) == (1, 128, None)
    assert workload.marks == (f"step of {EXAMPLE}:make_step",)


STEP = """
class Step:
    samples = 3
    def step(self):
        pass
def make(case):
    return Step()
"""


def test_step_only_needs_samples(write: Callable[..., CustomTask]) -> None:
    workload = write(STEP)
    parts: list[str] = []
    assert workload.count(workload.step(parts.append)).tokens is None
    assert (workload.samples, parts) == (3, ["step"])


def test_function_receives_the_case(write: Callable[..., CustomTask]) -> None:
    text = STEP.replace("return Step()", "Step.told = case\n    return Step()")
    workload = write(
        text,
        precision="bf16",
        batch_size=7,
        sequence_length=9,
        compile="default",
        padding="longest",
        tokenizer_threads=3,
    )
    assert workload._step.told.tokenizer_threads == 3
    told = workload._step.told
    assert (told.device, str(told.torch_device), told.precision, told.batch_size) == ("cpu", "cpu", "bf16", 7)
    assert (told.sequence_length, told.compile, told.padding, told.model) == (9, "default", "longest", "mine")


def test_requested_but_missing_compilation_is_marked(write: Callable[..., CustomTask]) -> None:
    workload = write(STEP, compile="default", precision="bf16")
    assert workload.effective.compiled is None
    workload.step(nothing)
    assert unapplied_options(workload._config, workload.read_back()) == (
        "compile default was requested but not applied",
    )


def test_neighboring_module_can_be_imported(write: Callable[..., CustomTask], tmp_path: Path) -> None:
    (tmp_path / "my_neighbour.py").write_text("SAMPLES = 11\n")
    text = "import my_neighbour\n" + STEP.replace("samples = 3", "samples = my_neighbour.SAMPLES")
    assert write(text).samples == 11


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "task 'my_step.py:make': my_step.py has no function make"),
        ("make = 3", "has no function make"),
        (
            "def make(case): return print",
            "my_step.py:make returned builtin_function_or_method; it must be an object with step() and samples",
        ),
        ("def make(case): pass", "my_step.py:make returned NoneType; it must be an object"),
        (
            STEP.replace("samples = 3", "samples = 0"),
            "samples of the step is 0; it must be an integer of at least 1",
        ),
        (STEP.replace("samples = 3", ""), "samples of the step is None"),
        (STEP.replace("samples = 3", "samples = True"), "samples of the step is True"),
    ],
)
def test_invalid_step_gives_a_one_line_error(write: Callable[..., CustomTask], text: str, message: str) -> None:
    with pytest.raises(BenchtuiError) as raised:
        write(text)
    assert message in str(raised.value) and "\n" not in str(raised.value)


def test_tokens_may_vary_by_step_but_must_be_an_integer(write: Callable[..., CustomTask]) -> None:
    workload = write(STEP.replace("pass", "self.tokens = getattr(self, 'tokens', 0) + 5"))
    assert [workload.count(workload.step(nothing)).tokens for _ in range(2)] == [5, 10]
    with pytest.raises(
        BenchtuiError, match="tokens of the step is 'many'; it must be an integer of at least 0"
    ):
        write(STEP.replace("samples = 3", "samples, tokens = 3, 'many'")).count(None)


def test_steps_must_have_the_same_parts(write: Callable[..., CustomTask]) -> None:
    text = """
class Step:
    samples = 1
    def __init__(self, case):
        self.case, self.names = case, iter("aab")
    def step(self):
        self.case.lap(next(self.names))
def make(case):
    case.lap("before the first step there is nothing to time")
    return Step(case)
"""
    workload = write(text)
    workload.step(nothing)
    workload.step(nothing)
    with pytest.raises(BenchtuiError, match="a step has the parts b, rest, an earlier one a, rest; all steps"):
        workload.step(nothing)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("import this_is_nowhere\n", 1),
        ("\ndef make(case):\n    raise ValueError('no')\n", 3),
        ("def make(case):\n    return {}['x']\n", 2),
        ("def make(case):\n    helper()\ndef helper():\n    import json\n    json.loads('')\n", 5),
        ("def make(case:\n", 1),
    ],
)
def test_error_location_is_in_the_user_file(write: Callable[..., CustomTask], text: str, line: int) -> None:
    with pytest.raises(Exception) as raised:
        write(text)
    assert error_location(raised.value, "my_step.py:make") == f"my_step.py:{line}: "


def test_error_raised_elsewhere_has_no_location(write: Callable[..., CustomTask]) -> None:
    write(STEP)
    assert (
        error_location(ValueError("ours"), "my_step.py:make")
        == error_location(ValueError("ours"), "classify")
        == ""
    )


def test_parts_are_timed_at_their_ends(write: Callable[..., CustomTask]) -> None:
    workload = write(STEP)
    workload._step.step = lambda: (sleep(0.02), workload._lap("slow"))
    time, _ = open_device("cpu").time(workload.step)
    assert time.parts_ms["slow"] >= 20 > time.parts_ms["rest"]


def test_a_step_reads_its_parameters_and_those_that_it_leaves_are_not_applied(
    write: Callable[..., CustomTask],
) -> None:
    text = (
        "class Step:\n    def __init__(self, n): self.samples = n\n    def step(self): pass\n"
        "def make(case): return Step(case.parameters['block'])"
    )
    requested = Config(device="cpu", parameters="block=64 layout=rows")
    read = write(text, parameters=requested.parameters)
    assert read.samples == 64
    assert read.effective.others == {"parameters": "block=64"}
    (mark,) = unapplied_options(requested, read.effective)
    assert mark == "parameters block=64 layout=rows was requested but not applied"
    with pytest.raises(BenchtuiError, match=r"has no 'block'; parameters of this sweep: none"):
        write(text)


def test_error_of_a_child_is_located_where_the_child_raised_it(write: Callable[..., CustomTask]) -> None:
    text = """
import torch.utils.data
class Step:
    samples = 1
    def __init__(self):
        class Rows(torch.utils.data.Dataset):
            def __len__(self): return 4
            def __getitem__(self, row):
                raise ValueError('row 0')
        self.loader = torch.utils.data.DataLoader(Rows(), num_workers=1, multiprocessing_context='fork')
    def step(self):
        next(iter(self.loader))
def make(case):
    return Step()
"""
    workload = write(text)
    with pytest.raises(ValueError, match="DataLoader worker process 0") as raised:
        workload.step(nothing)
    assert error_location(raised.value, "my_step.py:make") == "my_step.py:9: "


def test_varied_options_that_the_step_never_reads_are_not_applied(write: Callable[..., CustomTask]) -> None:
    """A step may read them as late as in its first step. A single value may be written into the step."""
    reading = STEP.replace("pass", "self.case.precision").replace(
        "return Step()", "Step.case = case\n    return Step()"
    )
    axes = Axes(precision=("fp32", "bf16"), attention=("auto", "eager"), padding=("longest",))
    workload = write(reading, axes=axes, precision="bf16", attention="eager", padding="longest")
    assert workload.effective.unread == ()
    workload.step(nothing)
    assert workload.read_back().unread == ("attention",)
    assert unapplied_options(workload._config, workload.read_back()) == (
        "attention eager was requested but not applied",
    )
