"""Whom the board compares with: models of crowd-kit, and an oracle that knows how simulated workers err.

crowd-kit has no multi-label models of this kind: they run label by label, as its own `BinaryRelevance` does. It is an
optional package, imported when first needed: importing it takes seconds.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Collection
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logit

from amcc import Votes
from amcc.arrays import Floats, safe_log, sigmoid
from amcc.errors import MissingExtraError
from amcc.experiments.cells import TrueRates

# -- crowd-kit ------------------------------------------------------------------------------------------------------


def crowdkit_version() -> str | None:
    """The installed version, None if there is none."""
    try:
        return version("crowd-kit")
    except PackageNotFoundError:
        return None


def load_crowdkit() -> Any:
    """The module of crowd-kit's models; importing it takes seconds."""
    try:
        return importlib.import_module("crowdkit.aggregation")
    except ImportError as error:
        raise MissingExtraError(missing_crowdkit(PEERS)) from error


def missing_crowdkit(left_out: Collection[str]) -> str:
    """What to tell about peers that cannot run, and the way out.

    >>> missing_crowdkit(["crowdkit-ds"])
    "crowd-kit is not installed: without crowdkit-ds. Install it: pip install 'amcc[bench]'"
    """
    return f"crowd-kit is not installed: without {', '.join(left_out)}. Install it: pip install 'amcc[bench]'"


def crowdkit_ds(votes: Votes) -> Floats:
    """(n_items, n_labels) probabilities of crowd-kit's Dawid–Skene, with its defaults."""
    return _label_by_label(votes, load_crowdkit().DawidSkene)


def crowdkit_glad(votes: Votes) -> Floats:
    """(n_items, n_labels) probabilities of crowd-kit's GLAD, with its defaults."""
    return _label_by_label(votes, load_crowdkit().GLAD)


def crowdkit_mace(votes: Votes) -> Floats:
    """(n_items, n_labels) probabilities of crowd-kit's MACE, with its defaults except for the restarts.

    crowd-kit 1.4.2 begins each of its ten restarts with the same seed, so that one gives the same and takes a tenth.
    """
    mace = load_crowdkit().MACE
    return _label_by_label(votes, lambda: mace(n_restarts=1, random_state=0))


class Peer(NamedTuple):
    """A model of another tool, and the most votes it can take in about a minute."""

    proba: Callable[[Votes], Floats]
    max_votes: int


# GLAD fits one number per worker and item by gradient steps, which is a hundred times slower than counting.
PEERS: dict[str, Peer] = {
    "crowdkit-ds": Peer(crowdkit_ds, 1_100_000),
    "crowdkit-glad": Peer(crowdkit_glad, 12_000),
    "crowdkit-mace": Peer(crowdkit_mace, 1_100_000),
}


def _label_by_label(votes: Votes, make: Callable[[], Any]) -> Floats:
    """Fit one yes-or-no model per label; pairs that nobody was asked about get the label's share of yes."""
    proba = np.zeros((votes.n_items, votes.n_labels))
    # By label, and inside by worker, as `_yes_or_no` wants them.
    order = np.lexsort((votes.item, votes.worker, votes.label))
    for rows in np.split(order, np.searchsorted(votes.label[order], np.arange(1, votes.n_labels))):
        if rows.size:
            label, yes = votes.label[rows[0]], votes.value[rows] > 0
            proba[:, label] = yes.mean()
            if yes.any() and not yes.all():  # else all say the same, and some models divide by zero
                item, found = _yes_or_no(votes.item[rows], votes.worker[rows], yes, make())
                proba[item, label] = found
    return proba.clip(0.0, 1.0)  # crowd-kit's rounding may leave [0, 1] by a little


def _yes_or_no(item: Any, worker: Any, yes: Any, model: Any) -> tuple[Any, Floats]:
    """Items and their probability of yes; votes must be sorted by worker.

    MACE of crowd-kit 1.4.2 mixes up workers, and answers, whose order of appearance is not their sorted order. So
    workers come sorted, and the first answer is called 0, whatever it is: no model prefers yes or no.
    """
    import pandas as pd

    frame = pd.DataFrame({"task": item, "worker": worker, "label": (yes != yes[0]).astype(np.int64)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # crowd-kit's own use of pandas
        found = model.fit_predict_proba(frame)[0 if yes[0] else 1]
    return found.index.to_numpy(), found.to_numpy(dtype=np.float64)


# -- the oracle -----------------------------------------------------------------------------------------------------

ORACLE = "true-rates"


def true_rates(votes: Votes, rates: TrueRates, prevalence: Floats) -> Floats:
    """(n_items, n_labels) probabilities by Bayes' rule from the workers' true rates: nothing is learned.

    `prevalence` is the true share of items with each label, (n_labels,). The oracle looks at one label at a time and
    takes all items for equally difficult, as Dawid–Skene does: a method that sees more may be above it.
    """
    hit, false_alarm = (rate[votes.worker, votes.label] for rate in rates)
    says_yes = votes.value > 0
    log_odds = np.tile(logit(prevalence), (votes.n_items, 1))
    # A yes is worth hit / false alarm, a no the same of their complements; `safe_log`, for rates may be 0 or 1.
    evidence = np.where(says_yes, safe_log(hit) - safe_log(false_alarm), safe_log(1 - hit) - safe_log(1 - false_alarm))
    np.add.at(log_odds, (votes.item, votes.label), evidence)
    return sigmoid(log_odds)
