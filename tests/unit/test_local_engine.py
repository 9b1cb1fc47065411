"""Packed votes on this machine and what engines over packed votes share; single checks of a packed folder."""

from __future__ import annotations

import json
import zlib
from dataclasses import asdict

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from amcc import write_votes
from amcc.consensus.rounds import count_votes, first_look
from amcc.engine import local as local_module
from amcc.engine.checkpoint import Checkpoint
from amcc.engine.local import LocalEngine, runs_of
from amcc.engine.packed import DENSE, PackedVotes, write_arrays
from amcc.errors import FileFormatError
from amcc.io.pack import pack_votes


@pytest.fixture(scope="module")
def packed(crowd, tmp_path_factory) -> PackedVotes:
    folder = tmp_path_factory.mktemp("packed")
    write_votes(crowd.votes, folder / "votes.parquet")
    return pack_votes(folder / "votes.parquet", folder / "blocks", block_votes=500)


@pytest.mark.parametrize(("n_blocks", "n_parts"), [(1, 8), (7, 8), (8, 8), (9, 8), (100, 32), (5, 1)])
def test_runs_cover_all_blocks_once_and_are_about_equally_long(n_blocks, n_parts):
    runs = runs_of(n_blocks, n_parts)
    assert [number for run in runs for number in run] == list(range(n_blocks))
    assert len(runs) == min(n_blocks, n_parts)
    assert max(map(len, runs)) - min(map(len, runs)) <= 1


def test_an_engine_can_be_made_of_a_path_or_of_opened_votes(packed):
    for engine in (LocalEngine(packed), LocalEngine(packed.folder), LocalEngine(str(packed.folder))):
        assert (engine.n_votes, engine.n_pairs, engine.n_items) == (len(packed), packed.n_pairs, packed.n_items)
        assert engine.identity == f"packed votes {packed.identity:08x}"


def test_the_checkpoint_is_the_engines(packed, tmp_path):
    checkpoint = Checkpoint(tmp_path / "fit")
    assert LocalEngine(packed, None, checkpoint).checkpoint is checkpoint
    assert LocalEngine(packed).checkpoint is None


# -- what is kept ----------------------------------------------------------------------------------------------------


def n_kept(engine) -> int:
    engine.total(count_votes)
    return sum(engine.block(number) is engine.block(number) for number in range(len(engine.packed.entries)))


def test_without_a_limit_all_blocks_are_kept(packed):
    assert n_kept(LocalEngine(packed)) == len(packed.entries)


def test_without_memory_no_block_is_kept(packed):
    assert n_kept(LocalEngine(packed, memory=0)) == 0


def test_as_many_blocks_are_kept_as_fit(packed):
    engine = LocalEngine(packed, memory=0)
    two = engine._fixed_bytes() + packed.block(0).n_bytes + packed.block(1).n_bytes
    engine = LocalEngine(packed, memory=two)
    assert engine.block(0) is engine.block(0)
    assert engine.block(1) is engine.block(1)
    assert engine.block(2) is not engine.block(2)
    assert engine.block(0) is engine.block(0), "the first stay: they are needed again just as soon"


def test_what_is_kept_changes_no_digit(packed):
    kept, read = (LocalEngine(packed, memory).total(first_look, None) for memory in (None, 0))
    for one, other in zip(kept, read, strict=True):
        assert_array_equal(one, other)


def test_cores_change_no_digit(packed, monkeypatch):
    several = LocalEngine(packed).total(first_look, None)
    monkeypatch.setattr(local_module, "in_threads", lambda task, n: [task(index) for index in range(n)])
    for one, other in zip(LocalEngine(packed).total(first_look, None), several, strict=True):
        assert_array_equal(one, other)


def test_results_come_in_the_order_of_the_items(packed):
    found = list(LocalEngine(packed).each(lambda block: block.first_item))
    assert found == packed.first_items[:-1].tolist()


def test_memory_of_a_block_is_at_least_that_of_its_arrays(packed):
    block = packed.block(0)
    arrays = (block.coins.slot, block.pairs.item, block.pairs.label, block.pairs.start)
    assert block.n_bytes >= sum(array.nbytes for array in arrays) + 8 * len(block.pairs)


# -- blocks ----------------------------------------------------------------------------------------------------------


def test_a_block_has_its_part_of_the_votes(packed, crowd):
    whole = packed.votes()
    for number, entry in enumerate(packed.entries):
        block = packed.block(number)
        votes = block.votes(names=True)
        here = (whole.item >= block.first_item) & (whole.item < block.first_item + block.n_items)
        assert len(votes) == entry.votes == here.sum()
        assert_array_equal(votes.worker, whole.worker[here])
        assert_array_equal(votes.value, whole.value[here])
        assert votes.item_names.equals(whole.item_names.slice(block.first_item, block.n_items))
        assert block.votes().item_names.to_pylist() == list(range(block.n_items))


def test_blocks_with_few_and_with_many_of_all_coins_count_the_same(packed, monkeypatch):
    """With a table of their own, or of all: what they add up to is the same."""
    found = []
    for dense in (0.0, 2.0):
        monkeypatch.setattr("amcc.engine.packed.DENSE", dense)
        block = packed.block(1)
        assert (block.place is None) == (dense == 0.0)
        found.append(first_look(block, None))
    for one, other in zip(*found, strict=True):
        assert_array_equal(one, other)
    assert 0 < DENSE < 1


# -- folders that were made up ---------------------------------------------------------------------------------------


@pytest.fixture
def copied(packed, tmp_path):
    """A copy whose first block can be written anew, with the right checksum."""
    import shutil

    folder = tmp_path / "copy"
    shutil.copytree(packed.folder, folder)

    def change(place, make):
        entry = packed.entries[0]
        arrays = packed._arrays(entry.file, entry.checksum, 6)
        arrays[place] = make(arrays[place].copy())
        checksum = write_arrays(folder / entry.file, arrays)
        meta = json.loads((folder / "meta.json").read_text())
        meta["blocks"][0] = {**asdict(entry), "checksum": checksum}
        (folder / "meta.json").write_text(json.dumps(meta))
        return PackedVotes(folder)

    return change


def to_the_second(counts):
    """The same sum, with nothing left for the first."""
    counts[:2] = 0, counts[0] + counts[1]
    return counts


def put(index, value):
    def make(array):
        array[index] = value
        return array

    return make


SLOT, N_VOTES, LABEL, N_PAIRS, WORKER, COIN_LABEL = range(6)


@pytest.mark.parametrize(
    ("place", "make", "words"),
    [
        (SLOT, lambda slot: slot[:-1], "entries; meta.json says"),
        (SLOT, lambda slot: np.where(np.arange(len(slot)) == 3, 60_000, slot), "a vote has no coin"),
        (SLOT, lambda slot: slot[::-1].copy(), "differ in the label|must be sorted"),
        (N_VOTES, put(0, 0), "votes of pairs must add up"),
        (N_VOTES, to_the_second, "votes of pairs must add up"),
        (N_VOTES, lambda n: n.astype(np.int64) - 2**62, "votes of pairs must add up"),
        (LABEL, put(0, 200), "a label of a pair is not in labels.arrow"),
        (N_PAIRS, put(0, 0), "pairs of items must add up"),
        (WORKER, put(0, 200), "a worker of a coin is not in workers.arrow"),
        (WORKER, put(slice(None), 0), "coins must be sorted, each once"),
        (COIN_LABEL, lambda label: label.astype(float), "arrays of whole numbers"),
    ],
    ids=["too short", "no coin", "backwards", "too few votes", "pair without votes", "overflow", "no label",
         "item without pairs", "no worker", "coins twice", "fractions"],
)  # fmt: skip
def test_what_compiled_loops_trust_is_checked(place, make, words, copied):
    opened = copied(place, make)
    with pytest.raises(FileFormatError, match=rf"block-00000\.npy cannot be read: .*({words})"):
        opened.block(0)


def test_an_unchanged_copy_is_sound(copied, packed):
    opened = copied(SLOT, lambda slot: slot)
    assert opened.votes() == packed.votes()


def test_a_sound_block_is_checked_once(packed, monkeypatch):
    opened = PackedVotes(packed.folder)
    opened.block(0)
    monkeypatch.setattr(PackedVotes, "_check_block", lambda *_: pytest.fail("checked again"))
    monkeypatch.setattr(zlib, "crc32", lambda *_: pytest.fail("summed again"))
    opened.block(0)


def test_other_votes_have_another_identity(copied, packed):
    assert copied(SLOT, lambda slot: slot.astype(np.int64)).identity != packed.identity
    assert PackedVotes(packed.folder).identity == packed.identity
