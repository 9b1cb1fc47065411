"""Features of items are read in the order of the votes, whatever the file, and go to who uses them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array, issparse, save_npz

from amcc import AMCC, Votes, read_features, read_text_features
from amcc.active.beliefs import Learner
from amcc.active.campaign import Campaign
from amcc.active.crowd import ReplayCrowd
from amcc.active.prices import Prices
from amcc.active.strategies import STRATEGIES, check_features_used
from amcc.consensus import METHODS, NAM
from amcc.errors import AmccError, FileFormatError, InputError, ParameterError
from amcc.io import write_table

ITEMS, NUMBERS = ["c", "a", "b", "other"], np.array([[5.0, 6.0], [1.0, 2.0], [3.0, 4.0], [0.0, 0.0]])


@pytest.fixture
def votes() -> Votes:
    return Votes.from_dense([[[1, -1]] * 3] * 3, item_names=["a", "b", "c"])


@pytest.mark.parametrize("name", ["f.csv", "f.parquet", "f.npz", "f.npy"])
def test_every_format_gives_the_rows_of_the_votes(votes, tmp_path, name):
    path, items = tmp_path / name, None
    if name == "f.npz":
        np.savez(path, X=NUMBERS, items=np.array(ITEMS))
    elif name == "f.npy":
        items = tmp_path / "items.txt"
        items.write_text("\n".join(ITEMS))
        np.save(path, NUMBERS)
    else:
        write_table(pa.table({"item": ITEMS, "x": NUMBERS[:, 0], "y": NUMBERS[:, 1]}), path)
    assert_array_equal(read_features(path, votes, items=items), [[1, 2], [3, 4], [5, 6]])


def test_rows_without_names_are_refused(votes, tmp_path):
    """Three rows for three items, but in whose order? Never guessed."""
    np.save(tmp_path / "f.npy", NUMBERS[:3])
    with pytest.raises(ParameterError, match=r"does not say whose its rows are.*--features-items.*savez"):
        read_features(tmp_path / "f.npy", votes)
    np.savez(tmp_path / "f.npz", X=NUMBERS, items=np.array(ITEMS))
    with pytest.raises(ParameterError, match="names its items itself"):
        read_features(tmp_path / "f.npz", votes, items=tmp_path / "f.npy")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": NUMBERS}, "items is not a file in the archive"),
        ({"X": NUMBERS, "items": np.array(ITEMS[:3])}, r"row for each of 3 items; got the shape \(4, 2\)"),
        ({"X": NUMBERS, "items": np.array(["a", "b", "b", "c"])}, "'b' is there more than once"),
        ({"X": NUMBERS[1:], "items": np.array(["a", "b", "x"])}, "1 are missing, 'c' is the first"),
        ({"X": NUMBERS[:, 0], "items": np.array(ITEMS)}, r"the shape \(4,\)"),
        ({"X": np.array(7.0), "items": np.array("a")}, r"the shape \(\)"),
        ({"X": NUMBERS.astype(complex), "items": np.array(ITEMS)}, "of complex128"),
        ({"X": NUMBERS.astype(str), "items": np.array(ITEMS)}, "of <U"),
        ({"X": np.where(NUMBERS == 4, np.nan, NUMBERS), "items": np.array(ITEMS)}, "column '1'.*row 3 has nan"),
        ({"X": NUMBERS, "items": np.array([*ITEMS[:3], None], dtype=object)}, "without Python objects"),
    ],
)  # fmt: skip
def test_bad_archives(votes, tmp_path, arrays, message):
    path = tmp_path / "f.npz"
    np.savez(path, **arrays)
    with pytest.raises(InputError, match=message) as caught:
        read_features(path, votes)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("name", ["f.npy", "f.npz"])
@pytest.mark.parametrize("content", [b"", b"hello", b"\x93NUMPY\x01\x00", b"PK\x03\x04 cut"])
def test_files_that_are_not_numpys(votes, tmp_path, name, content):
    path: Path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=name):
        read_features(path, votes)


@pytest.mark.parametrize("name", ["f.npy", "f.npz"])
def test_damaged_files_raise_our_errors(votes, tmp_path, name):
    path, items = tmp_path / name, None
    if name == "f.npy":
        items = tmp_path / "items.txt"
        items.write_text("\n".join(ITEMS))
        np.save(path, NUMBERS)
    else:
        np.savez_compressed(path, X=NUMBERS, items=np.array(ITEMS))
    whole, rng, n_errors = path.read_bytes(), np.random.default_rng(0), 0
    for _ in range(200):
        damaged = bytearray(whole)
        for place in rng.integers(len(damaged), size=3):
            damaged[place] = rng.integers(256)
        path.write_bytes(damaged)
        try:
            assert read_features(path, votes, items=items).shape[0] == 3
        except AmccError:
            n_errors += 1
    assert n_errors > 50


# -- tables ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("item\na\nb\nc\n", "there is only 'item'"),
        ("item,x\na,1\nb,2\nb,3\nc,4\n", "'b' stands there again"),
        ("item,x\na,1\nb,2\n", "1 are missing, 'c' is the first"),
        ("item,x,name\na,1,Ann\nb,2,Bob\nc,3,Cem\n", "column 'name' must hold numbers"),
        ("item,x,y\na,1,1\nb,2,inf\nc,3,1\n", "column 'y' must hold finite numbers; row 2 has inf"),
        ("item,x\na,1\nb,\nc,3\n", "column 'x' must hold numbers"),
        ("x,y\n1,2\n", "item"),
    ],
)
def test_bad_tables(votes, tmp_path, text, message):
    path = tmp_path / "f.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_features(path, votes)
    assert str(path) in str(caught.value)


def test_numbers_in_a_table_may_be_padded(votes, tmp_path):
    (tmp_path / "f.csv").write_text("item,x\na, 1 \nb,2.5 \nc, -3e0\n")
    assert_array_equal(read_features(tmp_path / "f.csv", votes), [[1], [2.5], [-3]])


def test_a_table_names_its_items(votes, tmp_path):
    (tmp_path / "f.csv").write_text("item,x\na,1\nb,2\nc,3\n")
    with pytest.raises(ParameterError, match="names its items itself"):
        read_features(tmp_path / "f.csv", votes, items=tmp_path / "items.txt")


def test_sparse_files_stay_sparse(votes, tmp_path):
    save_npz(tmp_path / "f.npz", csr_array(NUMBERS))
    with pytest.raises(ParameterError, match="does not say whose its rows are"):
        read_features(tmp_path / "f.npz", votes)
    (tmp_path / "items.txt").write_text("\n".join(ITEMS))
    found = read_features(tmp_path / "f.npz", votes, items=tmp_path / "items.txt")
    assert issparse(found)
    assert_array_equal(found.toarray(), [[1, 2], [3, 4], [5, 6]])


def test_the_list_of_items_is_named_once(votes, tmp_path):
    np.save(tmp_path / "f.npy", NUMBERS)
    (tmp_path / "items.txt").write_text("a\nb\nb\nc\n")
    with pytest.raises(InputError, match=r"'b'.*more than once") as caught:
        read_features(tmp_path / "f.npy", votes, items=tmp_path / "items.txt")
    assert str(caught.value).count("items.txt") == 1


# -- texts -----------------------------------------------------------------------------------------------------------

TEXTS = ["red wine", "white wine", "red car", None]


def write_texts(path: Path, **columns: list[object]) -> Path:
    write_table(pa.table({"item": ITEMS, **columns}), path)
    return path


def test_rows_of_texts_are_those_of_the_votes(votes, tmp_path):
    """Items a, b, c have the texts of rows 1, 2, 0; wine is in c and a, red in c and b."""
    path = write_texts(tmp_path / "t.parquet", text=TEXTS)
    alike = (read_text_features(path, votes) @ read_text_features(path, votes).T).toarray()
    assert_array_equal(np.diag(alike).round(12), [1, 1, 1])  # rows of length 1
    assert alike[0, 1] == 0 < alike[0, 2] < 1
    assert alike[1, 2] > 0


def test_the_column_of_texts(votes, tmp_path):
    named = write_texts(tmp_path / "a.parquet", text=TEXTS, other=["x"] * 4)
    alone = write_texts(tmp_path / "b.parquet", story=TEXTS)
    several = write_texts(tmp_path / "c.parquet", one=TEXTS, two=TEXTS)
    found = [read_text_features(path, votes).toarray() for path in (named, alone)]
    found.append(read_text_features(several, votes, column="two").toarray())
    for other in found[1:]:
        assert_array_equal(found[0], other)
    with pytest.raises(InputError, match=r"'text', or one beside the item; there is 'one', 'two'.*--text-column"):
        read_text_features(several, votes)
    with pytest.raises(InputError, match="a column 'three'; there is 'one', 'two'"):
        read_text_features(several, votes, column="three")


@pytest.mark.parametrize("cell", [["a", "list"], {"a": "struct"}])
def test_texts_in_lists_are_refused_by_name(votes, tmp_path, cell):
    path = write_texts(tmp_path / "t.parquet", text=[cell] * 4)
    with pytest.raises(InputError, match=r"t\.parquet: column 'text' must hold texts; it holds (list|struct)"):
        read_text_features(path, votes)


def test_texts_without_a_word_in_common(votes, tmp_path):
    path = write_texts(tmp_path / "t.parquet", text=["one", "two", "three", ""])
    with pytest.raises(InputError, match="must have words in common"):
        read_text_features(path, votes)
    with pytest.raises(ParameterError, match="units must be one of words, characters; got 'letters'"):
        read_text_features(path, votes, units="letters")


# -- use them or refuse them -----------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::amcc.errors.ConvergenceWarning")  # the printed form takes more rounds
@pytest.mark.parametrize("method", METHODS)
def test_models_use_features_or_refuse_them(method, crowd):
    """The features say which label an item has; that must show, or fit must say that it does not look."""
    votes, features = crowd.votes.select(crowd.votes.item < 40), crowd.truth.astype(float)
    model = METHODS[method]()
    if not model.uses_features:
        with pytest.raises(ParameterError, match=r"does not use features.*NAM \(-m nam\)"):
            model.fit(votes, features=features)
        return
    with_features, without = (METHODS[method]().fit(votes, features=each).predict_proba() for each in (features, None))
    assert not np.allclose(with_features, without)


def test_features_that_are_no_numbers(toy_votes):
    with pytest.raises(ParameterError, match="table of numbers"):
        NAM().fit(toy_votes, features=[["big"], ["small"]])


@pytest.mark.parametrize("name", STRATEGIES)
def test_strategies_use_features_or_refuse_them(name, crowd):
    """Items that are alike by random features are others than those that are alike by their labels."""
    features = np.random.default_rng(0).random((crowd.votes.n_items, 2))
    strategy = STRATEGIES[name]()
    model = METHODS[strategy.model]()
    prices = Prices(np.ones(crowd.votes.n_workers, dtype=np.int64))
    options = {"crowd": ReplayCrowd(crowd.votes), "strategy": strategy, "make_model": METHODS[strategy.model]}
    if not (strategy.uses_features or model.uses_features):
        for refuse in (
            partial(check_features_used, strategy, model),
            partial(Campaign, **options, prices=prices, budget=1, features=features),
        ):
            with pytest.raises(
                ParameterError,
                match=f"strategy {name} does not use.*amcc, amcc-paper, amcc-rw, .*amcc-classifier, nam-a",
            ):
                refuse()
        return
    check_features_used(strategy, model)
    Campaign(**options, prices=prices, budget=1, features=features)


def test_learners_give_features_to_who_uses_them(crowd):
    votes = crowd.votes.select(crowd.votes.item < 20)
    features = np.random.default_rng(0).random((votes.n_items, 2))
    for model in (AMCC, NAM):
        beliefs = Learner(partial(model, max_iter=2) if model is NAM else model, features=features).learn(votes)
        assert_array_equal(beliefs.features, features)
    with pytest.raises(AmccError, match=r"one row per item \(200\)"):
        Learner(AMCC, features=features[:3]).learn(votes)
