"""A block of items: what is in them, who is asked about what, and what they say.

The log-odds of a yes are those of the worker's rate, plus what the item's difficulty and the troubles add. Spammers
do not look: nothing is added to theirs. Arrays of questions have the axes (item, answer, label asked) until `_flat`
puts them in a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from amcc.arrays import Codes, Floats32, Mask, Signs
from amcc.data.simulate import troubles
from amcc.data.simulate.distinct import draw_distinct
from amcc.data.simulate.kinds import DIFFICULTY_SHIFT, HONEST_RATES, IS_SPAMMER, logit, sigmoid
from amcc.data.simulate.labels import N_FACTORS, Labels, draw_presence
from amcc.data.simulate.spec import CrowdSpec
from amcc.data.simulate.workers import Workers

# Beside factors of unit variance: features tell much about the labels, but not all.
FEATURE_NOISE = 0.5


@dataclass(frozen=True)
class CrowdBlock:
    """Some consecutive items of a crowd with all their votes.

    Attributes
    ----------
    first_item : int. Code of the block's first item.
    item, worker, label : (n_votes,) codes in the whole crowd, by item, then answer.
    value : (n_votes,) +1 or -1.
    truth : (block items, n_labels) bool, what the experts say.
    present : (block items, n_labels) bool, what is there; the same unless experts have a convention of their own.
    difficulty : (block items,) 0 on average.
    features : (block items, n_features)
    """

    first_item: int
    item: Codes
    worker: Codes
    label: Codes
    value: Signs
    truth: Mask
    present: Mask
    difficulty: Floats32
    features: Floats32


@dataclass(frozen=True)
class _Scene:
    """What the workers see of a block of items.

    present : (items, n_labels) int8, what is there; difficulty : (items,); offset : (items, n_labels) log-odds common
    to all, or None; taste : (items, n_labels, n_tastes) log-odds common to a group, or None.
    """

    present: Signs
    difficulty: Floats32
    offset: Floats32 | None
    taste: Floats32 | None


class _BlockVotes(NamedTuple):
    """Votes of a block, all (n_votes,); items are counted in the block."""

    item: Codes
    worker: Codes
    label: Codes
    yes: Mask


def draw_block(
    rng: np.random.Generator,
    trouble_rng: np.random.Generator,
    spec: CrowdSpec,
    labels: Labels,
    workers: Workers,
    items: range,
) -> CrowdBlock:
    """The block of these items; models and troubles come from `trouble_rng`, all else from `rng`."""
    n_items = len(items)
    factors = rng.standard_normal((n_items, N_FACTORS), dtype=np.float32)
    present = draw_presence(rng, spec, labels, factors)
    # Exponential: most items are a little easier than usual, a few much harder. Less 1, for a mean of 0.
    difficulty = np.float32(spec.difficulty) * (rng.standard_exponential(n_items, dtype=np.float32) - 1)
    feature_noise = FEATURE_NOISE * rng.standard_normal((n_items, spec.n_features), dtype=np.float32)

    scene = _draw_scene(trouble_rng, spec, labels, present, difficulty)
    votes = _draw_people_votes(rng, spec, workers, scene, items)
    if spec.n_models:
        votes = _by_item(votes, _draw_model_votes(trouble_rng, spec, workers, scene))
    return CrowdBlock(
        first_item=items.start,
        item=votes.item + np.int32(items.start),
        worker=votes.worker,
        label=votes.label,
        value=np.where(votes.yes, np.int8(1), np.int8(-1)),
        # Without a convention nothing is computed: rounding must not move the truth of plain crowds.
        truth=_expert_truth(spec, labels, scene) if spec.convention > 0 else present,
        present=present,
        difficulty=difficulty,
        features=factors @ labels.feature_loading + feature_noise,
    )


def _draw_scene(
    rng: np.random.Generator, spec: CrowdSpec, labels: Labels, present: Mask, difficulty: Floats32
) -> _Scene:
    """What is there and what it looks like; nothing is drawn for troubles that are off."""
    offset = taste = None
    if spec.has_shared_offsets:
        offset = troubles.pair_offsets(rng, present, faint=spec.faint, tempting=spec.tempting, spread=spec.pair_spread)
    if spec.taste > 0:
        taste = troubles.taste_offsets(rng, len(present), labels.tasteful, spec.n_tastes, spec.taste)
    return _Scene(present.view(np.int8), difficulty, offset, taste)


def _expert_truth(spec: CrowdSpec, labels: Labels, scene: _Scene) -> Mask:
    """Whether the share of honest workers who would see a label reaches its convention, (items, n_labels).

    Experts know how workers usually see a pair; they have no taste of their own.
    """
    # Turned round, (false alarms, hits), so that presence, 0 or 1, picks the rate.
    usual = logit([(false_alarm, hit) for hit, false_alarm in HONEST_RATES.values()])
    shift = DIFFICULTY_SHIFT[scene.present] * scene.difficulty[:, None]
    if scene.offset is not None:
        shift = shift + scene.offset
    kept: Mask = troubles.share_seen(usual[:, scene.present], shift, spec.honest_shares) >= labels.convention
    return kept


def _draw_people_votes(
    rng: np.random.Generator, spec: CrowdSpec, workers: Workers, scene: _Scene, items: range
) -> _BlockVotes:
    """What people say, each about labels of their own."""
    item = troubles.covered_items(items, spec.covered_share)[:, None, None]
    shape = (len(item), spec.answers_per_item if spec.n_people else 0, spec.labels_per_answer)
    # By activity: a few workers give most answers. Models, the last workers, are not drawn.
    worker = draw_distinct(rng, workers.activity[: spec.n_people], *shape[:2])[:, :, None]
    label = _draw_asked_labels(rng, spec, shape)
    log_odds = _yes_log_odds(workers, scene, item, worker, label)
    return _flat(shape, item, worker, label, rng.random(shape, dtype=np.float32) < sigmoid(log_odds))


def _draw_model_votes(rng: np.random.Generator, spec: CrowdSpec, workers: Workers, scene: _Scene) -> _BlockVotes:
    """What the models say, who answer every item."""
    n_items = len(scene.present)
    shape = (n_items, spec.n_models, spec.labels_per_answer)
    item = np.arange(n_items, dtype=np.int32)[:, None, None]
    worker = np.arange(spec.n_people, spec.n_workers, dtype=np.int32)[:, None]
    label = _draw_asked_labels(rng, spec, shape)
    # A vote is a yes where its luck is below its chance. Models that share luck are right and wrong together.
    if spec.family_correlation > 0:
        common = troubles.family_luck(
            rng, n_items, spec.n_labels, spec.n_families,
            within=spec.family_correlation, between=spec.model_correlation,
        )  # fmt: skip
        luck = troubles.shared_luck(rng, common[item, label, workers.family[worker]], spec.family_correlation)
    else:
        luck = rng.random(shape, dtype=np.float32)
    return _flat(shape, item, worker, label, luck < sigmoid(_yes_log_odds(workers, scene, item, worker, label)))


def _draw_asked_labels(rng: np.random.Generator, spec: CrowdSpec, shape: tuple[int, int, int]) -> Codes:
    """The labels asked in each answer, all equally often, of this shape (item, answer, label asked)."""
    n_items, n_answers, n_asked = shape
    return draw_distinct(rng, np.ones(spec.n_labels), n_items * n_answers, n_asked).reshape(shape)


def _yes_log_odds(workers: Workers, scene: _Scene, item: Codes, worker: Codes, label: Codes) -> Floats32:
    """Log-odds of a yes to each question, (item, answer, label asked)."""
    present = scene.present[item, label]
    # Who spams does not look. Zeros, and not a product with 0: log-odds of spammers may be infinite.
    looks = ~IS_SPAMMER[workers.kind[worker]]
    log_odds: Floats32 = workers.log_odds[present, worker, label]
    log_odds = log_odds + DIFFICULTY_SHIFT[present] * np.where(looks, scene.difficulty[item], np.float32(0))
    if scene.offset is not None:
        log_odds = log_odds + np.where(looks, scene.offset[item, label], np.float32(0))
    if scene.taste is not None:
        log_odds = log_odds + np.where(looks, scene.taste[item, label, workers.taste[worker]], np.float32(0))
    return log_odds


def _flat(shape: tuple[int, ...], item: Codes, worker: Codes, label: Codes, yes: Mask) -> _BlockVotes:
    """Votes in a row, by item, then answer."""
    spread = [np.broadcast_to(codes, shape).ravel() for codes in (item, worker, label)]
    return _BlockVotes(spread[0], spread[1], spread[2], yes.ravel())


def _by_item(*parts: _BlockVotes) -> _BlockVotes:
    """The votes of all parts, by item; those of an earlier part first."""
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = columns[0].argsort(kind="stable")  # stable, or the parts would be mixed within an item
    return _BlockVotes._make(column[order] for column in columns)
