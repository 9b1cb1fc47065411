"""Exclusive labels: when they are learned, what is refused, and one label for each choice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from amcc import Truth, Votes, pack_votes, write_votes
from amcc.consensus import AMCC, load_model
from amcc.consensus.default import exclusive
from amcc.consensus.default.exclusive import ENOUGH_ANSWERS
from amcc.engine.local import LocalEngine
from amcc.errors import ConflictError, ParameterError

FREQUENT = (0.47, 0.25, 0.18, 0.10)
TONE = {"tone": ["a", "b", "c"]}


def single_choice(
    seed: int, n_answers: int = 2000, per_item: int = 5, n_workers: int = 40, names: str = "abcd", extra: bool = False
) -> tuple[Votes, np.ndarray]:
    """Two groups of workers who get different items; errors lean to the frequent label. And the true labels.

    extra : there is a further question, "e", which every answer says yes or no to.
    """
    rng = np.random.default_rng(seed)
    n_items, n_labels = -(-n_answers // per_item), len(names)
    truth = rng.choice(n_labels, n_items, p=FREQUENT)
    half = rng.integers(0, 2, n_items)
    right = np.clip(np.where(np.arange(n_workers) % 2, 0.62, 0.85) + rng.normal(0, 0.07, n_workers), 0.3, 0.98)
    order = np.argsort(rng.random((n_items, n_workers // 2)), axis=1)[:, :per_item]
    worker = 2 * order + half[:, None]
    wrong = (truth[:, None] + rng.choice(3, worker.shape, p=[0.5, 0.3, 0.2]) + 1) % n_labels
    wrong = np.where(truth[:, None] == 0, wrong, np.where(rng.random(worker.shape) < 0.6, 0, wrong))
    choice = np.where(rng.random(worker.shape) < right[worker], truth[:, None], wrong)
    item = np.repeat(np.arange(n_items), per_item)[:n_answers]
    worker, choice = worker.ravel()[:n_answers], choice.ravel()[:n_answers]
    value = np.where(np.arange(n_labels) == choice[:, None], 1, -1)
    if extra:
        names, value = names + "e", np.column_stack([value, rng.choice([-1, 1], n_answers)])
    n = len(names)
    columns = np.repeat(item, n), np.repeat(worker, n), np.tile(np.arange(n), n_answers), value.ravel()
    return _votes(*columns, n_items, n_workers, names), truth


def _votes(item: Any, worker: Any, label: Any, value: Any, n_items: int, n_workers: int, names: str) -> Votes:
    items, workers = ([f"{letter}{k}" for k in range(n)] for letter, n in (("i", n_items), ("w", n_workers)))
    return Votes.from_codes(item, worker, label, value, item_names=items, worker_names=workers, label_names=list(names))


def rows(votes: Votes) -> Any:
    return votes.to_arrow().to_pandas().astype({"worker": str, "item": str, "label": str, "value": int})


def told(*rows: tuple[str, str, int]) -> Truth:
    """Known truth: item, label, and whether it is present."""
    return Truth.from_frames(pd.DataFrame(rows, columns=["item", "label", "truth"]))


def answers_of(*said: str, labels: str = "abc") -> Votes:
    """Votes of one worker for each text, on one item, in which letters are a yes and the others a no."""
    return Votes.from_dense(
        [[[1 if label in text else -1 for label in labels]] for text in said],
        label_names=list(labels), item_names=["i"], worker_names=[f"w{k}" for k in range(len(said))],
    )  # fmt: skip


def proba_table(model: AMCC) -> np.ndarray:
    proba = model.predict_proba()
    assert proba.shape == (len(model.item_names_), len(model.label_names_))
    return proba


# -- the rule --------------------------------------------------------------------------------------------------------


def test_labels_exclude_each_other_from_300_answers_on():
    votes, _ = single_choice(0, ENOUGH_ANSWERS)
    fewer, _ = single_choice(0, ENOUGH_ANSWERS - 1)
    assert AMCC().fit(votes).exclusive_.basis == "learned"
    model = AMCC().fit(fewer)
    assert model.exclusive_.basis == "none"
    (sentence,) = model.exclusive_.sentences(model.label_names_)
    assert "each of the 299 answers has exactly one" in sentence and "--exclusive all" in sentence


@pytest.mark.parametrize("second", [1, -1])
def test_one_answer_without_exactly_one_label_is_enough(second):
    """A second yes, or no yes at all, in one answer of many."""
    votes, _ = single_choice(1)
    frame = rows(votes)
    last = frame[(frame.item == frame.item.iloc[-1]) & (frame.worker == frame.worker.iloc[-1])]
    frame.loc[last.index, "value"] = second
    model = AMCC().fit(Votes.from_frame(frame))
    assert model.exclusive_.basis == "none"
    assert model.exclusive_.sentences(model.label_names_) == []


def test_labels_that_were_not_asked_about_are_no_no():
    """Half of the answers are about one label only: they say nothing of what excludes what, whatever they say."""
    votes, _ = single_choice(2)
    frame = rows(votes)
    one = frame.worker.str[1:].astype(int) < 20
    frame = frame[~one | (frame.label == "a")]
    model = AMCC().fit(Votes.from_frame(frame))
    assert model.exclusive_.basis == "learned"
    assert model.exclusive_.answers == (~one).sum() // 4


def test_a_part_of_the_votes_at_a_time_finds_the_same(monkeypatch):
    votes, _ = single_choice(3)
    monkeypatch.setattr(exclusive, "PIECE", 64)
    assert AMCC().fit(votes).exclusive_.answers == 2000
    frame = rows(votes)
    frame.loc[(frame.item == "i399") & (frame.worker == frame.worker.iloc[-1]), "value"] = -1
    assert not AMCC().fit(Votes.from_frame(frame)).exclusive_


def test_further_samples_are_further_choices():
    votes, _ = single_choice(4, 400)
    frame = rows(votes)
    other = frame.assign(value=frame.groupby(["item", "worker"]).value.transform(lambda each: np.roll(each, 1)))
    twice = [each.assign(sample=number) for number, each in enumerate((frame, other))]
    frame = pd.concat(twice, ignore_index=True)
    assert AMCC().fit(Votes.from_frame(frame)).exclusive_.basis == "learned"
    assert not AMCC().fit(Votes.from_frame(frame[:-1])).exclusive_


def test_never_where_it_is_not_wanted():
    votes, _ = single_choice(5)
    model = AMCC(exclusive=False).fit(votes)
    assert not model.exclusive_ and model.results_.chosen is None
    assert model.exclusive_.sentences(model.label_names_) == []


def test_known_truth_with_two_labels_speaks_against_it():
    votes, _ = single_choice(6)
    truth = told(("i0", "a", 1), ("i0", "b", 1))
    assert not AMCC().fit(votes, truth=truth).exclusive_
    with pytest.raises(ConflictError, match="known truth has 'a' and 'b' of item 'i0'"):
        AMCC(exclusive=True).fit(votes, truth=truth)


# -- one label -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("said", [True, TONE, [["a", "c"], ["b", "d"]]])
def test_one_label_of_each_group_and_probabilities_sum_to_one(said):
    votes, _ = single_choice(7, extra=False)
    if isinstance(said, list):  # two questions: is it a or c, b or d?
        frame = rows(votes)
        turn = np.where(pd.factorize(frame.item + frame.worker)[0] % 3, 1, -1)
        frame["value"] = frame.label.map({"a": 1, "b": -1, "c": -1, "d": 1}) * turn
        votes = Votes.from_frame(frame)
    model = AMCC(exclusive=said, tol=1e-2).fit(votes)
    assert model.exclusive_.basis == "declared"
    groups = model.exclusive_.labels(model.label_names_).values()
    names = model.label_names_.to_pylist()
    for rule in ("threshold", "expected_f1", "expected_jaccard"):
        present = model.predict(decode=rule)
        for group in groups:
            columns = [names.index(label) for label in group]
            assert (present[:, columns].sum(axis=1) == 1).all()
            np.testing.assert_allclose(proba_table(model)[:, columns].sum(axis=1), 1.0, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(model.pairs(frame="arrow")["present"], model.predict().ravel())
    lists = model.sets(frame="arrow")["labels"].to_pylist()
    assert [len(each) for each in lists] == model.predict().sum(axis=1).tolist()


def test_the_likeliest_is_chosen_below_one_half_too():
    """Three ways apart: no label is more likely than not, and one is chosen all the same."""
    votes = answers_of("a", "a", "b", "b", "c", "c", "a")
    model = AMCC(exclusive=True).fit(votes)
    assert model.pair_proba_.max() < 0.5
    assert model.predict().tolist() == [[True, False, False]]
    with pytest.raises(ParameterError, match="--exclusive none"):
        model.predict(decode="top_k", k=1)


def test_other_labels_keep_their_probabilities():
    votes, _ = single_choice(8, extra=True)
    free, bound = AMCC(exclusive=False).fit(votes), AMCC(exclusive=[list("abcd")]).fit(votes)
    np.testing.assert_array_equal(free.predict_proba()[:, 4], bound.predict_proba()[:, 4])
    np.testing.assert_array_equal(free.predict()[:, 4], bound.predict()[:, 4])


def test_no_label_is_chosen_of_those_that_were_not_on_offer():
    """Two of three labels asked about one by one, and denied: the third may be the true one."""
    votes, _ = single_choice(9, names="abcd")
    frame = rows(votes)
    asked = [("w1", "new", "a", -1), ("w2", "new", "b", -1), ("w3", "new", "a", -1), ("w1", "only", "a", 1)]
    more = frame.iloc[:4].copy()
    more[["worker", "item", "label", "value"]] = asked
    model = AMCC(exclusive=True).fit(Votes.from_frame(pd.concat([frame, more])))
    new, only = (model.item_names_.to_pylist().index(name) for name in ("new", "only"))
    assert not model.predict()[new].any() and proba_table(model)[new, :2].sum() < 0.9
    assert proba_table(model)[only, 0] < 1


def test_unasked_labels_are_ruled_out_where_one_was_chosen():
    votes, _ = single_choice(10)
    frame = rows(votes)
    frame = frame[(frame.item != "i0") | (frame.label != "d")]
    frame.loc[(frame.item == "i0"), "value"] = np.where(frame[frame.item == "i0"].label == "a", 1, -1)
    model = AMCC(exclusive=True).fit(Votes.from_frame(frame, labels=list("abcd")))
    place = model.item_names_.to_pylist().index("i0")
    assert proba_table(model)[place, 3] == 0
    assert model.predict()[place].tolist() == [True, False, False, False]


# -- known truth -----------------------------------------------------------------------------------------------------


def test_known_truth_keeps_its_value_and_decides_the_choice():
    votes, truth = single_choice(11)
    others = [(f"i{k}", "abcd"[label], 1) for k, label in enumerate(truth[1:60], 1)]
    present = told(("i0", "d", 1), *others)
    model = AMCC(exclusive=True).fit(votes, truth=present)
    assert proba_table(model)[0].tolist() == [0, 0, 0, 1] and model.predict()[0].tolist() == [False] * 3 + [True]
    absent = told(("i70", "a", 0), ("i71", "b", 0))
    model = AMCC(exclusive=True).fit(votes, truth=absent)
    proba = proba_table(model)
    assert proba[70, 0] == 0 and proba[71, 1] == 0
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    assert (model.predict().sum(axis=1) == 1).all()


def test_nothing_is_chosen_where_truth_says_none():
    votes, _ = single_choice(12)
    model = AMCC(exclusive=True).fit(votes, truth=told(*(("i3", label, 0) for label in "abcd")))
    assert proba_table(model)[3].tolist() == [0] * 4 and not model.predict()[3].any()


# -- no accident -----------------------------------------------------------------------------------------------------


def test_order_and_names_do_not_matter():
    votes, _ = single_choice(13)
    frame = rows(votes)
    model = AMCC().fit(votes)
    other = frame.sample(frac=1, random_state=0)
    renamed = {"a": "z", "b": "x", "c": "y", "d": "k"}
    other = other.assign(label=other.label.map(renamed), item="x" + other.item.str[::-1], worker=other.worker.str[::-1])
    again = AMCC().fit(Votes.from_frame(other))
    assert again.exclusive_.basis == "learned"
    first = model.pairs(frame="pandas").astype({"item": str, "label": str})
    first = first.assign(label=first.label.map(renamed), item="x" + first["item"].str[::-1])
    second = again.pairs(frame="pandas").astype({"item": str, "label": str})
    both = first.merge(second, on=["item", "label"])
    assert len(both) == len(first)
    np.testing.assert_allclose(both.probability_x, both.probability_y, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(both.present_x, both.present_y)


def test_packed_votes_and_saved_models_say_the_same(tmp_path):
    votes, _ = single_choice(14)
    write_votes(votes, tmp_path / "votes.parquet")
    packed = pack_votes(tmp_path / "votes.parquet", tmp_path / "blocks", block_votes=700)
    there, here = AMCC().fit(engine := LocalEngine(packed)), AMCC().fit(votes)
    assert there.exclusive_.basis == "learned" and there.exclusive_.answers == 2000
    table = pd.concat(there.tables(engine)).merge(here.pairs(), on=["item", "label"])
    assert len(table) == len(here.pair_proba_)
    np.testing.assert_allclose(table.probability_x, table.probability_y, rtol=0, atol=1e-6)  # sums in another order
    np.testing.assert_array_equal(table.present_x, table.present_y)
    here.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(), here.predict())
    np.testing.assert_array_equal(again.predict(votes), here.predict())
    np.testing.assert_array_equal(again.applied_to(votes).pair_proba_, here.pair_proba_)


def test_declared_groups_are_saved_with_the_model(tmp_path):
    votes, _ = single_choice(15, extra=True)
    AMCC(exclusive=TONE).fit(votes).save(tmp_path / "model")
    model = load_model(tmp_path / "model")
    assert model.get_params()["exclusive"] == TONE
    assert model.exclusive_.labels(model.label_names_) == TONE
    for labels in (["b", "e"], ["d", "e"]):  # other votes have one label of the group, or none
        part = Votes.from_frame(rows(votes)[lambda frame, labels=labels: frame.label.isin(labels)])
        assert model.applied_to(part).predict().shape == (votes.n_items, 2)


# -- contract: not below plurality -----------------------------------------------------------------------------------


def accuracy(present: np.ndarray, truth: np.ndarray) -> float:
    """How often the set is the true label alone."""
    return float((present == (np.arange(present.shape[1]) == truth[:, None])).all(axis=1).mean())


def over_seeds(exclusive_or_not: Any) -> tuple[float, float]:
    """Mean accuracy over three crowds, and that of plurality; ties of votes to the first label."""
    ours, theirs = [], []
    for seed in (21, 22, 23):
        votes, truth = single_choice(seed, 2500)
        counts = votes.n_yes.reshape(votes.n_items, votes.n_labels)
        ours.append(accuracy(AMCC(exclusive=exclusive_or_not).fit(votes).predict(), truth))
        theirs.append(float((counts.argmax(axis=1) == truth).mean()))
    return float(np.mean(ours)), float(np.mean(theirs))


def test_a_single_choice_is_read_no_worse_than_by_plurality():
    ours, plurality = over_seeds(None)
    assert ours >= plurality


def test_without_it_plurality_is_better():
    """The mutant that the test before must catch: labels are judged one by one."""
    ours, plurality = over_seeds(False)
    assert ours < plurality


def test_on_a_real_single_choice_the_commonest_label_does_not_swallow_the_others(shared_data):
    """drug_disease: 47 % of the items by most votes, 92 % by the model's odds alone."""
    if not (shared_data / "drug_disease").exists():
        pytest.skip("drug_disease is not among the real crowd data")
    votes = Votes.from_frame(pd.read_csv(shared_data / "drug_disease" / "annotations.csv.gz"))
    truth = pd.read_csv(shared_data / "drug_disease" / "truth.csv").drop_duplicates("item").set_index("item").label
    model = AMCC().fit(votes)
    assert model.exclusive_.basis == "learned"
    assert model.predict().mean(axis=0).max() < 0.7
    found = model.sets(frame="pandas").set_index("item")["labels"].map(lambda labels: labels[0])
    assert (found.loc[truth.index] == truth).mean() > 0.68  # plurality has .71


# -- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("all", "groups of labels that exclude each other"),
        (["a", "b"], "groups of labels that exclude each other"),
        ({}, "groups of labels that exclude each other"),
        (3, "groups of labels that exclude each other"),
        ([["a"]], "two labels or more"),
        ([["a", "b"], ["b", "c"]], "'b' is in group 1 and in group 2"),
        ({"x": ["a", "b", "a"]}, "'a' is twice in x"),
        ([["a", "q"]], "names the label 'q', which these votes do not have .*; they have a, b, c, d"),
    ],
)
def test_groups_that_cannot_be(said, message):
    votes, _ = single_choice(16, 40)
    with pytest.raises(ParameterError, match=message):
        AMCC(exclusive=said).fit(votes)


def test_one_label_cannot_exclude_another():
    with pytest.raises(ParameterError, match="needs two labels"):
        AMCC(exclusive=True).fit(Votes.from_dense([[[1]], [[-1]]]))


def test_an_answer_with_two_labels_of_a_declared_group_is_named():
    votes = answers_of("a", "bc", "b")
    with pytest.raises(ConflictError, match="worker 'w1' said yes to 'b' and 'c' of item 'i'"):
        AMCC(exclusive=True).fit(votes)
    assert AMCC(exclusive=[["a", "b"]]).fit(votes).exclusive_


def test_declared_labels_that_many_answers_lack():
    model = AMCC(exclusive=[["a", "b"]]).fit(answers_of("a", "c", "c", "b"))
    (sentence,) = model.exclusive_.sentences(model.label_names_)
    assert "2 labels (a, b)" in sentence and "2 of them have none" in sentence
