"""The contract of engines in small numbers: blocks, sums of named tuples, gathering; the engine of the documents."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import amcc.engine
from amcc import AMCC, Votes
from amcc.consensus import DawidSkene, MajorityVote
from amcc.consensus.rounds import first_look
from amcc.engine.base import InMemory, Largest, WholeBlock, added, as_engine, coin_keys, gather

ROOT = Path(__file__).parents[2]


class Sums(NamedTuple):
    table: np.ndarray
    number: float
    largest: Largest


def test_named_tuples_are_added_field_by_field():
    """Arrays and numbers are summed, of largest numbers the larger one stays."""
    found = added([Sums(np.array([1.0, 2.0]), 3.0, Largest(0.5)), Sums(np.array([10.0, 20.0]), 4.0, Largest(0.25))])
    assert isinstance(found, Sums)
    assert_array_equal(found.table, [11, 22])
    assert (found.number, found.largest) == (7.0, 0.5)


def test_the_first_array_takes_up_the_others():
    """No table of all coins is made for each block."""
    first = Sums(np.ones(3), 0.0, Largest(0))
    assert added([first, Sums(np.ones(3), 0.0, Largest(0))]).table is first.table


def test_one_result_is_its_own_sum_and_none_is_none():
    only = Sums(np.ones(3), 1.0, Largest(1))
    assert added([only]) is only
    assert added([]) is None


@pytest.mark.parametrize("numbers", [(1.0, 3.0, 2.0), (-5.0, -7.0), (0.0, 0.0)])
def test_largest_numbers_add_up_to_their_maximum_in_any_order(numbers):
    for order in (numbers, numbers[::-1]):
        total = Largest(order[0])
        for number in order[1:]:
            total = total + Largest(number)
        assert total == max(numbers)
        assert isinstance(total, Largest), "or the third would be added to the sum"


# -- blocks ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def three_items() -> Votes:
    """Worker 0 answers all items, worker 1 only the last; label 1 of item 0 is not asked."""
    return Votes.from_dense([[[1, 0], [1, -1], [-1, -1]], [[0, 0], [0, 0], [1, 1]]])


def part_of(votes: Votes, first: int, last: int) -> WholeBlock:
    chosen = votes.select((votes.item >= first) & (votes.item < last))
    names = votes.item_names.slice(first, last - first)
    part = Votes(chosen.item - np.int32(first), chosen.worker, chosen.label, chosen.value, names,
                 votes.worker_names, votes.label_names)  # fmt: skip
    return WholeBlock(part, first_item=first, all_coins=votes.coins)


def test_coin_keys_rise_with_the_worker_then_the_label():
    assert_array_equal(coin_keys(np.array([0, 0, 1, 7]), np.array([0, 2, 1, 0]), 3), [0, 2, 4, 21])


def test_coin_keys_of_many_workers_do_not_overflow():
    worker = np.array([2**31 - 1], np.int32)
    assert coin_keys(worker, np.array([5], np.int32), 10**6)[0] == (2**31 - 1) * 10**6 + 5


def test_a_block_of_all_votes_has_all_coins(three_items):
    block = WholeBlock(three_items)
    values = np.arange(8.0)
    assert block.place is None
    assert block.of_slots(values) is values
    assert block.spread(values) is values


def test_a_part_knows_where_its_coins_stand(three_items):
    """Coins are (0, 0), (0, 1), (1, 0), (1, 1): the first two items have the first two."""
    first, last = part_of(three_items, 0, 2), part_of(three_items, 2, 3)
    assert_array_equal(first.place, [0, 1])
    assert_array_equal(last.place, [0, 1, 2, 3])
    assert (first.n_coins, first.n_items, last.first_item) == (4, 2, 2)


def test_tables_are_taken_from_all_slots_and_put_back(three_items):
    votes = three_items.select(three_items.worker == 1)
    block = WholeBlock(votes, all_coins=three_items.coins)
    everywhere = np.arange(8.0)
    assert_array_equal(block.of_slots(everywhere), [4, 5, 6, 7])
    assert_array_equal(block.spread(np.array([1, 2, 3, 4])), [0, 0, 0, 0, 1, 2, 3, 4])
    assert_array_equal(block.of_slots(np.asarray(block.spread(np.array([1.0, 2, 3, 4])))), [1, 2, 3, 4])


def test_what_is_put_back_keeps_its_type(three_items):
    block = part_of(three_items, 0, 2)
    assert np.asarray(block.spread(np.ones(4, np.uint64))).dtype == np.uint64


def test_counts_of_parts_add_up_to_those_of_all(three_items):
    whole = first_look(WholeBlock(three_items), None)
    parts = added([first_look(part_of(three_items, 0, 1), None), first_look(part_of(three_items, 1, 3), None)])
    for one, other in zip(parts, whole, strict=True):
        assert_allclose(one, other, rtol=0, atol=1e-15)


def test_yes_of_each_pair(three_items):
    assert_array_equal(WholeBlock(three_items).n_yes, [1, 1, 0, 1, 1])
    assert WholeBlock(three_items.select(np.zeros(len(three_items), bool))).n_yes.shape == (0,)


def test_places_of_a_blocks_items_among_some(three_items):
    block = part_of(three_items, 1, 3)
    assert_array_equal(block.places_among(np.array([0, 2])), [-1, 1])
    assert_array_equal(block.places_among(np.array([1, 2])), [0, 1])
    assert_array_equal(block.places_among(np.array([0])), [-1, -1])


def test_a_block_remembers_the_last_belief_only(three_items):
    block, proba = WholeBlock(three_items), np.array([0.5])
    one, other = (np.zeros(2), np.ones(1)), (np.zeros(2), np.zeros(1))
    assert block.recall(one) is None
    block.remember(one, proba)
    assert block.recall(one) is proba
    assert block.recall((np.zeros(2), np.ones(1))) is proba, "equal numbers that another process sent"
    assert block.recall(other) is None
    block.remember(other, np.array([0.25]))
    assert block.recall(one) is None


# -- engines ---------------------------------------------------------------------------------------------------------


def test_votes_become_an_engine_and_engines_stay(three_items):
    engine = as_engine(three_items)
    assert as_engine(engine) is engine
    assert (engine.n_votes, engine.n_pairs, engine.n_items) == (7, 5, 3)
    assert (engine.n_workers, engine.n_labels, len(engine.coins)) == (2, 2, 4)


def test_all_items_in_memory_are_gathered_as_they_are(three_items):
    engine = InMemory(three_items)
    assert gather(engine, np.arange(3)) is three_items
    some = gather(engine, np.array([0, 2]))
    assert some.item_names.to_pylist() == [0, 2]
    assert_array_equal(some.item, [0, 1, 1, 1, 1])
    assert_array_equal(some.value, [1, -1, 1, -1, 1])


def test_an_engine_without_a_checkpoint_keeps_nothing(three_items):
    engine = InMemory(three_items)
    engine.keep("rounds", Sums(np.ones(1), 0.0, Largest(0)))
    assert engine.recall("rounds", Sums) is None


def test_an_engine_closes_itself(three_items):
    class Closing(InMemory):
        closed = False

        def close(self):
            self.closed = True

    with Closing(three_items) as engine:
        assert not engine.closed
    assert engine.closed


# -- names of the package --------------------------------------------------------------------------------------------


def test_engines_are_there_by_name_without_dask_and_numba():
    code = """
import sys
sys.modules.update(dask=None, distributed=None, numba=None)
from amcc.engine import Checkpoint, Engine, LocalEngine, PackedVotes
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_name_of_the_package_has_a_home():
    for name in amcc.engine.__all__:
        assert getattr(amcc.engine, name).__name__ == name
        assert name in dir(amcc.engine)
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        amcc.engine.Nonsense  # noqa: B018


# -- the engine of docs/examples/engine.md ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def documented():
    """What the blocks of the page define."""
    names: dict[str, object] = {"__name__": "engine_of_the_documents"}
    for code in re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "examples" / "engine.md").read_text(), re.DOTALL):
        exec(compile(code, "engine.md", "exec"), names)
    return names


def test_the_page_says_what_it_prints(documented):
    assert len(documented["pairs"]) == len(documented["expected"])
    assert_allclose(documented["pairs"]["probability"], documented["expected"]["probability"], rtol=0, atol=1e-9)


@pytest.mark.parametrize("n_parts", [1, 7])
@pytest.mark.parametrize("make", [DawidSkene, AMCC, MajorityVote])
def test_the_documented_engine_gives_what_memory_gives(make, n_parts, documented, crowd):
    engine = documented["PartsEngine"](crowd.votes, n_parts)
    model, expected = make().fit(engine), make().fit(crowd.votes)
    pairs = pd.concat(model.tables(engine), ignore_index=True)
    assert_array_equal(pairs["item"], expected.pairs()["item"])
    assert_allclose(pairs["probability"], expected.pairs()["probability"], rtol=0, atol=1e-9)
    assert (model.n_iter_, model.converged_) == (expected.n_iter_, expected.converged_)
    assert (engine.seconds > 0).all()


def test_the_documented_engine_is_short():
    page = (ROOT / "docs" / "examples" / "engine.md").read_text()
    code = page[page.index("class PartsEngine") :]
    assert len(code[: code.index("```")].strip().splitlines()) <= 25
