"""Groups of workers in plain words."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from amcc.arrays import Codes, Floats


def describe_groups(commonality: Floats, weights: Floats, worker_group: Codes) -> pa.Table:
    """Table group, workers, weight, hit_rate, false_alarm_rate, summary; see `AMCC` for the arguments."""
    n_workers = np.bincount(worker_group, minlength=len(weights))
    hit, false_alarm = commonality.mean(axis=2)
    words = [summary(*group) for group in zip(n_workers.tolist(), hit.tolist(), false_alarm.tolist(), strict=True)]
    return pa.table(
        {
            "group": np.arange(len(weights), dtype=np.int32),
            "workers": n_workers,
            "weight": weights,
            "hit_rate": hit,
            "false_alarm_rate": false_alarm,
            "summary": [
                f"group {number}: {text}; weight {weight:.2f}"
                for number, (text, weight) in enumerate(zip(words, weights.tolist(), strict=True))
            ],
        }
    )


def summary(n_workers: int, hit: float, false_alarm: float) -> str:
    """What workers with these rates do, for people who do not want to read rates."""
    if n_workers == 0:
        return "nobody"
    who = f"{n_workers} worker{'s' * (n_workers > 1)}"
    if hit - false_alarm < 0.15:
        return f"{who}, {_uninformative(0.5 * (hit + false_alarm))} whatever is there"
    if false_alarm > 0.15:
        return f"{who}, find {hit:.0%} of the labels and invent many ({false_alarm:.0%} of absent ones)"
    if hit < 0.5:
        return f"{who}, miss most labels ({1 - hit:.0%}) and invent few ({false_alarm:.1%} of absent ones)"
    return f"{who}, find {hit:.0%} of the labels and invent few ({false_alarm:.1%} of absent ones)"


def _uninformative(yes: float) -> str:
    if yes > 0.7:
        return f"say yes nearly always ({yes:.0%})"
    return f"say yes to {yes:.0%}" if yes > 0.05 else f"tick hardly anything ({yes:.1%})"
