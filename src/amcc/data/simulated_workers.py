"""Workers as the paper simulates them: classifiers that have seen more or less, and spammers.

The items of a feature set are halved. Seven RankSVMs learn from 90, 80 … 30 % of the first half and each answer 80 %
of the second. Beside them three spammers give one label of theirs to every item, and three give each item a label at
random. An answer speaks of all labels: those it does not give are denied.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from amcc.arrays import Floats, Ints, Mask, Signs
from amcc.data import ranksvm
from amcc.data.feature_set import FeatureSet
from amcc.data.ranksvm import RankSVM
from amcc.errors import InputError, ParameterError
from amcc.files import make_folder, whole_file
from amcc.votes import Votes

# Which labels an answer gives: those above the threshold, the first, or as many as training items have on average.
# The paper does not say; see docs/deviations.md.
Style = Literal["threshold", "top_1", "cardinality"]

# These three are the paper's.
TRAINING_SHARES = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3)
ANSWERED_SHARE = 0.8
N_SPAMMERS_PER_KIND = 3
# The worst classifier then learns from three items: 30 % of ten. From fewer there is nothing to rank.
FEWEST_ITEMS = 20


@dataclass(frozen=True)
class WorkerCrowd:
    """Votes of simulated workers on the second half of a feature set.

    Parameters
    ----------
    votes : Votes
    truth : (n_items, n_labels) bool, in the order of `votes.item_names`.
    features : (n_items, n_features) of the same items.
    spammer : (n_workers,) bool.
    """

    votes: Votes
    truth: Mask
    features: Floats
    spammer: Mask


def simulate_workers(
    features: FeatureSet, *, seed: int, style: Style = "threshold", spammers: bool = True
) -> WorkerCrowd:
    """The crowd of this seed; style and spammers change neither the halves nor who answers what.

    Parameters
    ----------
    features : at least 20 items with features and labels.
    seed : fixes the halves, what each classifier learns from and answers, and what spammers say.
    style : which labels an answer gives, see `Style`.
    spammers : whether the six of them are there.
    """
    return _crowd(features, *_simulate(features, seed, style, spammers))


def cached_workers(
    features: FeatureSet, seed: int, folder: Path, *, style: Style = "threshold", spammers: bool = True
) -> WorkerCrowd:
    """The crowd of `simulate_workers`, kept in a folder from the second time on.

    Seven classifiers need about a minute to learn from the larger sets, and all tables of the paper use the same
    crowds.
    """
    path = folder / f"{_fingerprint(features, seed, style, spammers)}.npz"
    if path.exists():
        with np.load(path, allow_pickle=False) as kept:
            return _crowd(features, kept["item"], kept["answers"])
    item, answers = _simulate(features, seed, style, spammers)
    make_folder(folder)
    with whole_file(path) as temporary:
        np.savez_compressed(temporary, item=item, answers=answers)
    return _crowd(features, item, answers)


def without_answers(votes: Votes, share: float, seed: int) -> Votes:
    """Votes without that share of each worker's answers; a worker keeps at least one.

    What a small share deletes, a larger one with the same seed deletes too.
    """
    if not 0 <= share <= 1:
        raise ParameterError(f"share must lie from 0 to 1; got {share!r}.")
    # One number for each (worker, item): an answer is deleted with all its votes, or kept.
    answer, answer_of_vote = np.unique(votes.worker.astype(np.int64) * votes.n_items + votes.item, return_inverse=True)
    worker = answer // max(votes.n_items, 1)
    n_answers = votes.answers_per_worker
    n_kept = np.maximum(n_answers - np.rint(share * n_answers), 1)
    # Each worker's answers in a random order that does not depend on the share: the first are kept. `answer` is
    # sorted, and so is `worker`, where searchsorted finds the first answer of each.
    order = np.lexsort((np.random.default_rng(seed).random(len(answer)), worker))
    place = np.empty(len(answer), dtype=np.int64)
    place[order] = np.arange(len(answer)) - np.searchsorted(worker, worker[order])
    return votes.select((place < n_kept[worker])[answer_of_vote])


def _crowd(features: FeatureSet, item: Ints, answers: Signs) -> WorkerCrowd:
    """Crowd of `answers`, (n_workers, len(item), n_labels), on these rows of a feature set."""
    names = [f"ranksvm {share:.0%}" for share in TRAINING_SHARES]
    names += [f"{kind} {number + 1}" for kind in ("uniform", "random") for number in range(N_SPAMMERS_PER_KIND)]
    votes = Votes.from_dense(
        answers,
        worker_names=names[: len(answers)],
        item_names=[features.item_names[row] for row in item],
        label_names=features.label_names,
    )
    spammer = np.arange(len(answers)) >= len(TRAINING_SHARES)
    return WorkerCrowd(votes, features.truth[item], features.features[item], spammer)


def _simulate(features: FeatureSet, seed: int, style: Style, spammers: bool) -> tuple[Ints, Signs]:
    """Rows of the second half, and answers (n_workers, n_rows, n_labels) of +1, −1 and 0 = not answered."""
    if style not in get_args(Style):
        raise ParameterError(f"style must be one of {', '.join(get_args(Style))}; got {style!r}.")
    if len(features.item_names) < FEWEST_ITEMS:
        raise InputError(f"there must be {FEWEST_ITEMS} items to learn from; got {len(features.item_names)}.")
    # A generator for each part: without spammers, or with other styles, the rest is drawn as before.
    halving, spamming, *working = map(np.random.default_rng, np.random.SeedSequence(seed).spawn(9))
    order = halving.permutation(len(features.item_names))
    half = len(order) // 2
    learned, answered = order[:half], np.sort(order[half:])
    scaled = _standardised(features.features, learned)
    answers = [
        _answers_of_classifier(rng, scaled, features.truth, learned, answered, share, style)
        for rng, share in zip(working, TRAINING_SHARES, strict=True)
    ]
    if spammers:
        answers += _answers_of_spammers(spamming, len(answered), len(features.label_names))
    return answered, np.stack(answers)


def _answers_of_classifier(
    rng: np.random.Generator, features: Floats, truth: Mask, learned: Ints, answered: Ints, share: float, style: Style
) -> Signs:
    """(len(answered), n_labels) what RankSVM says that has learned from that share; 0 where it is not asked."""
    seen = rng.choice(learned, round(share * len(learned)), replace=False)
    model = RankSVM().fit(features[seen], truth[seen])
    asked = np.zeros(len(answered), dtype=bool)
    asked[rng.choice(len(answered), round(ANSWERED_SHARE * len(answered)), replace=False)] = True
    given = _given_labels(model, features[answered], style, cardinality=truth[seen].sum(axis=1).mean())
    return np.where(asked[:, None], _signs(given), 0).astype(np.int8)


def _given_labels(model: RankSVM, features: Floats, style: Style, cardinality: float) -> Mask:
    """(n_items, n_labels) which labels an answer gives; `cardinality` is the mean number of labels in training."""
    if style == "threshold":
        return model.predict(features)
    n_given = 1 if style == "top_1" else max(1, round(cardinality))
    rank = (-model.scores(features)).argsort(axis=1).argsort(axis=1)
    return np.asarray(rank < n_given)


def _answers_of_spammers(rng: np.random.Generator, n_items: int, n_labels: int) -> list[Signs]:
    """Three who give one label of theirs to all items, three who give each item any label."""
    shape = N_SPAMMERS_PER_KIND, n_items
    own = np.broadcast_to(rng.integers(n_labels, size=(N_SPAMMERS_PER_KIND, 1)), shape)
    chosen = np.concatenate([own, rng.integers(n_labels, size=shape)])
    return list(_signs(chosen[:, :, None] == np.arange(n_labels)))


def _signs(given: Mask) -> Signs:
    """+1 for labels that are given, −1 for the others: an answer speaks of all labels."""
    return np.where(given, 1, -1).astype(np.int8)


def _standardised(features: Floats, learned: Ints) -> Floats:
    """Features with mean 0 and deviation 1 among the items that are learned from; constant ones become 0."""
    centred = features - features[learned].mean(axis=0)
    spread = features[learned].std(axis=0)
    return np.asarray(np.divide(centred, spread, out=np.zeros_like(centred), where=spread > 0))


def _fingerprint(features: FeatureSet, *choices: object) -> str:
    """Equal for equal items, choices and code, so that a kept crowd is never that of another program."""
    found = hashlib.sha256(repr((choices, features.item_names, features.label_names)).encode())
    for source in (__file__, ranksvm.__file__):
        found.update(Path(source).read_bytes())
    for array in (features.features, features.truth):
        found.update(repr((array.shape, str(array.dtype))).encode())
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()[:32]
