"""What every part of the default is worth: each left out in turn, family by family of sets.

    python benchmarks/ablation.py --data DATA --seeds 3
    python benchmarks/ablation.py --data DATA --seeds 2 --gates

A family is one source and counts once. Gains are against the default as it is, paired over families with their
standard error; a negative gain in log-loss means that the default would be better without the part. The last line
chooses among all variants by the other families and scores the choice on the one left out. Simulated crowds follow,
and without --data they are all there is. With --gates, what is varied are the settings by which `readings` are mixed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from script import hush, parser_of

from amcc import AMCC, metrics
from amcc.consensus import make_model
from amcc.consensus.default import readings
from amcc.consensus.default.degrees import fit_degrees
from amcc.consensus.default.dependence import Comparison, compare
from amcc.consensus.default.readings import Blend, Evidence, blend_from
from amcc.consensus.default.settings import Settings
from amcc.engine.base import InMemory
from amcc.experiments.cells import Cell, Draw, cells_of
from amcc.experiments.leave_out import Scored, leave_one_family_out, setting_means

# The reference of all gains.
AS_IT_IS = "as it is"


class Asked(AMCC):
    """The default, which keeps what the votes answered; `found_` is None where it asked a sample, or nothing."""

    def _chosen_blend(self, engine, chance, fit, sets):
        self.found_ = (
            compare(engine.block.source, fit, sets, self.settings_) if engine.n_votes <= readings.SAMPLE else None
        )
        return super()._chosen_blend(engine, chance, fit, sets)


class Parts(NamedTuple):
    """What a fit found about the pairs of a crowd: two coins, the blend, the reading by degrees, and the answers."""

    evidence: Evidence
    blend: Blend
    two_kinds: np.ndarray
    by_degrees: np.ndarray
    found: Comparison | None

    def gated(self, **changes: float) -> np.ndarray:
        """Probabilities with other settings; as they are where the votes were asked by a sample."""
        if self.found is None:
            return self.pooled()
        settings = replace(self.evidence.settings, **changes)
        blend = blend_from(self.found, settings)
        return replace(self.evidence, settings=settings).pooled(blend, self.two_kinds, self.by_degrees)

    def pooled(self, *, two_kinds: np.ndarray | None = None, **blend: float) -> np.ndarray:
        """Probabilities with other weights."""
        kinds = self.two_kinds if two_kinds is None else two_kinds
        return self.evidence.pooled(replace(self.blend, **blend), kinds, self.by_degrees)


VARIANTS: dict[str, Callable[[Parts], np.ndarray]] = {
    AS_IT_IS: lambda parts: parts.pooled(),
    "without degrees": lambda parts: parts.pooled(degrees=0.0),
    "degrees as if votes could not tell": lambda parts: parts.pooled(degrees=Settings().least_degrees),
    "degrees alone": lambda parts: parts.pooled(degrees=1.0, crisp=0.0),
    "without counts": lambda parts: parts.pooled(counts=0.0),
    "counts always": lambda parts: parts.pooled(counts=1.0),
    "coins not softened": lambda parts: parts.pooled(two_kinds=np.array([0.0, 1.0])),
    "without correlation": lambda parts: parts.pooled(correlation=0.0),
    "correlation not gated": lambda parts: parts.pooled(correlation=1.0),
    "coins never at their word": lambda parts: parts.pooled(crisp=0.0),
    "coins always at their word": lambda parts: parts.pooled(crisp=1.0),
}


def gate_variants() -> dict[str, Callable[[Parts], np.ndarray]]:
    """Each gate and each share moved alone, to both sides."""
    tried = {
        "independent_z": [6, 7, 10, 12, 16],
        "shown_z": [2, 4, 6],
        "counts_z": [-3, -2, -1, 0],
        "least_degrees": [0.2, 0.4, 0.5],
        "most_degrees": [0.6, 0.7, 0.9, 1.0],
        "most_correlation": [0.0, 0.25, 0.75, 1.0],
    }
    variants = {AS_IT_IS: lambda parts: parts.gated()}
    for name, values in tried.items():
        for value in values:
            variants[f"{name} {value:g}"] = lambda parts, change={name: value}: parts.gated(**change)
    return variants


def parts_of(draw: Draw) -> Parts:
    """Fit the default, and take apart what it found."""
    model, engine = Asked().fit(draw.votes), InMemory(draw.votes)
    degrees = model.degrees_ or fit_degrees(engine, model.crowd_.looks, model.settings_)
    evidence, blend = model._evidence(draw.votes, model.label_prior_), Blend(**model.blend_)
    return Parts(evidence, blend, model.kind_presence_, degrees.presence(engine.block), model.found_)


def scores(draw: Draw, proba: np.ndarray) -> tuple[float, float]:
    """Log-loss over the asked pairs whose truth is known, and Jaccard."""
    pair, score, asked = (draw.votes.pairs.item, draw.votes.pairs.label), np.zeros(draw.truth.shape), draw.known & False
    score[pair], asked[pair] = proba, True
    log_loss = metrics.log_loss(draw.truth, score, draw.known & asked)
    return log_loss, metrics.jaccard(draw.truth, score > 0.5, draw.known)


def measured(cells: Iterable[Cell], seeds: int, variants: dict[str, Callable[[Parts], np.ndarray]]) -> Iterator[Scored]:
    """Every variant, and majority, on every cell: means over draws."""
    for cell in cells:
        found: dict[str, list[tuple[float, float]]] = {}
        for seed in range(min(seeds, cell.n_seeds)):
            draw = cell.draw(seed)
            parts = parts_of(draw)
            for name, variant in variants.items():
                found.setdefault(name, []).append(scores(draw, variant(parts)))
            majority = make_model("majority").fit(draw.votes).pair_proba_
            found.setdefault("majority", []).append(scores(draw, majority))
        print(".", end="", flush=True)
        for name, values in found.items():
            yield Scored(name, cell.family, cell.name, *map(float, np.mean(values, axis=0)))


def show(title: str, rows: list[Scored]) -> None:
    """One line per variant: means over families, gains over the default, worst cell against majority."""
    majority = {row.cell: row.jaccard for row in rows if row.setting == "majority"}
    print(f"\n{title}: {len({row.family for row in rows})} families\n")
    print("| variant | log-loss | more than as it is | Jaccard | more than as it is | worst cell against majority |")
    print("|---|---|---|---|---|---|")
    for found in setting_means(rows, AS_IT_IS):
        worst = min(row.jaccard - majority[row.cell] for row in rows if row.setting == found.setting)
        more = [f"{gain.mean:+.4f} ± {gain.error:.4f}" for gain in (found.log_loss_gain, found.jaccard_gain)]
        means = f"{found.log_loss.mean:.4f} | {more[0]} | {found.jaccard.mean:.4f} | {more[1]}"
        print(f"| {found.setting} | {means} | {worst:+.3f} |")
    chosen = leave_one_family_out([row for row in rows if row.setting != "majority"], AS_IT_IS)
    gains = [f"{gain.mean:+.4f} ± {gain.error:.4f}" for gain in (chosen.log_loss_gain, chosen.jaccard_gain)]
    print(f"\nChosen by the other families: log-loss {gains[0]}, Jaccard {gains[1]} more than as it is.")


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--seeds", type=int, default=3, help="draws where sets are thinned")
    parser.add_argument("--largest", type=int, default=100_000, help="votes of the largest simulated crowd")
    parser.add_argument("--gates", action="store_true", help="gates and shares instead of parts")
    chosen = parser.parse_args()
    hush()
    sizes = [size for size in (10_000, 100_000) if size <= chosen.largest]
    cells = cells_of(chosen.data, n_seeds=chosen.seeds, sizes=sizes)
    rows = list(measured(cells, chosen.seeds, gate_variants() if chosen.gates else VARIANTS))
    kinds = {cell.name: cell.kind == "simulated" for cell in cells}
    for title, simulated in (("real sets", False), ("simulated crowds", True)):
        part = [row for row in rows if kinds[row.cell] is simulated]
        if part:
            show(title, part)


if __name__ == "__main__":
    main()
