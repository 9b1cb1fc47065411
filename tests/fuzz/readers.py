"""Everything that reads a file, a few well-formed files for each, and what an independent reading makes of them."""

from __future__ import annotations

import gzip
import random
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import plain
import pyarrow as pa
import pyarrow.parquet as pq

from amcc import load_model, pack_votes, read_roster, read_truth, read_votes
from amcc.active.campaign import Campaign
from amcc.active.crowd import SimulatedCrowd
from amcc.active.prices import Prices, read_price_list
from amcc.active.strategies.baselines import Uniform
from amcc.consensus import DawidSkene, MajorityVote
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.engine.packed import PackedVotes
from amcc.io import is_export, read_export, read_ids, read_soft_truth
from amcc.votes import Votes

sys.path.append(str(Path(__file__).parents[1]))  # make fuzz starts in this folder
from exchange_files import SAMPLES, Sample

LONG = b"worker,item,label,value\nann,1,cat,yes\nann,1,dog,no\nbob,1,cat,1\nbob,2,dog,-1\ncid,2,cat,\n"
SEEDS: dict[str, Sequence[bytes]] = {
    "long": (
        LONG,
        b'Annotator ID;task;tag;vote\n"a;b";x;"say ""hi""";true\nb;y;caf\xc3\xa9;false\n',
        b"worker,item,label,value,note\n007,i,a,1,x\n7,i,a,0,\n",
    ),
    "tabs": (
        b"worker\titem\tlabel\tvalue\n1\t1\t1\t0\n1\t2\t1\t1\n2\t1\t1\t1\n",
        b'rater\tdoc\tcategory\trating\n"a\tb"\tx,y\tz\tno\n',
    ),
    "ticks": (b"worker,item,label\nann,1,cat\nann,1,dog\nbob,1,cat\nbob,2,dog\n",),
    "sets": (
        b"worker,item,labels\nann,1,cat|dog\nbob,1,cat\ncid,1,\nann,2,dog|emu\n",
        b"worker,item,labels,asked\nann,1,cat,cat|dog\nbob,1,cat|dog,cat|dog\ncid,2,,cat\n",
    ),
    "jsonl": (
        b'{"worker":"ann","item":1,"label":"cat","value":true}\n{"worker":"bob","item":2,"label":"dog","value":false}\n',
        b'{"worker": "ann", "item": "x", "label": "c", "value": 1}\n{"item":"y","worker":"b","label":"d","value":0}\n',
        b'{"worker":9007199254740993,"item":3,"label":"2024-05-31","value":"yes"}\n',
    ),
    "jsonl sets": (
        b'{"worker":"ann","item":1,"labels":["cat","dog"]}\n{"worker":"bob","item":1,"labels":[]}\n',
        b'{"worker":"ann","item":1,"labels":["cat"],"asked":["cat","dog"]}\n',
    ),
    "truth": (
        b"item,label\n1,cat\n2,dog\n3,cat\n", b"item,label,present\n1,cat,1\n2,dog,0\n",
        b"item,labels\n1,cat|dog\n2,\n",
    ),
    "prices": (b"worker,price\nann,1\nbob,0.25\n cid ,10.50\n", b"rater;cost\na;1\nb;2\n"),
    "roster": (
        b"worker,kind,family\nann,human,\ngpt-a,model,gpt\ngpt-b,Model,gpt\nrule,code,\n",
        b"Rater ID;type\n7;human\n8;\n", b'worker,kind,family,note\n"a,b",model,f g,x\nc,model,f g,\n',
    ),
    "soft truth": (
        b"item,label,share\n1,cat,0.25\n1,dog,1\n2,cat,0\n", b"task;tag;soft label\nx;a;.5\ny;a;1e-3\n", LONG,
    ),
    "ids": (b"cat\ndog\n\nemu\n", b"a b\r\nc\r\n"),
}  # fmt: skip


@dataclass(frozen=True)
class Reader:
    """How a file is read, by the package and plainly (None: only errors are looked at), and good files to damage."""

    suffix: str
    seeds: Callable[[], Sequence[bytes]]
    read: Callable[[Path], Any]
    plain: Callable[[bytes], Any] | None = None
    share: int = 1


def as_plain(votes: Votes) -> dict[str, Any]:
    """Votes as `plain.votes` gives them."""
    rows = votes.to_arrow().to_pylist()
    given = {(str(row["worker"]), str(row["item"]), str(row["label"])): row["value"] for row in rows}
    vocabularies = {"worker": votes.worker_names, "item": votes.item_names, "label": votes.label_names}
    assert len(given) == len(rows)
    return {"votes": given, **{role: set(names.cast(pa.string()).to_pylist()) for role, names in vocabularies.items()}}


def _votes(path: Path, **options: Any) -> dict[str, Any]:
    return as_plain(read_votes(path, **options))


def _repacked(path: Path) -> dict[str, Any]:
    """Votes by way of a packed folder, which reads files batch by batch."""
    with TemporaryDirectory(dir=path.parent) as folder:
        return as_plain(pack_votes(path, Path(folder) / "packed").votes())


def _truth(path: Path) -> frozenset[tuple[str, str]]:
    positives = read_truth(path).positives
    return frozenset(zip(positives.item.to_pylist(), positives.label.to_pylist(), strict=True))


def _roster(path: Path) -> dict[str, tuple[str, str | None]]:
    """Who the workers are; their places among voters are looked up, too, for what can go wrong there."""
    roster = read_roster(path)
    seats = roster.seats(roster.worker)
    assert seats.kinds().to_pylist() == list(roster.kind)
    assert seats.families().to_pylist() == roster.family.to_pylist()
    return dict(zip(roster.worker.to_pylist(), zip(roster.kind, roster.family.to_pylist(), strict=True), strict=True))


def _soft_truth(path: Path) -> dict[tuple[str, str], float]:
    soft = read_soft_truth(path)
    pairs = zip(soft.pairs.item.to_pylist(), soft.pairs.label.to_pylist(), strict=True)
    return dict(zip(pairs, soft.share.tolist(), strict=True))


def _prices(path: Path) -> dict[str, Decimal]:
    return {name: Decimal(str(amount).strip()) for name, amount in read_price_list(path, decimals=2).items()}


def _model(path: Path) -> None:
    model = load_model(path)
    model.pairs()
    model.workers("arrow")


def _packed(path: Path, file: str) -> None:
    """A folder of packed votes, one of whose files is the damaged one."""
    folder = path.with_suffix("")
    if not folder.exists():
        shutil.copytree(_folder("packed"), folder)
    try:
        shutil.copyfile(path, folder / file)
        PackedVotes(folder).votes()
    finally:
        shutil.copyfile(_folder("packed") / file, folder / file)


def _ledger(path: Path) -> None:
    _campaign(path).run()


@cache
def _world() -> Any:
    return simulate_crowd(CrowdSpec(n_workers=4, n_items=4, n_labels=3, answers_per_item=2))


def _campaign(path: Path) -> Campaign:
    world = _world()
    return Campaign(SimulatedCrowd(world), Uniform(), MajorityVote, Prices(world.prices), 12, path=path)


@cache
def _kept() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="amcc-fuzz-")


@cache
def _folder(name: str) -> Path:
    """A folder with well-formed files of all kinds that the package writes."""
    folder = Path(_kept().name) / name
    folder.mkdir()
    path = folder / "votes.csv"
    path.write_bytes(LONG)
    if name == "packed":
        pack_votes(path, folder / "made")
        return folder / "made"
    votes = read_votes(path)
    DawidSkene().fit(votes).save(folder / "model.npz")
    _campaign(folder / "ledger.jsonl").run()
    return folder


COLUMNS: dict[str, Sequence[pa.Array]] = {
    "worker": (pa.array(["ann", "bob", "ann"]), pa.array([1, 2**63, 3], pa.uint64()), pa.array([1.0, 2.0, 3.0])),
    "item": (
        pa.array(["x", "x", "ü"]).dictionary_encode(), pa.array([1, 2, None]), pa.array([b"a", b"b", b"c"]),
        pa.array([0, 1, 2], pa.timestamp("us", "UTC")), pa.array([{"a": 1}, {"a": 2}, None]),
    ),
    "label": (
        pa.array(["cat", "dog", "cat"]), pa.array([["cat"], [], ["cat", "dog"]]), pa.array([[["cat"]], [], None]),
        pa.array([[1, 2], [3], None], pa.list_(pa.int32())), pa.array([Decimal("1.5"), None, None]),
    ),
    "value": (
        pa.array([True, False, None]), pa.array([1, -1, 1], pa.int8()), pa.array(["yes", "no", ""]),
        pa.array([1.0, 0.0, float("nan")]), pa.array([0.5, 1.0, None], pa.float16()), pa.nulls(3),
    ),
    "asked": (pa.array([["cat"], ["cat", "dog"], None]), pa.array(["cat|dog", "cat", ""])),
}  # fmt: skip


@cache
def _parquets() -> Sequence[bytes]:
    """Tables with columns of many types, stored in many ways."""
    rng, files = random.Random(0), []
    for _ in range(60):
        roles = ["worker", "item", "label", *rng.choice((["value"], ["value"], ["asked"], []))]
        # Mostly the first, which is well-formed together with the first of the others.
        columns = {role: rng.choice([COLUMNS[role][0]] * 3 + list(COLUMNS[role])) for role in roles}
        sink = pa.BufferOutputStream()
        pq.write_table(
            pa.table(columns),
            sink,
            compression=rng.choice(("none", "none", "snappy", "zstd")),
            use_dictionary=rng.random() < 0.5,
            data_page_version=rng.choice(("1.0", "2.0")),
            row_group_size=rng.choice((1, 10)),
            store_schema=rng.random() < 0.7,
        )
        files.append(sink.getvalue().to_pybytes())
    return files


def _files(*names: str, folder: str = "made") -> Callable[[], Sequence[bytes]]:
    return lambda: [(_folder(folder) / name).read_bytes() for name in names]


def _text(name: str) -> Callable[[], Sequence[bytes]]:
    return lambda: SEEDS[name]


def _zipped(name: str) -> Callable[[], Sequence[bytes]]:
    return lambda: [gzip.compress(seed, mtime=0) for seed in SEEDS[name]]


def _csv(data: bytes, **options: Any) -> Any:
    return plain.votes(plain.csv_rows(data), **options)


def _export(path: Path, sample: Sample) -> Any:
    """An export of another tool, with the decision that it needs. Whose it is, is looked at first."""
    is_export(path)
    return read_export(path, format=sample.tool, **sample.options)


READERS: dict[str, Reader] = {
    "csv": Reader(".csv", _text("long"), _votes, _csv, share=6),
    "tsv": Reader(".tsv", _text("tabs"), _votes, lambda data: plain.votes(plain.csv_rows(data, tabs=True))),
    "csv.gz": Reader(".csv.gz", _zipped("long"), _votes, lambda data: _csv(plain.unzipped(data))),
    "ticks": Reader(
        ".csv", _text("ticks"), partial(_votes, unmentioned="absent"), partial(_csv, unmentioned="absent"), share=2
    ),
    "ticks unknown": Reader(
        ".csv", _text("ticks"), partial(_votes, unmentioned="unknown"), partial(_csv, unmentioned="unknown")
    ),
    "sets": Reader(
        ".csv", _text("sets"), partial(_votes, unmentioned="absent"), partial(_csv, unmentioned="absent"), share=3
    ),
    "jsonl": Reader(".jsonl", _text("jsonl"), _votes, lambda data: plain.votes(plain.json_rows(data)), share=5),
    "jsonl.gz": Reader(
        ".jsonl.gz", _zipped("jsonl"), _votes, lambda data: plain.votes(plain.json_rows(plain.unzipped(data)))
    ),
    "jsonl sets": Reader(
        ".jsonl",
        _text("jsonl sets"),
        partial(_votes, unmentioned="absent"),
        lambda data: plain.votes(plain.json_rows(data), unmentioned="absent"),
        share=2,
    ),
    "truth": Reader(".csv", _text("truth"), _truth, lambda data: plain.truth(plain.csv_rows(data)), share=2),
    "prices": Reader(".csv", _text("prices"), _prices, lambda data: plain.prices(plain.csv_rows(data)), share=2),
    "roster": Reader(".csv", _text("roster"), _roster, lambda data: plain.roster(plain.csv_rows(data)), share=2),
    "soft truth": Reader(
        ".csv", _text("soft truth"), _soft_truth, lambda data: plain.soft_truth(plain.csv_rows(data)), share=2
    ),
    "ids": Reader(".txt", _text("ids"), read_ids, plain.ids),
    "parquet": Reader(".parquet", _parquets, partial(_votes, unmentioned="absent"), share=4),
    "model": Reader(".npz", _files("model.npz"), _model, share=2),
    "pack": Reader(".csv", _text("long"), _repacked, _csv),
    "pack jsonl": Reader(".jsonl", _text("jsonl"), _repacked, lambda data: plain.votes(plain.json_rows(data))),
    "pack parquet": Reader(".parquet", _parquets, _repacked),
    "ledger": Reader(".jsonl", _files("ledger.jsonl"), _ledger),
    "packed header": Reader(".json", _files("meta.json", folder="packed"), partial(_packed, file="meta.json"), share=2),
    "packed block": Reader(
        ".npy", _files("block-00000.npy", folder="packed"), partial(_packed, file="block-00000.npy")
    ),
    "packed names": Reader(".arrow", _files("workers.arrow", folder="packed"), partial(_packed, file="workers.arrow")),
} | {
    name: Reader(Path(sample.name).suffix, partial(tuple, [sample.data]), partial(_export, sample=sample))
    for name, sample in SAMPLES.items()
}
