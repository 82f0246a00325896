"""Step times drawn from the model of a step: noise, slow steps, and what the surroundings add."""

from dataclasses import dataclass
from random import Random

from simulated.gpus import Gpu
from simulated.incidents import Incident
from simulated.llama import BOOST_MHZ, Step

from benchtui.sessions.sweep import Config

SLOW_STEP = 0.004
"""Probability of a step that is far off."""
EVENTS_MS, RESULT_MS = 0.02, 0.04
"""Time around the device's events, and to copy generated tokens back."""
CLOCK_EXPONENT = 0.85
"""Kernels slow down with this power of the clock: memory doesn't follow it."""


@dataclass(frozen=True, slots=True)
class DrawnStep:
    """Times of one step, in milliseconds."""

    parts_ms: dict[str, float]
    host_ms: float
    """Until the host has launched everything."""
    busy_ms: float
    """In which a kernel runs."""

    @property
    def wall_ms(self) -> float:
        return sum(self.parts_ms.values())

    @property
    def device_ms(self) -> float:
        return self.wall_ms - self.parts_ms["tokenize"] - EVENTS_MS


@dataclass(frozen=True, slots=True)
class StepTimes:
    """Draws the steps of one process."""

    step: Step
    config: Config
    trouble: Incident
    random: Random
    pace: float
    """Factor on all its steps: no two processes are alike."""

    def draw(self, gpu: Gpu, factor: float = 1.0, first_ms: float = 0.0) -> DrawnStep:
        """Draw a step at the GPU's clock, ``factor`` times as long; ``first_ms`` is what a first step adds."""
        kernel, launch = self._kernel_factor(gpu), self._launch_factor()
        slow_ms = (
            self.random.uniform(0.3, 1.2) * self.step.device_ms if self.random.random() < SLOW_STEP else 0.0
        )
        kernels_ms, launch_ms = self.step.kernels_ms * kernel, self.step.launch_ms * launch
        forward_ms = factor * max(kernels_ms, launch_ms) + slow_ms + first_ms
        parts_ms = self._inputs_ms()
        if self.step.decode_kernels_ms:
            decoded_ms = self.step.decode_kernels_ms * kernel
            decode_ms = factor * max(decoded_ms, self.step.decode_launch_ms * launch)
            parts_ms |= {"prefill": forward_ms, "decode": decode_ms, "result": RESULT_MS + EVENTS_MS}
            # the host waits for the tokens
            return DrawnStep(parts_ms, sum(parts_ms.values()), kernels_ms + decoded_ms)
        host_ms = parts_ms["tokenize"] + min(launch_ms + slow_ms + first_ms, forward_ms)
        return DrawnStep(parts_ms | {"forward": forward_ms + EVENTS_MS}, host_ms, kernels_ms)

    def _kernel_factor(self, gpu: Gpu) -> float:
        clock = (BOOST_MHZ / gpu.clock_mhz) ** CLOCK_EXPONENT if gpu.load.busy else 1.0
        return clock * self.trouble.kernel_factor * self.pace * self.random.gauss(1, 0.0025)

    def _launch_factor(self) -> float:
        calm = self.trouble.launch_factor == 1
        jitter = abs(self.random.gauss(0, 0.012 if calm else 0.11))
        return self.trouble.launch_factor * self.pace * (1 + jitter)

    def _inputs_ms(self) -> dict[str, float]:
        """Return the time to tokenize a batch and to copy it to the GPU."""
        tokens = self.config.batch_size * self.config.sequence_length
        noise = 1 + abs(self.random.gauss(0, 0.05))
        return {
            "tokenize": (0.25 + 2e-5 * tokens) * self.trouble.launch_factor * noise,
            "transfer": 0.045 + 8 * tokens / 22e6 + abs(self.random.gauss(0, 0.004)),
        }
