"""Draw the architecture from the table of layers: docs/architecture.svg, and the table in docs/architecture.md.

    python docs/build_architecture.py

`tests/test_layers.py` checks imports against the same table, so the drawing cannot lie.
"""

from __future__ import annotations

import tomllib
from html import escape
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
MARK = "<!-- rooms: written by docs/build_architecture.py -->"

WIDTH, MARGIN, GAP = 960, 24, 12
FLOW_HEIGHT, ROOM_HEIGHT = 92, 34
ROOMS_PER_LINE = 9
FONT = 'font-family="system-ui, sans-serif"'


def layers() -> dict[str, Any]:
    """The table of layers."""
    return tomllib.loads((HERE / "layers.toml").read_text())


def text(x: float, y: float, words: str, size: int = 13, *, bold: bool = False, middle: bool = True) -> str:
    """A line of text."""
    weight, anchor = ("600" if bold else "400"), ("middle" if middle else "start")
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" font-weight="{weight}" text-anchor="{anchor}" {FONT} '
        f'fill="#1d2733">{escape(words)}</text>'
    )


def box(x: float, y: float, width: float, height: float, fill: str) -> str:
    """A rectangle with round corners."""
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6" fill="{fill}" stroke="#8fa3b8"/>'


def wrapped(words: str, length: int) -> list[str]:
    """Words in lines of about this many letters."""
    lines = [""]
    for word in words.split():
        if len(lines[-1]) + len(word) >= length:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def flow_drawing(flow: list[dict[str, str]], top: float) -> list[str]:
    """Boxes from left to right, an arrow between two, and one from the last back to the votes."""
    width = (WIDTH - 2 * MARGIN - (len(flow) - 1) * 3 * GAP) / len(flow)
    parts = []
    for number, step in enumerate(flow):
        x = MARGIN + number * (width + 3 * GAP)
        parts += [box(x, top, width, FLOW_HEIGHT, "#e3effa"), text(x + width / 2, top + 20, step["room"], bold=True)]
        parts += [text(x + width / 2, top + 38 + 14 * n, line, 11) for n, line in enumerate(wrapped(step["does"], 24))]
        if number:
            middle = top + FLOW_HEIGHT / 2
            parts.append(
                f'<path d="M{x - 3 * GAP + 3:g} {middle:g} H{x - 5:g}" stroke="#4a6076" marker-end="url(#tip)"/>'
            )
    back = top + FLOW_HEIGHT
    last, votes = WIDTH - MARGIN - width / 2, MARGIN + 1.5 * width + 3 * GAP
    parts.append(
        f'<path d="M{last:g} {back:g} V{back + 16:g} H{votes:g} V{back + 4:g}" fill="none" stroke="#4a6076" '
        'marker-end="url(#tip)"/>'
    )
    return parts


def row_drawing(row: dict[str, Any], top: float) -> tuple[list[str], float]:
    """A row of rooms under its title, and where it ends."""
    parts, rooms = [text(MARGIN, top + 14, row["title"], 12, bold=True, middle=False)], list(row["rooms"])
    width = (WIDTH - 2 * MARGIN - (ROOMS_PER_LINE - 1) * GAP) / ROOMS_PER_LINE
    for number, room in enumerate(rooms):
        line, column = divmod(number, ROOMS_PER_LINE)
        x, y = MARGIN + column * (width + GAP), top + 22 + line * (ROOM_HEIGHT + GAP)
        fill = "#f2f6ea" if row.get("independent") else "#f6f7f9"
        parts += [box(x, y, width, ROOM_HEIGHT, fill), text(x + width / 2, y + 22, room, 12)]
    lines = -(-len(rooms) // ROOMS_PER_LINE)
    return parts, top + 22 + lines * (ROOM_HEIGHT + GAP) + 8


def drawing() -> str:
    """The whole picture: the flow above, the rows below, the highest first."""
    table, top = layers(), MARGIN
    parts = flow_drawing(table["flow"], top)
    top += FLOW_HEIGHT + 40
    parts.append(text(MARGIN, top, "Imports go down only.", 12, middle=False))
    top += 10
    for row in reversed(table["row"]):
        more, top = row_drawing(row, top)
        parts += more
    tip = (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z" fill="#4a6076"/></marker></defs>'
    )
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top:g}" role="img" '
        f'aria-label="How data flow through amcc, and which module may import which">\n{tip}\n'
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n{body}\n</svg>\n'
    )


def rooms_table() -> str:
    """Every module with its layer and what it knows, the highest layer first."""
    lines = ["| layer | module | what it knows | may import |", "|---|---|---|---|"]
    rows = layers()["row"]
    for number, row in reversed(list(enumerate(rows))):
        for room, knows in row["rooms"].items():
            neighbours = row.get("neighbours", {}).get(room, [])
            own = [f"`{name}`" for name in neighbours] if row.get("independent") else ["earlier modules of this layer"]
            # The first module of a layer has no earlier ones; it is told so by leaving the words out.
            first = not row.get("independent") and room == next(iter(row["rooms"]))
            allowed = "; ".join([*own * (not first), *["all lower layers"] * bool(number)]) or "nothing"
            lines.append(f"| {row['title']} | `{room}` | {knows} | {allowed} |")
    return "\n".join(lines)


def page(before: str) -> str:
    """The page with the table written again between the marks."""
    head, _, rest = before.partition(MARK)
    tail = rest.partition(MARK)[2]
    return f"{head}{MARK}\n{rooms_table()}\n{MARK}{tail}"


def main() -> None:
    """Write both files."""
    (HERE / "architecture.svg").write_text(drawing())
    path = HERE / "architecture.md"
    path.write_text(page(path.read_text()))


if __name__ == "__main__":
    main()
