"""Draw docs/figures/home.svg, the picture of the first page: `python docs/build_home.py`.

It is the example of the README. Six workers say which of twelve clips have a dog, a cat or a siren; below them stands
what amcc finds, and beside them how informative each is.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PICTURE = Path(__file__).with_name("figures") / "home.svg"

LABELS = ("dog", "cat", "siren")
COLOURS = {"dog": "#00796b", "cat": "#ef6c00", "siren": "#5e35b1"}  # told apart also by those who see no red or green
GREY, INK, SPAM = "#e4e7ea", "#263238", "#c62828"
CELL, GAP, LEFT, TOP = 11, 9, 92, 64  # pixels: a cell, between clips, before the first, above the first row
ROW = 27
WIDTH, HEIGHT = 760, 296


def picture() -> str:
    """The whole drawing."""
    names = example()
    answers, model = names["answers"], names["model"]
    rows = list(answers.groupby("worker", sort=False))
    found = {clip: set(labels) for clip, labels in model.labels_.items()}
    workers = model.workers().set_index("worker")
    parts = [_text(LEFT, 24, "What six workers ticked on twelve clips", bold=True)]
    parts += [_key(LEFT + 88 * place, label) for place, label in enumerate(LABELS)]
    for place, (worker, ticks) in enumerate(rows):
        ticked = {clip: set(labels) for clip, labels in zip(ticks["item"], ticks["labels"], strict=True)}
        parts += _row(TOP + ROW * place, str(worker), ticked) + _verdict(TOP + ROW * place, workers.loc[worker])
    below = TOP + ROW * len(rows) + 18
    parts.append(f'<rect x="8" y="{below - 9}" width="{WIDTH - 16}" height="{CELL + 18}" rx="5" fill="#e0f2f1"/>')
    parts += _row(below, "amcc", found, bold=True)
    parts.append(_text(LEFT + 12 * _step() + 10, below + 10, "what each clip has", bold=True))
    note = "How informative: 1 is always right, 0 has nothing to do with the clip. Nobody told amcc whom to trust."
    parts.append(_text(16, HEIGHT - 16, note))
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>'
    return "\n".join([head, f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="#fff"/>', *parts, "</svg>", ""])


def example() -> dict[str, Any]:
    """What the Python example of the README calculates, up to its first print."""
    code = re.search(r"```python\n(.*?)^print", (ROOT / "README.md").read_text(), flags=re.DOTALL | re.MULTILINE)
    if code is None:
        raise SystemExit("README.md must have a Python example with a print in it")
    names: dict[str, Any] = {}
    exec(code[1], names)
    return names


def _step() -> int:
    return len(LABELS) * CELL + GAP


def _row(y: int, name: str, ticked: dict[int, set[str]], *, bold: bool = False) -> list[str]:
    """The ticks of a worker, or the consensus."""
    cells = [
        f'<rect x="{LEFT + place * _step() + CELL * number}" y="{y}" width="{CELL - 1}" height="{CELL}" rx="2" '
        f'fill="{COLOURS[label] if label in labels else GREY}"/>'
        for place, labels in enumerate(ticked.values())
        for number, label in enumerate(LABELS)
    ]
    return [_text(20, y + 10, name, bold=bold), *cells]


def _verdict(y: int, worker: Any) -> list[str]:
    """How informative somebody is, as a bar, and whether they look like a spammer."""
    x = LEFT + 12 * _step() + 10
    spam = bool(worker["evidence"])
    width = round(max(float(worker["informativeness"]), 0) * 60)
    said = f"{worker['informativeness']:.2f}".replace("-", "−") + ("  spammer" if spam else "")
    bar = f'<rect x="{x}" y="{y}" width="{max(width, 1)}" height="{CELL}" rx="2" fill="{SPAM if spam else "#00796b"}"/>'
    return [bar, _text(x + width + 6, y + 10, said, colour=SPAM if spam else INK)]


def _key(x: int, label: str) -> str:
    return f'<rect x="{x}" y="38" width="{CELL}" height="{CELL}" rx="2" fill="{COLOURS[label]}"/>' + _text(
        x + 17, 48, label
    )


def _text(x: float, y: float, text: str, *, bold: bool = False, colour: str = INK) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x}" y="{y}" fill="{colour}"{weight}>{text}</text>'


if __name__ == "__main__":
    PICTURE.write_text(picture())
