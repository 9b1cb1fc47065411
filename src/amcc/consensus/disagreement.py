"""Why people disagree about a pair: kinds of disagreement, decided by which explanation fits its votes best.

Four explanations compete for the votes on a pair (i, l); in each, votes are independent of one another:

    present   worker w says yes at their hit rate on the label
    absent    worker w says yes at their false-alarm rate on the label
    hard      everybody says yes at one rate q near 1/2, whoever they are: nobody sees clearly
    split     worker w says yes at side[w], or everybody the other way round: the same people against the same people

    P(explanation | votes) ∝ share[l, explanation] · P(votes | explanation)

Shares and rates are learned by EM, from the consensus of any model as the start: all that is asked of a model is the
probability of each pair. Items are dealt into `FOLDS`, and the sides that are used in a fold are learned from the
others, so that a pair never helps to find the sides by which it is called split. And a label has the explanation
`split` at all only where it predicts held-out votes better than the others do, by more than `GATE` standard errors:
noise has no sides that last.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, get_args

import numpy as np
from scipy.special import betainc, betaln

from amcc.arrays import Codes, Floats, Ints, Mask, Signs, find_sorted, safe_logit, sigmoid, weight_per_code
from amcc.passes import sum_over_slots, sum_over_votes
from amcc.votes import Votes

Kind = Literal["clear", "too few votes", "split crowd", "hard item", "likely slip"]
KINDS: tuple[Kind, ...] = get_args(Kind)
NOT_ASKED = "not asked"
"""In tables of all labels, the kind of a pair that has no votes."""

CLEAR, TOO_FEW, SPLIT_CROWD, HARD_ITEM, LIKELY_SLIP = range(len(KINDS))
PRESENT, ABSENT, HARD, SPLIT = range(4)

HARD_VOTES = 2.0, 40.0
"""q ~ Beta(2, 2) or, as often, Beta(40, 40): on hard items about as many say yes as no, while a nearly unanimous crowd
is hardly ever chance. The second is nearly a toss of a coin, which is also what a split without clear sides looks like:
only what sides explain beyond that may count as split."""

ROUNDS, SIDE_ROUNDS, LAST_ROUNDS = 6, 4, 3
"""Of EM without sides, for the sides alone, and with both: with four times as many, about one kind in a hundred is
another (crowds of benchmarks/disagreement.py)."""

PLAINER = 1.5
"""Log-odds by which everybody's rates are better on half of the present and of the absent pairs: some are plainer."""

LEAST_HIT, MOST_FALSE_ALARM = 0.75, 0.25
"""Where less than three in four of the crowd see a label, people do not agree that it is there, whatever an expert
would say: such pairs are hard, and must not become what `present` means."""

CROWD_VOTES, WORKER_VOTES = 4.0, 8.0
"""Votes that the label's crowd lends to a worker's rate, and at most so many that they and the worker's other labels
lend to a rate on one label."""

SIDE_VOTES = 1.0
"""Of yes and of no that everybody's side starts with: a side is 1/2 until votes say otherwise."""

SURELY = 0.01
"""Nobody's rate is nearer to 0 or 1: one slip must not decide."""

LABEL_PAIRS = 20.0
"""Pairs that all labels together lend to the shares of each label."""

FIRST_SHARE = 0.1
"""Of hard and of split pairs, before any vote was looked at: most disagreement is ordinary error."""

FOLDS = 4
"""Of the items: sides are learned from three quarters of them, and used on the rest."""

GATE = 2.0
"""Standard errors by which sides must predict the votes on other items better than no sides."""

LEAST_COMPARED = 4
"""Votes on a pair from which sides are learned: with fewer there is hardly a pair of voters on each side."""

POWER_ROUNDS = 20
"""Of the power iteration that finds the first guess of the sides."""

SURE = 0.8
"""An explanation is named where it is at least four times as likely as all others together; else votes are too few."""

STANDING_ERROR = 0.05
"""Clear pairs: if workers were equals, most of all people would side with the decision but for this probability."""

EACH_SIDE = 2
"""Votes on each side of a hard or split pair: one dissenter alone shows neither noise nor a group."""

SLIP_ERROR = 0.15
"""Who errs no more often than this in such a case is usually right, so that an error of theirs is likely a slip."""

ADVICE: dict[Kind, str] = {
    "clear": "Nothing to do.",
    "too few votes": "Ask more people (amcc next says whom, about which pairs first).",
    "split crowd": "More votes will not settle it: decide what the label shall mean here, write it into the guideline, "
    "or keep both views (soft labels).",
    "hard item": "Ask an expert, or look at the item: it may be unreadable or on the border of the label. Keep the "
    "soft label where the border itself is real.",
    "likely slip": "Ask whoever gave the vote again, if it matters: the decision stands without it.",
}


# -- what is looked at ---------------------------------------------------------------------------------------------


class Asked(NamedTuple):
    """Votes on some pairs: slots and starts as in `Votes`, labels and folds of the pairs, yes and all votes.

    coin_worker, coin_label : (n_coins,) whose coins the slots are.
    """

    slot: Codes
    start: Ints
    label: Codes
    fold: Codes
    n_yes: Ints
    n_votes: Ints
    coin_worker: Codes
    coin_label: Codes

    @property
    def n_slots(self) -> int:
        """Two for each coin."""
        return 2 * len(self.coin_worker)

    def where(self, chosen: Mask) -> Asked:
        """The chosen pairs."""
        n_votes = self.n_votes[chosen]
        return self._replace(
            slot=self.slot[np.repeat(chosen, self.n_votes)],
            start=np.append(0, np.cumsum(n_votes)),
            label=self.label[chosen],
            fold=self.fold[chosen],
            n_yes=self.n_yes[chosen],
            n_votes=n_votes,
        )

    def log_likelihood(self, rate: Floats) -> Floats:
        """(n_pairs,) of the votes, where each coin says yes at its rate."""
        return sum_over_votes(self.slot, self.start, log_of_slots(rate))

    def counts(self, weight: Floats) -> Floats:
        """(n_coins, 2) noes and yeses, each with the weight of its pair."""
        return sum_over_slots(self.slot, self.start, weight, self.n_slots).reshape(-1, 2)


def asked_of(votes: Votes, item_number: Ints | None = None) -> Asked:
    """All asked pairs; items are told apart by their numbers, by default their codes."""
    number = np.arange(votes.n_items, dtype=np.int64) if item_number is None else item_number
    pairs, coins = votes.pairs, votes.coins
    return Asked(
        coins.slot,
        pairs.start,
        pairs.label,
        fold_of(number)[pairs.item],
        votes.n_yes,
        pairs.n_votes,
        coins.worker,
        coins.label,
    )


def fold_of(item_number: Ints) -> Codes:
    """(n_items,) as good as random, and the same for an item wherever it is met.

    >>> np.bincount(fold_of(np.arange(1000))).tolist()
    [250, 250, 250, 250]
    """
    mixed = (item_number.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)
    return (mixed % np.uint64(FOLDS)).astype(np.int32)


def log_of_slots(rate: Floats) -> Floats:
    """(2 · n_coins,) log-probability of a no and of a yes of each coin."""
    return np.stack([np.log1p(-rate), np.log(rate)], axis=1).ravel()


# -- what is learned -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Explanations:
    """Rates of every coin under each explanation, and how frequent explanations are.

    hit, false_alarm : (n_coins,)
    side : (FOLDS, n_coins) rate of yes on split pairs of each fold, learned from the others
    share : (n_labels, 4) present, absent, hard, split; split is 0 where sides do not last
    coin_worker, coin_label : (n_coins,) whose coins these are, sorted; newcomers get what is `usual`
    usual : (2, n_labels) hit and false-alarm rate of the crowd
    """

    hit: Floats
    false_alarm: Floats
    side: Floats
    share: Floats
    coin_worker: Codes
    coin_label: Codes
    usual: Floats

    def known_to(self, asked: Asked) -> Explanations:
        """The same for the coins of other votes with the same workers and labels."""
        if np.array_equal(asked.coin_worker, self.coin_worker) and np.array_equal(asked.coin_label, self.coin_label):
            return self
        n_labels = len(self.share)
        known = self.coin_worker.astype(np.int64) * n_labels + self.coin_label
        wanted = asked.coin_worker.astype(np.int64) * n_labels + asked.coin_label
        place, met = find_sorted(known, wanted)
        hit, false_alarm = (
            np.where(met, rate[place], usual[asked.coin_label])
            for rate, usual in zip((self.hit, self.false_alarm), self.usual, strict=True)
        )
        side = np.where(met, self.side[:, place], 0.5)
        return replace(self, hit=hit, false_alarm=false_alarm, side=side, coin_worker=asked.coin_worker,
                       coin_label=asked.coin_label)  # fmt: skip

    def posterior(self, asked: Asked) -> Floats:
        """(n_pairs, 4) probability of each explanation."""
        log_joint = self._log_joint(asked)
        joint = np.exp(log_joint - log_joint.max(axis=1, keepdims=True))
        return np.asarray(joint / joint.sum(axis=1, keepdims=True))

    def _log_joint(self, asked: Asked) -> Floats:
        with np.errstate(divide="ignore"):
            log_joint = np.log(self.share)[asked.label]
        log_joint[:, PRESENT] += log_plain(asked, self.hit, PLAINER)
        log_joint[:, ABSENT] += log_plain(asked, self.false_alarm, -PLAINER)
        two_minds = np.minimum(asked.n_yes, asked.n_votes - asked.n_yes) >= EACH_SIDE
        log_joint[:, HARD] += log_chance(asked.n_yes, asked.n_votes)
        log_joint[~two_minds, HARD:] = -np.inf
        split = two_minds & (self.share[asked.label, SPLIT] > 0)
        if split.any():
            log_joint[split, SPLIT] += self.log_split(asked.where(split))
        return log_joint

    def log_split(self, asked: Asked) -> Floats:
        """(n_pairs,) log-likelihood of the votes if sides vote against each other: either side may be the yes."""
        result = np.empty(len(asked.label))
        for fold, side in enumerate(self.side):
            here = asked.fold == fold
            part = asked.where(here)
            either = np.logaddexp(part.log_likelihood(side), part.log_likelihood(1 - side))
            result[here] = either - np.log(2)
        return result


def log_plain(asked: Asked, rate: Floats, plainer: float) -> Floats:
    """(n_pairs,) log-likelihood of the votes at these rates or, as often, at rates whose log-odds are moved."""
    moved = np.clip(sigmoid(safe_logit(rate) + plainer), SURELY, 1 - SURELY)
    return np.asarray(np.logaddexp(asked.log_likelihood(rate), asked.log_likelihood(moved)) - np.log(2))


def log_chance(n_yes: Ints, n_votes: Ints) -> Floats:
    """(n_pairs,) log-likelihood of votes at one unknown rate, see `HARD_VOTES`."""
    span = int(n_votes.max(initial=0)) + 1
    counts, place = np.unique(n_votes * span + n_yes, return_inverse=True)  # few differ, and the integrals are slow
    total, yes = np.divmod(counts, span)
    broad, narrow = (betaln(yes + lent, total - yes + lent) - betaln(lent, lent) for lent in HARD_VOTES)
    return np.asarray((np.logaddexp(broad, narrow) - np.log(2))[place])


def learn(asked: Asked, proba: Floats, n_workers: int, n_labels: int) -> Explanations:
    """Explanations of these votes, from the probabilities that a model gives to their pairs."""
    start = np.zeros((len(proba), 4))
    start[:, PRESENT], start[:, ABSENT] = proba, 1 - proba
    now = _updated(asked, start, n_workers, n_labels, None)
    for _ in range(ROUNDS):
        now = _updated(asked, now.posterior(asked), n_workers, n_labels, now)
    contested = (asked.n_yes > 0) & (asked.n_yes < asked.n_votes) & (asked.n_votes >= LEAST_COMPARED)
    if not contested.any():
        return now
    free = independent_fit(asked, proba, n_workers, n_labels)[contested]
    now = with_sides(asked.where(contested), now, free, n_workers, n_labels)
    if not (now.share[:, SPLIT] > 0).any():
        return now
    for _ in range(LAST_ROUNDS):
        member = now.posterior(asked)
        now = _updated(asked, member, n_workers, n_labels, now)
    return now


def _updated(asked: Asked, member: Floats, n_workers: int, n_labels: int, before: Explanations | None) -> Explanations:
    """Rates and shares by what explains each pair; sides stay as they were."""
    rates, usual = zip(
        *(
            _rates(asked.counts(member[:, of]), limits, asked, n_workers, n_labels)
            for of, limits in ((PRESENT, (LEAST_HIT, 1.0)), (ABSENT, (0.0, MOST_FALSE_ALARM)))
        ),
        strict=True,
    )
    pairs = np.stack([weight_per_code(asked.label, column, n_labels) for column in member.T], axis=1)
    if before is None:
        side, open_to = np.full((FOLDS, len(asked.coin_worker)), 0.5), np.zeros(n_labels, bool)
        pairs[:, HARD] = FIRST_SHARE * pairs.sum(axis=1)
    else:
        side, open_to = before.side, before.share[:, SPLIT] > 0
    return Explanations(
        rates[0], rates[1], side, _shares(pairs, open_to), asked.coin_worker, asked.coin_label, np.stack(usual)
    )


def _rates(
    counts: Floats, limits: tuple[float, float], asked: Asked, n_workers: int, n_labels: int
) -> tuple[Floats, Floats]:
    """(n_coins,) rates of yes, and (n_labels,) those of the crowd, from the votes (no, yes) that met such pairs.

    A worker's rate on a label leans on their other labels, and that on the crowd of the label. Where the crowd of a
    label is outside the limits, the log-odds of all its rates are moved by as much as it takes to bring it back.
    """
    of_label = np.stack([weight_per_code(asked.coin_label, column, n_labels) for column in counts.T], axis=1)
    of_worker = np.stack([weight_per_code(asked.coin_worker, column, n_workers) for column in counts.T], axis=1)
    total = of_label.sum(axis=0)
    overall = (total[1] + 0.5) / (total.sum() + 1)
    crowd = (of_label[:, 1] + CROWD_VOTES * overall) / (of_label.sum(axis=1) + CROWD_VOTES)
    own = of_worker[asked.coin_worker]
    mean = (own[:, 1] + CROWD_VOTES * crowd[asked.coin_label]) / (own.sum(axis=1) + CROWD_VOTES)
    rate = (counts[:, 1] + WORKER_VOTES * mean) / (counts.sum(axis=1) + WORKER_VOTES)
    inside = np.clip(crowd, *limits)
    move = (safe_logit(inside) - safe_logit(crowd))[asked.coin_label]
    return np.clip(sigmoid(safe_logit(rate) + move), SURELY, 1 - SURELY), np.clip(inside, SURELY, 1 - SURELY)


def independent_fit(asked: Asked, proba: Floats, n_workers: int, n_labels: int) -> Floats:
    """(n_pairs,) log-likelihood if votes are independent given presence, at whatever rates fit best.

    In a crowd that often errs the limits of hit and false-alarm rates leave something unexplained, in which sides may
    seem to last. They must predict better than this as well.
    """
    member = np.stack([proba, 1 - proba])
    log_joint = np.empty_like(member)
    for _ in range(ROUNDS):
        pairs = np.stack([weight_per_code(asked.label, weight, n_labels) for weight in member])
        share = (pairs + 1) / (pairs.sum(axis=0) + 2)
        for place in (PRESENT, ABSENT):
            rate, _ = _rates(asked.counts(member[place]), (0.0, 1.0), asked, n_workers, n_labels)
            log_joint[place] = np.log(share[place])[asked.label] + asked.log_likelihood(rate)
        total = np.logaddexp(*log_joint)
        member = np.exp(log_joint - total)
    return np.asarray(total)


def _shares(pairs: Floats, open_to_split: Mask) -> Floats:
    """(n_labels, 4) how frequent explanations are, from expected pairs; split only where a label is open to it."""
    allowed = np.ones(pairs.shape)
    allowed[:, SPLIT] = open_to_split
    pairs = pairs * allowed
    usual = pairs.sum(axis=0) + np.array([1.0, 1.0, FIRST_SHARE, FIRST_SHARE])
    lent = usual / usual.sum() * allowed
    share = pairs + LABEL_PAIRS * lent
    return np.asarray(share / share.sum(axis=1, keepdims=True))


# -- sides ---------------------------------------------------------------------------------------------------------


def with_sides(asked: Asked, now: Explanations, free: Floats, n_workers: int, n_labels: int) -> Explanations:
    """Sides where they predict the votes on other items, and the labels open to them; else nothing changes.

    Two readings are tried: sides of their own on each label, and one side per worker on all labels. Each label takes
    the one that predicts better. `free` : (n_pairs,) see `independent_fit`.
    """
    base = np.logaddexp.reduce(now._log_joint(asked)[:, :SPLIT], axis=1)
    best = np.zeros(n_labels)
    side, share = now.side.copy(), now.share.copy()
    for bearer in (np.arange(len(asked.coin_worker)), asked.coin_worker.astype(np.int64)):
        found, strength = sides_by_fold(asked, now, bearer, base, n_labels)
        tried = replace(now, side=found)
        weight = strength[asked.fold, asked.label]
        predicted = np.logaddexp(np.log1p(-weight) + base, np.log(weight) + tried.log_split(asked))
        lead = np.minimum(*(_lead(predicted - rival, asked.label, n_labels) for rival in (base, free)))
        better = (lead > GATE) & (lead > best)
        best = np.where(better, lead, best)
        chosen = better[asked.coin_label]
        side[:, chosen] = found[:, chosen]
        share[better, SPLIT] = strength.mean(axis=0)[better]
    share[:, :SPLIT] *= (1 - share[:, SPLIT:]) / share[:, :SPLIT].sum(axis=1, keepdims=True)
    return replace(now, side=side, share=share)


def _lead(gain: Floats, label: Codes, n_labels: int) -> Floats:
    """(n_labels,) sum of the gains over its standard error; a label's pairs are of different items."""
    total, squares = weight_per_code(label, gain, n_labels), weight_per_code(label, gain**2, n_labels)
    return np.divide(total, np.sqrt(squares), out=np.zeros(n_labels), where=squares > 0)


def sides_by_fold(asked: Asked, now: Explanations, bearer: Ints, base: Floats, n_labels: int) -> tuple[Floats, Floats]:
    """(FOLDS, n_coins) sides learned from the other folds, and (FOLDS, n_labels) how frequent split pairs are there."""
    sides, shares = [], []
    for fold in range(FOLDS):
        here = asked.fold != fold
        part, known = asked.where(here), base[here]
        side = first_sides(part, now, bearer)
        share = np.full(n_labels, FIRST_SHARE)
        for _ in range(SIDE_ROUNDS):
            one_way, other_way = part.log_likelihood(side), part.log_likelihood(1 - side)
            log_share = np.log(share)[part.label]
            total = np.logaddexp(
                np.log1p(-share)[part.label] + known, log_share - np.log(2) + np.logaddexp(one_way, other_way)
            )
            yes, no = (np.exp(log_share - np.log(2) + way - total) for way in (one_way, other_way))
            counts = part.counts(yes) + part.counts(no)[:, ::-1]
            side = _pooled_sides(counts, bearer)
            pairs, split = (weight_per_code(part.label, w, n_labels) for w in (np.ones(len(yes)), yes + no))
            share = np.clip((split + FIRST_SHARE * LABEL_PAIRS) / (pairs + LABEL_PAIRS), SURELY, 1 - SURELY)
        sides.append(side)
        shares.append(share)
    return np.stack(sides), np.stack(shares)


def _pooled_sides(counts: Floats, bearer: Ints) -> Floats:
    """(n_coins,) sides, from expected noes and yeses of whoever bears them."""
    no, yes = (weight_per_code(bearer, column, int(bearer.max()) + 1) for column in counts.T)
    return np.asarray((yes + SIDE_VOTES) / (yes + no + 2 * SIDE_VOTES))[bearer]


def first_sides(asked: Asked, now: Explanations, bearer: Ints) -> Floats:
    """(n_coins,) guess of the sides: the leading eigenvector of what the other explanations leave unexplained.

    r[w, p] = vote − expected vote, less its mean on the pair, so that what all voters share (a hard item, a wrong
    consensus) leaves nothing. Who stands with whom is the sum over pairs of r[w, p] · r[v, p], w ≠ v.
    """
    member = now.posterior(asked)
    coin, pair = asked.slot >> 1, np.repeat(np.arange(len(asked.label)), asked.n_votes)
    at_chance = (member[:, HARD] + member[:, SPLIT]) * asked.n_yes / asked.n_votes
    expected = member[pair, PRESENT] * now.hit[coin] + member[pair, ABSENT] * now.false_alarm[coin] + at_chance[pair]
    residual = (asked.slot & 1) - expected
    residual -= (np.add.reduceat(residual, asked.start[:-1]) / asked.n_votes)[pair]
    who, n_bearers = bearer[coin], int(bearer.max()) + 1
    spread = weight_per_code(who, residual**2, n_bearers) + 1.0
    family = asked.coin_label if len(np.unique(bearer)) == len(bearer) else np.zeros(len(bearer), np.int32)
    scaled = _scaled_by(family, bearer, n_bearers)
    side = scaled(np.random.default_rng(0).standard_normal(n_bearers))
    for _ in range(POWER_ROUNDS):
        own = residual * side[who]
        together = np.add.reduceat(own, asked.start[:-1])[pair] - own
        side = scaled(weight_per_code(who, residual * together, n_bearers) / spread + side)
    return np.clip(0.5 + 0.4 * np.tanh(side), 0.1, 0.9)[bearer]


def _scaled_by(family: Codes, bearer: Ints, n_bearers: int) -> Callable[[Floats], Floats]:
    """Scales vectors over bearers to a mean square of one within each family (label, or all)."""
    of_bearer = np.zeros(n_bearers, np.int64)
    of_bearer[bearer] = family
    size = np.maximum(np.bincount(of_bearer), 1)

    def scaled(values: Floats) -> Floats:
        mean_square = np.bincount(of_bearer, values**2) / size
        return np.asarray(values / np.sqrt(mean_square + 1e-12)[of_bearer])

    return scaled


# -- what is said --------------------------------------------------------------------------------------------------


def kinds_of(asked: Asked, explanations: Explanations, proba: Floats) -> Signs:
    """(n_pairs,) places in `KINDS`, from what explains the votes and the probabilities that the model gives."""
    here = explanations.known_to(asked)
    member = here.posterior(asked)
    present = member[:, PRESENT] > member[:, ABSENT]
    stands = stands_by_votes(asked, here, present)
    decided = (np.maximum(member[:, PRESENT], member[:, ABSENT]) >= SURE) & (present == (proba > 0.5))
    kind = np.full(len(proba), TOO_FEW, np.int8)
    kind[decided & stands] = CLEAR
    kind[decided & stands & (slips(asked, here, present) > 0)] = LIKELY_SLIP
    kind[member[:, HARD] + member[:, SPLIT] >= SURE] = HARD_ITEM  # unless sides explain it
    kind[member[:, SPLIT] >= SURE] = SPLIT_CROWD
    return kind


TAKES_SIDES = 0.2
"""How far from 1/2 a side must be to call it one."""


def why(asked: Asked, explanations: Explanations, pair: int, kind: int, worker: Callable[[int], str]) -> str:
    """What in the votes on a pair makes it of this kind, in words; `worker` gives names."""
    here = explanations.known_to(asked)
    own = slice(asked.start[pair], asked.start[pair + 1])
    coin, yes = asked.slot[own] >> 1, (asked.slot[own] & 1) > 0
    n_yes, n_no = int(yes.sum()), int((~yes).sum())
    told = f"{n_yes}\u00a0yes, {n_no}\u00a0no"
    if kind == SPLIT_CROWD:
        side = here.side[asked.fold[pair], coin] - 0.5
        takes = np.abs(side) >= TAKES_SIDES
        along = int(((side > 0) == yes)[takes].sum())
        n_sides = int(takes.sum())
        return f"{told}; {max(along, n_sides - along)} of {n_sides} who take sides on other items vote with their side"
    if kind == HARD_ITEM:
        right = float((0.5 * (here.hit[coin] + 1 - here.false_alarm[coin])).mean())
        return f"{told}, by people who are right about this label {100 * right:.0f}\u00a0% of the time"
    if kind == LIKELY_SLIP:
        error = here.false_alarm[coin] if n_yes < n_no else 1 - here.hit[coin]
        slipped = np.flatnonzero((yes == (n_yes < n_no)) & (error <= SLIP_ERROR))
        often = [f"who errs this way {100 * error[vote]:.0f}\u00a0% of the time" for vote in slipped.tolist()]
        said = zip(asked.coin_worker[coin[slipped]].tolist(), often, strict=True)
        names = " and ".join(f"{worker(code)}, {how_often}" for code, how_often in said)
        return f"{told}; {'yes' if n_yes < n_no else 'no'} from {names}"
    return told


def stands_by_votes(asked: Asked, explanations: Explanations, present: Mask) -> Mask:
    """(n_pairs,) where the votes by themselves stand behind the decision, as in `base.settled`, spammers left out.

    A vote weighs what its worker tells on the label, hit rate − false-alarm rate, at most as much as the crowd's.
    """
    tells = explanations.hit - explanations.false_alarm
    usual = np.maximum(explanations.usual[0] - explanations.usual[1], SURELY)[asked.coin_label]
    weight = np.zeros((len(tells), 2))
    weight[:, 1] = np.clip(tells / usual, 0.0, 1.0)
    yes = sum_over_votes(asked.slot, asked.start, weight.ravel())
    no = sum_over_votes(asked.slot, asked.start, weight[:, ::-1].ravel())
    agree, differ = np.where(present, yes, no), np.where(present, no, yes)
    return np.asarray(betainc(agree + 0.5, differ + 0.5, 0.5) <= STANDING_ERROR)


def slips(asked: Asked, explanations: Explanations, present: Mask) -> Floats:
    """(n_pairs,) votes against the decision by workers who, on such pairs, are usually right."""
    missed, invented = np.zeros((2, len(explanations.hit), 2))
    missed[:, 0] = 1 - explanations.hit <= SLIP_ERROR
    invented[:, 1] = explanations.false_alarm <= SLIP_ERROR
    return np.where(
        present,
        sum_over_votes(asked.slot, asked.start, missed.ravel()),
        sum_over_votes(asked.slot, asked.start, invented.ravel()),
    )
