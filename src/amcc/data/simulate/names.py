"""What simulated items, workers, labels and families are called: a prefix and a number counted from 1."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from amcc.data.simulate.spec import CrowdSpec


def item_names(spec: CrowdSpec, items: range) -> pa.Array:
    """i001 … of these items, padded as in the whole crowd."""
    return _padded("i", items, spec.n_items)


def worker_names(spec: CrowdSpec) -> pa.Array:
    """w01 … of all workers, people first."""
    return numbered("w", spec.n_workers)


def label_names(spec: CrowdSpec) -> pa.Array:
    """label_01 … of all labels."""
    return numbered("label_", spec.n_labels)


def numbered(prefix: str, count: int) -> pa.Array:
    """So many names.

    >>> numbered("w", 10)[8:].to_pylist()
    ['w09', 'w10']
    """
    return _padded(prefix, range(count), count)


def _padded(prefix: str, codes: range, total: int) -> pa.Array:
    """Names of the codes, as wide as that of the last of `total`, so that names sort as codes do."""
    # In Arrow and not one by one: a block may have a million items.
    numbers = pc.cast(pa.array(np.arange(codes.start + 1, codes.stop + 1)), pa.string())
    return pc.binary_join_element_wise(prefix, pc.utf8_lpad(numbers, len(str(total)), "0"), "")
