"""What each deviation from the paper does: the figures of docs/deviations.md, D1, D4, D6, D8 and D13 to D16.

    python benchmarks/deviations.py --data DATA

Jaccard on the crowds of that page, seeds 0, 1 and 2, and on the SONYC-UST fine tags where DATA is given: of labels
above ½, and of the one likeliest label, which eq6 names. Then how many rounds a fit took, and how far D_w moved from
its start, in lengths of the start. In the second table, half of the labels of each answer are asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from script import hush, parser_of

from amcc import Votes, metrics
from amcc.arrays import Floats, Mask
from amcc.consensus import ConsensusModel, MajorityVote, PaperAMCC
from amcc.consensus.models.paper.problem import PaperSettings
from amcc.consensus.models.paper.start import first_individuality
from amcc.data import CrowdSpec, read_set, simulate_crowd

SPEC: dict[str, Any] = {"n_items": 600, "n_workers": 40, "n_labels": 10, "answers_per_item": 6}
SEEDS = (0, 1, 2)

PRINTED = {"printed": True, "max_iter": 100}  # as `-m amcc-printed`
# Name of a row → parameters of PaperAMCC.
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "amcc-frobenius": {},
    "amcc-printed": PRINTED,
    "D1 anchor=self": {"anchor": "self"},
    "D4 rows=unit": {"rows": "unit"},
    "D4 rows=unit, printed": {**PRINTED, "rows": "unit"},
    "D5 α and β exchanged, printed": {**PRINTED, "hsic_weight": 10.0, "laplacian_weight": 0.1},
    "D15 start=uniform": {"start": "uniform"},
    "D15 start=identity, anchor=self": {"anchor": "self", "start": "identity"},
    "D15 start=identity, printed": {**PRINTED, "start": "identity"},
    "D16 200 rounds, printed": {"printed": True},
    "D17 ridge=0.1": {"ridge": 0.1},
}
# Only where answers are partial, or cosines negative, do these change anything.
PARTIAL: Mapping[str, Mapping[str, Any]] = {
    "amcc-frobenius": {},
    "D13 cells=all": {"cells": "all"},
    "amcc-printed": PRINTED,
    "D13 cells=asked, printed": {**PRINTED, "cells": "asked"},
    "D14 cosines=clipped, printed": {**PRINTED, "cosines": "clipped"},
}


class Crowd(NamedTuple):
    """Votes and their truth, (n_items, n_labels) each."""

    votes: Votes
    truth: Mask
    known: Mask

    @classmethod
    def simulated(cls, seed: int, **changes: Any) -> Crowd:
        """One of the crowds of the page."""
        made = simulate_crowd(CrowdSpec(**SPEC, **changes, seed=seed))
        return cls(made.votes, made.truth, np.ones_like(made.truth))

    def jaccard(self, predicted: Mask) -> float:
        """Of these label sets."""
        return metrics.jaccard(self.truth, predicted, self.known)


def likeliest(proba: Floats) -> Mask:
    """The one label of each item that eq6 names."""
    return np.arange(proba.shape[1]) == proba.argmax(axis=1)[:, None]


def moved(model: ConsensusModel) -> str:
    """Mean distance of D_w from its start, in lengths of the start."""
    if not isinstance(model, PaperAMCC):
        return ""
    first = first_individuality(len(model.label_names_), PaperSettings(**model.get_params()))
    apart = np.linalg.norm(model.individuality_matrices_ - first, axis=(1, 2)).mean()
    return f"{apart / np.linalg.norm(first):.2f}"


def line(name: str, make: Callable[[], ConsensusModel], crowds: list[Crowd]) -> str:
    """Above ½, likeliest, rounds and distance, each for all crowds."""
    models = [make().fit(crowd.votes) for crowd in crowds]
    proba = [model.predict_proba() for model in models]
    above = " ".join(f"{crowd.jaccard(each > 0.5):.2f}" for crowd, each in zip(crowds, proba, strict=True))
    one = " ".join(f"{crowd.jaccard(likeliest(each)):.2f}" for crowd, each in zip(crowds, proba, strict=True))
    rounds = " ".join(f"{len(model.objective_history_):3}" for model in models)
    return f"{name:34} {above:20} {one:20} {rounds:16} {' '.join(map(moved, models))}"


def main() -> None:
    """Print three tables: whole answers, SONYC beside them, partial answers."""
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    hush()
    crowds = [Crowd.simulated(seed) for seed in SEEDS]
    if options.data:
        sonyc = read_set("sonyc_ust_fine_val", options.data)
        crowds.append(Crowd(sonyc.votes, sonyc.truth, sonyc.known))
    head = f"{'':34} {'above ½':20} {'likeliest':20} {'rounds':16} moved"
    print(f"whole answers, seeds 0 1 2{' SONYC' * bool(options.data)}\n{head}")
    print(line("majority", MajorityVote, crowds))
    for name, params in VARIANTS.items():
        print(line(name, partial(PaperAMCC, **params), crowds), flush=True)
    print(f"\nhalf of the labels asked, seeds 0 1 2\n{head}")
    half = [Crowd.simulated(seed, asked_share=0.5) for seed in SEEDS]
    for name, params in PARTIAL.items():
        print(line(name, partial(PaperAMCC, **params), half), flush=True)


if __name__ == "__main__":
    main()
