"""How much a command imports: nobody waits for what they did not ask for. Modules are counted, not seconds."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import amcc
import amcc.cli
from amcc.cli import COMMANDS
from amcc.cli.lazy import CommandEntry, LazyCommand, command_of, prepared
from amcc.io import write_table
from running import run_amcc

SRC = Path(amcc.cli.__file__).parent
ARRAYS = {"numpy", "pyarrow", "scipy", "pandas", "numba"}
"""What takes long to import."""

VOTES = "worker,item,label,value\nann,1,cat,yes\nbob,1,cat,yes\ncid,1,cat,no\nann,2,cat,no\n"


def imported_by(*arguments: object) -> set[str]:
    """All modules that a fresh process has imported when the command is done."""
    code = """
import atexit, sys
atexit.register(lambda: sys.stderr.write("IMPORTED " + " ".join(sys.modules) + "\\n"))
from amcc.__main__ import main
main()
"""
    run = subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True)
    assert "Traceback" not in run.stderr
    return set(run.stderr.rpartition("IMPORTED ")[2].split())


@pytest.fixture
def votes_file(tmp_path: Path) -> Path:
    path = tmp_path / "votes.csv"
    path.write_text(VOTES)
    return path


def test_the_modules_are_seen():
    """So that the tests below cannot pass by seeing nothing."""
    assert {"numpy", "pyarrow", "typer", "amcc.cli.methods"} <= imported_by("methods")


def test_version_imports_nothing():
    imported = imported_by("--version")
    assert not imported & {*ARRAYS, "typer", "click", "rich", "amcc.cli"}


def test_version_says_the_same_on_both_ways():
    quick = subprocess.run([sys.executable, "-m", "amcc", "--version"], capture_output=True, text=True, check=True)
    assert quick.stdout == run_amcc("--version").stdout == f"amcc {amcc.__version__}\n"
    assert run_amcc("--version", "consensus").stdout == quick.stdout


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",), ("nonsense",), ("--nonsense",)])
def test_help_and_wrong_names_import_no_command(arguments):
    imported = imported_by(*arguments)
    assert "typer" in imported
    assert not imported & ARRAYS
    assert not imported & {f"amcc.cli.{entry.module or name}" for name, entry in COMMANDS.items()}


def test_a_command_loads_what_it_needs(votes_file):
    others = {"amcc.active", "amcc.experiments", "amcc.report", "amcc.data.simulate", "matplotlib", "altair", "dask"}
    assert not imported_by("consensus", votes_file, "-m", "majority") & others
    assert not imported_by("check", votes_file) & {*others, "amcc.consensus", "amcc.audit"}


UNUSED = {
    "pandas",
    "scipy.sparse",
    "scipy.special",
    "numpy.f2py",
    "numba",
    "narwhals",
    "sqlalchemy",
    "matplotlib",
    "dask",
    "scipy.linalg",
    "pyarrow.dataset",
    "pyarrow.parquet",
    "rich.table",
    "xml.etree.ElementTree",
    "amcc.exports",
    "amcc.io.pack",
    "amcc.consensus.truth_effect",
}
"""What a consensus of few votes has no use for; most of them take longer to import than the fit does."""


@pytest.fixture(scope="module")
def small_crowd(tmp_path_factory) -> Path:
    """30,000 votes on 7,500 pairs."""
    path = tmp_path_factory.mktemp("crowd") / "votes.csv"
    rng = np.random.default_rng(1)
    truth = rng.random((750, 10)) < 0.3
    said = truth[:, None] ^ (rng.random((750, 4, 10)) < 0.2)
    item, answer, label = np.indices(said.shape).reshape(3, -1)
    worker = (item * 7 + answer * 13) % 100
    write_table(pa.table({"worker": worker, "item": item, "label": label, "value": said.ravel().astype(int)}), path)
    return path


def test_a_consensus_of_few_votes_imports_nothing_that_it_does_not_use(small_crowd, tmp_path):
    imported = imported_by("consensus", small_crowd, "-o", tmp_path / "consensus.csv")
    assert models_in(imported) == set() and "amcc.consensus.default" in imported
    assert not imported & UNUSED
    assert (tmp_path / "consensus.csv").exists()


def models_in(imported: set[str]) -> set[str]:
    """The files of models among modules."""
    return {name.split(".")[3] for name in imported if name.startswith("amcc.consensus.models.")}


def test_a_method_imports_its_own_model_only(votes_file):
    assert models_in(imported_by("consensus", votes_file, "-m", "majority")) == {"majority"}
    # Help lists all methods by name.
    assert models_in(imported_by("consensus", "--help")) == set()


def test_a_table_of_parquet_needs_no_data_sets(small_crowd, tmp_path):
    imported_by("convert", small_crowd, "-o", tmp_path / "votes.parquet")
    imported = imported_by("check", tmp_path / "votes.parquet")
    assert "pyarrow.parquet" in imported
    assert not imported & {"pyarrow.dataset", "pandas"}


def test_garbage_is_not_looked_for_among_what_was_imported(votes_file):
    """While a command is loaded, nobody looks for garbage; while it works, among its own things only."""
    code = """
import atexit, gc, sys
from amcc.__main__ import main
frozen = []
gc.callbacks.append(lambda phase, about: frozen.append(gc.get_freeze_count()))
atexit.register(lambda: sys.stderr.write(f"GARBAGE {frozen.count(0)} {gc.isenabled()} {gc.get_freeze_count()}"))
main()
"""
    command = [sys.executable, "-c", code, "check", str(votes_file)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    before, enabled, kept = run.stderr.rpartition("GARBAGE ")[2].split()
    assert (before, enabled) == ("0", "True")
    assert int(kept) > 10_000


def test_frames_of_pandas_can_be_had_after_arrow_went_without():
    code = """
import sys
from amcc.cli.lazy import keep_pandas_out
keep_pandas_out()
import pyarrow as pa
assert "pandas" not in sys.modules
assert pa.table({"a": [1, None]}).to_pandas()["a"].isna().tolist() == [False, True]
assert pa.array(sys.modules["pandas"].Series([1.0, None])).null_count == 1
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_nothing_is_compiled_twice():
    """Loops that one process compiled are loaded by the next; numba tells of everything that it compiles."""
    code = """
import numpy as np
from numba.core.event import install_recorder
from amcc.consensus.default.correlation import FEW_PAIRS, LabelSets, label_set_step
from amcc.votes import Pairs
item = np.arange(FEW_PAIRS + 1, dtype=np.int32)
pairs = Pairs(item, np.zeros_like(item), np.arange(len(item) + 1))
with install_recorder("numba:compile") as compiled:
    label_set_step(pairs, np.zeros(len(item)), LabelSets(np.ones(1), np.full((1, 1), 0.5)))
print(len(compiled.buffer))
"""
    for _ in range(2):
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "0\n"


def test_only_the_commands_of_the_paper_load_its_experiments():
    """All others are loaded in one process."""
    others = sorted(set(COMMANDS) - {"board", "reproduce"})
    code = f"""
import sys
from typer.main import get_command
from amcc.cli import app
for name in {others}:
    get_command(app).commands[name].loaded
sys.exit(any(module.startswith("amcc.experiments") for module in sys.modules))
"""
    subprocess.run([sys.executable, "-c", code], check=True)


# -- the table ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_says_what_the_command_says(name):
    entry = COMMANDS[name]
    found = command_of(name, entry)
    text = found.info.help if entry.example is None else inspect.getdoc(found).partition("\n\n")[0]
    assert entry.summary == " ".join(text.split())
    assert entry.example is None or entry.example.startswith(f"amcc {name}")


def test_no_command_is_forgotten():
    """A file of amcc.cli with a function of its own name is a command."""
    commands = set()
    for path in SRC.glob("*.py"):
        tree = ast.parse(path.read_text())
        if any(isinstance(node, ast.FunctionDef) and node.name == path.stem for node in tree.body):
            commands.add(path.stem)
    groups = {"campaign", "data", "label_studio"}
    assert commands == {entry.module or name for name, entry in COMMANDS.items()} - groups


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_stand_in_the_help_with_their_first_sentence(name):
    lines = " ".join(run_amcc("--help", COLUMNS="400").stdout.split())
    assert COMMANDS[name].summary in lines


def test_help_lists_commands_in_the_order_of_the_table():
    lines = run_amcc("--help").stdout.splitlines()
    first = [words[1] for line in lines if len(words := line.split()) > 1]
    assert [word for word in first if word in COMMANDS] == list(COMMANDS)


def test_a_name_that_is_nearly_right_gets_a_suggestion():
    run = run_amcc("consenus")
    assert run.returncode == 2
    assert "consensus" in run.stderr


# -- loading -----------------------------------------------------------------------------------------------------


def test_a_command_is_loaded_once(monkeypatch):
    loads = []
    monkeypatch.setattr("amcc.cli.lazy.command_of", lambda name, entry: loads.append(name) or (lambda: None))
    command = LazyCommand("nothing", CommandEntry("A command.", "amcc nothing"))
    assert loads == []
    assert command.loaded is command.loaded
    assert loads == ["nothing"]


def test_prepared_commands_have_one_parameter_per_option():
    names = list(inspect.signature(prepared(command_of("consensus", COMMANDS["consensus"]))).parameters)
    assert names[0] == "path"
    assert {"features", "known_items", "output", "sets", "report", "engine", "columns"} <= set(names)
    assert not {"described", "coverage", "rows", "files", "reading"} & set(names)


def test_ctrl_c_while_a_command_is_loaded_is_one_line(votes_file):
    code = """
import sys
from importlib.abc import MetaPathFinder
class Impatient(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "amcc.cli.consensus":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Impatient())
from amcc.__main__ import main
main()
"""
    command = [sys.executable, "-c", code, "consensus", str(votes_file)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (130, "")
    assert run.stderr == "interrupted; nothing half-written was left\n"


def test_a_package_that_cannot_be_imported_is_one_line(votes_file):
    code = "import sys; sys.modules['pyarrow'] = None\nfrom amcc.__main__ import main\nmain()"
    run = subprocess.run([sys.executable, "-c", code, "check", str(votes_file)], capture_output=True, text=True)
    assert run.returncode == 1
    assert "internal error: ModuleNotFoundError" in run.stderr
    assert "pyarrow" in run.stderr
    assert "Traceback" not in run.stderr
