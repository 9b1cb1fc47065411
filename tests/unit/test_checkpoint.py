"""An interrupted fit goes on from its last round, to the same result."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from amcc import AMCC, write_votes
from amcc.consensus import DawidSkene
from amcc.consensus.rounds import one_round
from amcc.engine.checkpoint import Checkpoint
from amcc.engine.local import LocalEngine
from amcc.errors import FileFormatError, InputError
from amcc.io.pack import pack_votes


@pytest.fixture(scope="module")
def packed(crowd, tmp_path_factory):
    folder = tmp_path_factory.mktemp("packed")
    write_votes(crowd.votes, folder / "votes.parquet")
    return pack_votes(folder / "votes.parquet", folder / "blocks", block_votes=1500)


class Interrupted(LocalEngine):
    """An engine that is stopped when a function has been mapped so many times."""

    def __init__(self, *arguments, function, after):
        super().__init__(*arguments)
        self.function, self.left, self.calls = function, after, 0

    def total(self, function, *shared):
        self.calls += function is self.function
        if self.calls > self.left:
            raise KeyboardInterrupt
        return super().total(function, *shared)


@pytest.mark.parametrize(
    ("model", "function", "after"), [(DawidSkene(), one_round, 7), (AMCC(), one_round, 4)], ids=["dawid-skene", "amcc"]
)
def test_an_interrupted_fit_goes_on(model, function, after, packed, tmp_path):
    whole = type(model)(**model.get_params()).fit(LocalEngine(packed))
    path = tmp_path / "fit.checkpoint"
    with pytest.raises(KeyboardInterrupt):
        model.fit(Interrupted(packed, None, Checkpoint(path), function=function, after=after))
    assert [file.name for file in tmp_path.iterdir()] == ["fit.checkpoint"]
    rest = Interrupted(packed, None, Checkpoint(path), function=function, after=10**6)
    model.fit(rest)
    assert rest.calls == whole.n_iter_ - after
    assert model.objective_history_ == whole.objective_history_
    for one, other in zip(model.tables(rest), whole.tables(rest), strict=True):
        assert_array_equal(one["probability"], other["probability"])
    assert not path.exists()


def test_a_finished_fit_can_go_on_to_its_end(packed, tmp_path, monkeypatch):
    """Stopped after the last round: nothing is left to do but to publish."""
    path = tmp_path / "fit.checkpoint"
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "remove", Checkpoint.flush)
        whole = DawidSkene().fit(LocalEngine(packed, None, Checkpoint(path)))
    again = DawidSkene().fit(engine := Interrupted(packed, None, Checkpoint(path), function=one_round, after=0))
    assert engine.calls == 0
    assert_array_equal(again.hit_rate_, whole.hit_rate_)


def test_checkpoints_of_other_fits_are_refused(packed, tmp_path):
    path = tmp_path / "fit.checkpoint"
    with pytest.raises(KeyboardInterrupt):
        DawidSkene().fit(Interrupted(packed, None, Checkpoint(path), function=one_round, after=2))
    with pytest.raises(InputError, match="another fit"):
        DawidSkene(max_iter=3).fit(LocalEngine(packed, None, Checkpoint(path)))
    path.write_text("hello")
    with pytest.raises(FileFormatError, match="not a checkpoint"):
        DawidSkene().fit(LocalEngine(packed, None, Checkpoint(path)))


class Leaf(NamedTuple):
    array: np.ndarray
    number: float


class Tree(NamedTuple):
    leaf: Leaf | None
    history: tuple[float, ...]
    count: int


@pytest.mark.parametrize("leaf", [Leaf(np.arange(3.0), np.inf), None], ids=["leaf", "none"])
def test_states_come_back_as_they_were(leaf, tmp_path):
    first = Checkpoint(tmp_path / "c", seconds=0.0)
    first.begin("this")
    first.keep("one", Tree(Leaf(np.zeros(9), 0.0), (9.0,), 9))
    first.keep("one", Tree(leaf, (1.0, -0.5), 2))
    first.keep("other", Leaf(np.ones(1), 3.0))
    second = Checkpoint(tmp_path / "c")
    second.begin("this")
    found = second.recall("one", Tree)
    assert found.history == (1.0, -0.5)
    assert found.count == 2
    if leaf is None:
        assert found.leaf is None
    else:
        assert_array_equal(found.leaf.array, leaf.array)
        assert found.leaf.number == np.inf
    assert second.recall("third", Leaf) is None


def test_not_every_state_is_written(tmp_path):
    checkpoint = Checkpoint(tmp_path / "c", seconds=1000)
    checkpoint.begin("this")
    checkpoint.keep("one", Leaf(np.ones(1), 3.0))
    assert not (tmp_path / "c").exists()
    checkpoint.flush()
    assert (tmp_path / "c").exists()


def test_a_state_that_was_lost_with_its_cluster_is_not_asked_for_again(tmp_path):
    def gathered(state):
        raise OSError("the cluster was lost")

    checkpoint = Checkpoint(tmp_path / "c", seconds=1000)
    checkpoint.begin("this")
    checkpoint.keep("one", Leaf(np.ones(1), 3.0))
    checkpoint.flush()
    checkpoint.keep("one", Leaf(np.ones(1), 4.0), gathered)
    with pytest.raises(OSError, match="the cluster was lost"):
        checkpoint.flush()
    checkpoint.begin("this")
    assert checkpoint.recall("one", Leaf).number == 3.0


def test_what_a_killed_fit_left_goes_with_the_checkpoint(tmp_path):
    left = tmp_path / ".part-01234567-fit.checkpoint"
    left.write_bytes(b"half a state")
    Checkpoint(tmp_path / "fit.checkpoint").remove()
    assert not left.exists()


def test_what_is_written_is_the_last_state_of_every_stage(tmp_path):
    checkpoint = Checkpoint(tmp_path / "c", seconds=1000)
    checkpoint.begin("this")
    for number in range(3):
        checkpoint.keep("rounds", Leaf(np.full(2, number), number))
    checkpoint.keep("sets", Leaf(np.zeros(1), 0.5))
    checkpoint.flush()
    again = Checkpoint(tmp_path / "c")
    again.begin("this")
    assert again.recall("rounds", Leaf).number == 2
    assert again.recall("sets", Leaf).number == 0.5


def test_stages_with_names_that_begin_alike_do_not_touch_each_other(tmp_path):
    checkpoint = Checkpoint(tmp_path / "c")
    checkpoint.begin("this")
    checkpoint.keep("fit", Leaf(np.ones(1), 1.0))
    checkpoint.keep("fit2", Leaf(np.ones(1), 2.0))
    checkpoint.keep("fit", Leaf(np.ones(1), 3.0))
    assert checkpoint.recall("fit2", Leaf).number == 2.0
    assert checkpoint.recall("fit", Leaf).number == 3.0


def test_nothing_new_is_not_written_again(tmp_path):
    checkpoint = Checkpoint(tmp_path / "c", seconds=0)
    checkpoint.begin("this")
    checkpoint.flush()
    assert not (tmp_path / "c").exists(), "there is nothing yet"
    checkpoint.keep("one", Leaf(np.ones(1), 3.0))
    (tmp_path / "c").unlink()
    checkpoint.flush()
    assert not (tmp_path / "c").exists(), "it was written by keep"


def test_a_removed_checkpoint_stays_removed(tmp_path):
    checkpoint = Checkpoint(tmp_path / "c", seconds=1000)
    checkpoint.begin("this")
    checkpoint.keep("one", Leaf(np.ones(1), 3.0))
    checkpoint.remove()
    checkpoint.flush()
    assert not (tmp_path / "c").exists()


def test_errors_say_that_the_file_can_be_removed(tmp_path):
    checkpoint = Checkpoint(tmp_path / "c", seconds=0)
    checkpoint.begin("this")
    checkpoint.keep("one", Leaf(np.ones(1), 3.0))
    with pytest.raises(FileFormatError, match=r"Remove it to start from the beginning\.$"):
        checkpoint.recall("one", Tree)
    (tmp_path / "c").write_bytes((tmp_path / "c").read_bytes()[:50])
    with pytest.raises(FileFormatError, match=r"Remove it to start from the beginning\.$"):
        Checkpoint(tmp_path / "c").begin("this")


def test_a_refused_checkpoint_says_whose_it_is(tmp_path):
    first = Checkpoint(tmp_path / "c", seconds=0)
    first.begin("apples")
    first.keep("one", Leaf(np.ones(1), 3.0))
    with pytest.raises(InputError, match=r"another fit \(apples, not pears\)"):
        Checkpoint(tmp_path / "c").begin("pears")
    assert (tmp_path / "c").exists(), "it may still be wanted"
