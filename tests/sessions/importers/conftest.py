"""Files of other tools, imported and read back."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from journals import import_results

from benchtui.sessions.state.session import Session

FIXTURES = Path(__file__).parents[2] / "fixtures"
Import = Callable[..., Session]


@pytest.fixture
def imported(tmp_path: Path) -> Import:
    """Import a fixture by its name, or a value written as JSON, and read the session back."""

    def run(content: object, kind: str | None = None) -> Session:
        source = tmp_path / "source"
        if isinstance(content, Path):
            source = content
        else:
            source.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
        return import_results(source, tmp_path / "session.json", kind=kind)

    return run


@pytest.fixture
def csv_file() -> Path:
    return FIXTURES / "gpt2-training-results.csv"


@pytest.fixture
def optimizer_file() -> Path:
    return FIXTURES / "gpt2-optimizers.csv"


@pytest.fixture
def optimum_file() -> Path:
    return FIXTURES / "optimum-benchmark.json"
