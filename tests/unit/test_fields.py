"""Saved fields: what goes in comes out, and what does not fit is refused by name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
import pytest

from amcc.arrays import Codes, Floats
from amcc.errors import FileFormatError
from amcc.fields import Each, Stored, fits, names_from_bytes, names_to_bytes, read_fields, take_apart, write_fields


@dataclass(frozen=True)
class Part:
    share: Annotated[Floats, Each("worker", share=True)]
    place: Annotated[Codes, Each("worker", code="item")]


@dataclass(frozen=True)
class State:
    part: Part
    names: pa.Array
    kind: Literal["a", "b"]
    sizes: tuple[int, ...]
    extra: Annotated[Floats, Each(None, finite=False)] | None = None


GOOD = State(Part(np.array([0.0, 1.0]), np.array([1, 0], np.int32)), pa.array(["x", "y "]), "a", (1, 2))


def saved(state: State, path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    arrays: dict[str, Any] = {}
    plain: dict[str, Any] = {}
    take_apart(state, "state", arrays, plain)
    write_fields(path, {"plain": plain}, arrays)
    meta, arrays = read_fields(path, "a state")
    return arrays, meta["plain"]


def test_a_state_comes_back_as_it_was(tmp_path):
    arrays, plain = saved(GOOD, tmp_path / "state.npz")
    stored = Stored(tmp_path / "state.npz", arrays, plain, {"item": 2})
    found = stored.rebuilt(State, "state")
    stored.refuse_unknown()
    assert stored.roots == {"state"}
    assert found.part.share.tolist() == [0.0, 1.0]
    assert found.names.equals(GOOD.names)
    assert (found.kind, found.sizes, found.extra) == ("a", (1, 2), None)


@pytest.mark.parametrize(
    "field, value, message",
    [
        ("state.part.share", np.array([0.5, 1.1]), "'state.part.share' must hold shares between 0 and 1"),
        ("state.part.share", np.array([0.5, np.nan]), "some are infinite or missing"),
        ("state.part.share", np.array(["a", "b"]), "must hold float64; it holds <U1"),
        ("state.part.place", np.array([0, 2], np.int32), "must hold numbers from 0 to 1; it has 0 to 2"),
        ("state.part.place", np.array([0, -1], np.int32), "it has -1 to 0"),
        ("state.part.place", np.array([0], np.int32), r"must have shape \(2\); it has \(1,\)"),
        ("state.part.place", np.zeros((2, 1), np.int32), r"it has \(2, 1\)"),
        ("state.names", np.arange(3, dtype=np.uint8), "'state.names' cannot be read: it holds no names"),
        ("state.part.share", None, "'state.part.share' is missing"),
        ("more", np.zeros(1), "'more' is unknown"),
    ],
)
def test_arrays_that_do_not_fit_are_refused_by_name(tmp_path, field, value, message):
    arrays, plain = saved(GOOD, tmp_path / "state.npz")
    arrays = {name: array for name, array in {**arrays, field: value}.items() if array is not None}
    with pytest.raises(FileFormatError, match=message):
        stored = Stored(tmp_path / "state.npz", arrays, plain, {"item": 2})
        stored.rebuilt(State, "state")
        stored.refuse_unknown()


@pytest.mark.parametrize(
    "change, message",
    [
        ({"state.kind": "c"}, "'state.kind' must be .*; it is 'c'"),
        ({"state.sizes": [1, "2"]}, "'state.sizes' must be"),
        ({"state.sizes": None}, "'state.sizes' must be"),
    ],
)
def test_plain_values_that_do_not_fit_are_refused_by_name(tmp_path, change, message):
    arrays, plain = saved(GOOD, tmp_path / "state.npz")
    with pytest.raises(FileFormatError, match=message):
        Stored(tmp_path / "state.npz", arrays, {**plain, **change}, {"item": 2}).rebuilt(State, "state")


def test_a_description_must_be_an_object(tmp_path):
    with pytest.raises(FileFormatError, match="must be a JSON object"):
        Stored(tmp_path / "a", {}, [1])


@pytest.mark.parametrize(
    "value, kind, expected",
    [
        (1, float, True), (1.0, int, False), (True, int, False), (False, float, False), (None, int | None, True),
        ([1, 2.5], list[float], True), ([1, "a"], list[float], False), ("a", Literal["a"], True), ("x", str, True),
    ],
)  # fmt: skip
def test_values_of_json_fit_their_types(value, kind, expected):
    assert fits(value, kind) is expected


@pytest.mark.parametrize("names", [["a", "b\0", ""], [1, -(2**63)], []])
def test_names_keep_every_character(names):
    array = pa.array(names, pa.int64() if names and isinstance(names[0], int) else pa.string())
    assert names_from_bytes(names_to_bytes(array)).equals(array)


@pytest.mark.parametrize("names", [pa.array(["a", "a"]), pa.array(["a", None]), pa.array([1.5])])
def test_names_must_be_different_and_there(names):
    with pytest.raises(ValueError, match="names"):
        names_from_bytes(names_to_bytes(names))
