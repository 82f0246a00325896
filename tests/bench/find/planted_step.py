"""A step of a known length for ``grids.py``: small matrix products, as many as a grid plants for the case."""

import json
import os

import torch

from benchtui import Case

PRODUCTS = "PLANTED_PRODUCTS"
"""Environment variable: products per step as JSON, by the names of ``key``."""


def key(precision: str, kernel: object, batch_size: int) -> str:
    """Return the name of a case's options."""
    return f"{precision} {kernel} {batch_size}"


class Products:
    """Multiplies two small matrices a number of times."""

    def __init__(self, case: Case) -> None:
        self.samples = case.batch_size
        planted = json.loads(os.environ[PRODUCTS])
        self._products = planted[key(case.precision, case.parameters["kernel"], case.batch_size)]
        self._left, self._right = torch.randn(96, 96), torch.randn(96, 96)
        self._result = torch.empty(96, 96)

    @torch.inference_mode()
    def step(self) -> None:
        """Run one step."""
        for _ in range(self._products):
            torch.mm(self._left, self._right, out=self._result)


def make_step(case: Case) -> Products:
    """Return the step of a case."""
    return Products(case)
