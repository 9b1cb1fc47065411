"""Whether the intervals of `amcc audit` hold what they promise: how often they cover what is true of the whole set.

    python benchmarks/audit_coverage.py --method majority --repeats 200
    python benchmarks/audit_coverage.py --method amcc --crowds judges --repeats 100 --json
    python benchmarks/audit_coverage.py --method amcc --data DATA --crowds llm_framing,llm_civilcomments

Each crowd is simulated and fitted once per seed; then random slices of its items are answered by the truth, again and
again, and every interval is held against the number that a slice of everything would give. Crowds: `independent`
workers; `judges`, half of whom repeat what one judge says, so that the consensus is surely wrong on the same pairs;
`faint`, where most workers overlook what is there on a part of the items; or, with --data, real sets by the names of
their folders, of which the pairs with known truth are everything. Labels below 5 % of the items are shown by
themselves, as rare. With --cross-fit the consensus learns from the slice, which takes five fits per slice. A cell is
the share of intervals that cover, in percent; it should be the level.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from script import hush, parser_of

from amcc.arrays import ROUNDING
from amcc.audit import Audit, audit, cross_fitted
from amcc.consensus import make_model
from amcc.data.simulate import CrowdSpec, SimulatedWorld, simulate_crowd
from amcc.experiments.cells import Cell, Draw, pair_list, truth_inside
from amcc.truth import PairList, Truth
from amcc.votes import Votes

# Items of a slice: from what somebody checks in an hour to what they check in a week.
SIZES = (20, 50, 100, 300)
LEVELS = (0.90, 0.95)
# Labels below this share of the items are shown by themselves: few or none of them are in a slice.
RARE = 0.05
COPIES = 0.5  # share of the workers who repeat the judge
JUDGE = (0.75, 0.06)  # hit rate and false-alarm rate of the judge that is copied
SLIP = 0.05  # share of votes in which a copy differs from it
FAINT = 0.15  # share of the items on which most workers see nothing
OVERLOOKED = 0.8  # share of yes votes that become no there


def independent(spec: CrowdSpec) -> SimulatedWorld:
    """Workers who err independently, given what is true."""
    return simulate_crowd(spec)


def judges(spec: CrowdSpec) -> SimulatedWorld:
    """The same, but half of the workers repeat what one judge says, errors included."""
    crowd, rng = simulate_crowd(spec), np.random.default_rng(spec.seed)
    votes = crowd.votes
    hit, false_alarm = JUDGE
    judge = rng.random(crowd.truth.shape) < np.where(crowd.truth, hit, false_alarm)
    copies = rng.random(votes.n_workers)[votes.worker] < COPIES
    said = judge[votes.item, votes.label] ^ (rng.random(len(votes)) < SLIP)
    return with_values(crowd, np.where(copies, np.where(said, 1, -1), votes.value))


def faint(spec: CrowdSpec) -> SimulatedWorld:
    """The same, but on some items most workers overlook what is there."""
    crowd, rng = simulate_crowd(spec), np.random.default_rng(spec.seed)
    votes = crowd.votes
    missed = (rng.random(votes.n_items) < FAINT)[votes.item] & (rng.random(len(votes)) < OVERLOOKED)
    return with_values(crowd, np.where(missed, -1, votes.value))


CROWDS: dict[str, Callable[[CrowdSpec], SimulatedWorld]] = {
    "independent": independent, "judges": judges, "faint": faint,
}  # fmt: skip


def with_values(crowd: SimulatedWorld, value: np.ndarray) -> SimulatedWorld:
    """The crowd with other votes on the same questions."""
    votes = crowd.votes
    changed = Votes.from_codes(
        votes.item, votes.worker, votes.label, value.astype(np.int8),
        item_names=votes.item_names, worker_names=votes.worker_names, label_names=votes.label_names,
    )  # fmt: skip
    return SimulatedWorld(**{**vars(crowd), "votes": changed})


def answers(draw: Draw, items: np.ndarray) -> Truth:
    """The truth of these items."""
    inside = np.zeros_like(draw.known)
    inside[items] = draw.known[items]
    return truth_inside(draw, inside)


def restricted(draw: Draw, table: pa.Table) -> pa.Table:
    """The rows of a consensus of which the truth is known."""
    listed = PairList(*(table[name].combine_chunks().cast(pa.string()) for name in ("item", "label")))
    return table.filter(pa.array(listed.among(pair_list(draw.votes, draw.known))))


def crowds(name: str, n_items: int, seeds: int, data: Path | None) -> Iterator[Draw]:
    """Crowds of this kind, one per seed, or the real set of this name."""
    if data is not None:
        yield Cell(name, "independent", 1, str(data / name), None).draw(0)
        return
    for seed in range(seeds):
        spec = CrowdSpec(n_items=n_items, n_workers=12, n_labels=12, labels_per_item=1.2, answers_per_item=4, seed=seed)
        crowd = CROWDS[name](spec)
        yield Draw(crowd.votes, crowd.truth, np.ones_like(crowd.truth))


def targets(whole: Audit) -> dict[tuple[str, ...], float]:
    """What is true of the whole set, by name, from a slice of everything."""
    found: dict[tuple[str, ...], float] = {}
    if whole.labels_per_item is not None:
        found["labels per item",] = whole.labels_per_item.estimate
    for row in whole.prevalence.to_pylist():
        kind = "prevalence, rare" if row["share"] < RARE else "prevalence"
        found |= {(kind, row["label"]): row["share"], ("slice alone", row["label"]): row["slice_share"]}
    for row in whole.errors.to_pylist():
        found[f"error, {row['pairs']}", ""] = row["measured"]
    for row in whole.calibration.to_pylist():
        found["calibration", str(row["low_edge"])] = row["measured"]
    for row in [*whole.decisions.to_pylist(), *whole.judges.to_pylist()]:
        who = row.get("worker", "")
        for name in ("agreement", "kappa", "hit_rate", "false_alarm_rate", "informativeness"):
            found[name + (" by label" if row["label"] else ""), who, row["label"] or ""] = row[name]
    return found


def intervals(found: Audit) -> Iterator[tuple[tuple[str, ...], float, float]]:
    """Every interval of an audit, by the names of `targets`; rare labels under both names."""
    if (per_item := found.labels_per_item) is not None:
        yield ("labels per item",), per_item.low, per_item.high
    for row in found.prevalence.to_pylist():
        for kind in ("prevalence", "prevalence, rare"):
            yield (kind, row["label"]), row["low"], row["high"]
        yield ("slice alone", row["label"]), row["slice_low"], row["slice_high"]
    for row in found.errors.to_pylist():
        yield (f"error, {row['pairs']}", ""), row["low"], row["high"]
    for row in found.calibration.to_pylist():
        yield ("calibration", str(row["low_edge"])), row["low"], row["high"]
    for row in [*found.decisions.to_pylist(), *found.judges.to_pylist()]:
        who = row.get("worker", "")
        for name in ("agreement", "kappa", "hit_rate", "false_alarm_rate", "informativeness"):
            key = name + (" by label" if row["label"] else ""), who, row["label"] or ""
            yield key, row[f"{name}_low"], row[f"{name}_high"]


def covered(found: Audit, true: dict[tuple[str, ...], float]) -> Iterator[tuple[str, bool, float]]:
    """Kind, whether it covers, and width of every interval of which the true number is known."""
    for key, low, high in intervals(found):
        target = true.get(key)
        if target is not None and low is not None:
            # A number at the end of an interval is inside.
            yield key[0], low - ROUNDING <= target <= high + ROUNDING, high - low


def measured(
    sets: list[Draw], method: str, repeats: int, cross_fit: bool
) -> Iterator[tuple[int, float, str, bool, float]]:
    """Size, level, kind, covered and width of every interval of every slice."""
    for seed, each in enumerate(sets):
        table = restricted(each, make_model(method).fit(each.votes).pairs(frame="arrow"))
        everything = np.flatnonzero(each.known.any(axis=1))
        true = targets(audit(table, each.votes, answers(each, everything)))
        rng = np.random.default_rng(seed)
        for size in (size for size in SIZES if size < len(everything)):
            for _ in range(-(-repeats // len(sets))):
                people = answers(each, rng.choice(everything, size, replace=False))
                learned = cross_fitted(lambda: make_model(method), each.votes, people) if cross_fit else table
                for level in LEVELS:
                    found = audit(restricted(each, learned) if cross_fit else table, each.votes, people, level=level)
                    for kind, hit, width in covered(found, true):
                        if not cross_fit or kind.startswith(("prevalence", "labels", "slice")):
                            yield size, level, kind, hit, width


def main() -> None:
    """Print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("--method", default="majority")
    parser.add_argument("--crowds", default=",".join(CROWDS))
    parser.add_argument("--data", type=Path, help="folder of real sets, which --crowds then names")
    parser.add_argument("--items", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=200, help="slices of each size, over all seeds")
    parser.add_argument("--seeds", type=int, default=10, help="crowds of each kind")
    parser.add_argument("--cross-fit", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    hush()
    for name in options.crowds.split(","):
        hits: dict[tuple[str, float, int], list[bool]] = defaultdict(list)
        widths: dict[tuple[str, float, int], list[float]] = defaultdict(list)
        sets = list(crowds(name, options.items, options.seeds, options.data))
        for size, level, kind, hit, width in measured(sets, options.method, options.repeats, options.cross_fit):
            hits[kind, level, size].append(hit)
            widths[kind, level, size].append(width)
        kinds = list(dict.fromkeys(kind for kind, _, _ in hits))
        if options.json:
            rows = [
                {"crowd": name, "kind": kind, "level": level, "slice": size, "coverage": float(np.mean(each)),
                 "width": float(np.mean(widths[kind, level, size])), "intervals": len(each)}
                for (kind, level, size), each in hits.items()
            ]  # fmt: skip
            print(json.dumps(rows))
            continue
        n_items = int(sets[0].known.any(axis=1).sum())
        print(f"\n{name}: {options.method}, {n_items} items, {len(sets)} crowds, {options.repeats} slices of each size")
        print(
            f"{'coverage in %':28}"
            + "".join(f"{f'{100 * level:g} %, {size}':>11}" for level in LEVELS for size in SIZES)
        )
        for kind in kinds:
            cells = (hits.get((kind, level, size)) for level in LEVELS for size in SIZES)
            print(f"{kind:28}" + "".join(f"{100 * np.mean(each):11.1f}" if each else f"{'–':>11}" for each in cells))
        sizes = [size for size in SIZES if ("prevalence", 0.95, size) in widths]
        width = {
            (kind, size): np.mean(widths[kind, 0.95, size]) for kind in ("prevalence", "slice alone") for size in sizes
        }
        shown = ", ".join(
            f"{size}: {width['prevalence', size]:.3f} / {width['slice alone', size]:.3f}" for size in sizes
        )
        print(f"mean width at 95 %, prevalence corrected / slice alone: {shown}")


if __name__ == "__main__":
    main()
