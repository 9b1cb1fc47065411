"""Who the workers are: their kind, what they are good at, how often they say yes, how active and how expensive.

A worker's rate on a label is the usual one of the kind, moved in log-odds by what is the worker's own, by what is the
worker's and the label's, and by whether the label is in the cluster that the worker knows best. Hits move up where
false alarms move down: a specialist is better in both. Spammers have rates of another sort, equal for hits and false
alarms.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from amcc.arrays import Codes, Floats, Floats32, Ints
from amcc.data.simulate.kinds import HONEST_RATES, IS_SPAMMER, KINDS, logit, sigmoid
from amcc.data.simulate.spec import CrowdSpec

# Log-odds by which honest workers differ. The first two are a third of the step between neighbouring kinds (1.2 from
# reliable to normal in hits, 1.3 from normal to sloppy), so that kinds overlap without becoming one.
PERSON_SPREAD = 0.4  # between workers of one kind
LABEL_SPREAD = 0.4  # between labels of one worker
# Between a worker's own cluster of labels and the others: with three clusters, a normal specialist hits .93 of the own
# labels, as reliable workers do (.92), and .65 of the others, half-way to sloppy workers.
SPECIALTY_EDGE = 2.0
# Range of the random spammers' yes rates: from hardly clicking to tossing a coin.
RANDOM_YES_RATES = (0.1, 0.5)


@dataclass(frozen=True)
class Workers:
    """Who the workers are; the rates are (n_workers, n_labels), the rest (n_workers,).

    kind : place in `KINDS`; specialty : label cluster, -1 for spammers; activity : weight when workers are drawn for
    an item; prices : cents for a vote; family : of a model, -1 for people; taste : group with common leanings.
    """

    kind: Codes
    specialty: Codes
    hit_rate: Floats
    false_alarm_rate: Floats
    activity: Floats
    prices: Ints
    family: Codes
    taste: Codes

    @property
    def kind_names(self) -> NDArray[np.str_]:
        """(n_workers,) in the words of `KINDS`."""
        return np.array(KINDS)[self.kind]

    @cached_property
    def log_odds(self) -> Floats32:
        """Log-odds of a yes, (2, n_workers, n_labels): label absent, label present."""
        return logit(np.stack([self.false_alarm_rate, self.hit_rate])).astype(np.float32)


def draw_workers(
    rng: np.random.Generator, trouble_rng: np.random.Generator, spec: CrowdSpec, label_cluster: Codes
) -> Workers:
    """The workers of a crowd, people first; kinds of models and tastes come from `trouble_rng`, the rest from `rng`."""
    people = rng.permutation(_fill_shares(spec.kind_shares, spec.n_people))
    # Models are honest, if not always good.
    models = trouble_rng.permutation(_fill_shares(spec.honest_shares, spec.n_models))
    kind = np.concatenate([people, models])
    own_cluster = rng.integers(spec.n_specialties, size=spec.n_workers, dtype=np.int32)
    # The mean over the clusters is 0: specialists are not better workers, only uneven ones.
    edge = SPECIALTY_EDGE * ((own_cluster[:, None] == label_cluster) - 1 / spec.n_specialties)
    spam_rate = _draw_spam_rates(rng, kind, spec.n_labels)
    usual_hits, usual_false_alarms = zip(*HONEST_RATES.values(), strict=True)
    hit_rate, false_alarm_rate = (
        np.where(IS_SPAMMER[kind, None], spam_rate, _draw_honest_rates(rng, kind, usual, shift))
        for usual, shift in ((usual_hits, edge), (usual_false_alarms, -edge))
    )
    rank = rng.permutation(np.arange(1.0, spec.n_workers + 1))
    return Workers(
        kind=kind,
        specialty=np.where(IS_SPAMMER[kind], np.int32(-1), own_cluster),
        hit_rate=hit_rate,
        false_alarm_rate=false_alarm_rate,
        activity=rank**-spec.activity_exponent,
        prices=_draw_prices(rng, skill=(hit_rate - false_alarm_rate).mean(axis=1)),
        family=np.append(np.full(spec.n_people, -1), np.arange(spec.n_models) % spec.n_families).astype(np.int32),
        taste=trouble_rng.integers(spec.n_tastes, size=spec.n_workers, dtype=np.int32),
    )


def _fill_shares(shares: Floats, n_workers: int) -> Codes:
    """Kind codes, (n_workers,) sorted, each kind as often as its share says, up to rounding."""
    position = (np.arange(n_workers) + 0.5) / n_workers
    # Without the last sum, which rounding may leave below 1: nobody may fall behind the last kind.
    return np.searchsorted(shares.cumsum()[:-1], position, side="right").astype(np.int32)


def _draw_honest_rates(rng: np.random.Generator, kind: Codes, usual: tuple[float, ...], shift: Floats) -> Floats:
    """Rates around the usual rate of each kind, (n_workers, n_labels); those of spammers mean nothing."""
    kind_log_odds = logit(usual)[np.minimum(kind, len(usual) - 1)]
    person = PERSON_SPREAD * rng.standard_normal((kind.size, 1))
    label = LABEL_SPREAD * rng.standard_normal(shift.shape)
    return sigmoid(kind_log_odds[:, None] + shift + person + label)


def _draw_spam_rates(rng: np.random.Generator, kind: Codes, n_labels: int) -> Floats:
    """Chance of a yes whatever the truth, (n_workers, n_labels).

    Random spammers have one rate for all labels; the others always tick the same one or two labels.
    """
    yes_rate = rng.uniform(*RANDOM_YES_RATES, size=(kind.size, 1))
    order = rng.random((kind.size, n_labels)).argsort(axis=1)
    ticked = order < rng.integers(1, 3, size=(kind.size, 1))
    is_random = kind == KINDS.index("random_spammer")
    return np.where(is_random[:, None], yes_rate, ticked)


def _draw_prices(rng: np.random.Generator, skill: Floats) -> Ints:
    """Cents for one vote, (n_workers,), at least 1: skilled workers ask for more, but not reliably so."""
    # From 4 cents for a spammer (skill 0) to 12 for one who is never wrong. The noise of 40 % (sigma) keeps the
    # correlation of price and skill near 0.6: a strategy that buys by price alone must lose.
    fair_price = 4 + 8 * skill
    return np.maximum(1, np.rint(fair_price * rng.lognormal(sigma=0.4, size=skill.size))).astype(np.int64)
