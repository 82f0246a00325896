"""Values of a case as a map read them, and the measurement that they make."""

from collections.abc import Iterator
from contextlib import suppress
from math import sqrt
from typing import Any

import msgspec

from benchtui.sessions.events import CaseFinished, CasePrepared, Outcome, Steps
from benchtui.sessions.importers.imported import LONGEST_LABEL, OF_CASE, Measurement
from benchtui.sessions.importers.quantities import RATES, SIZES, STATISTICS, SUCCESSES, YES, failed_outcome
from benchtui.sessions.payloads import Energy, Environment, Failures, Memory, Model, Reported, ReportedTimes
from benchtui.sessions.sanitize import LONGEST_VALUE, visible
from benchtui.sessions.sweep import LARGEST, SERVE, UNKNOWN, Config, named_values
from benchtui.sessions.sweep.library_names import value_named
from benchtui.sessions.sweep.options import BY_NAME, MOST_THREADS

BELOW_RESOLUTION = "step times of 0 are below the resolution of the timer"
J_IN_KWH = 3.6e6
_OPTIONS = ("quantization", "attention", "padding", "cache", "precision", "compile", "optimizer")
_NUMBERS = ("threads", "batch_size", "sequence_length", "new_tokens")
_UNSTATED: dict[str, Any] = {
    **dict.fromkeys(("device", "precision", "compile", "padding"), UNKNOWN),
    "sequence_length": 0,
}


class CaseValues(msgspec.Struct):
    """Values of a case by quantity: figures in ms, MB or their own unit."""

    place: str
    population: bool = False
    unit: str | None = None
    """Unit of times without one."""
    figures: dict[str, float] = {}
    lists: dict[str, list[object]] = {}
    words: dict[str, str] = {}
    name: str = ""
    """Whole name of the case; empty if it is made of its parts."""
    defaults: dict[str, str] = {}
    """Texts that all rows of a kind of file have, so that no label repeats them."""
    options: dict[str, str] = {}
    packages: dict[str, str] = {}
    outcome: Outcome | None = None
    """Outcome that a word in place of a figure states."""
    reason: str | None = None
    unreadable: list[str] = []

    def word(self, name: str) -> str | None:
        """Return a text, or a figure as one; None if the file doesn't state it."""
        stated = self.words.get(name) or self.defaults.get(name)
        return stated or (repr(self.figures[name]) if name in self.figures else None)

    def number(self, name: str) -> float | None:
        """Return a number that was read as a figure or as a text."""
        with suppress(ValueError):
            return float(self.word(name) or "")
        return None

    def whole(self, name: str) -> int | None:
        """Return a positive whole number; None if it is unknown or something else."""
        number, most = self.number(name), MOST_THREADS if name == "threads" else LARGEST
        return int(number) if number and 0 < number <= most and number == int(number) else None

    def measurement(self, *, several_models: bool = False) -> Measurement:
        """Return the measurement. Without a step time it failed."""
        self._derive()
        steps, failures = self._sound_steps()
        center_ms = self._center_ms(steps)
        outcome, reason = self._outcome(steps, center_ms, failures)
        marks = [str(mark) for mark in self.lists.get("marks", [])]
        if outcome == "ok" and (status := self.words.get("status", "")) and status.lower() not in SUCCESSES:
            marks.append(_status_text(status))
        if outcome == "ok" and center_ms == 0 and not self._rate():
            marks.append(BELOW_RESOLUTION)
        codes, kwh = self.lists.get("exit_codes", []), self.figures.get("energy_per_step_kwh")
        exits = [code for code in codes if isinstance(code, int)]
        return Measurement(
            config=self._config(several_models),
            prepared=CasePrepared(
                **OF_CASE,
                model=self._model(),
                samples_per_step=self._samples(),
                task=SERVE.name if "completed" in self.figures else None,
                new_tokens=self.whole("new_tokens"),
            ),
            steps=self._steps(steps),
            finished=CaseFinished(
                **OF_CASE,
                outcome=outcome,
                reason=reason,
                exit_code=next(iter(exits)) if outcome != "ok" and len({*codes}) == 1 and exits else None,
                memory=self._memory(),
                energy=Energy(energy_j=kwh * J_IN_KWH * len(steps)) if kwh is not None and steps else None,
                environment=None if failures.failed else self._environment(center_ms),
                marks=tuple(dict.fromkeys(marks)),
                failures=failures if outcome == "ok" and failures.failed else None,
                reported=None if steps or outcome != "ok" else self._reported(center_ms),
            ),
            failed_in_source=outcome != "ok"
            and (self.outcome is not None or bool(failures.total) or "status" in self.words),
            round=self.words.get("round", ""),
            measured=self.words.get("measured", ""),
        )

    def _steps(self, wall_ms: list[float]) -> tuple[Steps, ...]:
        tokens = [int(self.figures["tokens"])] * len(wall_ms) if "tokens" in self.figures else None
        warmup = Steps(**OF_CASE, phase="warmup", wall_ms=self._numbers("warmup"))
        measured = Steps(
            **OF_CASE, phase="measure", wall_ms=wall_ms, parts_ms=self._parts(wall_ms), tokens=tokens
        )
        return tuple(steps for steps in (warmup, measured) if steps.wall_ms)

    def _derive(self) -> None:
        """Derive an unknown task, mean step, batch size and number of new tokens."""
        if not self.word("task") and any(name.startswith(("completed", "request")) for name in self.figures):
            self.words["task"] = SERVE.name
        total_ms, n, rate = (self.figures.get(name) for name in ("total", "n", "steps_per_s"))
        if total_ms is not None and n:
            self.figures.setdefault("step_mean", total_ms / n)
        if rate:
            self.figures.setdefault("step_mean", 1000 / rate)
        batch = self.whole("batch_size") or self._volume("batches_samples_per_s", "prefill", "steps")
        if batch and not self.whole("batch_size"):
            self.figures["batch_size"] = self.figures["samples"] = batch
        decoded = self._volume("decode_tokens_per_s", "decode")
        if batch and decoded and not self.whole("new_tokens"):
            self.figures["new_tokens"] = 1 + round(decoded / batch)

    def _volume(self, rate: str, *parts: str) -> int:
        """Return what a call processes: a rate times the mean time of the first part that has times."""
        times_ms = next((times_ms for part in parts if (times_ms := self._numbers(part))), [])
        amount = self.figures.get(rate, 0.0) * sum(times_ms) / len(times_ms) / 1000 if times_ms else 0.0
        return round(amount) if amount <= LARGEST else 0

    def _numbers(self, name: str) -> list[float]:
        return [item for item in self.lists.get(name, []) if isinstance(item, float)]

    def _of_sound_runs(self, name: str) -> list[float]:
        """Return the numbers of the runs whose exit code is 0, if there is one of each run."""
        numbers, codes = self._numbers(name), self.lists.get("exit_codes", [])
        if len(codes) != len(numbers):
            return numbers
        return [number for number, code in zip(numbers, codes, strict=True) if code in (0, "0")]

    def _sound_steps(self) -> tuple[list[float], Failures]:
        """Return the steps of sound runs, and how many runs or requests failed."""
        prefill, decode = self._numbers("prefill"), self._numbers("decode")
        whole = len(prefill) == len(decode) > 0
        steps = [*map(sum, zip(prefill, decode, strict=True))] if whole else self._of_sound_runs("steps")
        if codes := self.lists.get("exit_codes", []):
            failed = sum(code not in (0, "0") for code in codes)
            return steps, Failures(failed=failed, total=len(codes), of="runs")
        loops, wanted = self.figures.get("divide_steps_by", 1.0), self.figures.get("requests", 0.0)
        completed = self.figures.get("completed", wanted)
        failed_requests = self.figures.get("failed") or max(wanted - completed, 0.0)
        total = failed_requests + completed if "completed" in self.figures else wanted
        failures = Failures(failed=int(failed_requests), total=int(total), of="requests")
        return [step / loops for step in steps] if loops else [], failures

    def _center_ms(self, steps: list[float]) -> float | None:
        stated = self.figures.get("step_mean", self.figures.get("step_median"))
        return sum(steps) / len(steps) if steps else stated

    def _outcome(
        self, steps: list[float], center_ms: float | None, failures: Failures
    ) -> tuple[Outcome, str | None]:
        status, reason = self.words.get("status", ""), self.words.get("reason")
        failed, total = failures.failed, failures.total
        if self.words.get("skipped", "").lower() in YES:
            return "skipped", reason or "skipped by its tool"
        stated = status or reason or ""
        is_failure = stated.lower() not in (*SUCCESSES, "" if status else "false")
        if is_failure and (outcome := failed_outcome(stated)):
            return outcome, reason or _status_text(status)
        if self.outcome and not steps and center_ms is None:
            return self.outcome, reason or self.reason
        if total and failed == total:
            return "failed", self._all_failed(total)
        if not steps and failed and failures.of == "runs":
            return "failed", f"{failed} of {total} runs failed, and their times aren't stated one by one"
        if center_ms is None and not self._rate():
            cause = self.unreadable[0] if self.unreadable else "no step time"
            located = _status_text(status) if status else ": ".join(filter(None, (self.place, cause)))
            return "failed", located if self.unreadable else reason or self.word("failure") or located
        return "ok", None

    def _rate(self) -> float | None:
        rates = (self.figures.get(name) for name in ("samples_per_s", "tokens_per_s", "new_tokens_per_s"))
        return next(filter(None, rates), None)

    def _all_failed(self, total: int) -> str:
        codes = self.lists.get("exit_codes", [])
        if not codes:
            return f"no request of {total:,} succeeded"
        ends = ["a signal" if code is None else f"exit code {code}" for code in dict.fromkeys(codes)]
        return f"every run failed: {', '.join(ends)}"

    def _parts(self, steps: list[float]) -> dict[str, list[float]]:
        """Return prefill and decode of each step, without a part that isn't known for every one."""
        after_first = (self.whole("new_tokens") or 1) - 1
        per_token = [time_ms * after_first for time_ms in self._numbers("decode_per_token") if after_first]
        parts = {"prefill": self._numbers("prefill"), "decode": self._numbers("decode") or per_token}
        return {name: times_ms for name, times_ms in parts.items() if steps and len(times_ms) == len(steps)}

    def _samples(self) -> int | None:
        """Return samples per step: requests of a run, a stated number, or None for the batch size."""
        if self.time_of_one_ms is not None and not self.whole("batch_size"):
            return 1 if "samples_per_s" in self.figures else 0
        stated = self.number("samples" if "completed" not in self.figures else "completed")
        return int(stated) if stated is not None else None if self.whole("batch_size") else 0

    def _reported(self, center_ms: float | None) -> Reported:
        mean_ms = self.figures.get("step_mean")
        if not center_ms:
            mean_ms = self._step_of_rate() or self.time_of_one_ms or mean_ms
        n = int(self.figures["n"]) if "n" in self.figures else 1 if "completed" in self.figures else None
        stated: dict[str, Any] = {f"latency_{name}_ms": self.figures.get(f"step_{name}") for name in STATISTICS}
        stated |= self._rates(center_ms)
        stated |= {name: self._times(name) for name in ("first_token", "per_token", "request")}
        stated |= {name: self.figures.get(name) for name in ("energy_j", "gpu_utilization_percent")}
        stated |= {"latency_mean_ms": mean_ms, "latency_std_ms": self._deviation("step", n, mean_ms)}
        return Reported(
            steps=n,
            **stated,
            mean_power_w=self.figures.get("power_w"),
            compile_call_s=self.figures.get("compile_call", 0.0) / 1000 or None,
        )

    def _rates(self, center_ms: float | None) -> dict[str, float | None]:
        """Return the stated rates, and that of samples as far as it follows from padded tokens or the step."""
        rates = {name: self.figures.get(name) for name in RATES}
        center_ms = center_ms or self._step_of_rate()
        batch, length = self._samples() or self.whole("batch_size"), self.whole("sequence_length")
        if rates["samples_per_s"] is None:
            if rates["padded_tokens_per_s"] and self._option("padding") == "max" and length:
                rates["samples_per_s"] = rates["padded_tokens_per_s"] / length
            elif batch and center_ms:
                rates["samples_per_s"] = 1000 * batch / center_ms
        return rates

    def _step_of_rate(self) -> float | None:
        """Return the step time that a rate of samples implies; None without one."""
        rate, batch = self.figures.get("samples_per_s"), self.whole("batch_size")
        return 1000 * batch / rate if rate and batch else None

    @property
    def time_of_one_ms(self) -> float | None:
        """Time of one sample or token, as a step, if all that is known is a rate."""
        rate = self._rate()
        return 1000 / rate if rate and self._center_ms(self._sound_steps()[0]) is None else None

    def _deviation(self, name: str, n: int | None, mean_ms: float | None = None) -> float | None:
        std = self.figures.get(f"{name}_std")
        percent = self.figures.get(f"{name}_std_percent", 100 * self.figures.get(f"{name}_std_share", 0.0))
        if std is None and percent and mean_ms is not None:
            std = mean_ms * percent / 100
        return std * sqrt(n / (n - 1)) if self.population and std is not None and n and n > 1 else std

    def _times(self, name: str) -> ReportedTimes | None:
        """Return the statistics of a time of requests. A mean of 0 wasn't measured."""
        stated = {key: self.figures.get(f"{name}_{key}") for key in STATISTICS if key != "std"}
        if not any(stated.values()):
            return None
        n = int(self.figures["completed"]) if "completed" in self.figures else None
        times_ms = {f"{key}_ms": value for key, value in stated.items()}
        return ReportedTimes(n=n, std_ms=self._deviation(name, n), **times_ms)

    def _memory(self) -> Memory | None:
        names = (name for name in SIZES if name.startswith("peak"))
        peaks = {f"{name}_mb": max(self._of_sound_runs(name), default=self.figures.get(name)) for name in names}
        return Memory(**{name: peak or None for name, peak in peaks.items()}) if any(peaks.values()) else None

    def _environment(self, step_ms: float | None) -> Environment | None:
        user, system = self.figures.get("user"), self.figures.get("system")
        if user is None or system is None:
            return None
        processors = (user + system) / step_ms if step_ms else None
        return Environment(worker_cpu=processors, user_ms=user, system_ms=system)

    def _model(self) -> Model:
        weights = self.word("weights")
        return Model(
            name=visible(self.word("model") or UNKNOWN, LONGEST_VALUE),
            parameters=self.whole("parameters_of_model"),
            hidden_size=self.whole("hidden_size"),
            hidden_layers=self.whole("layers"),
            attention_heads=self.whole("heads"),
            architecture=self.word("architecture"),
            weights="random" if weights == "random" else "pretrained" if weights == "pretrained" else None,
        )

    def _config(self, several_models: bool) -> Config:
        """Return the options. What the file doesn't state is unknown, or left to a label."""
        stated = {name: text for name in ("device", *_OPTIONS) if (text := self._option(name))}
        numbers = {name: number for name in _NUMBERS if (number := self.whole(name))}
        model = visible(self.words.get("model", ""), LONGEST_VALUE) if several_models else ""
        label = self.name or " ".join(self._label_parts(model, stated | numbers))
        if self.name and model and model not in label:
            label = f"{model} {label}"
        sized = "sequence_length" in numbers and "batch_size" in numbers
        labeled = bool(self.name) or "name" in self.words or not sized or self.word("labeled") == "yes"
        options = {name: visible(value, LONGEST_VALUE) for name, value in sorted(self.options.items()) if value}
        values = {**_UNSTATED, **stated, **numbers}
        if labeled:
            values["label"] = (label or self.words.get("model") or "case")[:LONGEST_LABEL]
            sizes = {"sequence_length": "tokens", "new_tokens": "new"}
            work = ", ".join(f"{numbers[name]:,} {word}" for name, word in sizes.items() if name in numbers)
            values["group"] = (self.words.get("group") or work)[:LONGEST_LABEL]
        return Config(**values, model=model, parameters=named_values.text_of(options))

    def _option(self, name: str) -> str | None:
        stated = self.word(name)
        if name == "precision" and not stated and (mixed := self.words.get("mixed_precision", "off")) != "off":
            return "amp-fp16" if mixed.lower() in YES else "fp32"
        return visible(value_named(name, stated), LONGEST_VALUE) if stated else None

    def _label_parts(self, model: str, values: dict[str, Any]) -> Iterator[str]:
        """Yield the parts of a name: what the row states, without what all of its kind have."""
        yield from filter(None, (model, self.word("prefix"), self.words.get("name")))
        for name, value in values.items():
            is_own = name in self.words or name in ("precision", *_NUMBERS)
            if is_own and name != "device" and value != UNKNOWN:
                yield f"{BY_NAME[name].prefix}{value}"


def _status_text(status: str) -> str:
    return f"status: {visible(status, LONGEST_VALUE)}"
