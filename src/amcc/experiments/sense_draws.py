"""Small crowds on which common sense is asked for: parts of real sets, panels of models with a person, simulated ones.

Most projects are small, and small crowds are where a model that learns too much goes wrong. Every function takes a
seed and gives a `Draw` without items, workers or labels that nobody voted on: what a user's file would hold.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa

from amcc import Roster, Votes, read_roster
from amcc.arrays import Ints, Mask
from amcc.data import DATASETS, CrowdSpec, simulate_crowd
from amcc.experiments.cells import Draw, folders_with_truth, whole_set

# Sets in which models answer everything and a person a part; the workers file says who is who.
PANELS = ("llm_framing", "llm_cebab_aspects", "asset_simplification")
ROSTER_FILE = "workers.csv"

SMALL_ITEMS = 60
# Workers of a small draw, from and to.
SMALL_WORKERS = (4, 8)
# They are drawn out of so many who answered most: enough to differ from draw to draw, few enough to share items.
BUSIEST = 12
# Items of a small draw are drawn out of so many times as many, those with most answers: with fewer, every draw is alike.
SPARE_ITEMS = 2
# A pair more or less must not be more than .025 of the accuracy.
LEAST_KNOWN = 40

# Simulated panels: shared errors as in the sets llm_* (see `cells.SHARED_TROUBLES`), or weaker.
MODELS = (3, 8)
FAMILY_CORRELATION = (0.5, 0.9)
# Of the errors that a family shares, so many are shared by all models.
COMMON_SHARE = (0.3, 0.8)
# Part of the items that the person answers.
PERSON_SHARES = (0.25, 0.5, 1.0)


def small_sets(data: Path) -> list[Path]:
    """Sets that small draws can be made of: busy workers share items, and truth was found without the votes."""
    found = folders_with_truth(data)
    return [folder for folder in found if _independent(folder.name) and small_draw(folder, 0) is not None]


def _independent(name: str) -> bool:
    """Whether the truth of a set is not that of the very votes."""
    known_set = DATASETS.get(name)
    return known_set is None or known_set.truth == "independent"


def small_draw(folder: Path, seed: int) -> Draw | None:
    """Random items, and a few workers out of those who answered most; None where they share too few known items."""
    whole, rng = whole_set(str(folder)), np.random.default_rng(seed)
    busiest = np.argsort(-whole.votes.answers_per_worker, kind="stable")[:BUSIEST]
    busiest = busiest[whole.votes.answers_per_worker[busiest] > 0]
    if len(busiest) < SMALL_WORKERS[0]:
        return None
    n_workers = rng.integers(SMALL_WORKERS[0], SMALL_WORKERS[1] + 1)
    votes = whole.votes.select(np.isin(whole.votes.worker, rng.permutation(busiest)[:n_workers]))
    # One answer makes no crowd.
    n_answers = np.where(whole.known.any(axis=1), votes.answers_per_item, 0)
    shared = np.argsort(-n_answers, kind="stable")[: SPARE_ITEMS * SMALL_ITEMS]
    shared = shared[n_answers[shared] > 1]
    if len(shared) < SMALL_ITEMS:
        return None
    draw = part_of(whole, np.isin(votes.item, rng.permutation(shared)[:SMALL_ITEMS]), votes)
    return draw if is_scored(draw) else None


def panel_draw(folder: Path, seed: int) -> Draw:
    """Random items of a panel with some of its models and one person, and the roster."""
    whole, rng = whole_set(str(folder)), np.random.default_rng(seed)
    roster = roster_of(folder)
    human = roster.seats(whole.votes.worker_names).kind == 0
    models, people = np.flatnonzero(~human), np.flatnonzero(human)
    n_models = rng.integers(SMALL_WORKERS[0] - 1, min(SMALL_WORKERS[1] - 1, len(models)) + 1)
    workers = [*rng.permutation(models)[:n_models], rng.choice(people)]
    votes = whole.votes.select(np.isin(whole.votes.worker, workers))
    items = rng.permutation(np.flatnonzero(whole.known.any(axis=1)))[:SMALL_ITEMS]
    return part_of(whole, np.isin(votes.item, items), votes, roster)


def whole_draw(folder: Path, n_items: int, seed: int) -> Draw:
    """Random items with all their votes, and the roster where the set has one."""
    whole = whole_set(str(folder))
    votes, rng = whole.votes, np.random.default_rng(seed)
    there = np.flatnonzero(whole.known.any(axis=1) & (votes.answers_per_item > 0))
    chosen = np.isin(votes.item, rng.permutation(there)[:n_items])
    return part_of(whole, chosen, votes, roster_of(folder) if (folder / ROSTER_FILE).exists() else None)


@cache
def roster_of(folder: Path) -> Roster:
    """Its workers file."""
    return read_roster(folder / ROSTER_FILE)


def simulated_panel(seed: int) -> Draw:
    """Three to eight models of some families and one person, who answers a part of the items."""
    rng = np.random.default_rng(seed)
    n_models, n_labels = int(rng.integers(MODELS[0], MODELS[1] + 1)), int(rng.integers(4, 9))
    within = rng.uniform(*FAMILY_CORRELATION)
    spec = CrowdSpec(
        n_items=SMALL_ITEMS, n_workers=n_models + 1, n_labels=n_labels, labels_per_item=0.3 * n_labels,
        answers_per_item=1, spammers=0.0, n_specialties=2, n_models=n_models,
        n_families=int(rng.integers(2, min(n_models, 4) + 1)), family_correlation=within,
        model_correlation=within * rng.uniform(*COMMON_SHARE), people_share=rng.choice(PERSON_SHARES), seed=seed,
    )  # fmt: skip
    world = simulate_crowd(spec)
    names = world.votes.worker_names.cast(pa.string())
    kind = ["human" if code < 0 else "model" for code in world.family]
    family = [None if code < 0 else f"family {code}" for code in world.family]
    roster = Roster.from_frame(pa.table({"worker": names, "kind": kind, "family": pa.array(family, pa.string())}))
    return Draw(world.votes, world.truth, np.ones_like(world.truth), roster=roster)


# A crowd with one label of four: frequencies of the true labels, items, workers and answers per item.
LABEL_FREQUENCY = np.array([0.55, 0.2, 0.15, 0.1])
CHOICE_ITEMS, CHOICE_WORKERS, CHOICE_ANSWERS = 400, 30, 5
# Share of wrong answers of a worker, from and to.
CHOICE_ERRORS = (0.1, 0.4)


def single_choice(seed: int) -> Draw:
    """Every answer names exactly one of four labels; two groups of workers get different items.

    Who errs says the most frequent labels most often: in proportion to the square of their frequency.
    """
    rng = np.random.default_rng(seed)
    n_labels = len(LABEL_FREQUENCY)
    true = rng.choice(n_labels, CHOICE_ITEMS, p=LABEL_FREQUENCY)
    error = rng.uniform(*CHOICE_ERRORS, CHOICE_WORKERS)
    half = CHOICE_WORKERS // 2
    answers = [
        (item, worker) for item in range(CHOICE_ITEMS)
        for worker in half * (item % 2) + rng.permutation(half)[:CHOICE_ANSWERS]
    ]  # fmt: skip
    item, worker = np.array(answers).T
    lean = np.tile(LABEL_FREQUENCY**2, (len(item), 1))
    lean[np.arange(len(item)), true[item]] = 0
    wrong = (rng.random((len(item), 1)) < np.cumsum(lean / lean.sum(axis=1, keepdims=True), axis=1)).argmax(axis=1)
    said = np.where(rng.random(len(item)) < error[worker], wrong, true[item])
    value = np.where(said[:, None] == np.arange(n_labels), 1, -1)
    votes = Votes.from_codes(
        np.repeat(item, n_labels), np.repeat(worker, n_labels), np.tile(np.arange(n_labels), len(item)), value.ravel(),
        item_names=[f"item{code:03d}" for code in range(CHOICE_ITEMS)],
        worker_names=[f"worker{code:02d}" for code in range(CHOICE_WORKERS)],
        label_names=[f"label{code}" for code in range(n_labels)],
    )  # fmt: skip
    truth = true[:, None] == np.arange(n_labels)
    return Draw(votes, truth, np.ones_like(truth))


# -- parts of draws --------------------------------------------------------------------------------------------------


def part_of(whole: Draw, keep: Mask, votes: Votes | None = None, roster: Roster | None = None) -> Draw:
    """The draw with only those votes, without items, workers and labels that then have none."""
    kept = (whole.votes if votes is None else votes).select(keep)
    codes: dict[str, Ints] = {role: np.unique(getattr(kept, role)) for role in ("item", "worker", "label")}
    few = Votes.from_codes(
        *(np.searchsorted(code, getattr(kept, role)) for role, code in codes.items()),
        kept.value,
        **{f"{role}_names": getattr(kept, f"{role}_names").take(pa.array(code)) for role, code in codes.items()},
    )
    inside = np.ix_(codes["item"], codes["label"])
    return replace(whole, votes=few, truth=whole.truth[inside], known=whole.known[inside], features=None, roster=roster)


def is_scored(draw: Draw) -> bool:
    """Whether the truth of enough asked pairs is known."""
    pairs = draw.votes.pairs
    return int(draw.known[pairs.item, pairs.label].sum()) >= LEAST_KNOWN
