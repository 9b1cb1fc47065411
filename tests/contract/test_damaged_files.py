"""Saved models, checkpoints and packed votes that somebody or something changed, with checksums that are right.

Every field is deleted, renamed, and given other types, lengths and values. What may happen is an error of amcc that
names the file, or that the change makes no difference.
"""

from __future__ import annotations

import copy
import io
import json
import shutil
import warnings
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from amcc import Votes, load_model
from amcc.consensus import METHODS, DawidSkene, MajorityVote, make_model
from amcc.consensus.default.likelihood import Ascent
from amcc.consensus.default.trust import Trust
from amcc.consensus.models.dawid_skene import DawidSkeneRounds
from amcc.consensus.saving import read_model_file
from amcc.engine.checkpoint import Checkpoint
from amcc.engine.local import LocalEngine
from amcc.engine.packed import META, PackedVotes
from amcc.errors import AmccError, FileFormatError
from amcc.fields import Stored, names_to_bytes, read_fields, take_apart, write_fields
from amcc.io import write_votes
from amcc.io.pack import pack_votes

OTHERS: tuple[Any, ...] = (None, True, "text", -1, 2**70, [], ["text"], {}, {"a": 1})
"""What a value of JSON may be changed to."""

MAY_BE = f"worker_rates.answers has {2**31 - 1}"
"""The one change that cannot be told from the truth."""


@pytest.fixture(scope="module")
def votes():
    """Few, with names as text; some questions were not asked."""
    dense = np.random.default_rng(0).choice([-1, 0, 1, 1], size=(4, 5, 3))
    return Votes.from_dense(dense, worker_names="abcd", item_names="vwxyz", label_names=["dog", "cat", "cat\0"])


def changed_json(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The value with one change somewhere in it, and what was changed."""
    if isinstance(value, dict):
        for key, part in value.items():
            rest = {name: other for name, other in value.items() if name != key}
            yield f"{path}.{key} deleted", rest
            yield f"{path}.{key} renamed", {**rest, f"{key}s": part}
            for what, other in changed_json(part, f"{path}.{key}"):
                yield what, {**value, key: other}
        yield f"{path} has more", {**value, "more": 1}
        yield f"{path} has more", {**value, "more_": 1}
    for other in OTHERS:
        whole = isinstance(other, int) and not isinstance(other, bool)
        if type(other) is not type(value) and not (whole and isinstance(value, float)):
            yield f"{path} is {other!r}", other
    if isinstance(value, list) and value:
        yield f"{path} has text", [*value[:-1], "text"]
        if isinstance(value[0], dict):
            yield f"{path} twice", [*value, value[0]]
            for what, other in changed_json(value[0], f"{path}[0]"):
                yield what, [other, *value[1:]]


def changed_array(array: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """The array in other types and lengths, and with values that cannot be."""
    yield "is text", np.array(["text"] * max(array.size, 1))
    yield "is complex", array.astype(complex)
    yield "is of the other kind", array.astype(np.float64 if array.dtype.kind in "iub" else np.int64)
    yield "is one number", np.zeros((), array.dtype)
    yield "has one more axis", array[None]
    yield "is empty", array[..., :0]
    yield "is shorter", array[..., :-1]
    yield "is longer", np.concatenate([array, array[-1:]])
    yield "is much longer", np.concatenate([array] * 50)
    for value in (np.nan, np.inf, -5, 2**31 - 1):
        with np.errstate(invalid="ignore"):
            other = array.copy()
            if array.dtype.kind == "f" and not np.isfinite(value):
                other.flat[-1] = value
            elif array.dtype.kind in "iu" and np.isfinite(value):
                other.flat[-1] = np.array(value).astype(array.dtype)
        if not np.array_equal(other, array):
            yield f"has {value}", other


def changed_fields(meta: Any, arrays: dict[str, np.ndarray]) -> Iterator[tuple[str, Any, dict[str, np.ndarray]]]:
    """Description and arrays with one change."""
    for name, array in arrays.items():
        rest = {other: kept for other, kept in arrays.items() if other != name}
        yield f"{name} deleted", meta, rest
        yield f"{name} renamed", meta, {**rest, f"{name}x": array}
        for what, other in changed_array(array):
            if f"{name} {what}" != MAY_BE:
                yield f"{name} {what}", meta, {**rest, name: other}
    yield "more", meta, {**arrays, "fit": np.zeros(3)}
    for what, other in changed_json(meta):
        if isinstance(other, dict):  # what else it may be is seen when the file is opened
            yield what, other, arrays


def same(one: Any, other: Any) -> bool:
    return one.equals(other) if isinstance(one, pa.Table) else bool(np.array_equal(one, other))


def unlike(use, changes, expected, name):
    """What went wrong with changed files; at least one in three must be refused, or the changes are none."""
    wrong, n, n_refused = [], 0, 0
    for what, *change in changes:
        n += 1
        try:
            if not all(map(same, use(*change), expected)):
                wrong.append(f"{what}: other results")
        except AmccError as error:
            n_refused += 1
            if name not in str(error):
                wrong.append(f"{what}: {error}")
        except Exception as error:  # what must not be
            wrong.append(f"{what}: {error!r}")
    assert n_refused > n / 3 > 10
    return wrong


def answers(model, votes):
    """All that a model says."""
    results = [model.predict_proba(votes), model.workers("arrow"), model.applied_to(votes).pairs(all_labels=True)]
    return [*results, model.predict_proba(), model.sets()] if hasattr(model, "pair_proba_") else results


@pytest.mark.parametrize("method", ["amcc", "dawid-skene", "majority"])
def test_changed_models(method, votes, tmp_path):
    path = tmp_path / "model.amcc"
    make_model(method).fit(votes).save(path)
    assert wrong_models(path, votes) == []


def test_changed_models_of_packed_votes(packed, votes, tmp_path):
    path = tmp_path / "model.amcc"
    DawidSkene().fit(LocalEngine(packed)).save(path)
    assert wrong_models(path, votes) == []


def wrong_models(path, votes):
    model, file = load_model(path), read_model_file(path)

    def use(meta, arrays):
        return answers(type(model).from_file(path, meta, arrays), votes)

    return unlike(use, changed_fields(*file), answers(model, votes), path.name)


@pytest.mark.parametrize("name", ["a.csv", "b.npz", "c.npy", "d", "e.amcc", "f.amcc", "g.amcc"])
def test_other_files_are_no_models(name, tmp_path):
    path = tmp_path / name
    if name == "a.csv":
        path.write_text("item,label,probability\n1,dog,0.5\n")
    elif name == "b.npz":
        np.savez(path, one=np.zeros(3))
    elif name == "c.npy":
        np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    elif name == "d":
        path.mkdir()
    else:
        content = {"e.amcc": b"", "f.amcc": b"[1]", "g.amcc": b'{"a":' * 5000}[name]
        with path.open("wb") as file:
            np.savez(file, meta=np.frombuffer(content, np.uint8))
    with pytest.raises(FileFormatError, match=rf"{name} is.* a model saved by amcc") as error:
        load_model(path)
    assert "pickle" not in str(error.value)


def test_an_empty_file_is_no_model(tmp_path):
    (tmp_path / "empty").touch()
    with pytest.raises(FileFormatError, match="not a model saved by amcc"):
        load_model(tmp_path / "empty")


# -- checkpoints -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "stages"), [("dawid-skene", {"rounds": DawidSkeneRounds}), ("amcc", {"trust": Trust, "fit": Ascent})]
)
def test_changed_checkpoints(method, stages, packed, tmp_path, monkeypatch):
    path = tmp_path / "fit.checkpoint"
    checkpoint, sizes = Checkpoint(path), {}
    monkeypatch.setattr(checkpoint, "remove", checkpoint.flush)
    make_model(method).fit(LocalEngine(packed, None, checkpoint))
    identity, sizes = checkpoint.identity, checkpoint._sizes
    meta, arrays = read_fields(path, "a checkpoint")
    assert stages.keys() <= meta["plain"].keys()

    def use(meta, arrays):
        again = Checkpoint(path)
        if method == "dawid-skene":
            write_fields(path, meta, arrays)
            again.begin(identity, sizes)
        else:  # the same without the file, for there are many
            again._arrays, again._plain, again._sizes = arrays, meta.get("plain"), sizes
            Stored(path, arrays, again._plain)
        found = ({}, {})
        for stage, kind in stages.items():
            if (state := again.recall(stage, kind)) is None:
                return expected  # from the beginning
            take_apart(state, stage, *found)
        return [*found[0].values(), json.dumps(found[1])]

    expected: list[Any] = []
    expected = use(meta, arrays)
    assert unlike(use, changed_fields(meta, arrays), expected, path.name) == []


# -- packed votes ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def packed(votes, tmp_path_factory):
    folder = tmp_path_factory.mktemp("packed")
    write_votes(votes, folder / "votes.parquet")
    return pack_votes(folder / "votes.parquet", folder / "blocks", block_votes=20)


def contents(folder):
    """All that packed votes say."""
    packed = PackedVotes(folder)
    return [packed.votes().to_arrow(), DawidSkene(tol=0.1).fit(LocalEngine(packed)).workers("arrow")]


def changed_names(names: pa.Array) -> Iterator[tuple[str, bytes]]:
    """Files of names as they cannot be."""
    content = names_to_bytes(names)
    yield "nothing", b""
    yield "cut off", content[: len(content) // 2]
    for place in range(0, len(content), len(content) // 40):
        yield f"byte {place}", content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :]
    others = {
        "shorter": names[:-1],
        "twice": pa.concat_arrays([names[:-1], names[:1]]),
        "missing": pa.concat_arrays([names[:-1], pa.array([None], pa.string())]),
        "numbers": pa.array(np.arange(len(names)) / 2),
        "none": names[:0],
    }
    yield from ((what, names_to_bytes(other)) for what, other in others.items())


def changed_folders(packed) -> Iterator[tuple[str, Any, str, bytes]]:
    """meta.json and one other file with one change."""
    meta = json.loads((packed.folder / META).read_text())
    for what, other in changed_json(meta):
        yield what, other, "", b""
    entry = packed.entries[0]
    for name, names in (
        ("workers.arrow", packed.worker_names),
        ("labels.arrow", packed.label_names),
        (entry.names_file, packed.item_names(entry)),
    ):
        for what, content in changed_names(names):
            yield f"{name} {what}", with_checksum(meta, name, content), name, content
    for name, n_arrays in (("coins.npy", 1), (entry.file, 6)):
        content = (packed.folder / name).read_bytes()
        with io.BytesIO(content) as stream:
            arrays = [np.load(stream) for _ in range(n_arrays)]
        for number, array in enumerate(arrays):
            for what, other in [*changed_array(array), ("is zero", array * 0), ("is backwards", array[..., ::-1])]:
                changed = stored([*arrays[:number], other, *arrays[number + 1 :]])
                yield f"{name} {number} {what}", with_checksum(meta, name, changed), name, changed
        yield f"{name} cut off", with_checksum(meta, name, content[:-2]), name, content[:-2]
        yield f"{name} longer", with_checksum(meta, name, content * 2), name, content * 2


def stored(arrays) -> bytes:
    stream = io.BytesIO()
    for array in arrays:
        np.save(stream, array)
    return stream.getvalue()


def with_checksum(meta: Any, name: str, content: bytes) -> Any:
    """The description with the right checksum for this content."""
    meta, checksum = copy.deepcopy(meta), zlib.crc32(content)
    if name in meta["checksums"]:
        meta["checksums"][name] = checksum
    else:
        meta["blocks"][0]["checksum" if name.endswith(".npy") else "names_checksum"] = checksum
    return meta


def test_changed_packed_votes(packed, tmp_path):
    folder = tmp_path / "blocks"
    shutil.copytree(packed.folder, folder)

    def use(meta, name, content):
        (folder / META).write_text(json.dumps(meta))
        if name:
            (folder / name).write_bytes(content)
        try:
            return contents(folder)
        finally:
            if name:
                shutil.copy(packed.folder / name, folder / name)

    assert len(packed.entries) > 1
    assert unlike(use, changed_folders(packed), contents(packed.folder), folder.name) == []


def test_a_wrong_block_is_refused_again(packed, tmp_path):
    folder = tmp_path / "blocks"
    shutil.copytree(packed.folder, folder)
    entry, meta = packed.entries[0], json.loads((folder / META).read_text())
    with (folder / entry.file).open("rb") as file:
        arrays = [np.load(file) for _ in range(6)]
    content = stored([arrays[0] + 100, *arrays[1:]])
    (folder / entry.file).write_bytes(content)
    (folder / META).write_text(json.dumps(with_checksum(meta, entry.file, content)))
    wrong = PackedVotes(folder)
    for _ in range(2):
        with pytest.raises(FileFormatError, match=rf"{entry.file} cannot be read: a vote has no coin"):
            wrong.block(0)


# -- names -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_names_come_back_as_they_were(method, tmp_path):
    """Zeros at the end, what looks like a number, spaces, letters with and without a separate accent."""
    names = ["a", "a\0", "a\0\0", "7", "007", " x ", "é", "e\u0301"]
    dense = np.random.default_rng(0).choice([-1, 1], size=(8, 8, 8))
    votes = Votes.from_dense(dense, worker_names=names, item_names=names, label_names=names)
    model = make_model(method).set_params(max_iter=2) if method != "majority" else make_model(method)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(votes).save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    for role in ("item", "worker", "label"):
        assert getattr(loaded, f"{role}_names_").to_pylist() == names
    np.testing.assert_array_equal(loaded.predict_proba(votes), model.predict_proba(votes))


@pytest.mark.parametrize("method", METHODS)
def test_models_of_odd_votes_come_back(method, tmp_path):
    """Nobody says yes; an item, a worker and a label are without votes."""
    dense = -np.ones((3, 4, 2), int)
    dense[2], dense[:, 3], dense[:, :, 1] = 0, 0, 0
    for votes in (Votes.from_dense(dense), Votes.from_dense(-np.ones((3, 4, 2), int))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make_model(method).fit(votes)
        model.save(tmp_path / "model")
        np.testing.assert_array_equal(load_model(tmp_path / "model").predict_proba(votes), model.predict_proba(votes))


def test_a_model_is_as_large_as_its_names(tmp_path):
    """One long name does not make all of them long."""
    names = [f"i{number}" for number in range(2000)] + ["x" * 60_000]
    votes = Votes.from_dense(np.ones((1, 2001, 1), int), item_names=names)
    MajorityVote().fit(votes).save(tmp_path / "model")
    assert (tmp_path / "model").stat().st_size < 250_000


def test_models_of_before_are_refused(votes, tmp_path):
    path = tmp_path / "model.amcc"
    MajorityVote().fit(votes).save(path)
    meta, arrays = read_fields(path, "a model")
    write_fields(path, {**meta, "format": 1}, arrays)
    with pytest.raises(FileFormatError, match="format 1; this amcc reads format 5"):
        load_model(path)
