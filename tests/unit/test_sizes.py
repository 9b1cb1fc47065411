"""What benchmarks/sizes.py counts, by hand; and that this repository keeps its limits."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
import sizes

# Limits of `sizes.LIMITS` that all of src keeps by now: put "function" and "module" here, and they stay kept.
ENFORCED = {"function", "module"}

SOURCE = '''"""A module.

With three lines of docstring."""

import os  # used below

# A reason.
TEXT = """not
a docstring"""


class Thing:
    """One line."""

    def typed(self, name: str, *rest: int) -> str:
        """Two
        lines."""
        return name

    @property
    def untyped(self):
        return os.sep


async def later(a, *, b: int) -> None:
    def inner() -> None: ...
    inner()
'''


@pytest.fixture
def counted() -> sizes.Sizes:
    found = sizes.Sizes()
    sizes.count(SOURCE, "pkg/thing.py", found)
    return found


def test_lines_by_hand(counted):
    # import, TEXT (2), class, def, return, @property, def, return, async def, inner, inner()
    assert counted.code == 12
    assert counted.comments == 2
    assert counted.docstrings == 3 + 1 + 2


def test_functions_are_counted_without_docstring_and_decorators(counted):
    lengths = {each.name: each.lines for each in counted.functions}
    assert lengths == {"typed": 2, "untyped": 2, "later": 3, "inner": 1}
    assert [each.place for each in counted.functions if each.name == "typed"] == ["pkg/thing.py:15"]
    assert counted.modules == [sizes.Length(27, "thing", "pkg/thing.py")]


@pytest.mark.parametrize(
    ("source", "typed"),
    [
        ("def f() -> None: ...", True),
        ("def f(): ...", False),
        ("def f(a: int, /, b: int, *c: int, d: int, **e: int) -> None: ...", True),
        ("def f(a: int, *c) -> None: ...", False),
        ("def f(a: int, **e) -> None: ...", False),
        ("def f(self, a: int) -> None: ...", True),
        ("def f(*, d) -> None: ...", False),
    ],
)
def test_a_function_is_typed_if_everything_is(source, typed):
    (function,) = ast.parse(source).body
    assert sizes.is_typed(function) is typed


@pytest.mark.parametrize("source", ["", "# only a comment\n", "'''text'''.strip()\n", "1 + 1\n"])
def test_files_without_docstrings(source):
    found = sizes.Sizes()
    sizes.count(source, "a.py", found)
    assert found.docstrings == 0
    assert found.code == (source.count("\n") if not source.startswith("#") else 0)


def test_limits_tell_the_longest_first(counted, monkeypatch):
    monkeypatch.setattr(sizes, "LIMITS", {"function": 1, "module": 27})
    broken = counted.broken()
    assert [each.name for each in broken["function"]] == ["later", "untyped", "typed"]
    assert broken["module"] == []  # at the limit is not above it
    monkeypatch.setattr(sizes, "LIMITS", {"function": 3, "module": 26})
    assert [each.name for each in counted.broken()["module"]] == ["thing"]


def test_the_numbers_of_a_row_by_hand(counted):
    tests = sizes.Sizes(code=9)
    row = sizes.numbers(sizes.Compared("thing", counted, tests))
    assert row["comments_per_100"] == pytest.approx(100 * 2 / 12)
    assert row["docstring_lines_per_100"] == 50
    assert (row["function_median"], row["function_p95"], row["function_max"]) == (2, 3, 3)
    assert row["typed_share"] == 0.5  # typed and inner
    assert row["tests_per_code"] == 0.75
    assert sizes.line_of(row) == ["thing", "12", "16.7", "50", "2 / 3 / 3", "50 %", "0.75"]


def test_nothing_to_divide_by_is_a_dash():
    row = sizes.numbers(sizes.Compared("empty", sizes.Sizes(), sizes.Sizes()))
    assert sizes.line_of(row) == ["empty", "0", "–", "–", "– / – / –", "–", "–"]


@pytest.fixture
def folder(tmp_path):
    """A package in a folder called tests, with tests of its own."""
    package = tmp_path / "tests" / "pkg"
    (package / "tests").mkdir(parents=True)
    for name in ("thing.py", "test_beside.py", "conftest.py", "tests/anything.py"):
        (package / name).write_text("x = 1\ny = 2\n" if name == "thing.py" else "x = 1\n")
    return package


def test_tests_are_told_by_name_and_folder(folder):
    found = sizes.other(str(folder))
    assert (found.code.code, found.tests.code) == (2, 3)
    assert [each.place for each in found.code.modules] == ["thing.py"]


def test_installed_packages_are_found_by_name():
    found = sizes.other("importlib.metadata")
    assert found.code.code > 100


@pytest.mark.parametrize("name", ["no_such_package", "no_such.package", "json.decoder"])
def test_what_is_neither_package_nor_folder(name):
    with pytest.raises(SystemExit, match=f"{name} must be a folder or an installed package; it is neither"):
        sizes.other(name)


def test_folders_without_code(tmp_path):
    with pytest.raises(SystemExit, match="must hold Python files"):
        sizes.other(str(tmp_path))


def test_as_a_user_runs_it(folder, capsys, monkeypatch):
    monkeypatch.setattr(sizes, "this_repository", lambda: sizes.other(str(folder)))
    assert sizes.main([str(folder)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("|  | code lines | comments / 100 |")
    assert shown.count(f"| {folder} | 2 |") == 2
    assert "longest functions" in shown and "    2  thing " in shown
    assert sizes.main(["--json", "--check"]) == 0
    monkeypatch.setattr(sizes, "LIMITS", {"function": 50, "module": 1})
    assert sizes.main([]) == 0  # limits are checked when asked
    capsys.readouterr()
    assert sizes.main(["--json", "--check"]) == 1
    said = capsys.readouterr()
    assert said.err == "thing.py: module thing has 2 lines, at most 1\n"
    found = json.loads(said.out)
    assert found["broken"]["module"] == [{"lines": 2, "name": "thing", "place": "thing.py"}]
    assert found["rows"][0]["code_lines"] == 2


def test_this_repository_has_tests_beside_its_code():
    found = sizes.this_repository()
    assert found.code.code > 1000 and found.tests.code > 1000
    assert all(each.place.startswith("src") for each in found.code.modules)


@pytest.mark.parametrize("kind", sizes.LIMITS)
def test_the_limits_are_kept(kind):
    if kind not in ENFORCED:
        pytest.skip(f"the limit of {sizes.LIMITS[kind]} lines per {kind} is not yet switched on")
    assert sizes.this_repository().code.broken()[kind] == []
