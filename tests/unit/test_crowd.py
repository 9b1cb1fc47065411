"""Crowds answer what they are asked: recorded votes once, simulated workers whenever."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from amcc.active.crowd import ReplayCrowd, SimulatedCrowd, question_luck, yes_chance
from amcc.active.questions import Triplets
from amcc.data.simulate import SimulatedWorld as World
from amcc.errors import InputError, ParameterError
from amcc.votes import Votes


def triplets(*rows: tuple[int, int, int]) -> Triplets:
    """Questions (item, label, worker)."""
    return Triplets(*np.array(rows, dtype=np.int64).reshape(-1, 3).T)


def every_question(votes: Votes) -> Triplets:
    shape = votes.n_items, votes.n_labels, votes.n_workers
    return Triplets(*(code.ravel() for code in np.indices(shape)))


# -- replay ----------------------------------------------------------------------------------------------------


def test_replay_answers_as_recorded(toy_votes: Votes) -> None:
    answers = ReplayCrowd(toy_votes).ask(triplets((1, 1, 2), (0, 0, 0), (0, 1, 0)))
    assert answers.tolist() == [1, 1, -1]


@pytest.mark.parametrize(
    ("questions", "words"),
    [
        (triplets((1, 0, 2)), "item 'i2', label 'l1', worker 'w3' was never recorded"),
        (triplets((0, 0, 0)), "item 'i1', label 'l1', worker 'w1' was asked before"),
        (triplets((0, 1, 1), (0, 1, 1)), "item 'i1', label 'l2', worker 'w2' was asked before"),
        (triplets((0, 0, 3)), "known worker, a code in 0..2; got 3"),
        (triplets((-1, 0, 0)), "known item, a code in 0..1; got -1"),
    ],
)
def test_replay_refuses_what_it_cannot_answer(toy_votes: Votes, questions: Triplets, words: str) -> None:
    crowd = ReplayCrowd(toy_votes)
    crowd.ask(triplets((0, 0, 0)))
    with pytest.raises(InputError) as caught:
        crowd.ask(questions)
    assert words in str(caught.value)


def test_a_refused_batch_leaves_the_replay_as_it_was(toy_votes: Votes) -> None:
    crowd = ReplayCrowd(toy_votes)
    with pytest.raises(InputError):
        crowd.ask(triplets((0, 0, 0), (1, 0, 2)))
    assert crowd.ask(triplets((0, 0, 0))).tolist() == [1]


def test_replay_offers_the_recorded_votes_that_were_not_asked(toy_votes: Votes) -> None:
    offered = ReplayCrowd(toy_votes).candidates(triplets((1, 0, 0), (0, 0, 1)), np.array([True, True, False]), 0)
    everything = offered.of_pairs(*(code.ravel() for code in np.indices((2, 2))))
    asked = set(zip(everything.item.tolist(), everything.label.tolist(), everything.worker.tolist(), strict=True))
    assert asked == {(0, 0, 0), (0, 1, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0), (1, 1, 1)}


def test_replay_of_nothing_offers_nothing(toy_votes: Votes) -> None:
    crowd = ReplayCrowd(ReplayCrowd(toy_votes).nobody_asked)
    assert crowd.nobody_asked.worker_names.equals(toy_votes.worker_names)
    with pytest.raises(InputError, match="never recorded"):
        crowd.ask(triplets((0, 0, 0)))


# -- simulation ------------------------------------------------------------------------------------------------


def test_an_answer_does_not_depend_on_when_it_is_asked(crowd: World) -> None:
    questions = every_question(crowd.votes)
    answers = SimulatedCrowd(crowd, seed=5).ask(questions)
    later = SimulatedCrowd(crowd, seed=5)
    order = np.random.default_rng(0).permutation(len(questions))[:500]
    one_by_one = [later.ask(questions.take(order[i : i + 1]))[0] for i in range(500)]
    assert one_by_one == answers[order].tolist()
    assert (SimulatedCrowd(crowd, seed=6).ask(questions) != answers).mean() > 0.1


def test_luck_is_even_and_unrelated_between_neighbours(crowd: World) -> None:
    luck = question_luck(every_question(crowd.votes), seed=1, stream=0)
    assert luck.min() >= 0
    assert luck.max() < 1
    np.testing.assert_allclose(np.histogram(luck, bins=10, range=(0, 1))[0] / luck.size, 0.1, atol=0.01)  # 30 000 draws
    assert abs(np.corrcoef(luck[1:], luck[:-1])[0, 1]) < 0.03
    other = question_luck(every_question(crowd.votes), seed=1, stream=1)
    assert abs(np.corrcoef(luck, other)[0, 1]) < 0.03


def test_workers_answer_by_their_rates(crowd: World) -> None:
    easy = replace(crowd, difficulty=np.zeros_like(crowd.difficulty))
    questions = every_question(easy.votes)
    yes = SimulatedCrowd(easy, seed=2).ask(questions) > 0
    present = easy.truth[questions.item, questions.label]
    for rates, kind in ((easy.hit_rate, present), (easy.false_alarm_rate, ~present)):
        expected = rates[questions.worker, questions.label][kind]
        np.testing.assert_allclose(yes[kind].mean(), expected.mean(), atol=0.01)  # thousands of answers
        np.testing.assert_allclose(yes_chance(easy, questions)[kind], expected, rtol=0, atol=1e-12)


def test_hard_items_are_missed_but_not_by_spammers(crowd: World) -> None:
    hard = replace(crowd, difficulty=np.ones_like(crowd.difficulty), truth=np.ones_like(crowd.truth))
    questions = every_question(crowd.votes)
    rate = hard.hit_rate[questions.worker, questions.label]
    honest = np.isin(hard.worker_kind, ["reliable", "normal", "sloppy"])[questions.worker]
    log_odds = np.log(rate[honest] / (1 - rate[honest]))
    expected = 1 / (1 + np.exp(1 - log_odds))  # one unit of difficulty costs a hit one unit of log-odds
    np.testing.assert_allclose(yes_chance(hard, questions)[honest], expected, rtol=1e-12)
    np.testing.assert_allclose(yes_chance(hard, questions)[~honest], rate[~honest], rtol=0, atol=1e-15)


def test_some_questions_stay_without_an_answer(crowd: World) -> None:
    questions = every_question(crowd.votes)
    answers = SimulatedCrowd(crowd, seed=5, answer_rate=0.7).ask(questions)
    assert 0.28 < (answers == 0).mean() < 0.32
    always = SimulatedCrowd(crowd, seed=5).ask(questions)
    assert np.array_equal(answers[answers != 0], always[answers != 0])


def test_workers_join_and_leave(crowd: World) -> None:
    n_workers = crowd.votes.n_workers
    joins, leaves = np.zeros(n_workers), np.full(n_workers, 9)
    joins[0], leaves[1] = 2, 2
    simulated = SimulatedCrowd(crowd, joins=joins, leaves=leaves)
    allowed = np.arange(n_workers) < 4

    def there(round_number: int) -> list[int]:
        offered = simulated.candidates(triplets((0, 0, 3)), allowed, round_number).of_pairs(
            np.array([0]), np.array([0])
        )
        return sorted(offered.worker.tolist())

    assert there(1) == [1, 2]
    assert there(2) == [0, 2]
    assert there(9) == []


def test_wrong_settings_are_refused(crowd: World) -> None:
    with pytest.raises(ParameterError, match=r"answer_rate must lie in 0 … 1; got 1\.5"):
        SimulatedCrowd(crowd, answer_rate=1.5)
    with pytest.raises(ParameterError, match="joins must hold a round for each of 25 workers"):
        SimulatedCrowd(crowd, joins=[1, 2])
    with pytest.raises(InputError, match="known label"):
        SimulatedCrowd(crowd).ask(triplets((0, 99, 0)))
