"""The table of ``docs/tasks.md`` about models is that of the rules. ``UPDATE_GOLDEN=1`` writes it."""

import os
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from benchtui.sessions.stored_models.measurable import _unfit_reason, _words
from benchtui.sessions.sweep.tasks import TASKS

PAGE = Path(__file__).parents[2] / "docs" / "tasks.md"
HEAD = "| task | measured types | skipped types |\n|---|---|---|\n"
UNTRIED = """\
Types that pass without a trial, because no small model of theirs could be made; with these tasks they may fail:

| types | tasks |
|---|---|
"""
WELL_KNOWN = ("gpt2", "llama", "mamba", "bert", "t5", "bart", "clip", "vit", "resnet", "whisper", "wav2vec2")
MOST_EXAMPLES = 3
KIND = "KIND"


def table() -> str:
    """Return which types of models each task measures, and which it skips for which reason."""
    tasks_of: dict[str, list[str]] = defaultdict(list)
    for task in TASKS:
        tasks_of[_cells(task)].append(f"`{task}`")
    rows = "".join(f"| {', '.join(tasks)} | {cells} |\n" for cells, tasks in tasks_of.items())
    return f"{HEAD}{rows}\n{_untried()}"


def _untried() -> str:
    """Return the types that a task lets pass although no tiny model of them showed that it measures them."""
    types_of: dict[str, list[str]] = defaultdict(list)
    for kind, words in _words().items():
        if tasks := ", ".join(f"`{task}`" for task in TASKS if f"?{task}" in words):
            types_of[tasks].append(kind)
    return UNTRIED + "".join(f"| {', '.join(kinds)} | {tasks} |\n" for tasks, kinds in sorted(types_of.items()))


def _cells(task: str) -> str:
    kinds: dict[str | None, list[str]] = defaultdict(list)
    for kind, words in _words().items():
        kinds[_unfit_reason(task, {"model_type": KIND}, words, "the model")].append(kind)
    measured = _examples([kind for kind in kinds.pop(None) if f"?{task}" not in _words()[kind]])
    by_count = sorted(kinds.items(), key=lambda entry: -len(entry[1]))
    skipped = (f"{_general(str(reason))}: {_examples(skips)}" for reason, skips in by_count)
    return f"{measured} | {'<br>'.join(skipped)}"


def _general(reason: str) -> str:
    """Return a reason without the type of the model."""
    return reason.replace(f" of the type {KIND}", "").replace(KIND, "the model")


def _examples(kinds: Sequence[str]) -> str:
    """Return the number of types, and some of them, well-known ones first."""
    ranked = [*(kind for kind in WELL_KNOWN if kind in kinds), *kinds]
    return f"{len(kinds)} ({', '.join(list(dict.fromkeys(ranked))[:MOST_EXAMPLES])})"


def test_table_is_current() -> None:
    before, head, rest = PAGE.read_text("utf-8").partition(HEAD)
    assert head, "the page has no table of models"
    rows, after = rest.split("\n\nWhich types embed", 1)
    after = f"Which types embed{after}"
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(f"{before}{table()}\n{after}", "utf-8")
    else:
        assert f"{head}{rows}\n" == table(), "UPDATE_GOLDEN=1 writes it"
