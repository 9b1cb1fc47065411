"""Little pictures and sentences that we make ourselves, with known truth: what the demo and the load ask about.

A scene has some of five things in it: a sun, a tree, a house, a boat, rain. Half of the scenes are drawn, half are told
in a sentence. `write_scenes` writes them as a requester would bring them, with the truth beside them.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from amcc.arrays import Mask
from amcc.files import make_folder, whole_file

WIDTH, HEIGHT = 320, 200

# Label, question and help, in the order of the columns of the truth.
THINGS = {
    "sun": ("Does the sun shine?", "A sun in the sky, or a sentence that says so."),
    "tree": ("Is there a tree?", "Any tree, also far away."),
    "house": ("Is there a house?", "A building with a roof."),
    "boat": ("Is there a boat?", "Any boat on the water."),
    "rain": ("Does it rain?", "Drops or strokes that fall, or a sentence that says so."),
}

# How often each thing is there: often enough to be found, seldom enough that "yes" to everything is wrong.
SHARES = (0.5, 0.45, 0.4, 0.3, 0.25)

# What a sentence says of each thing, where it is there.
WORDS = {
    "sun": ("in bright sunshine", "under a warm sun"),
    "tree": ("an old tree", "a tall pine"),
    "house": ("a small house", "a farmhouse with a red roof"),
    "boat": ("a boat on the lake", "a little sailing boat"),
    "rain": ("in the pouring rain", "while light rain falls"),
}

Colour = tuple[int, int, int]
SKY, GREY_SKY, GRASS, WATER = (196, 226, 245), (168, 178, 188), (122, 170, 96), (88, 138, 186)
YELLOW, BROWN, LEAVES, WALL, ROOF, HULL, SAIL, DROP = (
    (250, 204, 62), (112, 78, 46), (52, 112, 62), (236, 220, 190), (178, 66, 52), (96, 60, 40), (250, 250, 245),
    (40, 72, 150),
)  # fmt: skip


@dataclass(frozen=True)
class Scenes:
    """Scenes and what is in them.

    names : of the items. truth : (n_items, n_labels), in the order of THINGS. items, labels, truth_file : the files.
    """

    names: Sequence[str]
    truth: Mask
    items: Path
    labels: Path
    truth_file: Path


def write_scenes(folder: Path, n: int, seed: int = 0) -> Scenes:
    """Write items.csv, labels.csv, truth.csv and the pictures to a folder."""
    make_folder(folder)
    rng = np.random.default_rng(seed)
    truth = rng.random((n, len(THINGS))) < SHARES
    names = [f"scene{number:0{len(str(n))}d}" for number in range(1, n + 1)]
    rows = ["item,text,image\n"]
    for number, (name, there) in enumerate(zip(names, truth, strict=True)):
        if number % 2:
            rows.append(f"{name},{sentence(there, rng)},\n")
        else:
            with whole_file(folder / f"{name}.png") as temporary:
                temporary.write_bytes(png(draw(there, rng)))
            rows.append(f"{name},,{name}.png\n")
    made = Scenes(names, truth, folder / "items.csv", folder / "labels.csv", folder / "truth.csv")
    questions = (f'{label},"{question}","{hint}"\n' for label, (question, hint) in THINGS.items())
    known = (
        f"{name},{label},{'yes' if present else 'no'}\n"
        for name, row in zip(names, truth, strict=True)
        for label, present in zip(THINGS, row, strict=True)
    )
    for path, text in (
        (made.items, "".join(rows)),
        (made.labels, "label,question,help\n" + "".join(questions)),
        (made.truth_file, "item,label,truth\n" + "".join(known)),
    ):
        with whole_file(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return made


def sentence(there: Mask, rng: np.random.Generator) -> str:
    """What is there, in words; without a comma, so that no table needs quotes.

    >>> sentence(np.array([True, True, False, True, False]), np.random.default_rng(0))
    'A tall pine and a little sailing boat under a warm sun.'
    >>> sentence(np.zeros(5, dtype=bool), np.random.default_rng(0))
    'A wide and empty meadow.'
    """
    said = {thing: str(rng.choice(WORDS[thing])) for thing, present in zip(THINGS, there, strict=True) if present}
    things = [said[thing] for thing in ("tree", "house", "boat") if thing in said] or ["a wide and empty meadow"]
    weather = [said[thing] for thing in ("sun", "rain") if thing in said]
    words = " ".join([" and ".join(things), *([" and ".join(weather)] if weather else [])])
    return words[0].upper() + words[1:] + "."


def draw(there: Mask, rng: np.random.Generator) -> np.ndarray:
    """(HEIGHT, WIDTH, 3) the picture of a scene; places and sizes are drawn at random."""
    sun, tree, house, boat, rain = there
    picture = np.empty((HEIGHT, WIDTH, 3), dtype=np.uint8)
    picture[:] = GREY_SKY if rain else SKY
    horizon = int(rng.integers(105, 125))
    picture[horizon:] = GRASS
    if boat:
        picture[horizon + 35 :] = WATER
    shapes: list[tuple[Mask, Colour]] = []
    if sun:
        x, y, radius = (int(rng.integers(low, high)) for low, high in ((40, WIDTH - 40), (30, 55), (16, 26)))
        shapes.append((_disc(x, y, radius), YELLOW))
    if house:
        shapes += _house(int(rng.integers(30, 110)), horizon + 18, int(rng.integers(44, 64)))
    if tree:
        shapes += _tree(int(rng.integers(190, 290)), horizon + 22, int(rng.integers(46, 70)))
    if boat:
        shapes += _boat(int(rng.integers(90, 230)), horizon + 62, int(rng.integers(36, 56)))
    for mask, colour in shapes:
        picture[mask] = colour
    if rain:
        picture[_strokes(rng)] = DROP
    return picture


def png(picture: np.ndarray) -> bytes:
    """A picture of three colours as a PNG file.

    >>> png(np.zeros((2, 3, 3), dtype=np.uint8))[:8]
    b'\\x89PNG\\r\\n\\x1a\\n'
    """
    height, width, _ = picture.shape
    # Each row begins with the number of its filter; 0 is none.
    rows = np.concatenate([np.zeros((height, 1), dtype=np.uint8), picture.reshape(height, -1)], axis=1).tobytes()
    parts = ((b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(rows, 9)),
             (b"IEND", b""))  # fmt: skip
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunks(parts))


def _chunks(parts: Sequence[tuple[bytes, bytes]]) -> Iterator[bytes]:
    """Length, name, content and check sum of each part."""
    for name, content in parts:
        yield struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


# Columns and rows of all points of a picture.
_Y, _X = np.mgrid[:HEIGHT, :WIDTH]


def _disc(x: int, y: int, radius: int) -> Mask:
    return np.asarray((_X - x) ** 2 + (_Y - y) ** 2 <= radius**2)


def _box(left: int, top: int, right: int, bottom: int) -> Mask:
    return np.asarray((left <= _X) & (right > _X) & (top <= _Y) & (bottom > _Y))


def _roof(x: int, top: int, height: int, half_width: int) -> Mask:
    """A triangle that stands on its base."""
    down = _Y - top
    return np.asarray((down >= 0) & (down < height) & (np.abs(_X - x) * height <= down * half_width))


def _house(left: int, ground: int, size: int) -> list[tuple[Mask, Colour]]:
    middle, wall = left + size // 2, ground - size * 2 // 3
    door = _box(middle - size // 10, ground - size // 3, middle + size // 10, ground)
    return [
        (_box(left, wall, left + size, ground), WALL),
        (_roof(middle, wall - size // 2, size // 2, size * 2 // 3), ROOF),
        (door, BROWN),
    ]


def _tree(x: int, ground: int, size: int) -> list[tuple[Mask, Colour]]:
    trunk = _box(x - size // 12, ground - size // 2, x + size // 12 + 1, ground)
    return [(trunk, BROWN), (_disc(x, ground - size * 3 // 4, size * 2 // 5), LEAVES)]


def _boat(x: int, water: int, size: int) -> list[tuple[Mask, Colour]]:
    up = water - _Y
    hull = (up >= 0) & (up < size // 4) & (np.abs(_X - x) <= size // 3 + up)
    return [(np.asarray(hull), HULL), (_roof(x, water - size // 4 - size, size, size // 2), SAIL)]


def _strokes(rng: np.random.Generator) -> Mask:
    """Rain: short strokes that fall to the left."""
    mask = np.zeros((HEIGHT, WIDTH), dtype=bool)
    for x, y in zip(rng.integers(12, WIDTH, 130), rng.integers(0, HEIGHT - 12, 130), strict=True):
        for step in range(10):
            mask[y + step, x - step // 2] = True
    return mask
