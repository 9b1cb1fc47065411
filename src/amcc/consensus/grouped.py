"""Models with groups of workers: what they publish alike, so that reports and selection never ask which one ran.

Two models have groups, the default (`consensus.default`) and the paper's objective (`models.paper`). A group has a
*commonality*, what its workers usually do on each label. A worker has an *individuality*, how far they lie from it.
Both are given here as hit and false-alarm rates, whatever the model computes with.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pyarrow as pa

from amcc.arrays import Codes, Floats
from amcc.consensus.base import ConsensusModel
from amcc.fields import Each
from amcc.tables import Frame, as_frame
from amcc.votes import Coins

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Hit rate minus false-alarm rate below which a group is called uninformative, and the false-alarm rate above which it
# is said to invent labels. Words for people only: nothing is computed from them. At .15 about one label in seven.
CLEAR = 0.15
# A group that finds less than half of the labels misses most of them.
HALF = 0.5
# Shares of yes from which uninformative workers "say yes nearly always", and below which they "tick hardly anything".
ALWAYS, HARDLY = 0.7, 0.05


class GroupedModel(ConsensusModel):
    """Base of models with groups.

    Attributes
    ----------
    commonality_ : (2, n_groups, n_labels)
        Usual hit rate and false-alarm rate of each group on each label. Groups are sorted, the best first, and those
        that nobody is in last.
    individuality_ : (n_coins, 2)
        How far the rates of each worker lie from their group's, for the labels they were asked about: `coin_worker_`,
        `coin_label_`.
    worker_group_ : (n_workers,) int; worker_membership_ : (n_workers, n_groups)
        The group that explains each worker best, and the probabilities of all.
    group_weights_ : (n_groups,)
        How good each group is, in shares. Spammers come last; a group of nobody has next to nothing.
    worker_cost_ : (n_workers,)
        What a worker's answers are worth by eq12.
    """

    uses_features = features_are_prior = takes_sparse = True

    coin_worker_: Annotated[Codes, Each("coin", code="worker")]
    coin_label_: Annotated[Codes, Each("coin", code="label")]
    worker_membership_: Annotated[Floats, Each("worker", "group")]
    worker_group_: Annotated[Codes, Each("worker", code="group")]
    commonality_: Annotated[Floats, Each(2, "group", "label")]
    individuality_: Annotated[Floats, Each("coin", 2)]
    group_weights_: Annotated[Floats, Each("group")]
    worker_cost_: Annotated[Floats, Each("worker", finite=False)]

    @property
    @abstractmethod
    def label_correlation_(self) -> Floats:
        """(n_labels, n_labels) how labels go together."""

    def _publish_groups(
        self, coins: Coins, rates: Floats, commonality: Floats, weights: Floats, membership: Floats
    ) -> None:
        """Set the attributes above except the cost; `rates` are hit and false-alarm rates of coins, (2, n_coins)."""
        self.coin_worker_, self.coin_label_ = coins.worker, coins.label
        self.commonality_, self.group_weights_, self.worker_membership_ = commonality, weights, membership
        self.worker_group_ = membership.argmax(axis=1).astype(np.int32)
        self.individuality_ = (rates - self._usual_rates()).T

    def _usual_rates(self) -> Floats:
        """(2, n_coins) rates of each coin's group on its label."""
        return self.commonality_[:, self.worker_group_[self.coin_worker_], self.coin_label_]

    def rates_of_coins(self) -> tuple[Floats, Floats]:
        """(n_workers, n_labels) commonality of the worker's groups, and their individuality on labels that they met."""
        self.check_fitted()
        # Where a worker never met a label, all that is known is what their groups do on it, each by its probability.
        hit, false_alarm = np.einsum("wm,aml->awl", self.worker_membership_, self.commonality_)
        for rate, met in zip((hit, false_alarm), self.individuality_.T + self._usual_rates(), strict=True):
            rate[self.coin_worker_, self.coin_label_] = met
        return hit, false_alarm

    def label_correlations(self) -> Floats:
        """(n_labels, n_labels) `label_correlation_`."""
        self.check_fitted()
        return self.label_correlation_

    def groups(self, frame: Frame = "pandas") -> Any:
        """One row per group, the best first: group, workers, weight, hit_rate, false_alarm_rate, summary."""
        self.check_fitted()
        return as_frame(describe_groups(self.commonality_, self.group_weights_, self.worker_group_), frame)

    def plot_groups(self, ax: Axes | None = None) -> Axes:
        """Draw what each group usually does: hit rates and false-alarm rates, by label and on the mean.

        The further the two are apart, the more the group tells. See `plot_workers` for `ax`.
        """
        from amcc.consensus import plots

        self.check_fitted()
        return plots.plot_groups(self, ax)

    def _groups(self) -> tuple[Codes, Floats]:
        return self.worker_group_, self.group_weights_[self.worker_group_]


def describe_groups(commonality: Floats, weights: Floats, worker_group: Codes) -> pa.Table:
    """Table group, workers, weight, hit_rate, false_alarm_rate, summary; see `GroupedModel` for the arguments."""
    n_workers = np.bincount(worker_group, minlength=len(weights))
    hit, false_alarm = commonality.mean(axis=2)
    words = [summary(*group) for group in zip(n_workers.tolist(), hit.tolist(), false_alarm.tolist(), strict=True)]
    return pa.table(
        {
            "group": np.arange(len(weights), dtype=np.int32),
            "workers": n_workers,
            "weight": weights,
            "hit_rate": hit,
            "false_alarm_rate": false_alarm,
            "summary": [
                f"group {number}: {text}; weight {weight:.2f}"
                for number, (text, weight) in enumerate(zip(words, weights.tolist(), strict=True))
            ],
        }
    )


def summary(n_workers: int, hit: float, false_alarm: float) -> str:
    """What workers with these rates do, for people who do not want to read rates.

    >>> summary(1, 0.9, 0.012)
    '1 worker, find 90% of the labels and invent few (1.2% of absent ones)'
    """
    if n_workers == 0:
        return "nobody"
    who = f"{n_workers} worker{'s' * (n_workers > 1)}"
    # The order matters: who answers alike on present and absent labels neither finds nor misses anything.
    if hit - false_alarm < CLEAR:
        return f"{who}, {_habit(0.5 * (hit + false_alarm))} whatever is there"
    if false_alarm > CLEAR:
        return f"{who}, find {hit:.0%} of the labels and invent many ({false_alarm:.0%} of absent ones)"
    if hit < HALF:
        return f"{who}, miss most labels ({1 - hit:.0%}) and invent few ({false_alarm:.1%} of absent ones)"
    return f"{who}, find {hit:.0%} of the labels and invent few ({false_alarm:.1%} of absent ones)"


def _habit(yes: float) -> str:
    """What uninformative workers do, by their share of yes."""
    if yes > ALWAYS:
        return f"say yes nearly always ({yes:.0%})"
    return f"say yes to {yes:.0%}" if yes > HARDLY else f"tick hardly anything ({yes:.1%})"
