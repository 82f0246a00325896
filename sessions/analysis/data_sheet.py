"""Peak rates from NVIDIA's data sheets, the denominator of model FLOPs utilization (MFU) in publications.

Dense rates without sparsity, with float32 accumulation, at boost clock. Sources: NVIDIA data sheets of V100,
T4, A10, A30, A40, A100, RTX A6000, L4, L40, L40S, H100, H200, GH200 and DGX B200, and NVIDIA's whitepapers on
Ampere GA102, Ada and Blackwell for GeForce and RTX 6000 Ada.
"""

import msgspec

TERA = 1e12


class DataSheet(msgspec.Struct, frozen=True):
    """Peak rates of a GPU model, in 10**12 operations per second; None if it doesn't support the precision."""

    fp32: float
    tf32: float | None
    fp16: float
    bf16: float | None

    def flops_per_s(self, precision: str) -> float | None:
        """Return the peak rate of a precision (one of ``PEAK_PRECISIONS``) in operations per second."""
        rate: float | None = getattr(self, precision)
        return None if rate is None else rate * TERA


_V100_SXM = DataSheet(15.7, None, 125.0, None)
_V100_PCIE = DataSheet(14.0, None, 112.0, None)
_A100 = DataSheet(19.5, 156.0, 312.0, 312.0)
_H100_SXM = DataSheet(67.0, 494.7, 989.4, 989.4)
_H100_NVL = DataSheet(60.0, 417.5, 835.5, 835.5)

DATA_SHEETS = {
    "Tesla V100-SXM2-16GB": _V100_SXM,
    "Tesla V100-SXM2-32GB": _V100_SXM,
    "Tesla V100-PCIE-16GB": _V100_PCIE,
    "Tesla V100-PCIE-32GB": _V100_PCIE,
    "Tesla T4": DataSheet(8.1, None, 65.0, None),
    "NVIDIA A10": DataSheet(31.2, 62.5, 125.0, 125.0),
    "NVIDIA A30": DataSheet(10.3, 82.0, 165.0, 165.0),
    "NVIDIA A40": DataSheet(37.4, 74.8, 149.7, 149.7),
    "NVIDIA A100-SXM4-40GB": _A100,
    "NVIDIA A100-SXM4-80GB": _A100,
    "NVIDIA A100-PCIE-40GB": _A100,
    "NVIDIA A100 80GB PCIe": _A100,
    "NVIDIA RTX A6000": DataSheet(38.7, 77.4, 154.8, 154.8),
    "NVIDIA GeForce RTX 3090": DataSheet(35.6, 35.6, 71.0, 71.0),
    "NVIDIA L4": DataSheet(30.3, 60.0, 121.0, 121.0),
    "NVIDIA L40": DataSheet(90.5, 90.5, 181.0, 181.0),
    "NVIDIA L40S": DataSheet(91.6, 183.0, 362.0, 362.0),
    "NVIDIA RTX 6000 Ada Generation": DataSheet(91.1, 182.1, 364.2, 364.2),
    "NVIDIA GeForce RTX 4090": DataSheet(82.6, 82.6, 165.2, 165.2),
    "NVIDIA H100 80GB HBM3": _H100_SXM,
    "NVIDIA H100 PCIe": DataSheet(51.0, 378.0, 756.0, 756.0),
    "NVIDIA H100 NVL": _H100_NVL,
    "NVIDIA H200": _H100_SXM,
    "NVIDIA H200 NVL": _H100_NVL,
    "NVIDIA GH200 480GB": _H100_SXM,
    "NVIDIA B200": DataSheet(75.0, 1125.0, 2250.0, 2250.0),
    "NVIDIA GeForce RTX 5090": DataSheet(104.8, 104.8, 209.5, 209.5),
}
"""Data sheets by the driver's name of the GPU."""


def data_sheet(name: str | None) -> DataSheet | None:
    """Return the data sheet of a GPU by the driver's name; None if it isn't listed, as for a MIG slice."""
    return DATA_SHEETS.get(name or "")
