"""Imports go down only: each module may import what the table allows, and nothing imports the command line."""

from __future__ import annotations

import ast
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src" / "amcc"

ROOT = Path(__file__).parents[1]
LAYERS = tomllib.loads((ROOT / "docs" / "layers.toml").read_text())["row"]


def room_of(path: Path) -> str:
    return path.relative_to(SRC).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "amcc":
            parts = node.module.split(".")
            rooms |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            rooms |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("amcc.")}
    return {room if (SRC / room).exists() or (SRC / f"{room}.py").exists() else "__init__" for room in rooms}


def allowed_to(room: str) -> set[str]:
    """Rooms that a room may import: itself, all rows below, and what the table says about its own row."""
    number = next(number for number, row in enumerate(LAYERS) if room in row["rooms"])
    row, rooms = LAYERS[number], list(LAYERS[number]["rooms"])
    beside = row.get("neighbours", {}).get(room, []) if row.get("independent") else rooms[: rooms.index(room)]
    return {room, *beside, *(lower for below in LAYERS[:number] for lower in below["rooms"])}


@pytest.mark.parametrize("path", sorted(SRC.rglob("*.py")), ids=lambda path: str(path.relative_to(SRC)))
def test_imports_go_down(path: Path) -> None:
    assert imported_rooms(path) <= allowed_to(room_of(path))


def test_every_room_has_a_row() -> None:
    rooms = {room_of(path) for path in SRC.rglob("*.py")}
    assert rooms == {room for row in LAYERS for room in row["rooms"]}


def test_the_architecture_page_is_drawn_from_the_table() -> None:
    script = runpy.run_path(str(ROOT / "docs" / "build_architecture.py"))
    page = (ROOT / "docs" / "architecture.md").read_text()
    assert page == script["page"](page), "run `make docs`"
    assert (ROOT / "docs" / "architecture.svg").read_text() == script["drawing"](), "run `make docs`"


def test_import_needs_no_extra() -> None:
    """`import amcc` works, and is quick, without what only reports and developers need."""
    code = """
import sys
for name in ("altair", "vl_convert", "polars", "sklearn", "matplotlib", "numba"):
    sys.modules[name] = None
import amcc
amcc.DawidSkene().fit(amcc.Votes.from_dense([[[1, -1]]])).pairs()
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_public_name_has_a_home() -> None:
    import amcc

    assert set(amcc.__all__) <= set(dir(amcc))
    for name in amcc.__all__:
        assert getattr(amcc, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        amcc.nonsense  # noqa: B018


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import amcc, sys; sys.exit(bool({'numpy', 'pandas', 'pyarrow', 'typer'} & set(sys.modules)))"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_ctrl_c_during_imports_is_one_line() -> None:
    code = """
import sys
import tomllib
from importlib.abc import MetaPathFinder
class Impatient(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "amcc.cli":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Impatient())
from amcc.__main__ import main
main()
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (run.returncode, run.stderr.count("\n")) == (130, 1)
