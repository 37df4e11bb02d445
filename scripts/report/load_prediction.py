"""Reads what `roofline predict sweep` writes; columns are documented in roofline/base/schema.hpp."""

from dataclasses import dataclass

import load


@dataclass(frozen=True)
class BatchRow:
    """A row of `sweep batch`: one shape at one batch."""

    hardware: str
    dtype: str
    compute: str
    d: float
    f: float
    b: float
    flops_per_s: float
    peak: float
    critical_batch: float | None
    measured: float | None
    variant: str


@dataclass(frozen=True)
class ServeRow:
    """A row of `sweep serve`: one context at one batch."""

    hardware: str
    model: str
    chips: float
    weights: str
    kv: str
    compute: str
    context: float
    batch: float
    fits: bool | None  # None: the memory of a chip is not known
    parameters_s: float
    kv_s: float
    flops_s: float
    step_s: float
    tokens_per_s_per_chip: float
    critical_batch: float


def batch_rows(path):
    columns = (
        "hardware dtype compute D F B attainable_flops_per_s peak_flops_per_s critical_batch "
        "measured_flops_per_s measured_variant"
    ).split()
    return [
        BatchRow(
            hardware=r.text("hardware"),
            dtype=r.text("dtype"),
            compute=r.text("compute"),
            d=r.required("D"),
            f=r.required("F"),
            b=r.required("B"),
            flops_per_s=r.required("attainable_flops_per_s"),
            peak=r.required("peak_flops_per_s"),
            critical_batch=r.number("critical_batch"),
            measured=r.number("measured_flops_per_s"),
            variant=r.text("measured_variant"),
        )
        for r in load.records(path, columns)
    ]


def serve_rows(path):
    columns = (
        "hardware model chips weights kv compute context batch fits t_parameters_s t_kv_s "
        "t_flops_s t_step_s tokens_per_s_per_chip critical_batch"
    ).split()
    return [
        ServeRow(
            hardware=r.text("hardware"),
            model=r.text("model"),
            chips=r.required("chips"),
            weights=r.text("weights"),
            kv=r.text("kv"),
            compute=r.text("compute"),
            context=r.required("context"),
            batch=r.required("batch"),
            fits={"0": False, "1": True}.get(r.text("fits")),
            parameters_s=r.required("t_parameters_s"),
            kv_s=r.required("t_kv_s"),
            flops_s=r.required("t_flops_s"),
            step_s=r.required("t_step_s"),
            tokens_per_s_per_chip=r.required("tokens_per_s_per_chip"),
            critical_batch=r.required("critical_batch"),
        )
        for r in load.records(path, columns)
    ]
