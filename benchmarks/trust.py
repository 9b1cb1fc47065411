"""How far the default can be trusted, family by family of real sets: what is right, and how sure it was.

    python benchmarks/trust.py --data DATA --methods amcc,majority,dawid-skene

A family is one source: its sets share people, questions or makers, so they count once. Means are over families, with
their standard error; nothing here was fitted, but the default's settings were chosen in view of these sets, as
docs/results.md says. Without --data, only simulated crowds are shown. `no hedge` is the default without its reading by
degrees.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from amcc import metrics
from amcc.consensus import AMCC, ConsensusModel, make_model
from amcc.errors import ConvergenceWarning
from amcc.experiments.cells import Cell, Draw, cells_of
from amcc.truth import PairList, Truth

FAMILIES: dict[str, tuple[tuple[str, int | None], ...]] = {
    "sonyc": (("sonyc_ust_fine_val", None), ("sonyc_ust_coarse_val", None)),
    "affective": (("affective", None), ("affective", 3), ("affective", 5)),
    "stories": (
        ("apple_ekman", 3), ("apple_ekman", 5), ("apple_nakamura", 3), ("apple_nakamura", 5),
        ("love_ekman", 5), ("love_nakamura", 5), ("apple_nakamura_run10", None),
    ),
    "tweets": (("crowdtruth_tweets", None), ("crowdtruth_tweets", 3)),
    "chexpert": (("chexpert_test_3readers", None),),
    "varierr": (("varierr_nli", None), ("varierr_nli", 3)),
    "so": (("so_emotions", 2),),
    "imagenet": (("imagenet_real_golden", 3), ("imagenet_real_golden", 10)),
    "medical": (("crowdtruth_medical", None), ("crowdtruth_medical", 5), ("crowdtruth_medical", 3)),
    "nih": (("nih_four_findings", None), ("nih_all_findings", None)),
    "ecg": (("ecg_ribeiro", None),),
    "judges": (("llm_framing", None), ("llm_cebab_aspects", None), ("llm_civilcomments", None)),
}  # fmt: skip
"""Sets with truth by their source; the number is answers per item, where truth or density asks for thinning."""

SCORES = ("jaccard", "log_loss", "ece", "wrong among settled", "settled")


def no_hedge(model: AMCC) -> AMCC:
    """The same choices without the reading by degrees."""
    return AMCC(blend={**model.blend_, "degrees": 0.0})


def scores(draw: Draw, model: ConsensusModel) -> dict[str, float]:
    """Of a fitted model, over the asked pairs whose truth is known."""
    votes, shape = draw.votes, draw.truth.shape
    score, asked, settled = np.zeros(shape), np.zeros(shape, bool), np.zeros(shape, bool)
    pair = votes.pairs.item, votes.pairs.label
    score[pair], asked[pair], settled[pair] = model.pair_proba_, True, model.pair_settled_
    known = draw.known & asked
    wrong = (score > 0.5) != draw.truth
    sure = known & settled
    return {
        "jaccard": metrics.jaccard(draw.truth, score > 0.5, draw.known),
        "log_loss": metrics.log_loss(draw.truth, score, known),
        "ece": metrics.expected_calibration_error(draw.truth, score, known),
        "wrong among settled": float(wrong[sure].mean()) if sure.any() else 0.0,
        "settled": float(sure.sum() / known.sum()),
    }


SIMULATED = "simulated"
"""A family that is shown, but is no part of the means: its votes really are independent given presence."""


def cells(data: Path | None, seeds: int, *, simulated: bool = True) -> Iterator[tuple[str, str, Draw]]:
    """Family, name and draw of every set that is there, and of simulated crowds."""
    for crowd in cells_of(None, n_seeds=1, sizes=(10_000, 100_000)) if simulated else ():
        yield SIMULATED, crowd.name, crowd.draw(0)
    for family, sets in FAMILIES.items() if data else ():
        for name, answers in sets:
            if not data or not (data / name / "annotations.csv.gz").exists():
                continue
            cell = Cell(name, "independent", 1, str(data / name), answers)
            for seed in range(seeds if answers else 1):
                yield family, name if answers is None else f"{name} @{answers}", cell.draw(seed)


def some_truth(draw: Draw, n_items: int, seed: int) -> tuple[Truth, Draw]:
    """The truth of some items, drawn at random among those known, and the draw in which only the others are scored."""
    there = np.flatnonzero(draw.known.any(axis=1))
    chosen = np.random.default_rng(seed).choice(there, min(n_items, len(there) // 2), replace=False)
    names = [draw.votes.item_names.cast("string"), draw.votes.label_names.cast("string")]

    def pairs(mask: np.ndarray) -> PairList:
        inside = np.zeros_like(mask)
        inside[chosen] = mask[chosen]
        return PairList(*(name.take(pa.array(codes)) for name, codes in zip(names, np.nonzero(inside), strict=True)))

    known = draw.known.copy()
    known[chosen] = False
    return Truth(pairs(draw.truth & draw.known), known_pairs=pairs(draw.known)), replace(draw, known=known)


def fitted(draw: Draw, methods: list[str], n_known: list[int]) -> Iterator[tuple[str, ConsensusModel, Draw]]:
    """The methods on a draw, the default without its hedge, and with the truth of some items."""
    for method in methods:
        model = make_model(method).fit(draw.votes)
        yield method, model, draw
        for number in n_known if method == "amcc" else ():
            truth, rest = some_truth(draw, number, seed=number)
            yield f"amcc, {number} known items", make_model(method).fit(draw.votes, truth=truth), rest
        if isinstance(model, AMCC) and model.loss == "likelihood" and model.blend_["degrees"] > 0:
            yield f"{method}, no hedge", no_hedge(model).fit(draw.votes), draw


def mean_of(rows: list[dict[str, float]]) -> dict[str, float]:
    """Mean of each score."""
    return {name: float(np.mean([row[name] for row in rows])) for name in SCORES}


def show(title: str, by_method: dict[str, dict[str, float]], extra: Callable[[str], str] = lambda method: "") -> None:
    """One line per method."""
    for method, row in by_method.items():
        numbers = "  ".join(f"{row[name]:.3f}" for name in SCORES)
        print(f"{title:28s} {method:22s} {numbers}  {extra(method)}", flush=True)


def main() -> None:
    """Fit everything, print every set and the means over families."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--methods", default="amcc,majority,dawid-skene")
    parser.add_argument("--known", type=int, nargs="*", default=[], help="also amcc with the truth of so many items")
    parser.add_argument("--seeds", type=int, default=2, help="draws where sets are thinned")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(f"{'set':28s} {'method':22s} " + "  ".join(SCORES))
    found: dict[str, dict[str, dict[str, list[dict[str, float]]]]] = {}
    for family, name, draw in cells(chosen.data, chosen.seeds):
        for method, model, scored in fitted(draw, chosen.methods.split(","), chosen.known):
            found.setdefault(family, {}).setdefault(name, {}).setdefault(method, []).append(scores(scored, model))
    means: dict[str, list[dict[str, float]]] = {}
    worst: dict[str, float] = {}
    for family, by_name in found.items():
        of_sets = {name: {m: mean_of(rows) for m, rows in by_method.items()} for name, by_method in by_name.items()}
        for name, by_method in of_sets.items():
            show(name, by_method)
            if family == SIMULATED:
                continue
            for method, row in by_method.items():
                behind = row["jaccard"] - by_method["majority"]["jaccard"] if "majority" in by_method else 0.0
                worst[method] = min(worst.get(method, 0.0), behind)
        if family == SIMULATED:
            continue
        for method in dict.fromkeys(m for by_method in of_sets.values() for m in by_method):
            means.setdefault(method, []).append(mean_of([row[method] for row in of_sets.values() if method in row]))
    for method, rows in means.items():
        error = np.std([row["log_loss"] for row in rows], ddof=1) / np.sqrt(len(rows)) if len(rows) > 1 else 0.0
        told = f"log-loss ± {error:.3f}, worst against majority {worst[method]:+.3f}"
        show(f"mean of {len(rows)} families", {method: mean_of(rows)}, lambda _, told=told: told)


if __name__ == "__main__":
    main()
