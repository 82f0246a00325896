"""Editor form: the rows for a sweep, and the cursor. Independent of Textual."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import get_args

import msgspec

from benchtui.sessions.estimates.sweep_models import kind_of_work, missing_model, models_remark
from benchtui.sessions.sweep import (
    TASKS,
    Answers,
    Caches,
    ExecutorKind,
    Mode,
    Need,
    Optimizer,
    Sweep,
    Weights,
    WhenLost,
    custom_task,
    task_named,
)
from benchtui.sessions.sweep.library_names import entry_named, value_named
from benchtui.sessions.sweep.options import BY_NAME, OPTIONS, Option
from benchtui.sessions.sweep.ranges import AUTO
from benchtui.sessions.sweep.tasks import BUILT_IN
from benchtui.sessions.sweep.toml_reader import entries
from benchtui.sessions.sweep.toml_writer import masked_text, table_of, texts_of
from benchtui.sessions.text.formatting import count
from benchtui.tui.drawing.format import clean
from benchtui.tui.editor.draft import State, default_texts

RANGE = "numbers: 32, a list 1,4,32, or a range a..b, a..b+step, a..b*factor"
TIME = "seconds, or 90s, 10m, 1h30m; empty: "
RARE = "More options"
"""Title of the case options that few sweeps set."""
GROUPS = {
    "axes": "Axes",
    "rare": RARE,
    "measure": "Measure",
    "run": "Run",
    "train": "Train",
    "generate": "Generate",
    "find": "Find",
    "env": "Environment",
}
"""Titles by table, in the order of the form. Entries without a table come first."""
FOLDED = tuple(title for title in GROUPS.values() if title != GROUPS["axes"])
"""Groups that are folded until they are opened."""
FLAG = ("false", "true")
_TASKS_OF = {
    entries: tuple(task.name for task in BUILT_IN if task.entries == entries)
    for entries in sorted({task.entries for task in BUILT_IN if task.entries})
}
"""Tasks that use the entries of a task-specific table."""


class FormField(msgspec.Struct, frozen=True):
    """Entry of a sweep, as described in the form."""

    key: str
    """Dotted name."""
    about: str = ""
    values: tuple[str, ...] = ()
    """Known values, selectable without typing."""
    several: bool = False
    """Whether the entry is a list, with each value on or off."""
    unset: str = "none"
    """Text shown while the entry has no value."""
    folds: str = ""
    """Group that this row folds and unfolds; empty for an entry."""

    @property
    def label(self) -> str:
        """Name within its table."""
        return self.key.rpartition(".")[2]

    @property
    def group(self) -> str:
        """Title of the entry's group."""
        table, _, name = self.key.partition(".")
        rare = table == "axes" and BY_NAME[name].rare
        return self.folds or GROUPS.get("rare" if rare else table, "Sweep")


def _of_axis(option: Option) -> FormField:
    choices = ("cpu", "cuda:0") if option.name == "device" else option.values
    help_text = f"{option.help}; {RANGE}" if option.numeric else option.help
    unset = "any" if option.name == "machine" else "none"
    return FormField(f"axes.{option.name}", help_text, choices, several=not option.numeric, unset=unset)


_DESCRIBED = (
    FormField("name", "name of the session file"),
    FormField("model", "hub id, local folder, or a bundled architecture"),
    FormField("weights", "random: the same architecture without a download", get_args(Weights)),
    FormField("task", 'auto: by the files of the model; "file.py:function": your own', (AUTO, *TASKS)),
    FormField("dataset", "sample: bundled text; synthetic: random token ids; hub id, file or folder"),
    *map(_of_axis, OPTIONS),
    FormField("measure.warmup", "uncounted steps; auto: until step times are stable"),
    FormField(
        "measure.iterations", "measured steps; the minimum if until is set; auto: until their error is small"
    ),
    FormField(
        "measure.min_warmup",
        "minimum time of the warm-up; auto: 1 s on a GPU, as without an entry unless warmup is a number",
        unset="auto, or 0 if warmup is a number",
    ),
    FormField(
        "measure.min_time",
        "minimum measured time; auto: 2.5 s on a GPU, as without an entry unless iterations is set",
        unset="auto, or 0 if iterations is set",
    ),
    FormField("measure.until", "measure until the 95% interval is this narrow: 1%, or auto"),
    FormField("measure.max_time", f"maximum time to measure a case: {TIME}no limit"),
    FormField("measure.timeout", f"a case is killed after this time, including loading: {TIME}10m"),
    FormField("measure.mode", "throughput: synchronize a GPU only around blocks of steps", get_args(Mode)),
    FormField(
        "measure.rounds",
        "how often all cases run; auto: once, then those of open comparisons again",
        ("auto", "1", "3", "5"),
    ),
    FormField("measure.aa", "repeat the baseline, to see how much identical cases differ", FLAG),
    FormField(
        "measure.retries",
        "how many times to repeat a disturbed case",
        ("0", "1", "2"),
        unset="throttled cases twice",
    ),
    FormField("measure.margin", "memory that batch_size=auto keeps free: 5%"),
    FormField("measure.caches", "shared: all cases use one compile cache", get_args(Caches)),
    FormField("measure.peaks", "measure the peak rates of devices before the first case", FLAG),
    FormField("measure.answers", "compare the output of each case with its baseline's, after measuring", FLAG),
    FormField(
        "measure.explain",
        "profile cases once all are measured: true for all, or baseline, best",
        ("false", "true", "baseline", "best"),
        several=True,
        unset="none",
    ),
    FormField("measure.baseline", "case to compare the others with: precision=fp32, batch_size=1"),
    FormField("run.parallel", "run cases on different GPUs in parallel", FLAG),
    FormField("run.executor", "ray: on the nodes of a Ray cluster", get_args(ExecutorKind)),
    FormField("run.address", "address of the Ray cluster: auto, host:port, ray://host:port"),
    FormField("run.place", "nodes that may be used, named as in axes.machine", unset="all"),
    FormField("run.lost", "repeat: rerun a case on another node if its node is lost", get_args(WhenLost)),
    FormField("run.repeat_on_each", "repeat the baseline on each node that shares the cases", FLAG),
    FormField("run.wait_for_quiet", "longest wait for quiet before a disturbed case is repeated: 60s, or off"),
    FormField("run.wait_below", "start a case on a GPU only below this temperature: 60C", unset="any"),
    FormField("run.budget", f"time limit of further rounds of rounds=auto: {TIME}as the first took"),
    FormField("train.accumulation", "batches of accumulated gradients per step"),
    FormField("train.learning_rate", "learning rate of AdamW"),
    FormField("train.optimizer", "implementation of AdamW; auto: fused on a GPU", get_args(Optimizer)),
    FormField("train.activation_checkpointing", "recompute activations in the backward pass", FLAG),
    FormField("generate.new_tokens", "tokens generated for each sample"),
    FormField("find.objective", "property of a case to optimize", get_args(Need)),
    FormField("find.max_vram_mb", "maximum peak memory on the device, in MB"),
    FormField("find.max_p99_ms", "maximum p99 of the step time, in ms"),
    FormField("find.max_latency_ms", "maximum typical step, in ms"),
    FormField("find.max_power_w", "maximum mean power, in watts"),
    FormField("find.min_samples_per_s", "minimum samples per second"),
    FormField("find.answers", "worst accepted answer to the probe, against the baseline's", get_args(Answers)),
    FormField("find.steps", "steps of the job, in which compiling has to pay off", unset="endless"),
    FormField("env", "environment variables of the measured processes: NAME=value, NAME=value"),
)


def unused(entry: FormField, sweep: Sweep) -> str | None:
    """Return why the sweep's task ignores an entry, or None if it doesn't."""
    table, _, name = entry.key.partition(".")
    if entry.key in _AXIS_OF_ENTRY:
        return f"see {_AXIS_OF_ENTRY[entry.key]}"
    if table == "find" and sweep.find is None:
        return "only to find the best case"
    if entry.key == "axes.parameters" and not custom_task(sweep.task):
        return "only for a step of your own"
    task = task_named(sweep.task)
    of_texts = table == "axes" and BY_NAME[name].of_texts
    if not task.texts and (of_texts or entry.key in ("dataset", "axes.sequence_length")):
        return "not for synthetic images and audio"
    if entry.key == "axes.padding" and not task.pads:
        return f"task {task.name} doesn't pad"
    if table in _TASKS_OF and task.entries != table:
        return _only_for(_TASKS_OF[table])
    tasks = BY_NAME[name].tasks if table == "axes" else ()
    return _only_for(tasks) if tasks and sweep.task not in tasks else None


def _only_for(tasks: Sequence[str]) -> str:
    return f"only for task{'s' if len(tasks) > 1 else ''} {', '.join(tasks)}"


def values_of(entry: FormField, text: str) -> tuple[str, ...]:
    """Return an entry's known values and any others it has; empty if there are no known ones."""
    return tuple(dict.fromkeys((*entry.values, *chosen(entry, text)))) if entry.values else ()


def chosen(entry: FormField, text: str) -> tuple[str, ...]:
    """Return the current values of an entry."""
    if not entry.several:
        return (text,) if text else ()
    return tuple(part.strip(" []\"'") for part in text.split(",") if part.strip(" []\"'"))


def recognized(entry: FormField, text: str, sweep: Sweep) -> str:
    """Return an entry's text, with the sweep's names for values that have several, such as ``bfloat16``."""
    parts = chosen(entry, text)
    if not entry.values or set(parts) <= set(entry.values):
        return text
    if entry.key.startswith("axes.") and BY_NAME[entry.label].values:
        return ", ".join(value_named(entry.label, part) for part in parts)
    return texts_of(table_of(sweep)).get(entry.key, text)


def toggled(entry: FormField, text: str, value: str) -> str:
    """Return an entry's text with a value toggled; for a single-value entry, the value itself."""
    if not entry.several:
        return value
    now = set(chosen(entry, text)) ^ {value}
    return ", ".join(choice for choice in values_of(entry, text) if choice in now)


def shown(entry: FormField, texts: Mapping[str, str], defaults: Mapping[str, str]) -> str:
    """Return an entry's text or its default; empty if it has neither."""
    stands_for = _ENTRY_OF_AXIS.get(entry.key, "")
    default = texts.get(stands_for, defaults.get(stands_for)) if stands_for else defaults.get(entry.key)
    return texts.get(entry.key, default or "")


def _place(entry: FormField) -> tuple[int, bool, bool]:
    """Return the sort key of an entry: its group; among the axes, the device first, then sizes."""
    titles = list(GROUPS.values())
    group = titles.index(entry.group) if entry.group in titles else -1
    is_size = entry.group == GROUPS["axes"] and BY_NAME[entry.label].work
    return group, entry.key != "axes.device", not is_size


_DESCRIBED_BY_KEY = {entry.key: entry for entry in _DESCRIBED}
ENTRIES = tuple(sorted((_DESCRIBED_BY_KEY.get(key) or FormField(key) for key in entries()), key=_place))
"""All entries that a sweep may have, in the order of the form."""
_ENTRY_OF_AXIS = {f"axes.{option.name}": option.entry for option in OPTIONS if "." in option.entry}
"""Entries that the defaults of axes refer to."""
_AXIS_OF_ENTRY = {entry: axis for axis, entry in _ENTRY_OF_AXIS.items()}
FOLD_ROWS = {
    group: FormField(f"fold.{group}", "options that differ from their defaults are named here", folds=group)
    for group in FOLDED
}
"""Rows that replace the titles of foldable groups."""


class FormRow(msgspec.Struct, frozen=True):
    """Row of the form: an entry and its text."""

    entry: FormField
    text: str
    changed: bool
    """Whether the text differs from the default."""
    default: str = ""
    values: tuple[tuple[str, bool], ...] = ()
    """Selectable values, each with whether it is on."""
    unused: str = ""
    """Why the task ignores the entry; empty if it doesn't."""
    open: bool = False
    """Whether the group of a fold row is open."""
    remark: str = ""
    """What to know about the value, such as that the model isn't on this machine."""
    wrong: bool = False
    """Whether the remark says why the sweep can't run."""

    @property
    def shown(self) -> str:
        """Text without the values of secrets, which only its editing shows."""
        return masked_text(self.entry.key, self.text)


class Form(msgspec.Struct, frozen=True):
    """All rows, and the cursor."""

    rows: tuple[FormRow, ...]
    chosen: int = 0
    value: int = 0
    """Index of the value under the cursor, in the selected row."""
    focused: bool = True
    """Whether key bindings act on the form rather than on the cases."""
    error: str = ""
    """Why the text of the selected row isn't allowed; empty if it is."""
    explained: bool = False
    """Whether the selected row is explained elsewhere, rather than below it."""

    @property
    def row(self) -> FormRow:
        """Row under the cursor."""
        return self.rows[self.chosen]

    @property
    def value_at_cursor(self) -> str | None:
        """Value under the cursor; for a single-value entry, its current value. None if it has no value."""
        values = self.row.values
        if not self.row.entry.several:
            return next((value for value, on in values if on), None)
        return values[min(self.value, len(values) - 1)][0]

    def value_after(self, by: int) -> str:
        """Return the value ``by`` places after the current one, wrapping around."""
        values = [value for value, _ in self.row.values]
        at = next((place for place, (_, on) in enumerate(self.row.values) if on), -1 if by > 0 else 0)
        return values[(at + by) % len(values)]


def _set_text(rows: Sequence[FormRow]) -> str:
    """Count the entries of a folded group, and name those that differ from their defaults."""
    changed = [f"{row.entry.label} {row.shown}" for row in rows if row.changed]
    if not changed:
        return count(len(rows), "option")
    return f"{len(changed)} of {len(rows)} set: {', '.join(changed)}"


class Cursor:
    """Cursor in the form. It stays on its entry when rows are added or removed."""

    def __init__(self) -> None:
        self.entry: FormField = next(entry for entry in ENTRIES if entry.key == "axes.device")
        self.value = 0
        self.opened: set[str] = set()
        """Groups that are unfolded."""
        self._defaults: Mapping[str, str] = default_texts()

    def form(self, state: State, focused: bool, error: str = "") -> Form:
        """Build the form of a state."""
        rows = tuple(self._rows(state))
        at = next((place for place, row in enumerate(rows) if row.entry == self.entry), 0)
        return Form(rows, at, self.value, focused, error)

    def move(self, form: Form, lines: int) -> None:
        """Move by rows, and place the cursor on the first value that is on."""
        row = form.rows[min(max(form.chosen + lines, 0), len(form.rows) - 1)]
        self.entry = row.entry
        self.value = next((place for place, (_, on) in enumerate(row.values) if on), 0)

    def find(self, state: State, text: str) -> bool:
        """Move to the entry that a name stands for, else the first whose name begins with it, else contains it.

        False if there is none.
        """
        usable = [entry for entry in ENTRIES if not unused(entry, state.sweep) or entry.key in state.texts]
        wanted = entry_named(text.strip().lower().replace(" ", "_"), [entry.label for entry in usable])
        matching = [entry for entry in usable if wanted in entry.label]
        if not wanted or not matching:
            return not wanted
        self.entry = min(matching, key=lambda entry: not entry.label.startswith(wanted))
        self.opened |= {self.entry.group} & FOLD_ROWS.keys()
        self.move(self.form(state, focused=True), 0)
        return True

    def turn(self, form: Form, by: int) -> None:
        """Move to another value of the row, wrapping around."""
        self.value = (self.value + by) % max(len(form.row.values), 1)

    def fold(self, group: str) -> None:
        """Unfold a group, or fold it again."""
        self.opened ^= {group}

    def _rows(self, state: State) -> list[FormRow]:
        rows: list[FormRow] = []
        for group, members in groupby(ENTRIES, lambda entry: entry.group):
            shown = [
                self._row(entry, why, state)
                for entry, why in ((entry, unused(entry, state.sweep)) for entry in members)
                if why is None or entry.key in state.texts
            ]
            if group in FOLD_ROWS and shown:
                opened = group in self.opened
                rows.append(FormRow(FOLD_ROWS[group], _set_text(shown), False, open=opened))
                shown = shown if opened else []
            rows += shown
        return rows

    def _row(self, entry: FormField, why: str | None, state: State) -> FormRow:
        texts, is_loaded = state.texts, entry.key == kind_of_work(state.sweep)
        text = recognized(entry, shown(entry, texts, self._defaults), state.sweep)
        now = chosen(entry, text)
        values = tuple((value, value in now) for value in values_of(entry, text))
        changed = entry.key in texts and texts[entry.key] != self._defaults.get(entry.key)
        remark = models_remark(state.sweep) if is_loaded else ""
        wrong = is_loaded and missing_model(state.sweep) is not None
        default = self._defaults.get(entry.key, "")
        return FormRow(entry, clean(text), changed, default, values, why or "", remark=remark, wrong=wrong)
