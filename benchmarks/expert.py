"""What answers of the requester are worth, drawn at random against chosen by the design of `amcc next --for-expert`.

    python benchmarks/expert.py --data DATA --known 10 30 --seeds 4 --correction

A replay on sets whose truth is known. Half of the items can be asked, the other half is scored, so that choosing hard
items does not make what is left look easier. With --correction, truth only corrects the probabilities of a fit without
it, which takes minutes instead of hours. The crowd is read with the truth of so many items (or, with --pairs, of so
many pairs), chosen or drawn, and log-loss and Jaccard of the scored half are compared. `log_loss of all` also counts
the half that was asked, in which answered pairs are right by themselves: that is what a requester ends up with. Means
are over families of sets, as in `amcc board`; the last rows are paired differences with their standard error
over families.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from script import hush, parser_of

from amcc import metrics
from amcc.active.expert import questions_for_expert
from amcc.consensus import ConsensusModel, make_model
from amcc.consensus.calibration import fit_calibration
from amcc.experiments.cells import Draw, cells_of, truth_inside
from amcc.experiments.families import mean_and_error
from amcc.truth import Truth

# Of the half that cannot be asked, but for the third, which is what a requester ends up with.
SCORES = ("log_loss", "jaccard", "log_loss of all", "wrong among settled", "settled")


@dataclass(frozen=True)
class Replay:
    """A draw whose items were halved: (n_pairs,) which pairs can be asked, and the draw with the others' truth only."""

    draw: Draw
    can_be_asked: np.ndarray
    scored: Draw

    @classmethod
    def halved(cls, draw: Draw, seed: int) -> Replay:
        """Halves drawn at random among the items whose truth is known."""
        there = np.flatnonzero(draw.known.any(axis=1))
        first = np.random.default_rng(seed).permutation(there)[: len(there) // 2]
        askable = np.isin(np.arange(len(draw.known)), first)
        pairs = draw.votes.pairs
        can_be_asked = askable[pairs.item] & draw.known[pairs.item, pairs.label]
        return cls(draw, can_be_asked, replace(draw, known=draw.known & ~askable[:, None]))

    def truth(self, pairs: np.ndarray) -> Truth:
        """What is true of some asked pairs."""
        asked, inside = self.draw.votes.pairs, np.zeros_like(self.draw.known)
        inside[asked.item[pairs], asked.label[pairs]] = True
        return truth_inside(self.draw, inside)

    def drawn(self, n: int, *, whole_items: bool, seed: int) -> np.ndarray:
        """Places of pairs drawn at random, of `n` items or `n` themselves."""
        rng, pool = np.random.default_rng([seed, n]), np.flatnonzero(self.can_be_asked)
        if not whole_items:
            return rng.choice(pool, min(n, len(pool)), replace=False)
        item = self.draw.votes.pairs.item
        items = np.unique(item[pool])
        return pool[np.isin(item[pool], rng.choice(items, min(n, len(items)), replace=False))]

    def chosen(self, model: ConsensusModel, n: int, *, whole_items: bool, at_random: float, seed: int) -> np.ndarray:
        """Places of the pairs that the design asks about, with a share that it leaves to chance."""
        votes, among = self.draw.votes, self.can_be_asked
        found = questions_for_expert(model, votes, n, whole_items=whole_items, among=among, drawn=at_random, seed=seed)
        wanted = np.zeros((votes.n_items, votes.n_labels), dtype=bool)
        wanted[found.item, found.label] = True
        return np.flatnonzero(wanted[votes.pairs.item, votes.pairs.label])

    def scores(self, model: ConsensusModel) -> dict[str, float]:
        """Of a fitted model on the half that could not be asked, asked pairs only."""
        pairs, known = self.draw.votes.pairs, self.scored.known
        proba, asked = np.zeros(known.shape), np.zeros(known.shape, dtype=bool)
        proba[pairs.item, pairs.label], asked[pairs.item, pairs.label] = model.pair_proba_, True
        settled = np.zeros(known.shape, dtype=bool)
        settled[pairs.item, pairs.label] = model.pair_settled_
        truth, sure = self.draw.truth, known & asked & settled
        wrong = (proba > 0.5) != truth
        return {
            "log_loss": metrics.log_loss(truth, proba, known & asked),
            "jaccard": metrics.jaccard(truth, proba > 0.5, known),
            "log_loss of all": metrics.log_loss(truth, proba, self.draw.known & asked),
            "wrong among settled": float(wrong[sure].mean()) if sure.any() else 0.0,
            "settled": float(sure.sum() / max((known & asked).sum(), 1)),
        }


def corrected(model: ConsensusModel, replay: Replay, places: np.ndarray) -> ConsensusModel:
    """The model with probabilities that the truth of some pairs corrects, and nothing else learned from it."""
    pairs, told = replay.draw.votes.pairs, copy.copy(model)
    truth = replay.draw.truth[pairs.item, pairs.label]
    proba, label = model.pair_proba_, pairs.label
    correction = fit_calibration(proba[places], label[places], truth[places], replay.draw.votes.n_labels)
    told.pair_proba_ = correction.of(proba, label)
    return told


def replayed(
    replay: Replay, plain: ConsensusModel, n_known: list[int], *, whole_items: bool, correction: bool, seed: int
) -> dict[str, dict[str, float]]:
    """Scores without truth, and with so much of it, drawn and chosen."""
    found = {"no truth": replay.scores(plain)}
    for n in n_known:
        ways = {f"{n} drawn": replay.drawn(n, whole_items=whole_items, seed=seed)}
        for name, at_random in (("by design", 0.0), ("half and half", 0.5)):
            ways[f"{n} {name}"] = replay.chosen(plain, n, whole_items=whole_items, at_random=at_random, seed=seed)
        for way, places in ways.items():
            told = (
                corrected(plain, replay, places)
                if correction
                else make_model("amcc").fit(replay.draw.votes, truth=replay.truth(places))
            )
            found[way] = replay.scores(told)
    return found


def mean_of(rows: list[dict[str, float]]) -> dict[str, float]:
    """Mean of each score."""
    return {name: float(np.mean([row[name] for row in rows])) for name in SCORES}


def show(title: str, by_way: dict[str, dict[str, float]]) -> None:
    """One line per way."""
    for way, row in by_way.items():
        print(f"{title:24s} {way:18s} " + "  ".join(f"{row[name]:.4f}" for name in SCORES), flush=True)


def differences(families: list[dict[str, dict[str, float]]], ways: list[tuple[str, str]]) -> None:
    """Mean over families of what one way has more than another, with its standard error."""
    for one, other in ways:
        for name in SCORES[:3]:
            gap = mean_and_error([family[one][name] - family[other][name] for family in families])
            print(f"{one} − {other}, {name}: {gap.mean:+.4f} ± {gap.error:.4f}", flush=True)


def main() -> None:
    """Replay everything, print families and means."""
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--known", type=int, nargs="+", default=[10, 30], help="items (or pairs) whose truth is told")
    parser.add_argument("--pairs", action="store_true", help="single pairs instead of whole items")
    parser.add_argument("--seeds", type=int, default=2, help="halves of the items")
    parser.add_argument("--correction", action="store_true", help="no fits with truth: it corrects probabilities only")
    parser.add_argument("--families", help="only these, separated by commas")
    chosen = parser.parse_args()
    hush()
    wanted = chosen.families.split(",") if chosen.families else None
    print(f"{'family':24s} {'way':18s} " + "  ".join(SCORES))
    found: dict[str, dict[str, dict[str, list[dict[str, float]]]]] = {}
    for cell in cells_of(chosen.data, n_seeds=1, sizes=()):
        family, name, draw = cell.family, cell.name, cell.draw(0)
        if wanted and family not in wanted:
            continue
        plain, how = (
            make_model("amcc").fit(draw.votes),
            {"whole_items": not chosen.pairs, "correction": chosen.correction},
        )
        for seed in range(chosen.seeds):
            scores = replayed(Replay.halved(draw, seed), plain, chosen.known, seed=seed, **how)
            for way, row in scores.items():
                found.setdefault(family, {}).setdefault(name, {}).setdefault(way, []).append(row)
        show(name, {way: mean_of(rows) for way, rows in found[family][name].items()})
    families = []
    for by_set in found.values():
        of_sets = [{way: mean_of(rows) for way, rows in by_way.items()} for by_way in by_set.values()]
        families.append({way: mean_of([each[way] for each in of_sets]) for way in of_sets[0]})
    if not families:
        parser.error(f"--data must hold sets with truth; {chosen.data} holds none.")
    show(f"mean of {len(families)} families", {way: mean_of([f[way] for f in families]) for way in families[0]})
    ways = [(f"{n} {name}", f"{n} drawn") for n in chosen.known for name in ("by design", "half and half")]
    if len(chosen.known) > 1:
        ways.append((f"{chosen.known[0]} by design", f"{chosen.known[-1]} drawn"))
    differences(families, ways)


if __name__ == "__main__":
    main()
