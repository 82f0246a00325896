"""A step of a known length for ``verdicts.py``: small products, with jitter and fast steps on purpose."""

import json
import os
import random

import torch

from benchtui import Case

CASES = "VERDICT_CASES"
"""Environment variable: a JSON list with the length, jitter and fast steps of each case, by sequence length."""
WARMUP = 2


class Products:
    """Multiplies two small matrices a number of times that is drawn anew for each step."""

    def __init__(self, case: Case) -> None:
        self.samples = 1
        wanted = json.loads(os.environ[CASES])[case.sequence_length - 1]
        self._products, self._jitter = wanted["products"], wanted["jitter"]
        self._fast, self._fast_products = wanted["fast"], wanted["fast_products"]
        self._noise = random.Random()
        self._step = 0
        self._left, self._right = torch.randn(96, 96), torch.randn(96, 96)
        self._result = torch.empty(96, 96)

    @torch.inference_mode()
    def step(self) -> None:
        self._step += 1
        fast = WARMUP < self._step <= WARMUP + self._fast
        products = self._fast_products if fast else self._products
        for _ in range(round(products * (1 + abs(self._noise.gauss(0, self._jitter))))):
            torch.mm(self._left, self._right, out=self._result)


def make_step(case: Case) -> Products:
    return Products(case)
