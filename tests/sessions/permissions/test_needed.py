"""What a sweep and the cases of a session may run or set."""

import os
from pathlib import Path

import msgspec
import pytest

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.permissions.needed import (
    Permission,
    PermissionNeededError,
    keys,
    needed_permissions,
    recorded_value,
)
from benchtui.sessions.sweep import Axes, Config, Run, Sweep
from benchtui.sessions.sweep.toml_reader import load_sweep, preset_names

SET_ONE = Permission(kind="variable", name="ONE", value="1")


def sweep(**fields: object) -> Sweep:
    return Sweep(name="s", model="m", **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [name for name in preset_names() if name != "allocators"])
def test_presets_need_nothing(name: str) -> None:
    assert needed_permissions(load_sweep(name)) == ()


def test_preset_of_allocators_needs_its_variables_alone() -> None:
    needed = needed_permissions(load_sweep("allocators"))
    assert {(each.kind, each.name) for each in needed} == {
        ("variable", "GLIBC_TUNABLES"),
        ("variable", "LD_PRELOAD"),
    }


def test_step_needs_permission_for_the_file_that_would_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (code,) = needed_permissions(sweep(task="link/../link/step.py:make"))
    assert (code.kind, code.name, code.value) == (
        "code",
        os.path.realpath(tmp_path / "real" / "step.py"),
        "make",
    )


def test_variables_of_the_sweep_its_axis_and_later_cases_are_needed() -> None:
    planned = sweep(env={"ONE": "1"}, axes=Axes(env=("TWO=2", "TWO=3")))
    added = [Config(device="cpu", env="LD_PRELOAD=/x.so"), Config(device="cpu", env="TWO=2")]
    found = [(each.name, each.value) for each in needed_permissions(planned, added)]
    assert found == [("ONE", "1"), ("TWO", "2"), ("TWO", "3"), ("LD_PRELOAD", "/x.so")]


@pytest.mark.parametrize("attention", ["kernel:org/name@v1", "org/name@v1"])
def test_attention_kernels_of_the_hub_are_code(attention: str) -> None:
    """A forged session can lack the prefix, which only sweep files need."""
    (kernel,) = needed_permissions(sweep(), [Config(device="cuda:0", attention=attention)])
    assert (kernel.kind, kernel.name) == ("kernel", "org/name@v1")
    assert needed_permissions(sweep(axes=Axes(attention=(attention,)))) == (kernel,)


def test_ray_cluster_elsewhere_is_code() -> None:
    (cluster,) = needed_permissions(sweep(run=Run(executor="ray", address="ray://10.0.0.1:10001")))
    assert (cluster.kind, cluster.name) == ("cluster", "ray://10.0.0.1:10001")
    assert needed_permissions(sweep(run=Run(executor="ray"))) == ()


@pytest.mark.parametrize("task", ["/elsewhere/evil.py", "evil.so", "a.py:make\n", "serve", ""])
def test_unknown_task_is_refused(task: str) -> None:
    """The worker would import such a file, and only then miss the function."""
    with pytest.raises(BenchtuiError, match="neither a step of your own"):
        needed_permissions(sweep(task=task))


def test_malformed_variables_are_refused_in_one_line() -> None:
    with pytest.raises(BenchtuiError, match=r"^env ") as caught:
        needed_permissions(sweep(), [Config(device="cpu", env="A='\n")])
    assert "\n" not in str(caught.value)


def test_path_with_nul_is_named() -> None:
    (code,) = needed_permissions(sweep(task="a\0b.py:make"))
    assert code.kind == "code" and "\0" not in str(code)


def test_folder_whose_name_is_not_utf8_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / os.fsdecode(b"d\xfe")
    folder.mkdir()
    monkeypatch.chdir(folder)
    (code,) = needed_permissions(sweep(task="step.py:make"))
    assert msgspec.json.decode(msgspec.json.encode(code), type=Permission) == code
    assert str(code) == f"run function make of {tmp_path}/d\\xfe/step.py"


def test_key_covers_kind_name_and_value() -> None:
    others = [
        Permission(kind="code", name="ONE", value="1"),
        Permission(kind="variable", name="ONE1"),
        Permission(kind="variable", name="ONE", value="2"),
    ]
    assert len(keys([SET_ONE, *others])) == 4


def test_secrets_are_masked_alike_in_live_and_recorded_sweeps() -> None:
    live = needed_permissions(sweep(env={"HF_TOKEN": "hf_secret"}))
    recorded = needed_permissions(sweep(env={"HF_TOKEN": recorded_value("HF_TOKEN", "hf_secret")}))
    assert keys(live) == keys(recorded) and "hf_secret" not in str(live)


def test_error_is_one_printable_line_however_hostile_and_long() -> None:
    planted = "\x1b]0;x\x07\x9b31m\u202e"
    variables = {f"{planted}{number}": planted + "v" * 100_000 for number in range(300)}
    error = PermissionNeededError(needed_permissions(sweep(task=f"{planted}.py:make", env=variables)))
    assert str(error).isprintable() and len(str(error)) < 2000
    assert "and 295 more" in str(error) and "--trust" in str(error)
