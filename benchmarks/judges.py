"""Language models beside people: what a workers file is worth, on real sets and on simulated ones.

    python benchmarks/judges.py --data DATA --seeds 3

For each set: right among the pairs with known truth (amcc without and with the workers file, majority), log-loss and
expected calibration error, and on the pairs that people saw: right, beside those people and majority. The simulated
judges share errors through a normal variable per pair (probit), which is not the model that reads them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.stats import norm
from script import hush, parser_of

from amcc import AMCC, Roster, Truth, Votes, read_roster, read_truth, read_votes
from amcc.arrays import Floats

# Sets with votes of language models and people, and a workers file.
REAL = ("llm_framing", "llm_cebab_aspects", "llm_civilcomments")
Rates = tuple[float, float]


@dataclass(frozen=True)
class Judged:
    """Votes of judges and people, who they are, and what is true: (n_pairs,) present, and where it is known."""

    votes: Votes
    roster: Roster
    present: npt.NDArray[np.bool_]
    known: npt.NDArray[np.bool_]


def judged_crowd(
    seed: int,
    judges: Sequence[Rates],
    families: Sequence[str],
    people: Sequence[Rates],
    *,
    among_all: float = 0.5,
    in_family: float = 0.1,
    share: float = 1.0,
    n_items: int = 300,
    n_labels: int = 8,
    often: float = 0.35,
) -> Judged:
    """Simulated judges on all pairs and people on a share of the items; rates are hit and false-alarm rate.

    among_all, in_family : share of the variance of a judge's error that all judges, and those of the family, have in
    common. often : mean frequency of labels.
    """
    rng = np.random.default_rng(seed)
    item, label = np.divmod(np.arange(n_items * n_labels), n_labels)
    present = rng.random(len(item)) < rng.beta(4 * often, 4 * (1 - often), n_labels)[label]
    common = rng.standard_normal(len(item))
    of_family = {name: rng.standard_normal(len(item)) for name in dict.fromkeys(families)}
    own = np.sqrt(1 - among_all - in_family)
    columns: list[tuple[npt.NDArray[np.int64], int, npt.NDArray[np.bool_]]] = []

    def says_yes(rates: Rates, error: Floats) -> npt.NDArray[np.bool_]:
        return np.asarray(error > norm.isf(np.where(present, *rates)))

    for rates, family in zip(judges, families, strict=True):
        error = np.sqrt(among_all) * common + np.sqrt(in_family) * of_family[family]
        yes = says_yes(rates, error + own * rng.standard_normal(len(item)))
        columns.append((np.arange(len(item)), len(columns), yes))
    for rates in people:
        seen = np.flatnonzero((rng.random(n_items) < share)[item])
        columns.append((seen, len(columns), says_yes(rates, rng.standard_normal(len(item)))[seen]))
    pair = np.concatenate([rows for rows, _, _ in columns])
    worker = np.concatenate([np.full(len(rows), code) for rows, code, _ in columns])
    value = np.where(np.concatenate([yes for _, _, yes in columns]), 1, -1)
    names = [f"judge {n}" for n in range(len(judges))] + [f"person {n}" for n in range(len(people))]
    votes = Votes.from_codes(
        item[pair], worker, label[pair], value,
        item_names=range(n_items), worker_names=names, label_names=range(n_labels),
    )  # fmt: skip
    kinds = ["model"] * len(judges) + ["human"] * len(people)
    table = pa.table({"worker": names, "kind": kinds, "family": [*families, *[None] * len(people)]})
    true = present[votes.pairs.item.astype(np.int64) * n_labels + votes.pairs.label]
    return Judged(votes, Roster.from_frame(table), true, np.ones(len(true), dtype=bool))


SIMULATED: dict[str, dict[str, object]] = {
    "weak judges, a good person": {
        "judges": ((0.6, 0.3), (0.65, 0.3), (0.7, 0.35), (0.65, 0.4), (0.55, 0.3), (0.6, 0.35)),
        "families": "aabbcd", "people": ((0.87, 0.07),), "share": 0.25, "n_items": 116, "n_labels": 22,
    },
    "good judges, a weak person": {
        "judges": ((0.9, 0.09),) * 6, "families": "aabbcd", "people": ((0.75, 0.15),), "share": 0.25,
        "n_items": 900, "n_labels": 4,
    },
    "four judges of a family, three people": {
        "judges": ((0.8, 0.2),) * 4, "families": "aaaa", "people": ((0.8, 0.1),) * 3,
        "among_all": 0.6, "in_family": 0.3,
    },
    "eight judges, three people": {
        "judges": ((0.8, 0.2),) * 8, "families": "aabbccdd", "people": ((0.8, 0.1),) * 3,
        "among_all": 0.6, "share": 0.7,
    },
    "six judges, better than five people": {
        "judges": ((0.9, 0.05),) * 6, "families": "aabbcd", "people": ((0.7, 0.15),) * 5, "share": 0.6,
    },
    "six judges who share nothing": {
        "judges": ((0.8, 0.1),) * 6, "families": "aabbcd", "people": ((0.8, 0.1),) * 3, "among_all": 0.0,
        "in_family": 0.0, "share": 0.6,
    },
}  # fmt: skip


def real_set(folder: Path) -> Judged:
    """A set with a workers file, and what is known of its truth."""
    votes = read_votes(folder / "annotations.csv.gz")
    pairs = folder / "truth_known.csv"
    covers = {"known_pairs": pairs} if pairs.exists() else {"known_items": folder / "truth_items.csv"}
    truth: Truth = read_truth(folder / "truth.csv", **covers)
    return Judged(votes, read_roster(folder / "workers.csv"), *truth.on_pairs(votes))


def scores(judged: Judged, proba: Floats) -> dict[str, float]:
    """Right, log-loss and calibration over the known pairs; right on those that people saw."""
    known, present, votes = judged.known, judged.present, judged.votes
    # A single pair that is surely wrong must not decide the mean of the log-loss.
    right, sure = (proba > 0.5) == present, np.clip(proba, 1e-3, 1 - 1e-3)
    loss = -np.log(np.where(present, sure, 1 - sure))
    decile = np.minimum((proba[known] * 10).astype(int), 9)
    gap = np.bincount(decile, proba[known] - present[known], 10)
    found = {"right": right[known].mean(), "log-loss": loss[known].mean(), "ece": np.abs(gap).sum() / known.sum()}
    human = judged.roster.seats(votes.worker_names).kind == 0
    pair = np.repeat(np.arange(len(votes.pairs)), votes.pairs.n_votes)
    by_people = human[votes.worker]
    n_people = np.bincount(pair[by_people], minlength=len(votes.pairs))
    seen = known & (n_people > 0)
    if seen.any():
        said = np.bincount(pair[by_people], votes.value[by_people], len(votes.pairs))
        found |= {"right, seen": right[seen].mean(), "people": ((said > 0) == present)[seen].mean()}
    majority = 2 * votes.n_yes > votes.pairs.n_votes
    found["majority"] = (majority == present)[known].mean()
    if seen.any():
        found["majority, seen"] = (majority == present)[seen].mean()
    return {name: float(value) for name, value in found.items()}


def sets(data: Path | None, seeds: int) -> Iterator[tuple[str, list[Judged]]]:
    """All sets, the simulated ones once for each seed."""
    for name in REAL if data is not None else ():
        assert data is not None  # for the type checker
        yield name, [real_set(data / name)]
    for name, made in SIMULATED.items():
        yield name, [judged_crowd(seed, **made) for seed in range(seeds)]  # type: ignore[arg-type]


def main() -> None:
    """Print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    hush()
    for name, drawn in sets(given.data, given.seeds):
        print(f"\n{name}")
        for how in ("without", "with"):
            found = [
                scores(each, AMCC().fit(each.votes, roster=each.roster if how == "with" else None).pair_proba_)
                for each in drawn
            ]
            means = {score: np.mean([each[score] for each in found]) for score in found[0]}
            print(f"  {how:8}" + "  ".join(f"{score} {value:.3f}" for score, value in means.items()), flush=True)


if __name__ == "__main__":
    main()
