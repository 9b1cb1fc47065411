"""Draw the pictures of docs/python.md: `python docs/build_plots.py` writes docs/figures/plot-*.svg."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pyarrow as pa

from amcc import AMCC, Truth
from amcc.data import CrowdSpec, simulate_crowd
from amcc.plotting import style, to_svg

FIGURES = Path(__file__).parent / "figures"


def main() -> None:
    """Simulate a crowd, fit the default, draw."""
    mpl.use("Agg")
    world = simulate_crowd(CrowdSpec(n_items=400, n_workers=40, n_labels=8, seed=1))
    votes, (item, label) = world.votes, np.nonzero(world.truth)
    true = pa.table({"item": votes.item_names.take(pa.array(item)), "label": votes.label_names.take(pa.array(label))})
    model = AMCC().fit(votes)
    pictures = {
        "workers": model.plot_workers(),
        "labels": model.plot_labels(),
        "calibration": model.plot_calibration(Truth.from_frames(true, unmentioned="absent")),
        "groups": model.plot_groups(),
    }
    for name, axes in pictures.items():
        with style():
            (FIGURES / f"plot-{name}.svg").write_bytes(to_svg(axes.figure))


if __name__ == "__main__":
    main()
