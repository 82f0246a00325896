from pathlib import Path

import pytest

from benchtui.engine.device_support import device_support, has_instructions


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("flags\t\t: fpu avx512f avx512_bf16", True),
        ("Features\t: fp asimd bf16", True),
        ("flags\t\t: fpu avx512f", False),
        ("", False),
    ],
)
def test_bf16_follows_from_the_flags_of_the_processor(tmp_path: Path, line: str, expected: bool) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(f"processor : 0\n{line}\n")
    assert bool(has_instructions("bf16", cpuinfo)) is expected
    assert device_support("cpu", cpuinfo).bf16 is expected
    assert device_support("cuda:0", cpuinfo).bf16


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("flags\t\t: fpu avx512_fp16", True),
        ("Features\t: fp asimd asimdhp", True),
        ("flags\t\t: fpu avx512_bf16 f16c", False),
        ("", None),
    ],
)
def test_fp16_follows_from_the_flags_unless_there_are_none(
    tmp_path: Path, line: str, expected: bool | None
) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(f"processor : 0\n{line}\n")
    assert has_instructions("fp16", cpuinfo) is expected


def test_compiler_is_the_one_in_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CXX", str(tmp_path / "missing"))
    assert not device_support("cpu").compiler
    compiler = tmp_path / "g++"
    compiler.write_text("#!/bin/sh\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    assert device_support("cpu").compiler
