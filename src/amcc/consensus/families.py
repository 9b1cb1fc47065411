"""What workers share beside the truth, and how many independent votes they are worth together.

Language models resemble each other: they have read the same texts. Where six of them agree, it is rarely because the
label is there six times over. Here, votes follow the truth through *views*:

    truth ── validity τ ──▶ what models see ── φ ──▶ what a family sees ── loading κ ──▶ vote of a worker

People look for themselves (no view between truth and vote), unless a roster puts them into a family. Two votes on a
pair correlate, within labels, by the product of all that lies between them:

    two models of different families       κ κ' φ φ'
    two models of one family               κ κ'
    a model and a person                   κ φ τ λ            λ: correlation of the person's votes with truth
    two people                             λ λ'

The loadings come from how far models agree. What nobody can see in their votes is τ: whether that on which they agree
is true. People who vote on the same pairs say it (if there are several, since they must be checked by each other), and
known truth does (it is a voter of validity 1). As far as they do not, the prior decides, `MODELS_VIEW`.

Votes of a family are not independent given truth. The best linear reading of them all (Fisher's discriminant, whose
inverse covariance the tree of views gives in closed form) takes from each vote the share that `vote_weights` returns:
about n_eff / n for each of n votes that are worth n_eff. With equal loadings, n_eff = n / (1 + (n − 1) ρ), where ρ is
the correlation of their errors.

On three sets with language models and known truth the ratio λ / κ is nearly the same for all models of a set
(0.52, 0.67, 0.80), as a view that all models share implies; that they share errors *in proportion to what they see* is
what the tree assumes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

import numpy as np
import pyarrow as pa
from scipy.optimize import least_squares
from scipy.sparse import coo_array
from scipy.special import logit

from amcc.arrays import Floats, Ints, Mask, Signs, sigmoid
from amcc.fields import Each
from amcc.roster import CODE, HUMAN, KINDS, MODEL, Seats
from amcc.votes import Votes

MOST_SOURCES, MOST_FAMILIES = 32, 16
"""Models and programs that are looked at one by one; of more, those of a family count as alike. And families that are
told apart, those with the most votes: a tree of hundreds would take minutes and tell nothing."""

SAMPLE = 2_000_000
"""Votes that are enough to see correlations by."""

FEWEST = 10
"""Pairs that two sources must share before their correlation is looked at."""

MISFIT = 0.03
"""Correlations differ from the tree by this much, however many votes there are: it is a simplification."""

LOADING, LOADING_SPREAD = 0.65, 0.6
"""Of a vote on what its worker sees, before the data speak; the spread is in Fisher's z."""

PERSON, PERSON_SPREAD = 0.65, 0.5
"""Correlation of a person's votes with truth, likewise."""

MODELS_VIEW, MODELS_VIEW_SLOPE, MODELS_VIEW_SPREAD = 0.45, 0.4, 0.6
"""Validity of what models see together: the first, and the second times their mean correlation (models that contradict
each other do not see well together either). 0.6 to 0.8 on most tasks: nine models are worth two or three votes, as
others have found. The spread is in log-odds: several people, or ten known items, overrule it."""

FAMILY_VIEW = {HUMAN: 0.95, MODEL: 0.97, CODE: 0.8}
FAMILY_VIEW_SPREAD = 1.0
"""Of a family within its kind. Versions of one model are hardly more alike than models are anyway; people who were
trained together share little; rules by one author share much."""

MOST_SQUARED = 0.95
"""No vote is nearer to what its worker sees than this, squared: one slip must not decide."""

CLEARLY = 0.9
"""Effective votes below this share of the band's lower end were measured; nearer to it, they were mostly assumed."""

N_NULL = 39
"""Draws for the band of independent workers: 95 % of them is all but the lowest and the highest."""


class Moments(NamedTuple):
    """How votes of sources go together.

    correlation : (n_sources, n_sources) of votes of different workers on the same pair, within labels
    shared : (n_sources, n_sources) how many such pairs of votes there are
    together : (n_sources, n_sources) votes of other workers of the second, per vote of the first, on the same pair
    """

    correlation: Floats
    shared: Floats
    together: Floats


@dataclass(frozen=True)
class Tree:
    """Sources of votes, and the views between them and the truth.

    source : (n_workers,) code of the source whose votes a worker's are counted to
    seen_by : (n_sources, n_views) which views lie between a source and the truth
    view_kind : (n_views,) kind; view_family : (n_views,) family code, −1 for the view that all models share
    is_truth : (n_sources,) the source that is truth itself
    source_kind, source_family : (n_sources,)
    """

    source: Ints
    seen_by: Mask
    view_kind: Ints
    view_family: Ints
    source_kind: Ints
    source_family: Ints
    is_truth: Mask

    @property
    def n_sources(self) -> int:
        """Sources, that of truth included."""
        return len(self.source_kind)


def largest_families(seats: Seats, n_votes: Ints) -> Seats:
    """The same with no more than `MOST_FAMILIES`, those with the most votes; members of others have none."""
    member = seats.family >= 0
    size = np.bincount(seats.family[member], n_votes[member], len(seats.family_names))
    kept = np.argsort(-size, kind="stable")[:MOST_FAMILIES]
    return replace(seats, family=np.where(np.isin(seats.family, kept), seats.family, -1).astype(np.int32))


def tree_of(seats: Seats, n_votes: Ints, *, truth: bool) -> Tree:
    """The views that a roster implies; `n_votes` (n_workers,) says who voted, `truth` adds truth as the last source."""
    voted = n_votes > 0
    machine = voted & (seats.kind != HUMAN)
    one_by_one = machine.sum() <= MOST_SOURCES
    keys = []
    for worker in range(len(seats.kind)):
        kind, family = int(seats.kind[worker]), int(seats.family[worker])
        keys.append((kind, family, worker if one_by_one and machine[worker] else -1))
    named: dict[tuple[int, int, int], int] = {}
    source = np.array([named.setdefault(key, len(named)) for key in keys], dtype=np.int64)
    kinds, families = (np.array([key[part] for key in named], dtype=np.int64) for part in (0, 1))
    views = _views(seats, voted)
    seen_by = np.zeros((len(named) + truth, len(views)), dtype=bool)
    for place, (kind, family) in enumerate(views):
        seen_by[: len(named), place] = (kinds == kind) & ((family < 0) | (families == family))
    is_truth = np.zeros(len(seen_by), dtype=bool)
    if truth:
        is_truth[-1] = True
        kinds, families = np.append(kinds, HUMAN), np.append(families, -1)
    view_kind, view_family = (np.array([view[part] for view in views], dtype=np.int64) for part in (0, 1))
    return Tree(source, seen_by, view_kind, view_family, kinds, families, is_truth)


def _views(seats: Seats, voted: Mask) -> list[tuple[int, int]]:
    """(kind, family) of all views, −1 for that of all models; a view needs two workers who have it."""
    models = voted & (seats.kind == MODEL)
    views = [(MODEL, -1)] if models.any() else []
    for family in range(len(seats.family_names)):
        members = voted & (seats.family == family)
        if members.sum() < 2 or (members.sum() == models.sum() and (members == models).all()):
            continue  # alone it has no view of its own; all models together have theirs already
        views.append((int(seats.kind[members.argmax()]), family))
    return views


# -- what the votes say --------------------------------------------------------------------------------------------


def moments_of(votes: Votes, tree: Tree, present: Mask, known: Mask) -> Moments:
    """Correlations between sources; several votes of one worker on a pair count as one, with their share of yes.

    present, known : (n_pairs,) truth, where it is known
    """
    pair, source, apart, n_votes = centred_votes(votes, tree, present, known)
    shape = len(votes.pairs), tree.n_sources
    total = coo_array((apart, (pair, source)), shape=shape).tocsr()
    count = coo_array((np.ones(len(pair)), (pair, source)), shape=shape).tocsr()
    product, shared = (total.T @ total).toarray(), (count.T @ count).toarray()
    squares = np.bincount(source, apart**2, tree.n_sources)
    on_diagonal = np.diag_indices(tree.n_sources)
    product[on_diagonal] -= squares  # a worker's votes beside themselves
    shared[on_diagonal] -= n_votes
    variance = squares / np.maximum(n_votes, 1)
    scale = np.sqrt(np.outer(variance, variance))
    correlation = product / np.maximum(shared, 1) / np.maximum(scale, 1e-12)
    return Moments(np.clip(correlation, -0.99, 0.99), shared, shared / np.maximum(n_votes, 1)[:, None])


def centred_votes(votes: Votes, tree: Tree, present: Mask, known: Mask) -> tuple[Ints, Ints, Floats, Ints]:
    """Pair, source and vote of every worker on every pair, less the source's mean on the label; and votes by source."""
    pair, worker, share = shares_of_yes(votes)
    source, label = tree.source[worker], votes.pairs.label[pair]
    if tree.is_truth.any():
        told = np.flatnonzero(known)
        pair, share = np.append(pair, told), np.append(share, present[told])
        source = np.append(source, np.full(len(told), tree.n_sources - 1))
        label = np.append(label, votes.pairs.label[told])
    key = source * votes.n_labels + label
    size = tree.n_sources * votes.n_labels
    mean = np.bincount(key, share, size) / np.maximum(np.bincount(key, minlength=size), 1)
    return pair, source, share - mean[key], np.bincount(source, minlength=tree.n_sources)


def shares_of_yes(votes: Votes) -> tuple[Ints, Ints, Floats]:
    """Pair, worker and share of yes of all votes of one worker on one pair; of a random part beyond `SAMPLE` votes."""
    pair = np.repeat(np.arange(len(votes.pairs)), votes.pairs.n_votes)
    worker, yes = votes.worker.astype(np.int64), (votes.value > 0).astype(np.float64)
    if len(votes) > SAMPLE:
        chosen = np.random.default_rng(0).random(len(votes.pairs)) < SAMPLE / len(votes)
        here = chosen[pair]
        pair, worker, yes = pair[here], worker[here], yes[here]
    new = np.append(True, (np.diff(pair) != 0) | (np.diff(worker) != 0))[: len(pair)]
    first = np.flatnonzero(new)
    n_samples = np.diff(np.append(first, len(pair)))
    return pair[first], worker[first], np.add.reduceat(yes, first) / n_samples if len(first) else yes


# -- what that makes of the views ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Views:
    """A fitted tree.

    loading : (n_sources,) κ, of a vote on what its worker sees; validity : (n_views,) of a view for the one above it
    """

    tree: Tree
    loading: Floats
    validity: Floats

    @property
    def to_truth(self) -> Floats:
        """(n_sources,) product of the validities between what a source sees and the truth."""
        return np.asarray(np.exp(self.tree.seen_by @ np.log(self.validity)))

    @property
    def skill(self) -> Floats:
        """(n_sources,) λ, correlation of a vote with truth."""
        return self.loading * self.to_truth

    def correlation(self) -> Floats:
        """(n_sources, n_sources) of two votes on a pair, as the tree has it."""
        return np.outer(self.loading, self.loading) * _between(self.tree.seen_by, self.validity)


def _between(seen_by: Mask, validity: Floats) -> Floats:
    """(n_sources, n_sources) product of the validities of all views above one of two sources and not above both."""
    seen, weighted = seen_by.astype(np.float64), seen_by * np.log(validity)
    above = weighted.sum(axis=1)
    return np.asarray(np.exp(above[:, None] + above[None, :] - 2 * weighted @ seen.T))


@dataclass(frozen=True)
class Prior:
    """Centres and spreads of loadings (Fisher's z) and validities (log-odds), before the data speak."""

    loading: Floats
    loading_spread: Floats
    validity: Floats
    validity_spread: Floats


def prior_of(tree: Tree, moments: Moments) -> Prior:
    """See the constants above."""
    machine = tree.source_kind != HUMAN
    models = (tree.source_kind == MODEL) & ~tree.is_truth
    both = np.outer(models, models)
    weight = (moments.shared * both).sum()
    agree = float((moments.correlation * moments.shared * both).sum() / weight) if weight else LOADING**2
    agree = float(np.clip(agree, 0.05, 0.95))
    loading = np.where(machine, np.sqrt(agree) if weight else LOADING, PERSON)
    spread = np.where(machine, LOADING_SPREAD, PERSON_SPREAD)
    of_models = logit(MODELS_VIEW + MODELS_VIEW_SLOPE * agree)
    validity = np.array(
        [
            of_models if family < 0 else logit(FAMILY_VIEW[kind])
            for kind, family in zip(tree.view_kind.tolist(), tree.view_family.tolist(), strict=True)
        ]
    )
    validity_spread = np.where(tree.view_family < 0, MODELS_VIEW_SPREAD, FAMILY_VIEW_SPREAD)
    return Prior(np.arctanh(loading), spread, validity, validity_spread)


def fit_views(tree: Tree, moments: Moments) -> Views:
    """Loadings and validities that explain the correlations best, held to the prior: least squares."""
    prior = prior_of(tree, moments)
    free = np.flatnonzero(~tree.is_truth)
    first, second = np.triu_indices(tree.n_sources)
    enough = moments.shared[first, second] >= FEWEST
    first, second = first[enough], second[enough]
    seen = moments.correlation[first, second]
    error = np.sqrt((1 - seen**2) ** 2 / moments.shared[first, second] + MISFIT**2)
    differ = tree.seen_by[first] != tree.seen_by[second]
    rows = np.arange(len(first))
    at = np.full(tree.n_sources, -1)
    at[free] = np.arange(len(free))

    def unpacked(x: Floats) -> tuple[Floats, Floats]:
        loading = np.ones(tree.n_sources)
        loading[free] = np.tanh(x[: len(free)])
        return loading, sigmoid(x[len(free) :])

    centre = np.concatenate([prior.loading[free], prior.validity])
    spread = np.concatenate([prior.loading_spread[free], prior.validity_spread])

    def residuals(x: Floats) -> Floats:
        loading, validity = unpacked(x)
        expected = loading[first] * loading[second] * np.exp(differ @ np.log(validity))
        return np.concatenate([(seen - expected) / error, (x - centre) / spread])

    def jacobian(x: Floats) -> Floats:
        loading, validity = unpacked(x)
        between = np.exp(differ @ np.log(validity))
        slope = np.zeros((len(first), len(x)))
        for one, other in ((first, second), (second, first)):
            mine = at[one] >= 0
            slope[rows[mine], at[one][mine]] += ((1 - loading[one] ** 2) * loading[other] * between)[mine]
        slope[:, len(free) :] = (loading[first] * loading[second] * between)[:, None] * differ * (1 - validity)
        return np.concatenate([-slope / error[:, None], np.diag(1 / spread)])

    found = least_squares(residuals, centre, jacobian, method="lm" if len(centre) else "trf")
    return Views(tree, *unpacked(found.x))


# -- what votes are worth --------------------------------------------------------------------------------------------


class Told(NamedTuple):
    """What votes on a pair tell, in units of λ² / (1 − λ²).

    family : (…, n_views) about what each family sees; models : (…,) about what models see; truth : (…,) about truth
    """

    family: Floats
    models: Floats
    truth: Floats


def told_by(views: Views, n_votes: Floats) -> Told:
    """What (…, n_sources) votes of each source on one pair tell together.

    Within a view votes are independent given what it sees, and add up to t. A view of validity φ passes on
    φ² t / (1 + (1 − φ²) t) of that: however many votes, never more than φ² / (1 − φ²), as a single perfect one.
    """
    tree = views.tree
    each = np.asarray(n_votes) * _odds(views.loading)
    is_family = tree.view_family >= 0
    family = each @ np.where(is_family, tree.seen_by, False)
    passed = passed_on(family, views.validity)
    of_models = is_family & (tree.view_kind == MODEL)
    outside = ~tree.seen_by[:, is_family].any(axis=1)  # sources without a family view
    models = each @ (outside & (tree.source_kind == MODEL) & ~tree.is_truth) + passed @ of_models
    validity = views.validity[~is_family]
    from_models = passed_on(models, float(validity[0])) if len(validity) else np.zeros_like(models)
    direct = each @ (outside & (tree.source_kind != MODEL)) + passed @ (is_family & ~of_models)
    return Told(family, models, from_models + direct)


def passed_on(told: Floats, validity: Floats | float) -> Floats:
    """What is left of what is known about a view, as knowledge about what lies above it.

    >>> passed_on(np.array([0.25, 100.0]), np.sqrt(0.5)).round(3).tolist()  # at most .5 / (1 − .5) = 1
    [0.111, 0.98]
    """
    squared = np.asarray(validity) ** 2
    return np.asarray(squared * told / (1 + (1 - squared) * told))


def _odds(correlation: Floats) -> Floats:
    """What one vote tells that correlates so with what it is about."""
    squared = np.clip(correlation**2, 0.0, MOST_SQUARED)
    return np.asarray(squared / (1 - squared))


def design_weights(views: Views, together: Floats) -> Floats:
    """(n_sources,) share of a vote's evidence that is its own, beside the other votes on its pair.

    together : (n_sources, n_sources) see `Moments`. The coefficient of a vote in Fisher's discriminant, given all votes
    on its pair, over that which it would have alone. With n models of equal loading it is 1 / (1 + (n − 1) ρ).
    """
    tree = views.tree
    told = told_by(views, together + np.eye(tree.n_sources))
    is_family, is_model = tree.view_family >= 0, (tree.source_kind == MODEL) & ~tree.is_truth
    validity = views.validity
    through_family = np.where(tree.seen_by & is_family, validity / (1 + (1 - validity**2) * told.family), 1.0).prod(
        axis=1
    )
    of_models = float(validity[~is_family][0]) if (~is_family).any() else 1.0
    through_models = np.where(is_model, of_models / (1 + (1 - of_models**2) * told.models), 1.0)
    squared = np.clip(views.loading**2, 0.0, MOST_SQUARED)
    skill = np.clip(views.to_truth**2 * squared, 0.0, MOST_SQUARED)
    beside_others = through_family * through_models / (1 - squared)
    alone = views.to_truth / (1 - skill)
    return np.asarray(np.clip(beside_others / alone, 0.0, 1.0))


@dataclass(frozen=True)
class Sharing:
    """What the votes say about who shares errors with whom.

    views, moments : the fitted tree, and what it was fitted to
    weight : (n_workers,) how much a vote of each worker counts: below 1 for those whose votes others repeat
    """

    views: Views
    moments: Moments
    weight: Floats


def shared_errors(votes: Votes, seats: Seats, present: Mask, known: Mask) -> Sharing:
    """Who shares errors with whom, and what their votes are worth; `present` and `known` (n_pairs,) are known truth.

    Several votes of one worker on a pair, as of a model that was asked several times, count as one together.
    """
    n_votes = np.bincount(votes.worker, minlength=votes.n_workers)
    tree = tree_of(largest_families(seats, n_votes), n_votes, truth=bool(known.any()))
    moments = moments_of(votes, tree, present, known)
    views = fit_views(tree, moments)
    weight = design_weights(views, moments.together)[tree.source]
    return Sharing(views, moments, weight / samples_per_pair(votes))


def samples_per_pair(votes: Votes) -> Floats:
    """(n_workers,) mean number of votes of a worker on a pair: 1 unless they were asked several times."""
    if not votes.reading.samples:
        return np.ones(votes.n_workers)
    n_votes, n_pairs = (np.bincount(each.worker, minlength=votes.n_workers) for each in (votes, votes.one_per_worker()))
    return np.asarray(np.maximum(n_votes, 1) / np.maximum(n_pairs, 1))


def effective_counts(votes: Votes, weight: Floats | None) -> tuple[Floats, Floats]:
    """(n_pairs,) yes votes and all votes, each counted by the weight of its worker."""
    if weight is None:
        return votes.n_yes.astype(np.float64), votes.pairs.n_votes.astype(np.float64)
    each, start = weight[votes.worker], votes.pairs.start[:-1]
    return np.add.reduceat(each * (votes.value > 0), start), np.add.reduceat(each, start)


def families_behind(votes: Votes, seats: Seats, proba: Floats) -> Ints:
    """(n_pairs,) how many families are among the workers who agree with the decision; people without one count each.

    Several votes of a family are one voice here: `settled` asks for two.
    """
    pair = np.repeat(np.arange(len(votes.pairs)), votes.pairs.n_votes)
    agrees = (votes.value > 0) == (proba > 0.5)[pair]
    alone = len(seats.family_names) + np.arange(votes.n_workers)
    voice = np.where(seats.family >= 0, seats.family, alone)[votes.worker[agrees]].astype(np.int64)
    heard = np.unique(pair[agrees] * (len(seats.family_names) + votes.n_workers) + voice)
    return np.bincount(heard // (len(seats.family_names) + votes.n_workers), minlength=len(proba))


# -- families in numbers ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Families:
    """One row per family of two or more, and one for all models: what they share.

    name : families; "all models" comes first; kind : code into `KINDS`; members, votes : how many
    votes_per_pair : mean number of votes on a pair that any of them voted on (samples of one worker count once)
    correlation : of the errors of two members; effective_votes : how many independent votes theirs are worth
    null_low, null_high : 95 % range of that for independent workers of the same skill, who voted as often
    """

    name: pa.Array
    kind: Annotated[Signs, Each("family", least=0)]
    members: Annotated[Ints, Each("family", least=0)]
    votes: Annotated[Ints, Each("family", least=0)]
    votes_per_pair: Annotated[Floats, Each("family", least=0)]
    correlation: Annotated[Floats, Each("family")]
    effective_votes: Annotated[Floats, Each("family", least=0)]
    null_low: Annotated[Floats, Each("family", least=0)]
    null_high: Annotated[Floats, Each("family", least=0)]

    def table(self) -> pa.Table:
        """The rows, with kinds by name."""
        kind = pa.array(np.array(KINDS, dtype=object)[self.kind], pa.string())
        columns = {name: getattr(self, name) for name in list(vars(self))[2:]}
        return pa.table({"family": self.name, "kind": kind, **columns})

    def sentences(self) -> list[str]:
        """Each row in plain words."""
        sentences = []
        for row in self.table().to_pylist():
            text = (
                f"{row['family']}: {row['members']} {row['kind']}s, {row['votes_per_pair']:.1f} votes on a pair are "
                f"worth {row['effective_votes']:.1f} independent ones (if they shared no errors, the same estimate "
                f"would say {row['null_low']:.1f} to {row['null_high']:.1f})"
            )
            told = row["effective_votes"] < CLEARLY * row["null_low"]
            sentences.append(text + ("" if told else "; the votes cannot show which, so this is mostly assumed"))
        return sentences


ALL_MODELS = "all models"


def describe_families(votes: Votes, seats: Seats, sharing: Sharing) -> Families:
    """How many independent votes each family is worth, beside what independent workers of the same skill would show.

    The band comes from the same estimate, on the correlations that workers would have who are independent given truth
    and as skilled as explains these votes best, with the noise of as many votes. Where votes cannot tell sharing from
    skill (nobody, or one person, beside the models), such workers would show the same, and the band says so.
    """
    seats = largest_families(seats, np.bincount(votes.worker, minlength=votes.n_workers))
    groups = _groups(votes, seats, sharing.views.tree)
    measured = _effective(sharing.views, groups)
    rng = np.random.default_rng(0)
    skill = _skill_if_independent(sharing)
    draws = [_null_views(sharing, skill, rng) for _ in range(N_NULL if groups else 0)]
    null = np.array([_effective(views, groups) for views in draws])
    low, high = np.quantile(null, [0.025, 0.975], axis=0) if groups else (np.empty(0), np.empty(0))
    return Families(
        pa.array([group.name for group in groups], pa.string()),
        np.array([group.kind for group in groups], np.int8),
        np.array([group.members for group in groups], np.int64),
        np.array([group.votes for group in groups], np.int64),
        np.array([group.per_pair.sum() for group in groups]),
        np.array([_error_correlation(sharing.views, group) for group in groups]),
        measured,
        low,
        high,
    )


@dataclass(frozen=True)
class _Group:
    """Workers who may share errors; `per_pair` (n_sources,) are their votes on a pair that any of them voted on."""

    name: str
    kind: int
    members: int
    votes: int
    per_pair: Floats


def _groups(votes: Votes, seats: Seats, tree: Tree) -> list[_Group]:
    voted = np.bincount(votes.worker, minlength=votes.n_workers) > 0
    chosen = [(ALL_MODELS, MODEL, voted & (seats.kind == MODEL))]
    for code, name in enumerate(seats.family_names.to_pylist()):
        members = voted & (seats.family == code)
        if members.any():
            chosen.append((name, int(seats.kind[members.argmax()]), members))
    pair, worker, _ = shares_of_yes(votes)
    n_votes = np.bincount(votes.worker, minlength=votes.n_workers)
    groups = []
    for name, kind, members in chosen:
        if members.sum() < 2:
            continue
        mine = members[worker]
        n_pairs = len(np.unique(pair[mine]))
        per_pair = np.bincount(tree.source[worker[mine]], minlength=tree.n_sources) / max(n_pairs, 1)
        groups.append(_Group(name, kind, int(members.sum()), int(n_votes[members].sum()), per_pair))
    return groups


def _effective(views: Views, groups: Sequence[_Group]) -> Floats:
    """(n_groups,) what their votes on a pair tell about truth, over what one of these votes would tell."""
    single = _odds(views.skill)

    def worth(n_votes: Floats) -> float:
        usual = float(n_votes @ single) / max(float(n_votes.sum()), 1e-9)
        return float(told_by(views, n_votes).truth) / max(usual, 1e-9)

    return np.array([worth(group.per_pair) for group in groups])


def _error_correlation(views: Views, group: _Group) -> float:
    """Mean correlation of what two members say beyond truth."""
    skill, squared = views.skill, np.clip(views.skill**2, 0.0, MOST_SQUARED)
    errors = np.sqrt(1 - squared)
    shared = (views.correlation() - np.outer(skill, skill)) / np.outer(errors, errors)
    weight = np.outer(group.per_pair, group.per_pair)
    single = np.minimum(group.per_pair, 1.0)
    weight[np.diag_indices(len(single))] -= single * group.per_pair  # a vote beside itself
    return float((weight * shared).sum() / weight.sum()) if weight.sum() > 1e-12 else 0.0


def _skill_if_independent(sharing: Sharing) -> Floats:
    """(n_sources,) the skill that explains the correlations best without any view."""
    tree = sharing.views.tree
    nothing = replace(tree, seen_by=tree.seen_by[:, :0], view_kind=tree.view_kind[:0], view_family=tree.view_family[:0])
    return fit_views(nothing, sharing.moments).skill


def _null_views(sharing: Sharing, skill: Floats, rng: np.random.Generator) -> Views:
    """The views that the same estimate finds in votes of independent workers of this skill."""
    expected = np.outer(skill, skill)
    noise = rng.standard_normal(expected.shape)
    noise = np.triu(noise) + np.triu(noise, 1).T
    drawn = expected + noise * (1 - expected**2) / np.sqrt(np.maximum(sharing.moments.shared, 1))
    return fit_views(sharing.views.tree, sharing.moments._replace(correlation=np.clip(drawn, -0.99, 0.99)))
