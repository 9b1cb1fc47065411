"""What the runs of `amcc replay` say together: in a table, as JSON, as rows, or in a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rich.table import Table

from amcc.active import Curve, plot_replay
from amcc.active.curves import (
    ENOUGH_RUNS,
    GOALS,
    SAME_QUALITY,
    SPENT_ALREADY,
    VISIBLE,
    Comparison,
    CostOfGoal,
    Gap,
    Replay,
    compared,
    cost_of_quality,
    largest_lead,
)
from amcc.active.pool import PoolLimits
from amcc.arrays import Floats
from amcc.cli.console import notes, screen
from amcc.files import whole_file
from amcc.inference import EQUAL
from amcc.roster import Seats

# -- telling ---------------------------------------------------------------------------------------------------------


def note_few_seeds(seeds: int) -> None:
    """Say so where chance has too large a say."""
    if seeds < ENOUGH_RUNS:
        notes.print(
            f"{seeds} {'seed is' if seeds == 1 else 'seeds are'} too few to tell what a goal costs: use --seeds "
            f"{ENOUGH_RUNS} or more, 10 to compare strategies"
        )


def replay_json(each: Replay) -> dict[str, Any]:
    """All that scripts may want about this strategy alone."""
    curve = np.column_stack([each.mean.cost_share, each.mean.jaccard]).tolist()
    ends = [
        {"reason": run.end, "cost_share": run.cost_share[-1], "votes": int(run.n_votes[-1]),
         "jaccard": run.jaccard[-1]}
        for run in each.curves
    ]  # fmt: skip
    areas = each.areas
    return {
        "all_votes_jaccard": float(np.mean(each.all_votes)),
        "sustained_cost": {f"{goal:.2f}": _cost_json(cost) for goal, cost in each.sustained_cost.items()},
        "area": {"mean": float(areas.mean()), "sd": _sd(areas), "seeds": areas.tolist()},
        "curve": curve,
        "ends": ends,
    }


def _cost_json(cost: CostOfGoal) -> dict[str, Any]:
    return {"median": cost.median, "min": cost.least, "max": cost.most, "seeds": list(cost.of_runs)}


def _sd(values: Floats) -> float | None:
    """Standard deviation over runs; none of a single one."""
    return float(values.std(ddof=1)) if len(values) > 1 else None


@dataclass(frozen=True)
class BestMethod:
    """The method that makes most of all votes: its name, its Jaccard index in each lot, and every method's mean."""

    name: str
    jaccard: Sequence[float]
    of_methods: Mapping[str, float]

    @property
    def mean(self) -> float:
        """Its Jaccard index, on the mean over the lots."""
        return self.of_methods[self.name]

    def cost(self, each: Replay) -> CostOfGoal:
        """What a strategy pays until it stays as good as this method with all votes."""
        of_runs = [self.jaccard[seed % len(self.jaccard)] - SAME_QUALITY for seed in range(len(each.curves))]
        return cost_of_quality(each.curves, of_runs)


@dataclass(frozen=True)
class Outcome:
    """What all strategies achieved, and what that is compared with.

    reference : the strategy that the others are compared with.
    wishes : by strategy, the share of the questions it would ask first that the pool refuses; None where not known.
    """

    found: Mapping[str, Replay]
    reference: str
    best: BestMethod
    pool: PoolLimits
    wishes: Mapping[str, float | None]

    def beside_reference(self, name: str) -> Comparison | None:
        """The strategy beside the reference, which is not compared with itself."""
        each, other = self.found[name], self.found[self.reference]
        return None if name == self.reference else compared(each.curves, other.curves, each.all_votes)

    def lead_of_uniform(self, name: str) -> float | None:
        """How far asking at random is ahead at most, of the mean curves; None where it was not run."""
        chance = self.found.get("uniform")
        return None if chance is None or name == "uniform" else largest_lead(chance.mean, self.found[name].mean)

    def as_json(self, seats: Seats | None) -> dict[str, Any]:
        """All that scripts may want, by strategy. seats : who the workers are, if that is known."""
        return {
            name: replay_json(each)
            | {
                "against": _comparison_json(self.reference, self.beside_reference(name)),
                "lead_of_uniform": self.lead_of_uniform(name),
                "best_of_methods": {
                    "method": self.best.name,
                    "jaccard": self.best.mean,
                    "sustained_cost": _cost_json(self.best.cost(each)),
                    "all": dict(self.best.of_methods),
                },
                "pool": asdict(self.pool) | {"refused_at_first": self.wishes[name]},
                "paid_to": None if seats is None else paid_to(each, seats),
            }
            for name, each in self.found.items()
        }


def _comparison_json(reference: str, comparison: Comparison | None) -> dict[str, Any] | None:
    if comparison is None:
        return None

    def gap(each: Gap, *, more_is_better: bool) -> dict[str, Any]:
        low, high = (bound if np.isfinite(bound) else None for bound in each.interval)
        told = each.verdict(more_is_better=more_is_better)
        return {"mean": each.mean, "low": low, "high": high, "seeds": each.of_runs.tolist(), "verdict": told}

    return {
        "strategy": reference,
        "area": gap(comparison.area, more_is_better=True),
        "sustained_cost": gap(comparison.cost, more_is_better=False),
        "missed": list(comparison.missed),
        "from": comparison.first,
        "to": comparison.last,
    }


def paid_to(each: Replay, seats: Seats) -> dict[str, Any]:
    """Who got the money until the quality of all votes was there to stay, or to the end: shares by kind and family.

    Means over the runs, and where in the money that was. After all votes everybody has sold all: that tells nothing.
    """
    kinds, families = np.array(seats.kinds().to_pylist()), np.array(seats.families().to_pylist(), dtype=object)
    shares, until = [], []
    for curve, stays in zip(each.curves, each.sustained_cost[1.0].of_runs, strict=True):
        if curve.by_worker is None:
            continue
        place = -1 if stays is None else int(np.searchsorted(curve.cost_share, stays))
        shares.append(curve.by_worker[place] / max(curve.by_worker[place].sum(), EQUAL))
        until.append(float(curve.cost_share[place]))
    share = np.mean(shares, axis=0)
    return {
        "until": float(np.mean(until)),
        "kind": {kind: float(share[kinds == kind].sum()) for kind in dict.fromkeys(kinds.tolist())},
        "family": {str(name): float(share[families == name].sum()) for name in seats.family_names.to_pylist()},
    }


def verdict(found: Replay) -> str:
    """What the quality of all votes costs, in words."""
    cost = found.sustained_cost[1.0]
    if cost.median is None:  # more than half of the runs end below the goal
        often = sum(share is not None for share in cost.of_runs)
        but = f", but for {often} of {len(cost.of_runs)} runs" if often else ""
        return f"the quality of all votes is not reached for good{but}"
    return f"same quality as all votes from {found.in_percent(1.0)} of the money on"


def show(outcome: Outcome, n_votes: int, total: str, seats: Seats | None, *, ends: bool) -> None:
    """What each strategy needed, for people.

    total : what all votes cost. seats : who the workers are, if known. ends : also where runs ended, and why.
    """
    found = outcome.found
    quality = float(np.mean(next(iter(found.values())).all_votes))
    screen.print(f"all {n_votes:,} votes cost {total} and reach Jaccard {quality:.4f}", soft_wrap=True)
    screen.print(result_table(found))
    screen.print(area_table(outcome))
    lines = [f"{name}: {verdict(each)}" for name, each in found.items()]
    lines += comparison_lines(outcome) + best_lines(outcome)
    lines += [] if seats is None else [paid_line(name, paid_to(each, seats)) for name, each in found.items()]
    for line in [*lines, pool_line(outcome)]:
        screen.print(line, soft_wrap=True, highlight=False)
    if ends:
        show_ends(found)


def comparison_lines(outcome: Outcome) -> list[str]:
    """Each strategy beside the reference, and how far chance is ahead, in words."""
    lines = []
    for name in outcome.found:
        if comparison := outcome.beside_reference(name):
            lines.append(f"{name} beside {outcome.reference}: {_beside(comparison)}")
    leads = {name: outcome.lead_of_uniform(name) for name in outcome.found}
    told = [f"{lead:.3f} of {name}" for name, lead in leads.items() if lead is not None]
    from_here = f"after the first {100 * SPENT_ALREADY:.0f} % of the money"
    return lines + [f"uniform is ahead by at most {', '.join(told)}, {from_here}"] * bool(told)


def _beside(comparison: Comparison) -> str:
    """What differs, with its interval where there is one."""
    area, cost = comparison.area, comparison.cost
    seen = f" between {100 * comparison.first:.0f} and {100 * comparison.last:.0f} % of the money"
    where = seen if comparison.last < 1 - VISIBLE else ""
    missed = " and ".join(f"{n} of its {len(cost.of_runs)}" if n else "none" for n in comparison.missed)
    counted = f" (runs that never get there, {missed}, count with all the money)" if any(comparison.missed) else ""
    return (
        f"area {_gap(area, 1, '.3f')}{where}: {area.verdict(more_is_better=True)}; the quality of all votes costs "
        f"{_gap(cost, 100, '.0f')} points{counted}: {cost.verdict(more_is_better=False)}"
    )


def _gap(gap: Gap, scale: float, digits: str) -> str:
    """The mean with its sign, and its interval.

    >>> _gap(Gap(np.array([0.01, 0.02, 0.03])), 1, ".3f"), _gap(Gap(np.array([-0.5])), 100, ".0f")
    ('+0.020 (−0.005 to +0.045)', '−50')
    """
    low, high = gap.interval
    mean, low_text, high_text = (
        f"{scale * each:+{digits}}".replace("-", "−") if np.isfinite(each) else "" for each in (gap.mean, low, high)
    )
    return f"{mean} ({low_text} to {high_text})" if low_text else mean


def best_lines(outcome: Outcome) -> list[str]:
    """How good the best method is with all votes, and what it costs to be as good."""
    best, found = outcome.best, outcome.found
    if len(best.of_methods) == 1:
        return []
    default = next(iter(best.of_methods))
    if best.name == default:
        return [f"none of {len(best.of_methods) - 1} other methods makes more of all votes than {default}"]
    costs = ", ".join(f"{name} {each.in_words(best.cost(each))}" for name, each in found.items())
    return [
        f"of {len(best.of_methods)} methods {best.name} makes most of all votes, Jaccard {best.mean:.4f}; "
        f"as good from here on: {costs}"
    ]


def paid_line(name: str, paid: Mapping[str, Any]) -> str:
    """Who got the money, in words."""
    kinds, families = (
        ", ".join(f"{whose} {100 * share:.0f} %" for whose, share in paid[by].items()) for by in ("kind", "family")
    )
    of_families = f" (families: {families})" if families else ""
    return f"{name}: of the first {100 * paid['until']:.0f} % of the money went to {kinds}{of_families}"


def pool_line(outcome: Outcome) -> str:
    """What the recording cannot show, in words."""
    refused = [f"{name} {100 * share:.0f} %" for name, share in outcome.wishes.items() if share is not None]
    wishes = f" Of what strategies would ask first, it has not: {', '.join(refused)}." if refused else ""
    return f"the pool: {outcome.pool.text()}{wishes}"


# What a run had done when it ended, by reason.
ENDED = {"all": "bought all votes", "money": "spent the budget", "patience": "stopped without progress"}


def show_ends(found: Mapping[str, Replay]) -> None:
    """Where the runs of each strategy ended, and why, for people."""
    for name, each in found.items():
        for reason, text in ENDED.items():
            ended = [curve for curve in each.curves if curve.end == reason]
            if not ended:
                continue
            share = _spread(np.array([100 * curve.cost_share[-1] for curve in ended]), ".0f")
            jaccard = _spread(np.array([curve.jaccard[-1] for curve in ended]), ".4f")
            runs = f"{len(ended)} of {len(each.curves)} runs {text}"
            screen.print(f"{name}: {runs}, at {share} % of the money, with Jaccard {jaccard}", soft_wrap=True)


def _spread(values: Floats, digits: str) -> str:
    """The middle one, and where there are several, the least and the most.

    >>> _spread(np.array([31.0, 29.6, 40.0]), ".0f"), _spread(np.array([0.5]), ".2f")
    ('31 (30–40)', '0.50')
    """
    middle, least, most = (format(of(values), digits) for of in (np.median, np.min, np.max))
    return middle if least == most else f"{middle} ({least}–{most})"


def result_table(found: Mapping[str, Replay]) -> Table:
    """One row per strategy: the cost of each goal."""
    table = Table("strategy", "first votes", *(f"{100 * goal:.0f} % of it" for goal in GOALS), box=None)
    for name, each in found.items():
        first = f"{100 * each.mean.cost_share[0]:.0f} %"
        table.add_row(name, first, *map(each.in_percent, GOALS))
    return table


def area_table(outcome: Outcome) -> Table:
    """One row per strategy: its area, and whether that is better than the reference's."""
    head = [f"beside {outcome.reference}", ""] if len(outcome.found) > 1 else []
    table = Table("strategy", "area: mean quality over the money", *head, box=None)
    for name, each in outcome.found.items():
        sd, comparison = _sd(each.areas), outcome.beside_reference(name)
        area = f"{each.areas.mean():.3f}" + ("" if sd is None else f" ±{sd:.3f}")
        gap = (
            []
            if comparison is None
            else [_gap(comparison.area, 1, ".3f"), comparison.area.verdict(more_is_better=True)]
        )
        table.add_row(name, area, *gap)
    return table


def curve_rows(curves: Mapping[tuple[str, int], Curve]) -> pa.Table:
    """One row per strategy, seed and point."""

    def rows(name: str, seed: int, curve: Curve) -> pa.Table:
        points = curve.to_arrow()
        return points.add_column(0, "strategy", [[name] * len(points)]).add_column(1, "seed", [[seed] * len(points)])

    return pa.concat_tables([rows(*run, curve) for run, curve in curves.items()])


def draw_curves(outcome: Outcome, path: Path) -> None:
    """Draw them in a file, which is whole or absent."""
    from amcc import plotting

    with plotting.style():
        figure, panels = plotting.canvas(1, 1, (6.4, 4.0))
        plot_replay(outcome.found, panels[0, 0])
        with whole_file(path) as temporary:
            figure.savefig(temporary, format=path.suffix[1:].lower())
