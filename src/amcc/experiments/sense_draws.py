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
from amcc.arrays import Mask
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
# Items are drawn out of so many times as many, those with most answers: out of fewer, every draw would be alike.
SPARE_ITEMS = 2
# A pair more or less must not be more than .025 of the accuracy.
LEAST_KNOWN = 40

# Simulated panels: three or four models are the usual number, eight the most.
MODELS = (3, 3, 4, 4, 5, 6, 8)
# Many poor judges: with good ones a panel is right whatever a method does.
JUDGES = {"reliable": 0.3, "normal": 0.5, "sloppy": 1.0}
PANEL_LABELS = (1, 6)
PRESENT_SHARE = (0.2, 0.5)
# Shared errors as in the sets llm_* (see `cells.SHARED_TROUBLES`), or weaker.
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


def whole_draw(folder: Path, n_items: int, seed: int, *, most: float = 1.0) -> Draw:
    """Random items with all their votes, and the roster where the set has one; at most a share `most` of its items."""
    whole = whole_set(str(folder))
    votes, rng = whole.votes, np.random.default_rng(seed)
    there = np.flatnonzero(whole.known.any(axis=1) & (votes.answers_per_item > 0))
    chosen = np.isin(votes.item, rng.permutation(there)[: min(n_items, int(most * len(there)))])
    return part_of(whole, chosen, votes, roster_of(folder) if (folder / ROSTER_FILE).exists() else None)


@cache
def roster_of(folder: Path) -> Roster:
    """Its workers file."""
    return read_roster(folder / ROSTER_FILE)


def simulated_panel(seed: int) -> Draw:
    """Three to eight models of some families and one person, who answers a part of the items."""
    rng = np.random.default_rng(seed)
    n_models, n_labels = int(rng.choice(MODELS)), int(rng.integers(PANEL_LABELS[0], PANEL_LABELS[1] + 1))
    within = rng.uniform(*FAMILY_CORRELATION)
    spec = CrowdSpec(
        n_items=SMALL_ITEMS, n_workers=n_models + 1, n_labels=n_labels, answers_per_item=1,
        labels_per_item=rng.uniform(*PRESENT_SHARE) * n_labels, kind_weights=JUDGES, spammers=0.0, n_specialties=1,
        n_models=n_models, n_families=int(rng.integers(2, min(n_models, 4) + 1)), family_correlation=within,
        model_correlation=within * rng.uniform(*COMMON_SHARE), people_share=rng.choice(PERSON_SHARES), seed=seed,
    )  # fmt: skip
    world = simulate_crowd(spec)
    names = world.votes.worker_names.cast(pa.string())
    kind = ["human" if code < 0 else "model" for code in world.family]
    family = [None if code < 0 else f"family {code}" for code in world.family]
    roster = Roster.from_frame(pa.table({"worker": names, "kind": kind, "family": pa.array(family, pa.string())}))
    return Draw(world.votes, world.truth, np.ones_like(world.truth), roster=roster)


# Crowds with one label of four: how frequent the true labels are (usual, or mostly one), items and workers.
FREQUENCIES = np.array([[0.47, 0.25, 0.18, 0.1], [0.7, 0.15, 0.1, 0.05]])
CHOICE_ITEMS, CHOICE_WORKERS = 400, 30
# Answers per item and share of wrong answers of a worker, from and to.
CHOICE_ANSWERS, CHOICE_ERRORS = (3, 5), (0.1, 0.4)
# Who errs names a label in proportion to this power of its frequency, from and to.
CHOICE_LEAN = (2.0, 5.0)


def single_choice(seed: int) -> Draw:
    """Every answer names exactly one of four labels; two groups of workers get different items.

    Who errs says the frequent labels most often. In every second crowd, what is frequent for one group is rare for the
    other.
    """
    rng = np.random.default_rng(seed)
    usual = FREQUENCIES[rng.integers(len(FREQUENCIES))]
    # By number and not by chance: few crowds are drawn, and both kinds matter.
    frequency = np.array([usual, usual[::-1] if seed % 2 else usual])
    n_labels, group, half = len(usual), np.arange(CHOICE_ITEMS) % 2, CHOICE_WORKERS // 2
    true = np.array([rng.choice(n_labels, p=frequency[each]) for each in group])
    n_answers = rng.integers(CHOICE_ANSWERS[0], CHOICE_ANSWERS[1] + 1)
    worker = np.concatenate([half * each + rng.permutation(half)[:n_answers] for each in group])
    item = np.repeat(np.arange(CHOICE_ITEMS), n_answers)
    lean = frequency[group[item]] ** rng.uniform(*CHOICE_LEAN)
    lean[np.arange(len(item)), true[item]] = 0
    wrong = (rng.random((len(item), 1)) < np.cumsum(lean / lean.sum(axis=1, keepdims=True), axis=1)).argmax(axis=1)
    errs = rng.random(len(item)) < rng.uniform(*CHOICE_ERRORS, CHOICE_WORKERS)[worker]
    said = np.where(errs, wrong, true[item])
    votes = Votes.from_codes(
        np.repeat(item, n_labels), np.repeat(worker, n_labels), np.tile(np.arange(n_labels), len(item)),
        np.where(said[:, None] == np.arange(n_labels), 1, -1).ravel(),
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
    item, worker, label = (np.unique(code) for code in (kept.item, kept.worker, kept.label))
    few = Votes.from_codes(
        np.searchsorted(item, kept.item), np.searchsorted(worker, kept.worker), np.searchsorted(label, kept.label),
        kept.value,
        item_names=kept.item_names.take(pa.array(item)), worker_names=kept.worker_names.take(pa.array(worker)),
        label_names=kept.label_names.take(pa.array(label)),
    )  # fmt: skip
    inside = np.ix_(item, label)
    return replace(whole, votes=few, truth=whole.truth[inside], known=whole.known[inside], features=None, roster=roster)


def is_scored(draw: Draw) -> bool:
    """Whether the truth of enough asked pairs is known."""
    pairs = draw.votes.pairs
    return int(draw.known[pairs.item, pairs.label].sum()) >= LEAST_KNOWN
