"""Every engine gives what votes in memory give, whatever happens to its processes and files."""

from __future__ import annotations

import contextlib
import copy
import itertools
import math
import os
import shutil
import signal
import stat
import subprocess
import sys
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import NamedTuple

import dask
import numpy as np
import pandas as pd
import psutil
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from amcc import AMCC, load_model, passes, write_votes
from amcc.consensus import MACE, NAM, DawidSkene, DSTree, MajorityVote
from amcc.consensus.default import likelihood
from amcc.consensus.default.frequency import update_usual
from amcc.consensus.default.warm_start import UPDATE_ROUNDS
from amcc.consensus.models.paper import PaperAMCC
from amcc.consensus.signature import content_hash, signatures
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.engine.base import gather
from amcc.engine.checkpoint import Checkpoint
from amcc.engine.dask import DaskEngine, Sums, merged, whole_sum
from amcc.engine.local import LocalEngine
from amcc.errors import EngineError, FileFormatError, InputError, NotFittedError, ParameterError
from amcc.io.pack import pack_votes

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
import cluster_rounds

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


@pytest.fixture
def shards(cluster, monkeypatch):
    """Also few coins live with the processes."""
    monkeypatch.setattr("amcc.engine.dask.FEW_COINS", 0)
    monkeypatch.setattr(cluster, "_few_coins", 0)


@pytest.fixture(params=["kept", "out of core", "dask", "dask with shards"])
def engine(request, packed):
    if request.param == "dask with shards":
        request.getfixturevalue("shards")
    if request.param.startswith("dask"):
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
    model, whole = AMCC().fit(LocalEngine(packed)), AMCC().fit(votes)
    table = pa.concat_tables(model.tables(LocalEngine(packed), **options, frame="arrow"))
    kind = dict(options)
    expected = whole.sets(**kind, frame="arrow") if kind.pop("sets", False) else whole.pairs(**kind, frame="arrow")
    assert table["item"].to_pylist() == expected["item"].to_pylist()
    if "probability" in table.column_names:
        assert_allclose(table["probability"], expected["probability"], **SAME)
    else:
        assert table["labels"].to_pylist() == expected["labels"].to_pylist()


def test_compiled_loops_give_the_same(packed, in_memory, monkeypatch):
    monkeypatch.setattr(passes, "SMALL", -1)
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


def test_a_warm_start_goes_on_in_blocks(packed, votes):
    model = AMCC(warm_start=True).fit(votes.select(np.arange(len(votes)) >= 20))
    rounds = model.n_iter_
    assert model.fit(LocalEngine(packed)).n_iter_ <= UPDATE_ROUNDS < rounds / 2


def test_content_is_the_same_in_blocks(packed, votes):
    assert content_hash(LocalEngine(packed)) == content_hash(votes)
    assert content_hash(votes.select(np.arange(len(votes)) > 0)) != content_hash(votes)


@pytest.mark.parametrize("places", [("folder", "folder"), ("folder", "memory"), ("memory", "folder")], ids="-".join)
@pytest.mark.parametrize("saved", [False, True])
def test_without_new_votes_nothing_changes_wherever_they_are(places, saved, packed, votes, tmp_path):
    def there(place):
        return votes if place == "memory" else LocalEngine(packed)

    def pairs(model):
        return pa.concat_tables(model.tables(LocalEngine(packed), frame="arrow"))

    model = AMCC(warm_start=True).fit(there(places[0]))
    expected, workers = pairs(model), copy.copy(model).workers()
    if saved:
        model.save(tmp_path / "model.amcc")
        model = load_model(tmp_path / "model.amcc")
    model.fit(there(places[1]))
    assert pairs(model).equals(expected)
    pd.testing.assert_frame_equal(model.workers(), workers, rtol=0, atol=1e-12)  # sums over blocks: last digits
    if places[1] == "memory":
        assert_allclose(model.pairs()["probability"], expected["probability"], rtol=0, atol=1e-12)


def test_results_by_item_are_not_kept(packed, votes, tmp_path):
    model = DawidSkene().fit(votes).fit(LocalEngine(packed))
    for ask in (model.pairs, model.predict, model.sets):
        with pytest.raises(NotFittedError, match="tables"):
            ask()
    model.save(tmp_path / "model.amcc")
    assert_allclose(
        DawidSkene.load(tmp_path / "model.amcc").predict_proba(votes), DawidSkene().fit(votes).predict_proba()
    )


@pytest.mark.parametrize("model", [MACE(), DSTree(), PaperAMCC()], ids=repr)
def test_other_methods_say_that_they_need_memory(model, packed):
    with pytest.raises(ParameterError, match="needs its votes in memory"):
        model.fit(LocalEngine(packed))


def test_features_and_truth_need_memory(packed):
    with pytest.raises(ParameterError, match="votes in memory"):
        NAM().fit(LocalEngine(packed), features=np.zeros((300, 2)))
    with pytest.raises(ParameterError, match=r"MajorityVote does not use features.*NAM \(-m nam\)"):
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


@pytest.mark.parametrize(
    ("method", "kill_at", "n_victims"),
    [("dawid-skene", 20, 1), ("dawid-skene", 20, 2), ("amcc", 200, 1), ("amcc", 300, 2)],
)
def test_killed_processes_change_nothing(method, kill_at, n_victims, cluster, shards, in_memory, monkeypatch):
    """One of two processes is killed while it has work, or both are; others take their places, and their coins."""
    cluster.client.wait_for_workers(2)  # who was killed in another test may not be replaced yet
    submit, submitted = cluster._submit, 0
    victims = list(cluster.client.run(os.getpid).values())[:n_victims]

    def submit_and_kill(*arguments, **options):
        nonlocal submitted
        submitted += 1
        future = submit(*arguments, **options)
        if submitted == kill_at:
            for victim in victims:
                os.kill(victim, signal.SIGKILL)
        return future

    monkeypatch.setattr(cluster, "_submit", submit_and_kill)
    table = pa.concat_tables(MODELS[method]().fit(cluster).tables(cluster, frame="arrow"))
    assert submitted > kill_at
    assert not set(victims) & set(cluster.client.run(os.getpid).values())
    assert_allclose(table["probability"], in_memory[method].pairs()["probability"], **SAME)


def test_a_checkpoint_gathers_the_coins(cluster, shards, packed, tmp_path, monkeypatch):
    """Interrupted in the sixth round, a fit goes on with the same processes or without any, to the same result."""
    whole = AMCC().fit(cluster)
    rounds = itertools.count(1)

    def interrupted(*arguments):
        if next(rounds) == 6:
            raise KeyboardInterrupt
        return update_usual(*arguments)

    with DaskEngine(packed, cluster.cluster, checkpoint=Checkpoint(tmp_path / "fit"), timeout=60) as engine:
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(likelihood, "update_usual", interrupted)
            AMCC().fit(engine)
        shutil.copy(tmp_path / "fit", tmp_path / "again")
        on_cluster = AMCC().fit(engine)
    alone = AMCC().fit(LocalEngine(packed, checkpoint=Checkpoint(tmp_path / "again")))
    assert on_cluster.objective_history_ == whole.objective_history_
    assert_allclose(alone.objective_history_, whole.objective_history_, rtol=1e-9)
    assert_array_equal(on_cluster.coin_evidence_, whole.coin_evidence_)
    assert_allclose(alone.coin_evidence_, whole.coin_evidence_, **SAME)


def test_a_warm_start_goes_on_in_shards(cluster, shards, packed, votes):
    before = AMCC(warm_start=True).fit(votes.select(np.arange(len(votes)) >= 20))
    here, there = (copy.copy(before).fit(engine) for engine in (LocalEngine(packed), cluster))
    assert here.n_iter_ == there.n_iter_ <= UPDATE_ROUNDS
    assert_allclose(there.coin_evidence_, here.coin_evidence_, **SAME)


def test_what_goes_through_the_leader_does_not_grow_with_coins(cluster, tmp_path):
    found = []
    for n_workers in (20, 200):
        spec = CrowdSpec(n_items=300, n_workers=n_workers, n_labels=6, answers_per_item=9, seed=3)
        folder = tmp_path / str(n_workers)
        folder.mkdir()
        write_votes(simulate_crowd(spec).votes, folder / "votes.parquet")
        packed = pack_votes(folder / "votes.parquet", folder / "blocks", block_votes=2000)
        with DaskEngine(packed, cluster.cluster, timeout=60) as engine:
            few = (math.inf, 0)
            found.append(
                [len(engine.coins), *(cluster_rounds.rounds_of(engine, few_coins=each, n_rounds=4)[1] for each in few)]
            )
    coins, leader, shards = np.array(found).T
    assert leader[1] - leader[0] > 30 * (coins[1] - coins[0]), "16 bytes to each process, and 16 from each"
    assert abs(shards[1] - shards[0]) < 0.02 * shards[0]


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


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "tls://127.0.0.1:9", "nowhere"])
def test_no_scheduler_there(packed, address):
    with pytest.raises(InputError, match=r"does not answer as one .*tls:// the certificates"):
        DaskEngine(packed, address, timeout=0.5)


SCHEDULER = """
import sys, distributed
with distributed.LocalCluster(processes=False, protocol="tcp", dashboard_address="127.0.0.1:0") as cluster:
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
"""


def patiently(connect, tries=20):
    """What `connect` gives. On a busy machine the first answer may take longer than a lost scheduler is waited for."""
    for _ in range(tries - 1):
        try:
            return connect()
        except InputError:
            continue
    return connect()


def test_a_lost_scheduler_is_told_within_seconds(packed, tmp_path, monkeypatch):
    """Killed in the middle of a fit: the error says what, and the fit goes on elsewhere from its checkpoint."""
    scheduler = subprocess.Popen(
        [sys.executable, "-c", SCHEDULER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    rounds = 0

    def killed_in_round_10(results):
        nonlocal rounds
        rounds += 1
        if rounds == 10:
            scheduler.kill()
        return merged(results)

    with scheduler:
        address = scheduler.stdout.readline().strip()
        with patiently(
            lambda: DaskEngine(packed, address, checkpoint=Checkpoint(tmp_path / "fit"), timeout=5)
        ) as engine:
            monkeypatch.setattr("amcc.engine.dask.merged", killed_in_round_10)
            with pytest.raises(EngineError, match=rf"{address} was lost .*goes on from .*fit\."):
                DawidSkene().fit(engine)
    assert (tmp_path / "fit").exists()
    DawidSkene().fit(LocalEngine(packed, checkpoint=Checkpoint(tmp_path / "fit")))


# -- who may talk to the processes ------------------------------------------------------------------------------


def ports_of(process):
    """Where a process and its children listen."""
    ports = set()
    for one in [process, *process.children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):  # a child of an earlier test may end while we look
            ports |= {place.laddr.port for place in one.net_connections("tcp") if place.status == "LISTEN"}
    return sorted(ports)


def intruded(folder, ports):
    """What another user could make the owner of the folder do, see intruder.py; we ourselves try if we are not root."""
    folder.mkdir(mode=0o700)
    program = Path(__file__).parents[1] / "intruder.py"
    subprocess.run([sys.executable, program, folder, *map(str, ports)], check=True, timeout=60)
    return [made.name for made in folder.iterdir()]


def test_other_users_cannot_run_code(cluster, tmp_path):
    """Every port is tried without and with a certificate. So is an open cluster, where it must succeed."""
    import distributed

    ours = ports_of(psutil.Process())
    assert len(ours) >= 1 + 2 * 2, "a scheduler, and two processes with their guards"
    with distributed.LocalCluster(processes=False, protocol="tcp", dashboard_address="127.0.0.1:0"):
        theirs = set(ports_of(psutil.Process())) - set(ours)
        made = intruded(tmp_path / "made", [*ours, *theirs])
    assert made, "the intruder cannot even enter an open cluster: this test shows nothing"
    assert {int(name.split("-")[0]) for name in made} <= theirs


def test_no_page_is_served(cluster):
    for port, page in itertools.product(
        ports_of(psutil.Process()), ("status", "health", "metrics", "json/counts.json")
    ):
        with closing(HTTPConnection("127.0.0.1", port, timeout=5)) as connection:
            try:
                connection.request("GET", f"/{page}")
                answer = connection.getresponse().status
            except (OSError, HTTPException):  # it does not speak HTTP
                continue
            assert answer == 404


def test_modules_come_from_no_folder_that_others_can_fill(cluster):
    """Dask imports from its scratch folder, which lies where everybody may write, unless it is told another."""
    paths = {*sys.path, *itertools.chain(*cluster.client.run(lambda: sys.path).values())}
    scratch = [Path(path) for path in paths if "dask-scratch-space" in path]
    assert len(scratch) >= 2
    for path in scratch:
        assert any(
            stat.S_IMODE(parent.stat().st_mode) == 0o700 for parent in path.parents if parent.owner() == path.owner()
        )


def test_a_cluster_can_be_given_by_its_object_or_by_address_and_certificates(cluster, packed, tmp_path):
    security, settings = cluster.client.security, {}
    for name, text in {"ca-file": security.tls_ca_file, "client.cert": security.tls_client_cert,
                          "client.key": security.tls_client_key}.items():  # fmt: skip
        (tmp_path / name).write_text(text)
        settings[f"distributed.comm.tls.{name}"] = str(tmp_path / name)
    with DaskEngine(packed, cluster.cluster, timeout=60) as engine:
        assert MajorityVote().fit(engine).n_iter_ == 1
    with dask.config.set(settings), DaskEngine(packed, cluster.cluster.scheduler_address, timeout=60) as engine:
        assert MajorityVote().fit(engine).n_iter_ == 1
    assert cluster.client.run(os.getpid), "who was given a cluster leaves it running"
