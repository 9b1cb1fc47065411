"""Small damage of the kinds that files suffer, and some that only an attacker thinks of."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

HOSTILE: tuple[bytes, ...] = tuple(
    text.encode("utf-8", "surrogatepass")
    for text in (
        "", " ", "0", "1", "-1", "+1", "2", "-0", "1.0", "0.5", "1e0", "1e309", "-1e309", "nan", "inf", "0_1", "1_000",
        "9007199254740992", "9007199254740993", "9223372036854775807", "9223372036854775808", "18446744073709551616",
        "1" * 400, "−1", "１", "٣", "yes", "NO", " true ", "False", "none", "NULL", "n/a", "absent", "present",
        '"', '""', '"a', 'a"b', '"a"b', '"a\nb"', "a|b", "|", "a;b", "a,b", "\t", "\0", "a\0", "\r", "\n", "\r\n",
        "\u200b", "\ufeff", "\u00a0", "\u0085", "\u2028", "\x1c", "\x0b", "é", "e\u0301", "İ", "ß", "\ud800",
        "\U0001f600", "=1+1", "@x", "[/x]", "\x1b[31m", "2024-05-31", "2024-05-31T12:00:00Z", "1700000000123456789",
        "{", "}", "[", "]", "null", "true", "[]", "{}", '["a"]', '[["a"]]', "[1]", "[null]", '{"a":1}', "1e400",
        '"\\u0000"', '"\\ud800"', "[" * 80 + "]" * 80, "x" * 70_000, "007", "worker", "item", "label", "labels",
        "value", "asked", "task", "price",
    )
)  # fmt: skip

Damage = Callable[[random.Random, bytes, bytes], bytes]


def flip(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """One bit."""
    place = rng.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << rng.randrange(8)]) + data[place + 1 :]


def overwrite(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """One to four bytes, often at the limits of what a byte can be."""
    place = rng.randrange(len(data))
    new = bytes(rng.choice((0, 1, 127, 128, 255, rng.randrange(256))) for _ in range(rng.choice((1, 1, 2, 4))))
    return data[:place] + new + data[place + len(new) :]


def cut(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """The end is missing."""
    return data[: rng.randrange(len(data))]


def take_out(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """A piece is missing."""
    first, last = sorted((rng.randrange(len(data)), rng.randrange(len(data))))
    return data[:first] + data[min(last, first + 40) :]


def repeat(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """A piece is there twice."""
    first, last = sorted((rng.randrange(len(data)), rng.randrange(len(data))))
    return data[:last] + data[first:last] + data[last:]


def splice(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """The beginning of one file and the end of another."""
    return data[: rng.randrange(len(data))] + other[rng.randrange(len(other)) :]


def insert(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """Something hostile anywhere."""
    place = rng.randrange(len(data))
    return data[:place] + rng.choice(HOSTILE) + data[place:]


def change_lines(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """A line is missing, there twice, elsewhere, or blank."""
    lines = data.split(b"\n")
    place, to = rng.randrange(len(lines)), rng.randrange(len(lines))
    change = rng.randrange(4)
    line = lines[place]
    if change != 1:
        del lines[place]
    if change:
        lines.insert(to, b"" if change == 3 else line)
    return b"\n".join(lines)


def change_fields(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """A field of a line is missing, there twice, or holds something hostile; also names and values in JSON."""
    lines = data.split(b"\n")
    place = rng.randrange(len(lines))
    fields = re.split(rb"([,;\t:{}\[\]])", lines[place])
    which, change = rng.randrange(len(fields)), rng.randrange(5)
    if change == 0:
        del fields[which]
    elif change == 1:
        fields.insert(which, fields[rng.randrange(len(fields))])
    else:
        hostile = rng.choice(HOSTILE)
        fields[which] = b'"' + hostile + b'"' if change == 4 else hostile
    lines[place] = b"".join(fields)
    return b"\n".join(lines)


def change_ends(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """Line ends of another system, a mark at the beginning, or another encoding."""
    change = rng.randrange(5)
    if change == 0:
        return b"\xef\xbb\xbf" + data
    if change == 1:
        return data.decode("utf-8", "replace").encode(rng.choice(("utf-16", "latin-1", "utf-16-be")), "replace")
    return data.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n\n", b"\n\r")), rng.choice((-1, 1)))


DAMAGES: Sequence[Damage] = (
    flip, overwrite, cut, take_out, repeat, splice, insert, change_lines, change_fields, change_fields, change_ends,
)  # fmt: skip


def mutated(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """The data after one to four damages; now and then none at all, for whole files must be read."""
    for _ in range(rng.choice((0, 1, 1, 1, 1, 2, 2, 3, 4))):
        if data:
            data = rng.choice(DAMAGES)(rng, data, other or b"\n")
    return data
