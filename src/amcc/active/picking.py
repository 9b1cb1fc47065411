"""The best questions of many: a shortlist of pairs, and a batch without near-duplicates.

Scores are compared in single precision: two that differ by a rounding error are equal, and equals come in random order.
Otherwise the first item or worker of the table would be asked first, again and again.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from amcc.active import scores
from amcc.active.candidates import Candidates
from amcc.active.questions import Questions, Triplets
from amcc.arrays import Floats, Ints

# About as many (item, label, worker) are looked at, for any number of workers: the time that a choice takes does
# not grow with the crowd.
LOOKED_AT = 750_000


def without_ties(score: scores.Singles, rng: np.random.Generator) -> Floats:
    """Scores that are equal in single precision, where rounding errors do not count, in random order; NaN stays NaN."""
    # A quarter of the distance to the next number: equals are told apart, and nothing else changes places.
    return np.asarray(score + 0.25 * np.spacing(score).astype(np.float64) * rng.random(score.shape))


def best_places(score: Floats, n: int, rng: np.random.Generator) -> Ints:
    """Places of the n highest scores, the best first; NaN has no place, and equals come in random order."""
    single = score.ravel().astype(np.float32)
    places = np.flatnonzero(~np.isnan(single))
    if 0 < n < len(places):  # find the n best without sorting all; of those equal to the last, chance takes some
        bound = np.partition(single[places], len(places) - n)[len(places) - n]
        above, equal = places[single[places] > bound], places[single[places] == bound]
        places = np.append(above, rng.choice(equal, n - len(above), replace=False, shuffle=False))
    return places[np.argsort(-without_ties(single[places], rng))][: max(n, 0)]


def questions_about(
    pair_score: Floats, candidates: Candidates, batch: int, n_workers: int, rng: np.random.Generator
) -> Triplets:
    """All questions about the pairs with the highest (n_items, n_labels) scores; more pairs than will be asked.

    With u of eq9 as scores this is eq10, for many pairs at a time.
    """
    # Ten times the batch, but at least 1,000 pairs: the best pair for its price need not be the most open one.
    n_pairs = max(batch, min(max(10 * batch, 1000), LOOKED_AT // max(n_workers, 1)))
    item, label = np.divmod(best_places(pair_score, n_pairs, rng), pair_score.shape[1])
    return candidates.of_pairs(item, label)


def pick_batch(
    asked: Triplets,
    utility: Floats,
    batch: int,
    rng: np.random.Generator,
    *,
    worker_score: Floats | None = None,
    parts: Mapping[str, Floats] | None = None,
) -> Questions:
    """The best questions that are not near-duplicates of each other, by decreasing utility, equals in random order.

    At most one about a pair. At most one to a worker about an item, as long as there are others.

    utility : (n,) NaN where a question must not be asked.
    worker_score : (n,) who is preferred for a pair, where the utility only tells pairs apart.
    parts : what the utility was made of, to be kept for those that are chosen.
    """
    order = _promising(asked, utility, utility if worker_score is None else worker_score, rng)
    item, label, worker = (code[order].tolist() for code in (asked.item, asked.label, asked.worker))
    pairs: set[tuple[int, int]] = set()
    answers: set[tuple[int, int]] = set()
    chosen: list[int] = []
    put_off: list[int] = []
    # Twice through: first with one question to a worker about an item, then with those that were put off.
    for again, rows in ((False, range(len(order))), (True, put_off)):
        for row in rows:
            if len(chosen) >= batch:
                break
            if (item[row], label[row]) in pairs:
                continue
            if not again and (item[row], worker[row]) in answers:
                put_off.append(row)
                continue
            pairs.add((item[row], label[row]))
            answers.add((item[row], worker[row]))
            chosen.append(row)
    places = order[np.array(chosen, dtype=np.int64)]
    kept = {name: part[places] for name, part in (parts or {}).items()}
    return Questions(asked.take(places), utility[places], kept)


def _promising(asked: Triplets, utility: Floats, worker_score: Floats, rng: np.random.Generator) -> Ints:
    """Places of the questions that a batch can come from, the best first.

    Of k pairs of an item, at most k − 1 workers are taken by the others: the best k workers of a pair will do.
    """
    rows = np.flatnonzero(~np.isnan(utility))
    if len(rows) == 0:
        return rows
    n_labels = int(asked.label.max()) + 1
    pair, code = distinct(asked.item[rows] * n_labels + asked.label[rows])
    k = int(np.bincount(distinct(pair // n_labels)[1]).max())
    single = worker_score[rows].astype(np.float32)
    near = _best_of_pairs(code, single, k)  # and their equals, among whom chance decides
    rows, code, score = rows[near], code[near], without_ties(single[near], rng)
    best = _best_of_pairs(code, score, k)
    rows, score = rows[best], score[best]
    return rows[np.lexsort((-score, -utility[rows].astype(np.float32)))]


def _best_of_pairs(pair: Ints, score: Floats | scores.Singles, k: int) -> Ints:
    """Places of the k best questions about each pair, and of those equal to the last of them.

    Candidates give all questions about a pair one after the other; where they do not, more are kept than need be.
    """
    first = np.flatnonzero(np.diff(pair, prepend=-1))
    n = np.diff(first, append=len(pair))
    most = int(n.max())
    if most <= k:
        return np.arange(len(pair))
    # A row for each pair, −∞ behind its last question, so that the k-th best is one partition away.
    table = np.full((len(first), most), -np.inf, score.dtype)
    table[np.arange(most) < n[:, None]] = score
    return np.flatnonzero(score >= np.repeat(np.partition(table, most - k, axis=1)[:, most - k], n))


def distinct(code: Ints) -> tuple[Ints, Ints]:
    """The codes that occur, sorted, and the place among them of each one given; quicker than to sort them."""
    used = np.zeros(int(code.max(initial=-1)) + 1, dtype=bool)
    used[code] = True
    return np.flatnonzero(used), (np.cumsum(used) - 1)[code]


def in_groups(group: Ints, *scores: Floats) -> Ints:
    """Places, those of a group together, the highest scores first; a further score decides between equals.

    The same as `np.lexsort`, in half the time: a choice sorts up to `LOOKED_AT` questions several times.

    >>> in_groups(np.array([1, 0, 1, 0]), np.array([0.2, 0.9, 0.5, 0.9])).tolist()
    [1, 3, 2, 0]
    """
    order = np.arange(len(group))
    for score in reversed(scores):
        order = order[_falling(score[order])]
    if group.max(initial=0) < 1 << 16:  # numbers of so few bits are sorted in no time
        return order[np.argsort(group[order].astype(np.uint16), kind="stable")]
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return np.argsort(group * len(order) + rank)  # no two are equal, so that the quickest way to sort will do


def _falling(score: Floats) -> Ints:
    """Places by falling score, equals as they stand: what numpy calls a stable sort, in half the time."""
    order = np.argsort(-score)
    falling, same = score[order], np.zeros(len(score), dtype=bool)
    same[1:] = falling[1:] == falling[:-1]  # as the one before; a difference of infinities would be no number
    if same.any():
        alike = np.flatnonzero(same | np.append(same[1:], False))
        run, place = np.cumsum(~same)[alike], order[alike]
        order[alike] = np.sort(run * len(score) + place) % len(score)
    return order
