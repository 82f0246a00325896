"""Models and data of a sweep: whether their files are here, before anything starts."""

import os

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sanitize import quoted, shell_word
from benchtui.sessions.state.file_names import is_model_name
from benchtui.sessions.stored_models.hub_cache import has_token, hub_answers, snapshot, stored_folder
from benchtui.sessions.stored_models.hub_names import MISSING_DATASET, may_be_dataset
from benchtui.sessions.stored_models.measurable import task_of
from benchtui.sessions.stored_models.stored_model import missing_reason, weights_bytes
from benchtui.sessions.stored_models.stored_weights import damaged_weights, missing_shards
from benchtui.sessions.sweep import SAMPLE, SYNTHETIC, Sweep, custom_task
from benchtui.sessions.sweep.options import KERNEL

_ON = {"1", "on", "yes", "true"}
"""Values that switch a variable of huggingface_hub on, in lower case."""
_NO_WEIGHTS = 'no weights in this folder, such as model.safetensors; weights = "random" needs none'


def require_models(sweep: Sweep) -> None:
    """Require that each model and the dataset, or the user's step, can be loaded, or may be on the hub.

    Raises BenchtuiError naming the first other.
    """
    if missing := missing_input(sweep):
        raise BenchtuiError(missing)


def missing_input(sweep: Sweep) -> str:
    """Return which model, step or dataset can't be loaded, and why; empty if all may be.

    The nodes of a cluster have files of their own.
    """
    if sweep.run.executor != "local":
        return ""
    if missing := missing_model(sweep):
        name = quoted(missing[0]) if custom_task(sweep.task) else missing[0]
        return f"{kind_of_work(sweep)} {name}: {missing[1]}"
    if custom_task(sweep.task) or _has_data_here(sweep) or may_be_dataset(sweep.dataset):
        return ""
    return f"dataset {quoted(sweep.dataset)}: {MISSING_DATASET}"


def require_hub(sweep: Sweep) -> None:
    """Require that the hub answers if a model has to be downloaded. Raises BenchtuiError."""
    if sweep.run.executor == "local" and (missing := to_download(sweep)) and not hub_answers():
        raise BenchtuiError(
            f"model {missing[0]}: not in the cache of the hub, which doesn't answer; {_download(missing)}"
        )


def _download(models: list[str]) -> str:
    return f"where there is a network, run: hf download {shell_word(models[0])}"


def missing_model(sweep: Sweep) -> tuple[str, str] | None:
    """Return the first model, or the step, that can't be loaded, and why; None if there is none.

    A model that isn't here may be on the hub.
    """
    if own := custom_task(sweep.task):
        from benchtui.sessions.estimates.own_step import step_problem  # parses Python, for own steps only

        return (sweep.task, problem) if (problem := step_problem(*own)) else None
    for model in _models(sweep):
        if reason := missing_reason(model, stored_folder(model)) or _weights_reason(model, sweep):
            return model, reason
    if _offline(sweep) and (missing := to_download(sweep)):
        return missing[0], f"not in the cache of the hub, and HF_HUB_OFFLINE is set; {_download(missing)}"
    return None


def kind_of_work(sweep: Sweep) -> str:
    """Return the entry that names what a sweep loads."""
    return "task" if custom_task(sweep.task) else "model"


def _weights_reason(model: str, sweep: Sweep) -> str:
    """Return why the stored weights of a model can't be loaded; empty if they can, or aren't needed."""
    folder = stored_folder(model)
    if folder is None or sweep.weights == "random":
        return ""
    downloads = folder == snapshot(model) and not _offline(sweep)  # transformers fetches shards from the hub
    reason = ("" if downloads else missing_shards(folder)) or damaged_weights(folder)
    return reason or ("" if downloads or weights_bytes(folder) else _NO_WEIGHTS)


def models_remark(sweep: Sweep) -> str:
    """Return what to know about the models before they run; empty for nothing."""
    missing = missing_model(sweep)
    return (": ".join(missing) if sweep.axes.model[1:] else missing[1]) if missing else download_remark(sweep)


def download_remark(sweep: Sweep) -> str:
    """Return which models have to be downloaded; empty for none."""
    missing = to_download(sweep)
    which = f"{', '.join(missing)}: " if sweep.axes.model[1:] else ""
    login = "" if has_token() else "; a gated model needs `hf auth login` first"
    assumed = bool(missing) and sweep.task == task_of(missing[0], None)
    task = f"; until its files are here, its task is taken to be {sweep.task}" if assumed else ""
    return f"{which}not in the cache of the hub: will be downloaded{login}{task}" if missing else ""


def hub_models(sweep: Sweep) -> list[str]:
    """Return the models whose files come from the hub or its cache."""
    places = {model: stored_folder(model, sweep.weights) for model in _models(sweep)}
    return [model for model, folder in places.items() if folder is None or folder == snapshot(model)]


def needs_network(sweep: Sweep) -> bool:
    """Return whether something that a sweep names may have to be downloaded."""
    drafts = [draft for draft in sweep.axes.draft if is_model_name(draft)]
    kernels = any(attention.startswith(KERNEL) for attention in sweep.axes.attention)
    absent = [draft for draft in drafts if stored_folder(draft, sweep.weights) is None]
    return bool(absent or to_download(sweep)) or kernels or not _has_data_here(sweep)


def _has_data_here(sweep: Sweep) -> bool:
    return sweep.dataset in (SAMPLE, SYNTHETIC) or os.path.exists(os.path.expanduser(sweep.dataset))


def to_download(sweep: Sweep) -> list[str]:
    """Return the models whose weights aren't here; with random weights, those whose configuration isn't."""
    return [model for model in _models(sweep) if _is_to_download(model, sweep)]


def _is_to_download(model: str, sweep: Sweep) -> bool:
    folder = stored_folder(model, sweep.weights)
    without = sweep.weights != "random" and folder == snapshot(model)  # others have only what is in them
    return folder is None or (without and not weights_bytes(folder))


def _models(sweep: Sweep) -> tuple[str, ...]:
    """Return the models that transformers loads; none for a user-defined step."""
    models = list(filter(None, sweep.axes.model)) or [sweep.model]
    return () if custom_task(sweep.task) else tuple(models)


def _offline(sweep: Sweep) -> bool:
    variables = os.environ | sweep.env
    return variables.get("HF_HUB_OFFLINE", "").lower() in _ON
