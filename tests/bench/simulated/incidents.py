"""Things that go wrong in the simulated sweep, so that screens and reports have them to show."""

from dataclasses import dataclass

from benchtui.sessions.sweep import Config


@dataclass(frozen=True, slots=True)
class Incident:
    """Trouble during the first attempts of one round of a case."""

    round: int
    attempts: int
    """Attempts that it lasts for; a disturbed attempt is followed by another one."""
    blocked_airflow: bool = False
    other_gpu_processes: int = 0
    others_cpu_percent: float = 0.0
    """Processors used by others, in percent of one."""

    @property
    def launch_factor(self) -> float:
        """Factor on the time of launching kernels."""
        return 1.35 if self.others_cpu_percent else 1.0

    @property
    def kernel_factor(self) -> float:
        """Factor on the time of kernels."""
        return 1.0 + 0.9 * self.other_gpu_processes


CALM = Incident(round=0, attempts=0)


def _key(config: Config) -> tuple[str, str, str, int, int]:
    return config.precision, config.attention, config.compile, config.sequence_length, config.batch_size


_INCIDENTS = {
    ("bf16", "sdpa", "off", 2048, 64): Incident(round=0, attempts=2, blocked_airflow=True),
    ("bf16", "sdpa", "off", 512, 4): Incident(round=1, attempts=2, others_cpu_percent=1480.0),
    ("bf16", "eager", "off", 512, 16): Incident(round=0, attempts=2, other_gpu_processes=1),
    ("fp32", "sdpa", "off", 512, 1): Incident(round=1, attempts=1, others_cpu_percent=640.0),
}
"""By case: throttled by heat, noisy host, shared GPU, and a disturbance that is gone when measured again."""


def incident(config: Config, round_index: int, attempt: int) -> Incident:
    """Return the trouble of one attempt."""
    found = _INCIDENTS.get(_key(config), CALM)
    return found if round_index == found.round and attempt < found.attempts else CALM
