"""Imports go down only: each module may import what the table allows, and nothing imports the command line."""

from __future__ import annotations

import ast
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "amcc"
LAYERS = tomllib.loads((ROOT / "docs" / "layers.toml").read_text())["row"]


# What the experiments may import: what any user can. Inner modules of packages may change without asking them.
PUBLIC = {
    "amcc",
    "amcc.active",
    "amcc.arrays",
    "amcc.consensus",
    "amcc.data",
    "amcc.errors",
    "amcc.evaluation",
    "amcc.files",
    "amcc.inference",
    "amcc.io",
    "amcc.metrics",
    "amcc.plotting",
    "amcc.processes",
    "amcc.truth",
    "amcc.votes",
}
EXPERIMENTS = sorted((SRC / "experiments").rglob("*.py"))
# The commands that run experiments, and import them when they are called.
MAY_RUN_EXPERIMENTS = {SRC / "cli" / "board.py", SRC / "cli" / "reproduce.py"}


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


def imported_modules(tree: ast.AST) -> set[str]:
    """Modules of amcc below a node; of `from amcc import metrics`, the module that is meant."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {alias.name for alias in node.names} if node.module == "amcc" else set()
            modules = {name for name in names if (SRC / f"{name}.py").exists() or (SRC / name).is_dir()}
            found |= {f"amcc.{name}" for name in modules} or {node.module}
    return {name for name in found if name.partition(".")[0] == "amcc"}


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: str(path.relative_to(SRC)))
def test_experiments_use_what_a_user_can_import(path: Path) -> None:
    tree = ast.parse(path.read_text())
    outside = {name for name in imported_modules(tree) if not name.startswith("amcc.experiments")}
    assert outside <= PUBLIC
    # Not through a back door either: names with an underscore belong to whoever wrote them.
    private = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.endswith("__")
        if not (isinstance(node.value, ast.Name) and node.value.id == "self")
    }
    assert private <= {"_asdict", "_fields", "_make", "_replace"}  # of named tuples, which call them public


def test_only_their_commands_import_experiments_and_only_when_called() -> None:
    for path in set(SRC.rglob("*.py")) - set(EXPERIMENTS):
        tree = ast.parse(path.read_text())
        if any(name.startswith("amcc.experiments") for name in imported_modules(tree)):
            assert path in MAY_RUN_EXPERIMENTS
    code = "import amcc.cli, sys; sys.exit(any(name.startswith('amcc.experiments') for name in sys.modules))"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_help_of_the_commands_names_what_experiments_have() -> None:
    """It says so without importing them."""
    from amcc.cli.board import LARGEST, METHOD_NAMES
    from amcc.cli.reproduce import BEGIN, END, FIGURES, STUDY_NAMES
    from amcc.experiments.cells import SIZES
    from amcc.experiments.entrants import known_methods
    from amcc.experiments.reproduce import STUDIES, document

    assert list(METHOD_NAMES) == known_methods()
    assert SIZES[-1] == LARGEST
    assert list(STUDY_NAMES) == list(STUDIES)
    assert (BEGIN, END, FIGURES) == (document.BEGIN, document.END, document.FIGURES)


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
amcc.consensus.DawidSkene().fit(amcc.Votes.from_dense([[[1, -1]]])).pairs()
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_public_name_has_a_home() -> None:
    import amcc

    assert set(amcc.__all__) <= set(dir(amcc))
    for name in amcc.__all__:
        assert getattr(amcc, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        amcc.nonsense  # noqa: B018


def test_the_front_door_shows_what_users_do() -> None:
    """Models to compare with and machinery are one level down, and whoever looks for them here is told where."""
    import amcc

    doing = {"read_votes", "AMCC", "next_questions", "evaluate", "write_report", "simulate_crowd", "Campaign"}
    assert doing <= set(amcc.__all__)
    assert len(amcc.__all__) <= 25
    for name, home in (("DawidSkene", "consensus"), ("METHODS", "consensus"), ("LocalEngine", "engine")):
        assert name not in dir(amcc)
        with pytest.raises(AttributeError, match=f"it is amcc.{home}.{name} now"):
            getattr(amcc, name)
        assert getattr(getattr(amcc, home), name) is not None


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
