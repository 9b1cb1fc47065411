"""How messages quote names: a few of them, each as Python writes it, so that spaces at the ends are seen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa


def listed(names: Iterable[Any], most: int = 12) -> str:
    """Column names or labels for an error; 12 fill about a line, and most tables have fewer columns.

    >>> listed(["a ", "b"]), listed([]), listed("abc", most=2)
    ("'a ', 'b'", 'none', "'a', 'b', … (3 in all)")
    """
    shown = [repr(name) for name in names]
    more = f", … ({len(shown)} in all)" if len(shown) > most else ""
    return (", ".join(shown[:most]) + more) or "none"


def a_few(names: pa.Array, most: int = 3) -> str:
    """The first names of a long list, where the number of all is told elsewhere.

    >>> a_few(pa.array(["a", "b", "c", "d"]))
    "'a', 'b', 'c' …"
    """
    return ", ".join(map(repr, names[:most].to_pylist())) + " …" * (len(names) > most)
