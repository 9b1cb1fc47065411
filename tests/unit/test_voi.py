"""Value of information: hand-worked numbers, and what it prefers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from amcc.active.beliefs import Expert, Learner, cold_beliefs
from amcc.active.buying import next_questions
from amcc.active.candidates import Anything
from amcc.active.questions import Triplets
from amcc.active.skills import KNOWN, Skills
from amcc.active.strategies import make_strategy
from amcc.active.strategies.voi import (
    MOST_TOGETHER,
    ValueOfInformation,
    carried_over,
    not_heard_before,
    said_by_few,
    still_to_learn,
)
from amcc.active.value import value_by_skill
from amcc.active.yourself import with_expert
from amcc.consensus import AMCC
from amcc.consensus.families import Sharing
from amcc.consensus.families.tree import tree_of
from amcc.consensus.families.views import Views
from amcc.consensus.families.weights import information_in
from amcc.errors import ParameterError
from amcc.roster import HUMAN, MODEL, Roster, Seats
from amcc.votes import Votes


def beliefs(proba, answers):
    """Beliefs after answers (n_workers, n_items, n_labels) of 1, -1 and 0."""
    return replace(cold_beliefs(Votes.from_dense(answers)), proba=np.array(proba, float))


def practised(proba, n_wrong, n_items=200):
    """Beliefs about an item with these probabilities that nobody has answered, and workers who answered many others.

    They are known: every second label is present, and the worker is wrong about as many items as it says.
    """
    n_labels = len(proba)
    present = np.tile([[True], [False]], (n_items // 2, n_labels))
    answers = np.where(present, 1, -1)[None].repeat(len(n_wrong), 0)
    for worker, wrong in enumerate(n_wrong):
        answers[worker, :wrong] *= -1
    answers = np.concatenate([np.zeros((len(n_wrong), 1, n_labels), int), answers], axis=1)
    return beliefs(np.concatenate([[proba], present]), answers)


def chosen(known, prices=None, n=1, seed=0, **settings):
    prices = np.ones(known.votes.n_workers) if prices is None else np.array(prices, float)
    strategy, rng = ValueOfInformation(**settings), np.random.default_rng(seed)
    questions = strategy.select(known, Anything(known.votes), prices, n, rng).asked
    return list(zip(questions.item.tolist(), questions.label.tolist(), questions.worker.tolist(), strict=True))


def test_skill_is_agreement_beyond_chance():
    """Half is present, so chance agrees with half. Ann: .9 + .9 of 2, beyond chance .8 of 1; Bob: .9 + .1, nothing.

    The crowd has .8 of 2, and ¼ of ½ of one more vote; a vote leaves room for ½: a stranger has .42 by a weight of ½.
    """
    known = beliefs([[0.9], [0.1]], [[[1], [-1]], [[1], [1]], [[0], [0]]])
    skills = Skills.from_beliefs(known.votes, known.proba, answers_of_stranger=1.0)
    assert_allclose(skills.mean, [(0.8 + 0.21) / 1.5, 0.21 / 1.5, 0.42])
    assert_allclose(skills.evidence, [1.5, 1.5, 0.5])


def test_who_never_says_yes_has_no_skill_though_he_is_mostly_right():
    present = np.arange(100)[:, None] < 10
    answers = np.stack([np.where(present, 1, -1), np.full(present.shape, -1)])
    known = beliefs(present, answers)
    looks, does_not = Skills.from_beliefs(known.votes, known.proba, 1e-9).mean
    assert looks == pytest.approx(1) and does_not == pytest.approx(0, abs=1e-6)


def test_before_the_first_vote_everybody_is_somewhat_skilled():
    votes = Votes.from_dense(np.ones((3, 1, 1)))
    known = cold_beliefs(votes.select(votes.value == 0))
    assert_allclose(Skills.from_beliefs(known.votes, known.proba, 1.0).mean, 0.5)
    assert len(chosen(known, n=5)) == 1


def test_what_asking_teaches_is_worth_something_until_it_is_known():
    """Equal means: a stranger is worth more. Known to be bad, or good: an answer is worth what it is."""
    skills = Skills(np.array([0.6, 0.6, 0.1, 0.9, 0.6]), np.array([2.0, 2e5, 2e5, 2e5, 2e5]))
    stranger, usual, bad, good, _ = skills.worth_asking()
    assert_allclose([usual, bad, good], [0.6, 0.1, 0.9], atol=0.01)
    assert 0.7 < stranger < 0.9


def test_the_option_is_the_expectation_over_what_skill_may_be():
    skills = Skills(np.array([0.5, 0.2, -0.9, 0.7]), np.array([2.0, 5.0, 50.0, 20.0]))
    yes, no = (1 + skills.mean) / 2 * skills.evidence, (1 - skills.mean) / 2 * skills.evidence
    right = np.random.default_rng(0).beta(yes, no, size=(200_000, 4))
    square = np.maximum(2 * right - 1, 0) ** 2
    expected, usual = square.mean(axis=0), np.median(square.mean(axis=0))
    option = np.maximum(square, usual).mean(axis=0) - np.maximum(expected, usual)
    assert_allclose(skills.worth_asking() ** 2, expected + option, atol=3e-3)


def test_only_a_part_of_what_tells_workers_apart_is_believed():
    """Squares of .36 and .04 have the mean .2: with 30 %, .2 ± .3 · .16. Who is known is taken at their word."""
    skills = Skills(np.array([0.6, 0.2, 0.98]), np.array([2e5, 2e5, KNOWN]))
    assert_allclose(skills.believed_square(0.3), [0.248, 0.152, 0.98**2], atol=1e-3)
    assert_allclose(skills.believed_square(1.0), skills.expected_square)
    assert_allclose(Skills(np.array([0.9]), np.array([KNOWN])).believed_square(0.3), 0.81, atol=1e-3)


@pytest.mark.parametrize("share", [-0.1, 1.1, np.nan])
def test_a_share_of_skill_is_a_share(share):
    with pytest.raises(ParameterError, match="skill_share must lie in 0 … 1"):
        ValueOfInformation(skill_share=share)


def test_what_is_carried_over():
    """Doubts ¼ and .09, correlation .5: ¼ + ¼ · .09 instead of ¼."""
    gain = carried_over(np.array([[0.5, 0.1]]), np.array([[1.0, 0.5], [0.5, 1.0]]))
    assert_allclose(gain, [[(0.25 + 0.25 * 0.09) / 0.25, (0.09 + 0.25 * 0.25) / 0.09]])


def test_the_doubtful_pair_and_the_better_worker():
    for seed in range(20):
        assert chosen(practised([0.99, 0.5, 0.2], n_wrong=[80, 10]), seed=seed) == [(0, 1, 1)]


def test_price_decides_between_equals_and_against_quality():
    known = practised([0.5], n_wrong=[500, 250], n_items=2000)  # skills ½ and ¾, values 1 : 2¼
    for seed in range(20):
        assert chosen(known, seed=seed) == [(0, 0, 1)]
        assert chosen(known, prices=[1, 1.5], overhead=0, skill_share=1, seed=seed) == [(0, 0, 1)]
        assert chosen(known, prices=[1, 4], overhead=0, skill_share=1, seed=seed) == [(0, 0, 0)]
        assert chosen(known, prices=[1, 4], overhead=3, skill_share=1, seed=seed) == [(0, 0, 1)]  # 8½ : 11½
        # With 30 % of what tells them apart, the values are 1 : 1.29.
        assert chosen(known, prices=[1, 1.5], overhead=0, seed=seed) == [(0, 0, 0)]
        assert chosen(known, prices=[1, 1.1], overhead=0, seed=seed) == [(0, 0, 1)]


def test_a_stranger_gets_his_turn_because_it_pays():
    """Somebody who might be better is asked before those who are known to be as good as is expected of him."""
    known = practised([0.5], n_wrong=[40, 40])
    stranger = np.concatenate([known.votes.to_dense(), np.zeros((1, known.votes.n_items, 1))])
    assert chosen(beliefs(known.proba, stranger))[0][2] == 2


def test_pairs_asked_often_come_later():
    known = beliefs([[0.5, 0.45]], [[[1, 0]], [[-1, 0]], [[1, 0]], [[-1, 0]], [[0, 0]]])
    assert chosen(known)[0][1] == 1  # though the other is the more doubtful
    assert_allclose(still_to_learn(np.array([0, 1, 3])), [1, 0.5, 0.25])


def test_who_has_said_much_is_asked_less():
    """The usual number of votes halves the value; of two who are as good, the one with fewer votes is asked."""
    assert_allclose(said_by_few(np.array([0, 2, 4, 2]), usual=2.0), [1, 2, 3, 2])
    known = practised([0.5], n_wrong=[0, 0], n_items=2000)
    answers = known.votes.to_dense().copy()
    answers[0, 1001:] = 0
    for seed in range(5):
        assert chosen(beliefs(known.proba, answers), seed=seed)[0][2] == 0


def test_what_is_certain_is_looked_at_again_where_pairs_may_be_misread():
    known = practised([0.0, 1.0], n_wrong=[10, 10])
    sure, hedged = ValueOfInformation(loss="decision"), make_strategy("voi-decision")
    certain = np.array([0.0, 1.0])
    assert_allclose(sure.value(certain, 0.8), 0, atol=1e-15)
    assert (hedged.value(certain, 0.8) > 0.005).all()
    assert_allclose(hedged.hedged(np.array([0.0, 0.5, 1.0])), [0.05, 0.5, 0.95])
    found = hedged.select(known, Anything(known.votes), np.ones(2), 1, np.random.default_rng(0))
    assert found.parts["ahead"][0] > 1  # at .05, one answer cannot change the decision
    # Of a certain pair nothing is carried over, however its doubt is hedged.
    weight = replace(hedged, correlated=True).weight_of_pairs(known)
    assert np.isfinite(weight).all() and (weight[0] <= 2).all()


def test_several_are_asked_at_once_only_where_there_is_room():
    """Four workers and two open pairs: a batch of two has one answer each, a larger one three, the fourth waits."""
    known = practised([0.5, 0.5], n_wrong=[40, 40, 40, 40])
    settled = np.ones(known.proba.shape, dtype=bool)
    settled[0] = False
    known = replace(known, known=settled)

    def asked(n):
        found = ValueOfInformation().select(
            known, known.open_among(Anything(known.votes)), np.ones(4), n, np.random.default_rng(0)
        )
        assert len(set(found.asked.rows())) == len(found)
        return np.bincount(found.asked.label, minlength=2).tolist()

    assert asked(2) == [1, 1]
    assert asked(3) in ([1, 1], [2, 1], [1, 2])
    assert max(asked(50)) <= MOST_TOGETHER


def test_a_further_answer_at_once_must_be_as_good_a_buy():
    """One pair is worth less than half an open one: a second answer about that is the better buy. And never without."""
    known = replace(practised([0.5, 0.9], n_wrong=[20, 20]), known=None)
    answers = known.votes.to_dense().copy()
    answers[:, 1:] = 1  # nothing is left to ask but the first item
    questions = chosen(beliefs(known.proba, answers), n=4)
    assert [pair[:2] for pair in questions].count((0, 0)) == 2
    certain = beliefs(np.where(known.proba > 0.5, 1.0, 0.0), answers)
    assert len(chosen(certain, n=9)) == 2  # worth nothing: one question each, and no second


def test_what_a_worker_is_asked_in_this_batch_counts_as_said():
    """One is asked about the open pair, the other about the clear one; the latter's second question is their second."""
    known = practised([0.5, 0.9], n_wrong=[20, 20], n_items=20)
    answers = known.votes.to_dense().copy()
    answers[:, 1:] = 1  # nothing is left to ask but the first item
    known = beliefs(known.proba, answers)
    found = ValueOfInformation().select(known, Anything(known.votes), np.ones(2), 4, np.random.default_rng(0))
    assert found.asked.label.tolist() == [0, 1, 0]
    first, _, third = found.parts["skill_to_ask"] ** 2
    n_votes = np.array([40, 41])
    assert first / third == pytest.approx(np.divide(*said_by_few(n_votes, 40.0)[::-1]))


def test_answers_that_are_coming_count_as_votes():
    known = practised([0.5, 0.5], n_wrong=[40, 40])
    coming = Triplets(np.zeros(3, np.int64), np.array([1, 1, 0]), np.array([0, 1, 0]))
    for correlated in (False, True):
        strategy = ValueOfInformation(correlated=correlated)
        before, after = strategy.weight_of_pairs(known), strategy.weight_of_pairs(known, coming)
        assert_allclose(after[0] / before[0], [1 / 2, 1 / 3])
        assert_allclose(after[1:], before[1:])


def test_the_requester_is_known_and_teaches_beside_the_pair():
    known = practised([0.5, 0.5], n_wrong=[40, 40])
    gain = np.zeros(known.proba.shape)
    gain[0, 1] = 7.0
    known = with_expert(known, "you", gain)
    assert known.expert == Expert(2, gain)
    skills = Skills.of(known, 1.0)
    assert skills.mean[2] == pytest.approx(0.98)
    assert skills.worth_asking()[2] == pytest.approx(0.98, abs=1e-3)
    asked = Triplets(np.zeros(3, np.int64), np.array([0, 1, 1]), np.array([2, 2, 0]))
    assert_allclose(ValueOfInformation().beside(known, asked), [0, 7, 0])
    assert ValueOfInformation(loss="squared").beside(known, asked) == 0  # nats are no squares
    assert chosen(known, prices=[1, 1, 50]) == [(0, 1, 2)]


def test_the_utility_is_value_for_cost_and_the_parts_say_of_what():
    """By hand: value at ½ of the worker's skill, halved by one vote, over price plus three median prices."""
    known = practised([0.5], n_wrong=[40, 20, 20])
    answers = known.votes.to_dense().copy()
    answers[0, 0, 0] = 1
    known = beliefs(known.proba, answers)
    prices = np.array([1.0, 2.0, 900.0])
    found = ValueOfInformation().select(known, Anything(known.votes), prices, 1, np.random.default_rng(0))
    assert list(found.asked.rows()) == [(0, 0, 1)]
    skills = Skills.of(known, 1.0)
    n_votes = np.bincount(known.votes.worker)
    believed, option = skills.believed_square(0.3)[1], skills.option[1]
    skill = np.sqrt((believed + option) / said_by_few(n_votes, n_votes.mean())[1])
    value = 0.5 * value_by_skill("log", np.array([0.5]), np.array([skill]), 5)
    parts = {name: float(part[0]) for name, part in found.parts.items()}
    of_worker = {"skill": skills.mean[1], "skill_to_ask": skill, "to_know": option / (believed + option)}
    told = {"probability": 0.5, **of_worker, "new": 1, "ahead": 1, "c": 2}
    assert parts == pytest.approx({**told, "value": value[0]})
    assert found.utility[0] == pytest.approx(value[0] / (2 + 3 * 2))


def test_nobody_to_ask_and_pairs_that_everybody_answered():
    known = practised([0.5], n_wrong=[40, 40])
    answers = np.where(known.votes.to_dense() == 0, 1, known.votes.to_dense())
    for votes, who in ((known.votes, np.zeros(2, dtype=bool)), (Votes.from_dense(answers), np.ones(2, dtype=bool))):
        now = replace(known, votes=votes)
        found = ValueOfInformation().select(now, Anything(votes, who), np.ones(2), 5, np.random.default_rng(0))
        assert len(found) == 0


def family(n_members, n_items=60, seed=0):
    """Votes of models of one family, who often err together, and of two people; and what a fit learned of them."""
    rng = np.random.default_rng(seed)
    present = rng.random((n_items, 2)) < 0.5
    seen = np.where(rng.random(present.shape) < 0.8, present, ~present)
    models = np.where(rng.random((n_members, *present.shape)) < 0.95, seen, ~seen)
    people = np.where(rng.random((2, *present.shape)) < 0.8, present, ~present)
    answers = np.where(np.concatenate([models, people]), 1, -1)
    return answers, {f"w{worker}": "model" if worker < n_members else "human" for worker in range(n_members + 2)}


def told_with(n_heard, n_members=7):
    """Share that is new in the next model's answer, and in a person's, after `n_heard` models answered item 0."""
    answers, kinds = family(n_members)
    answers[n_heard:, 0] = 0
    names = sorted(kinds)
    votes = Votes.from_dense(answers, worker_names=names)
    kind = [kinds[name] for name in names]
    table = {"worker": names, "kind": kind, "family": ["f" if each == "model" else None for each in kind]}
    learned = Learner(AMCC, roster=Roster.from_frame(pa.table(table))).learn(votes)
    asked = Triplets(np.zeros(2, np.int64), np.zeros(2, np.int64), np.array([n_members - 1, n_members]))
    return not_heard_before(learned, asked)


def test_a_judge_tells_less_the_more_of_its_family_have_answered():
    new = np.array([told_with(n_heard) for n_heard in (0, 1, 2, 4, 6)])
    assert_allclose(new[0], 1.0)
    assert (np.diff(new[:, 0]) < 0).all()  # the next judge
    assert new[-1, 0] < 0.1 < new[-1, 1]  # a seventh judge tells almost nothing, a person does


def test_a_copy_of_an_answer_that_is_there_tells_almost_nothing():
    """Models that always say the same: once one of them has answered, the next adds a twentieth, a person all."""
    answers, kinds = family(3)
    answers[1:3] = answers[0]
    answers[1:, 0] = 0
    names = sorted(kinds)
    table = {"worker": names, "kind": [kinds[name] for name in names], "family": ["f"] * 3 + [None] * 2}
    votes, roster = Votes.from_dense(answers, worker_names=names), Roster.from_frame(pa.table(table))
    asked = Triplets(np.zeros(2, np.int64), np.zeros(2, np.int64), np.array([1, 4]))
    copy, person = not_heard_before(Learner(AMCC, roster=roster).learn(votes), asked)
    assert copy < 0.06 and person > 0.9


def shared_views(n_models, n_people, seed):
    """Views of a family of models, of all models, and of people, with correlations at random."""
    kinds = [MODEL] * (n_models + 1) + [HUMAN] * n_people
    seats = Seats(np.array(kinds), np.array([0] * n_models + [-1] * (1 + n_people)), np.zeros(len(kinds), bool), ("f",))
    tree, rng = tree_of(seats, np.ones(len(kinds)), truth=False), np.random.default_rng(seed)
    return Views(tree, rng.uniform(0.05, 0.99, tree.n_sources), rng.uniform(0.05, 0.99, len(tree.view_kind)))


@given(st.integers(2, 6), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_no_vote_makes_the_next_tell_more_and_those_of_a_family_make_it_tell_less(n_models, n_people, seed):
    views = shared_views(n_models, n_people, seed)
    sharing = Sharing(views, correlations=None, weight=None, apart=None)
    n_votes = np.random.default_rng(seed).integers(0, 4, (1, views.tree.n_sources)).astype(float)
    before = sharing.new_in_next(n_votes)[0]
    assert (before >= 0).all() and (before <= 1).all()
    for source, more in enumerate(np.eye(views.tree.n_sources)):
        after = sharing.new_in_next(n_votes + more)[0]
        assert (after <= before + 1e-9).all()
        if views.tree.is_model[source]:
            assert after[source] < before[source]


@pytest.mark.parametrize("seed", range(3))
def test_what_is_new_is_what_one_more_vote_adds(seed):
    views = shared_views(3, 2, seed)
    sharing = Sharing(views, correlations=None, weight=None, apart=None)
    n_votes = np.random.default_rng(seed).integers(0, 4, (5, views.tree.n_sources)).astype(float)
    for source, more in enumerate(np.eye(views.tree.n_sources)):
        added = information_in(views, n_votes + more).truth - information_in(views, n_votes).truth
        expected = added / information_in(views, more).truth
        assert_allclose(sharing.new_in_next(n_votes)[:, source], expected, rtol=1e-9, atol=1e-12)
        assert_allclose(sharing.new_in_next(n_votes, np.array([source]))[:, 0], expected, rtol=1e-9, atol=1e-12)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["voi", "voi-decision"]), st.booleans())
def test_no_question_is_worth_less_than_nothing_and_none_is_asked_again(seed, name, correlated):
    """Whatever is believed: the worst workers, certain pairs, anything as a correlation of labels."""
    rng = np.random.default_rng(seed)
    answers = rng.choice([-1, 0, 0, 1], (4, 5, 3))
    known = beliefs(rng.beta(0.2, 0.2, (5, 3)), answers)
    known = replace(known, correlation=np.corrcoef(rng.random((3, 4))))
    strategy = replace(make_strategy(name), correlated=correlated)
    found = strategy.select(known, Anything(known.votes), rng.uniform(0.1, 9, 4), 60, rng)
    assert (found.utility >= 0).all() and (found.parts["value"] >= 0).all()
    assert not answers[found.asked.worker, found.asked.item, found.asked.label].any()


def test_the_requester_has_no_family_and_is_new_to_everybody():
    class Sharing:
        source = np.array([0, 0])  # learned before the requester came

        def votes_of_sources(self, pair, worker, n_pairs):
            return np.bincount(pair, self.source[worker] + 1.0, minlength=n_pairs)[:, None]

        def new_in_next(self, votes):
            return 0.1 / (1.0 + votes)

    known = with_expert(practised([0.5], n_wrong=[40, 40]), "you", np.zeros((201, 1)))
    asked = Triplets(np.zeros(2, np.int64), np.zeros(2, np.int64), np.array([0, 2]))
    coming = Triplets(np.zeros(2, np.int64), np.zeros(2, np.int64), np.array([1, 2]))
    assert_allclose(not_heard_before(replace(known, sharing=Sharing()), asked, coming), [0.05, 1.0])


def test_without_a_roster_everything_is_new():
    known = practised([0.5], n_wrong=[40, 40])
    asked = Anything(known.votes).of_pairs(np.array([0]), np.array([0]))
    assert_allclose(not_heard_before(known, asked), 1.0)


def test_labels_that_tell_about_others_come_first():
    known = practised([0.5, 0.52, 0.5], n_wrong=[20])
    correlation = np.eye(3)
    correlation[1, 2] = correlation[2, 1] = 0.9
    known = replace(known, correlation=correlation)
    assert chosen(known, correlated=True)[0][1] in (1, 2)
    assert known.correlation[0, 0] == 1


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"overhead": -1}, "overhead must be 0 or more; got -1"),
        ({"answers_of_stranger": 0}, "answers_of_stranger must be above 0; got 0"),
        ({"loss": "zero-one"}, "loss must be one of decision, log, squared; got 'zero-one'"),
        ({"ahead": 0}, "ahead must be a whole number of answers of at least 1; got 0"),
        ({"misread": 1}, "misread must be a chance from 0 to below 1; got 1"),
    ],
)
def test_bad_parameters(settings, words):
    with pytest.raises(ParameterError, match=words):
        ValueOfInformation(**settings)


def kinds_asked(n_heard, price_of_person):
    """Who is asked about item 0, of six models of one family and two people, where `n_heard` models have answered."""
    answers, kinds = family(6)
    answers[n_heard:, 0] = 0
    names = sorted(kinds)
    kind = [kinds[name] for name in names]
    table = {"worker": names, "kind": kind, "family": ["f" if each == "model" else None for each in kind]}
    votes, roster = Votes.from_dense(answers, worker_names=names), Roster.from_frame(pa.table(table))
    prices = {"model": 2, "human": price_of_person}
    asked = next_questions(votes, budget=500, kind_prices=prices, roster=roster, batch=2).table()
    assert set(asked["item"]) == {votes.item_names[0].as_py()}  # all others have all votes
    return {kinds[worker] for worker in asked["worker"]}


def test_a_cheap_judge_that_is_enough_is_used_and_one_that_adds_nothing_is_not():
    """Nobody has answered: a model is nearly as good as a person, and costs a tenth. Five have: only a person helps."""
    assert kinds_asked(n_heard=0, price_of_person=20) == {"model"}
    assert kinds_asked(n_heard=5, price_of_person=20) == {"human"}


def test_a_newcomer_is_tried_with_about_an_answer_and_not_with_the_whole_batch():
    """What asking teaches is learned after an answer: the rest of a batch goes by what is expected."""
    known = practised([0.5] * 4, n_wrong=[40, 40], n_items=40)
    answers = np.concatenate([known.votes.to_dense(), np.zeros((1, known.votes.n_items, 4))])
    answers[:, :11] = 0  # ten more items that nobody has answered
    proba = known.proba.copy()
    proba[:11] = 0.5
    asked = [worker for _, _, worker in chosen(beliefs(proba, answers), n=40)]
    assert 0 < asked.count(2) < 20
