"""Data inside of the page, as small as can be: bytes that a browser unpacks by itself."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import numpy as np
import numpy.typing as npt


def packed(data: bytes) -> str:
    """Compressed bytes as text; without a time in it, so that the same report is the same file.

    >>> gzip.decompress(base64.b64decode(packed(b"aaa")))
    b'aaa'
    """
    # Level 6: level 9 takes three times as long and saves one part in a hundred.
    return base64.b64encode(gzip.compress(data, 6, mtime=0)).decode("ascii")


def packed_json(value: Any) -> str:
    """Compressed JSON as text."""
    return packed(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def packed_bytes(numbers: npt.NDArray[Any]) -> str:
    """Whole numbers as single bytes; larger ones than a byte holds become the largest."""
    return packed(np.minimum(numbers, 255).astype(np.uint8).tobytes())


def packed_codes(codes: npt.NDArray[Any]) -> str:
    """Whole numbers as two bytes each, the lower one first, as all browsers have them."""
    return packed(codes.astype("<u2").tobytes())
