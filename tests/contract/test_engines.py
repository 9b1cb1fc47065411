"""Every engine gives what votes in memory give, whatever happens to its processes and files."""

from __future__ import annotations

import os
import shutil
import signal
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from amcc import AMCC, MACE, DawidSkene, DSTree, MajorityVote, kernels, write_votes
from amcc.consensus.signature import signatures
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.engine.base import gather
from amcc.engine.dask import DaskEngine, Sums, merged, whole_sum
from amcc.engine.local import LocalEngine
from amcc.errors import FileFormatError, InputError, NotFittedError, ParameterError
from amcc.io.pack import pack_votes

MODELS = {"amcc": AMCC, "dawid-skene": DawidSkene, "majority": MajorityVote}
SAME = {"rtol": 0, "atol": 1e-9}


@pytest.fixture(scope="module")
def votes():
    spec = CrowdSpec(n_items=300, n_workers=30, n_labels=6, asked_share=0.7, correlation=0.8, seed=3)
    return simulate_crowd(spec).votes


@pytest.fixture(scope="module")
def packed(votes, tmp_path_factory):
    folder = tmp_path_factory.mktemp("packed")
    write_votes(votes, folder / "votes.parquet")
    result = pack_votes(folder / "votes.parquet", folder / "blocks", block_votes=700)
    assert len(result.entries) > 5
    return result


@pytest.fixture(scope="module")
def cluster(packed):
    with DaskEngine(packed, n_processes=2) as engine:
        yield engine


@pytest.fixture(scope="module")
def in_memory(votes):
    return {name: model().fit(votes) for name, model in MODELS.items()}


@pytest.fixture(params=["kept", "out of core", "dask"])
def engine(request, packed):
    if request.param == "dask":
        return request.getfixturevalue("cluster")
    return LocalEngine(packed, memory=None if request.param == "kept" else 0)


@pytest.mark.parametrize("method", MODELS)
def test_every_engine_gives_the_same(method, engine, in_memory):
    expected = in_memory[method]
    model = MODELS[method]().fit(engine)
    table = pa.concat_tables(model.tables(engine, frame="arrow"))
    assert table.drop(["probability"]).equals(expected.pairs(frame="arrow").drop(["probability"]))
    assert_allclose(table["probability"], expected.pairs()["probability"], **SAME)
    assert (model.n_iter_, model.converged_) == (expected.n_iter_, expected.converged_)
    assert_allclose(model.objective_history_, expected.objective_history_, rtol=1e-9)
    ours, theirs = model.workers(), expected.workers()
    for column in ours.select_dtypes("number").columns:
        assert_allclose(ours[column], theirs[column], **SAME)
    assert ours["evidence"].tolist() == theirs["evidence"].tolist()


@pytest.mark.parametrize("options", [{"all_labels": True}, {"sets": True}, {"sets": True, "decode": "expected_f1"}])
def test_every_table_can_be_had_by_blocks(options, packed, votes):
    model, whole = AMCC(adapt=False).fit(LocalEngine(packed)), AMCC(adapt=False).fit(votes)
    table = pa.concat_tables(model.tables(LocalEngine(packed), **options, frame="arrow"))
    kind = dict(options)
    expected = whole.sets(**kind, frame="arrow") if kind.pop("sets", False) else whole.pairs(**kind, frame="arrow")
    assert table["item"].to_pylist() == expected["item"].to_pylist()
    if "probability" in table.column_names:
        assert_allclose(table["probability"], expected["probability"], **SAME)
    else:
        assert table["labels"].to_pylist() == expected["labels"].to_pylist()


def test_compiled_loops_give_the_same(packed, in_memory, monkeypatch):
    monkeypatch.setattr(kernels, "SMALL", -1)
    for name, model in MODELS.items():
        table = pa.concat_tables(model().fit(engine := LocalEngine(packed)).tables(engine, frame="arrow"))
        assert_allclose(table["probability"], in_memory[name].pairs()["probability"], **SAME)


def test_chance_is_the_same_in_blocks(packed, votes):
    whole, blocks = signatures(votes, 5), signatures(LocalEngine(packed), 5)
    for role in ("item", "worker", "label"):
        assert_array_equal(getattr(blocks, role), getattr(whole, role))


def test_votes_on_some_items_are_gathered(packed, votes):
    items = np.array([0, 3, 77, 150, 299])
    some = gather(LocalEngine(packed), items)
    expected = votes.select(np.isin(votes.item, items))
    assert_array_equal(items[some.item], expected.item)
    for role in ("worker", "label", "value"):
        assert_array_equal(getattr(some, role), getattr(expected, role))


def test_a_warm_start_goes_on_in_blocks(packed):
    engine = LocalEngine(packed)
    model = AMCC(warm_start=True, adapt=False, correlation=False).fit(engine)
    rounds = model.n_iter_
    assert model.fit(engine).n_iter_ < rounds / 2


def test_results_by_item_are_not_kept(packed, votes, tmp_path):
    model = DawidSkene().fit(votes).fit(LocalEngine(packed))
    for ask in (model.pairs, model.predict, model.sets):
        with pytest.raises(NotFittedError, match="tables"):
            ask()
    model.save(tmp_path / "model.amcc")
    assert_allclose(
        DawidSkene.load(tmp_path / "model.amcc").predict_proba(votes), DawidSkene().fit(votes).predict_proba()
    )


@pytest.mark.parametrize("model", [MACE(), DSTree(), AMCC(loss="frobenius")], ids=repr)
def test_other_methods_say_that_they_need_memory(model, packed):
    with pytest.raises(ParameterError, match="needs its votes in memory"):
        model.fit(LocalEngine(packed))


def test_features_and_truth_need_memory(packed):
    with pytest.raises(ParameterError, match="votes in memory"):
        MajorityVote().fit(LocalEngine(packed), features=np.zeros((300, 2)))


class Sum(NamedTuple):
    value: float


def test_sums_do_not_depend_on_who_adds():
    """Nine numbers whose sum depends on the order: always the same pairs are added, whoever has them."""
    numbers = 10.0 ** np.arange(9) / 3
    leaves: list[Sums] = [{(0, place): Sum(number)} for place, number in enumerate(numbers)]
    alone = whole_sum(merged(leaves))
    assert_allclose(alone, [numbers.sum()])
    for first, second in ((4, 5), (1, 7), (3, 8)):
        parts = [merged(leaves[:first]), merged(leaves[first:second]), merged(leaves[second:])]
        assert whole_sum(merged(parts)) == whole_sum(merged(parts[::-1])) == alone


def test_blocks_stay_with_their_process(cluster, packed):
    runs = [range(number, number + 1) for number in range(len(packed.entries))]
    homes = cluster._homes(runs)
    assert homes == cluster._homes(runs) == sorted(homes)
    votes = [sum(entry.votes for entry, home in zip(packed.entries, homes, strict=True) if home == process)
             for process in cluster._processes()]  # fmt: skip
    assert max(votes) - min(votes) <= 2 * max(entry.votes for entry in packed.entries)


# -- what can go wrong --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "n_victims"), [("dawid-skene", 1), ("dawid-skene", 2), ("amcc", 1)])
def test_killed_processes_change_nothing(method, n_victims, cluster, in_memory, monkeypatch):
    """One of two processes is killed while it has work, or both are; others take their places."""
    submit, submitted = cluster._submit, 0
    victims = list(cluster.client.run(os.getpid).values())[:n_victims]

    def submit_and_kill(*arguments, **options):
        nonlocal submitted
        submitted += 1
        future = submit(*arguments, **options)
        if submitted == 20:
            for victim in victims:
                os.kill(victim, signal.SIGKILL)
        return future

    monkeypatch.setattr(cluster, "_submit", submit_and_kill)
    table = pa.concat_tables(MODELS[method]().fit(cluster).tables(cluster, frame="arrow"))
    assert submitted > 20
    assert not set(victims) & set(cluster.client.run(os.getpid).values())
    assert_allclose(table["probability"], in_memory[method].pairs()["probability"], **SAME)


@pytest.mark.parametrize("damage", ["missing", "cut", "changed"])
@pytest.mark.parametrize("where", ["local", "dask"])
def test_a_block_that_cannot_be_read_is_named(damage, where, packed, cluster, tmp_path, monkeypatch):
    folder = tmp_path / "damaged"
    shutil.copytree(packed.folder, folder)
    path = folder / packed.entries[3].file
    content = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        changed = bytes([content[200] ^ 1])
        path.write_bytes(content[:100] if damage == "cut" else content[:200] + changed + content[201:])
    engine = LocalEngine(folder)
    if where == "dask":
        engine = cluster
        monkeypatch.setattr(engine, "_place", (str(folder), 0, None))
    with pytest.raises(FileFormatError, match=r"block-00003\.npy cannot be read"):
        MajorityVote().fit(engine)


def test_no_scheduler_there(packed, monkeypatch):
    monkeypatch.setattr("amcc.engine.dask.START_SECONDS", 1)
    with pytest.raises(InputError, match="does not answer"):
        DaskEngine(packed, "tcp://127.0.0.1:9")
