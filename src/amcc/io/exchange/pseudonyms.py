"""Other names for workers. Worker ids are personal data: many platforms show the same id to everybody who pays.

With a key, a worker has the same pseudonym in every file that is read with it, and nobody without the key can tell who
it is, or try names out. Without one, workers are numbered in the order in which a file names them.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Callable, Iterable
from pathlib import Path

from amcc.errors import InputError
from amcc.files import not_read, not_written

# Bytes of the key: as many as the hash has, more would add nothing.
KEY_BYTES = 32

# Hexadecimal digits of a pseudonym: two of a million workers get the same one with a chance of one in 500 million.
DIGITS = 20


def read_key(path: Path) -> bytes:
    """The key in a file, which is made, readable for its owner only, where it is not there yet."""
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_hex(KEY_BYTES) + "\n")
    except FileExistsError:
        pass
    except OSError as error:
        raise not_written(path, error) from None
    try:
        text = path.read_text(encoding="ascii").strip()
    except OSError as error:
        raise not_read(path, error) from None
    except UnicodeDecodeError:
        text = ""
    if len(text) != 2 * KEY_BYTES or any(character not in "0123456789abcdef" for character in text.lower()):
        raise InputError(
            f"{path} must hold a key of {2 * KEY_BYTES} hexadecimal digits; it holds something else. Name another "
            "file: one that does not exist is made."
        )
    return bytes.fromhex(text)


def keyed(key: bytes) -> Callable[[str], str]:
    """Pseudonyms by a key.

    >>> keyed(b"k")("ann") == keyed(b"k")("ann") != keyed(b"another")("ann")
    True
    """
    return lambda name: "w" + hmac.new(key, name.encode(), hashlib.sha256).hexdigest()[:DIGITS]


def numbered(names: Iterable[str]) -> Callable[[str], str]:
    """Pseudonyms by the order of the names.

    >>> pseudonym = numbered(["zoe", "ann", "zoe"])
    >>> pseudonym("zoe"), pseudonym("ann")
    ('w1', 'w2')
    """
    places = {name: f"w{place}" for place, name in enumerate(dict.fromkeys(names), start=1)}
    return places.__getitem__
