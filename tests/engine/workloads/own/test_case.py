"""The case that a step receives: what it reads is known, in forked processes as well."""

import os
import pickle
import subprocess
import sys

import pytest
import torch

from benchtui.engine.workloads.own.case import Case, NamesRead
from benchtui.sessions.sweep import Config


def case(**options: object) -> Case:
    config = Config(device="cpu", **options)  # type: ignore[arg-type]
    return Case(
        config, weights="random", dataset="sample", torch_device=torch.device("cpu"), lap=lambda part: None
    )


def test_options_that_were_read_are_known() -> None:
    given = case(batch_size=7, precision="bf16")
    assert (given.batch_size, given.device) == (7, "cpu")
    assert [name for name in Config.__struct_fields__ if name in given.options_read] == ["device", "batch_size"]


def test_parameter_that_the_sweep_lacks_has_the_steps_default() -> None:
    given = case(parameters="delay=3")
    assert (given.parameters.get("delay", 1), given.parameters.get("rows", 4)) == (3, 4)


def test_what_a_forked_process_reads_is_known() -> None:
    given = case(parameters="delay=3 rows=4")
    if not (pid := os.fork()):
        os._exit(given.parameters["delay"] != 3)
    assert os.waitpid(pid, 0)[1] == 0
    assert given.parameters.text == "delay=3"


def test_a_copy_for_another_process_has_the_options_and_no_lap() -> None:
    """What it reads can't be seen here, so nothing counts as unread."""
    given = case(parameters="delay=3 rows=4", batch_size=5)
    copy = pickle.loads(pickle.dumps(given))
    assert (copy.batch_size, dict(copy.parameters), copy.lap("data")) == (5, {"delay": 3, "rows": 4}, None)
    assert given.parameters.text == "delay=3 rows=4"
    assert "precision" in given.options_read


def test_unknown_names_are_never_read() -> None:
    assert "nothing" not in NamesRead(()) and "nothing" not in NamesRead(("something",))


def test_an_option_has_no_value_without_a_case() -> None:
    with pytest.raises(AttributeError, match="batch_size is an option of a case"):
        _ = Case.batch_size


def test_an_option_cannot_be_set() -> None:
    """It would be measured under a name that still has the value of the sweep."""
    given = case(batch_size=5)
    with pytest.raises(AttributeError, match=r"batch_size is an option of the case; set axes\.batch_size"):
        given.batch_size = 8
    assert given.batch_size == 5


def test_the_case_is_imported_without_torch() -> None:
    loaded = "import sys, benchtui.engine.workloads.own.case; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", loaded], timeout=60, check=False).returncode == 0
