"""How far to trust each worker: rates that cannot be faked by ticking a common label, and spamming in plain words.

Every worker is judged against what the *others* say about the same pairs, so nobody confirms themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pyarrow as pa

from amcc.arrays import Floats, Ints, Mask, weight_per_code
from amcc.consensus.rounds import Counted, count_votes
from amcc.engine.base import Engine, as_engine
from amcc.fields import Each
from amcc.passes import Judgement
from amcc.votes import Votes

# Evidence in the crowd's favour that every worker starts with: about four votes on a label that is often present.
PRIOR_WEIGHT = 1.0

# Standard errors on each side of a 95 % interval.
Z_95 = 1.96

# A likely spammer has less than the first share of a good worker's informativeness, and the upper end of its interval
# is below the second. The second keeps beginners from being accused.
NEAR_NOTHING, SURELY_LITTLE = 0.2, 0.5

# A good worker is one at this quantile: also where most of a crowd is bad, it is an honest worker.
GOOD_WORKER = 0.75

# A habit is what a worker does this often, surely at least that often, and this much more often than the others.
# Sentences accuse people, so all three must hold.
HABIT, SURE_HABIT, ABOVE_OTHERS = 0.8, 0.65, 0.2

# Who says yes less often than this share of what is usual hardly ever does, where so many yeses were to be expected.
SELDOM, EXPECTED_YES = 0.25, 5

# Labels that one sentence names.
MAX_HABITS = 3

# Shares below this tell nothing about what lies on their side, and dividing by them would only raise noise.
NO_SHARE = 1e-12

# Where the interval of the informativeness is wider, it is too little to tell: with a worker in its middle, .3 more
# would be a good worker, .3 less next to a spammer. What is below 0 does not count: it is worth nothing either way.
TOO_WIDE = 0.6

# Correlation of the errors of one worker in one answer. In simulated crowds, intervals hold for 86 to 95 % of workers
# without it, for 91 to 98 % with it; with twice as much a third of the spammers of small crowds is not named any more.
SHARED_ERRORS = 0.1

# Where a line through the votes leaves [0, 1], the rate is that of half a vote in as many as were met: some votes
# without an error promise a low rate of errors, but not none.
HALF_A_VOTE = 0.5


@dataclass(frozen=True)
class WorkerRates:
    """(n_workers,) arrays: answers, rates and the bounds of their 95 % intervals.

    by_truth : whether the rates were measured on pairs with known truth, and not by what the others say
    """

    answers: Annotated[Ints, Each("worker", least=0)]
    hit_rate: Annotated[Floats, Each("worker", share=True)]
    hit_rate_low: Annotated[Floats, Each("worker", share=True)]
    hit_rate_high: Annotated[Floats, Each("worker", share=True)]
    false_alarm_rate: Annotated[Floats, Each("worker", share=True)]
    false_alarm_rate_low: Annotated[Floats, Each("worker", share=True)]
    false_alarm_rate_high: Annotated[Floats, Each("worker", share=True)]
    informativeness_low: Annotated[Floats, Each("worker")]
    informativeness_high: Annotated[Floats, Each("worker")]
    by_truth: Annotated[Mask, Each("worker")]

    @classmethod
    def of_independent(
        cls, answers: Ints, hit_rate: Floats, low: Floats, high: Floats,
        false_alarm_rate: Floats, low_false: Floats, high_false: Floats, *, by_truth: bool = False,
    ) -> WorkerRates:  # fmt: skip
        """From rates whose errors are independent: the interval of their difference is then Newcombe's."""
        informativeness = hit_rate - false_alarm_rate
        below = np.hypot(hit_rate - low, high_false - false_alarm_rate)
        above = np.hypot(high - hit_rate, false_alarm_rate - low_false)
        of_both = informativeness - below, informativeness + above, np.full(len(answers), by_truth)
        return cls(answers, hit_rate, low, high, false_alarm_rate, low_false, high_false, *of_both)

    @property
    def informativeness(self) -> Floats:
        """How much more often a worker says yes when the label is there than when it is not."""
        return self.hit_rate - self.false_alarm_rate

    @property
    def known(self) -> Mask:
        """(n_workers,) whether the votes tell enough: else the interval reaches from next to nothing to good."""
        low, high = (np.maximum(each, 0.0) for each in (self.informativeness_low, self.informativeness_high))
        return np.asarray(high - low <= TOO_WIDE)

    def replaced_by(self, other: WorkerRates, which: Mask) -> WorkerRates:
        """The same with the rates of `other` for some workers."""
        mine, new = vars(self), vars(other)
        return WorkerRates(**{name: np.where(which, new[name], mine[name]) for name in mine})

    @property
    def good_informativeness(self) -> float:
        """That of a good worker of this crowd, one more informative than three quarters of it."""
        return max(0.0, float(np.quantile(self.informativeness, GOOD_WORKER)))

    def table(self, worker_names: pa.Array) -> pa.Table:
        """One row per worker."""
        columns = {"worker": worker_names, **vars(self), "informativeness": self.informativeness, "known": self.known}
        return pa.table(columns)


def worker_rates(votes: Votes | Engine, judgement: Judgement, counted: Counted | None = None) -> WorkerRates:
    """Rates of every worker against what the others say, see `passes.others_pass`.

    A worker says yes with probability false_alarm_rate + informativeness · q where the others make the label present
    with probability q, so informativeness is the slope of a regression of their votes on q. The regression runs within
    labels and is pooled over them: a worker who always ticks the same frequent label is right often, yet within that
    label their votes do not depend on q, and this shows. Where q is never in doubt this is the rate
    difference of Mantel and Haenszel; where q says nothing (nobody else voted) it counts for nothing.

    Votes of one answer err together, so that they count as fewer in the intervals. That q itself may be wrong is not in
    them: where few others vote, `panel.panel_rates` takes their place.
    """
    coins, n_workers = votes.coins, votes.n_workers
    counted = counted or as_engine(votes).total(count_votes)
    total = counted.slot_votes.reshape(-1, 2)  # columns: no, yes
    n_votes = total.sum(axis=1)
    present, square = judgement.weight.reshape(-1, 2), judgement.square.reshape(-1, 2)
    yes_share, q_mean = total[:, 1] / n_votes, present.sum(axis=1) / n_votes
    spread = np.maximum(square.sum(axis=1) - n_votes * q_mean**2, 0.0)  # sum of squares of q about its mean
    product = present[:, 1] - n_votes * yes_share * q_mean  # sum of products of vote and q about their means

    def per_worker(weight: Floats) -> Floats:
        return weight_per_code(coins.worker, weight, n_workers)

    # The regression line of each label, at q = 1 and q = 0, weighted by how much the label says about the line.
    evidence = per_worker(spread)
    # As many votes on surely present and surely absent labels would tell as much.
    n_votes_each = per_worker(n_votes.astype(np.float64))
    together = 1 + SHARED_ERRORS * np.maximum(n_votes_each / np.maximum(counted.answers, 1) - 1, 0.0)
    n_present = per_worker(_divided(spread, 1 - q_mean)) / together
    n_absent = per_worker(_divided(spread, q_mean)) / together
    hit_rate = _shrunk(per_worker(spread * yes_share + product * (1 - q_mean)), evidence, n_present)
    false_alarm_rate = _shrunk(per_worker(spread * yes_share - product * q_mean), evidence, n_absent)
    low, high = wilson_interval(hit_rate, n_present)
    low_false, high_false = wilson_interval(false_alarm_rate, n_absent)
    return WorkerRates.of_independent(counted.answers, hit_rate, low, high, false_alarm_rate, low_false, high_false)


def _divided(spread: Floats, share: Floats) -> Floats:
    """Quotient, 0 where there is nothing to divide by."""
    quotient: Floats = np.divide(spread, share, out=np.zeros_like(spread), where=share > NO_SHARE)
    return quotient


def _shrunk(count: Floats, weight: Floats, n: Floats) -> Floats:
    """Ratio, pulled towards that of all workers together; one half if nothing at all is known. n : votes behind it."""
    crowd = count.sum() / weight.sum() if weight.sum() > 0 else 0.5
    # Of whom nothing is known counts as a usual worker, in this as well.
    usual = n.sum() / max(np.count_nonzero(n), 1)
    return off_the_ends((count + PRIOR_WEIGHT * crowd) / (weight + PRIOR_WEIGHT), np.where(n > 0, n, usual))


def off_the_ends(rate: Floats, n: Floats) -> Floats:
    """Rates seen in n trials, those at or beyond 0 and 1 as if half a vote had been otherwise.

    >>> off_the_ends(np.array([1.02, 0.3, 0.0]), np.array([9.0, 9.0, 49.0])).tolist()
    [0.95, 0.3, 0.01]
    """
    least = HALF_A_VOTE / (n + 1)
    return np.asarray(np.where(rate <= 0, least, np.where(rate >= 1, 1 - least, rate)))


def wilson_interval(rate: Floats, n: Floats, z: float = Z_95) -> tuple[Floats, Floats]:
    """95 % score interval of a rate seen in n trials; it stays in [0, 1], and is all of it for n = 0.

    >>> low, high = wilson_interval(np.array([0.5, 0.5]), np.array([100.0, 0.0]))
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.404, 0.0], [0.596, 1.0])
    """
    # All terms times n, so that n = 0 needs no special case (in `inference.wilson` n may be infinite instead).
    centre = (rate * n + z * z / 2) / (n + z * z)
    half = z * np.sqrt(rate * (1 - rate) * n + z * z / 4) / (n + z * z)
    return np.clip(centre - half, 0.0, rate), np.clip(centre + half, rate, 1.0)  # rounding must not leave it outside


def likely_spammers(rates: WorkerRates) -> Mask:
    """(n_workers,) whose answers, on enough evidence, tell next to nothing about the truth.

    The measure is a good worker of the same crowd, one more informative than three quarters of it: where questions
    are hard, nobody is very informative, and a crowd without agreement has nothing to accuse anybody with. A likely
    spammer has less than a fifth of a good worker's informativeness, and even the upper end of its 95 % interval stays
    below half of it. Few answers make that interval wide, so beginners are not accused, nor is anybody of whom there is
    too little to tell; nor is anybody judged where one worker is the whole crowd.

    >>> two_of_three = np.array([0.9, 0.9, 0.4])
    >>> rates = WorkerRates.of_independent(np.full(3, 500), two_of_three, two_of_three - 0.03, two_of_three + 0.03,
    ...                                    np.full(3, 0.38), np.full(3, 0.36), np.full(3, 0.40))
    >>> likely_spammers(rates).tolist()
    [False, False, True]
    """
    good = rates.good_informativeness
    little = rates.informativeness < NEAR_NOTHING * good
    return np.asarray(little & (rates.informativeness_high < SURELY_LITTLE * good) & rates.known)


# -- evidence in plain words -----------------------------------------------------------------------------------------


def spam_evidence(votes: Votes | Engine, judgement: Judgement, rates: WorkerRates, counted: Counted) -> dict[int, str]:
    """For each likely spammer, by code: what in their votes shows it, in one sentence.

    Counts are those of the votes themselves; "present" and "absent" are what the others make of a pair. The sentence is
    the first that is true of them: they say yes nearly always; to the same labels always; they tick nothing; they say
    yes nearly never; or their yes comes about as often without the label as with it.
    """
    accused = np.flatnonzero(likely_spammers(rates))
    if accused.size == 0:
        return {}
    coins, names = votes.coins, votes.label_names.to_pylist()
    total = counted.slot_votes.reshape(-1, 2)  # columns: no, yes
    # Votes that met an absent label: what the others make of a pair is a probability, so these are expected numbers.
    absent = total - judgement.weight.reshape(-1, 2)
    asked, yes = total.sum(axis=1), total[:, 1]
    all_asked, all_yes = (weight_per_code(coins.label, count, votes.n_labels) for count in (asked, yes))
    silent = rates.answers - counted.ticked
    n_answers, n_silent = int(rates.answers.sum()), int(silent.sum())
    # Coins are sorted by worker, so that those of one worker are a slice.
    first, last = (np.searchsorted(coins.worker, accused, side) for side in ("left", "right"))
    sentences = {}
    for worker, own in zip(accused.tolist(), map(slice, first.tolist(), last.tolist()), strict=True):
        label, answers, nothing = coins.label[own], int(rates.answers[worker]), int(silent[worker])
        habits = Habits(
            [str(names[code]) for code in label.tolist()],
            asked[own],
            yes[own],
            _divided(all_yes[label] - yes[own], all_asked[label] - asked[own]),
            absent[own].sum(axis=1),
            absent[own, 1],
            answers,
            nothing,
            (n_silent - nothing) / max(n_answers - answers, 1),
        )
        sentences[worker] = habits.sentence() or _rates_sentence(rates, worker)
    return sentences


@dataclass(frozen=True)
class Habits:
    """How one worker answers, beside how the others do.

    For each label that they were asked about: label, how often asked, their yeses, the others' share of yes, how often
    the label was absent, and their yeses then. Of their answers: how many, in how many of them they ticked nothing, and
    the share of such answers among the others'.
    """

    label: list[str]
    asked: Ints
    yes: Ints
    others: Floats
    absent: Floats
    yes_absent: Floats
    answers: int
    silent: int
    others_silent: float

    def sentence(self) -> str:
        """The habit that shows best that they do not look, or nothing."""
        n, n_yes = int(self.asked.sum()), int(self.yes.sum())
        usual = float(self.others @ self.asked) / n
        if n_yes / n >= max(HABIT, usual + ABOVE_OTHERS):
            return f"says yes to {n_yes} of {n} questions, present or not (others: {_percent(usual)})"
        if favourites := self._favourites():
            return f"says yes to {_joined(favourites)}, present or not"
        if self.silent / self.answers >= max(HABIT, self.others_silent + ABOVE_OTHERS):
            return f"ticked nothing in {self.silent} of {self.answers} answers (others: {_percent(self.others_silent)})"
        if n_yes < SELDOM * usual * n and usual * n >= EXPECTED_YES:
            return f"says yes to {n_yes or 'none'} of {n} questions (others: {_percent(usual)})"
        return ""

    def _favourites(self) -> list[str]:
        """Labels that they tick whether they are there or not, the most often ticked first."""
        share = self.yes / self.asked
        surely = wilson_interval(share, self.asked.astype(np.float64))[0]
        uninformative = (self.absent >= 1) & (self.yes_absent >= HABIT * self.absent)
        habit = (share >= HABIT) & (surely >= SURE_HABIT) & uninformative
        chosen = np.flatnonzero(habit)[np.argsort(-self.yes[habit], kind="stable")]
        shown = [
            f"'{self.label[c]}' in {self.yes[c]} of {self.asked[c]} answers (others: {_percent(self.others[c])})"
            for c in chosen[:MAX_HABITS].tolist()
        ]
        more = len(chosen) - MAX_HABITS
        return shown + [f"{more} more label{'s' * (more > 1)}"] * (more > 0)


def _rates_sentence(rates: WorkerRates, worker: int) -> str:
    """What is left to say about a spammer without a habit: their two rates, and how little these differ."""
    hit, false_alarm = _percent(rates.hit_rate[worker]), _percent(rates.false_alarm_rate[worker])
    high = float(rates.informativeness_high[worker])
    if high < 0:
        return f"yes to {hit} of present, but {false_alarm} of absent labels"
    return (
        f"yes to {hit} of present and {false_alarm} of absent labels (at most {100 * high:.0f} points in favour of "
        f"present ones; good workers: {100 * rates.good_informativeness:.0f})"
    )


def _percent(share: float) -> str:
    """A share as people write it.

    >>> _percent(0.414), _percent(0.004), _percent(0.0)
    ('41 %', '0.4 %', '0 %')
    """
    return f"{100 * share:.1f} %" if 0 < share < 0.0095 else f"{100 * share:.0f} %"


def _joined(parts: list[str]) -> str:
    """Parts of a sentence, as people list them.

    >>> _joined(["a"]), _joined(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
