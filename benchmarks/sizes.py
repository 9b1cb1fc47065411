"""How much there is to read: lines of code, comments, docstrings and tests, and the longest functions and modules.

    python benchmarks/sizes.py                              this repository
    python benchmarks/sizes.py httpx sklearn.mixture DIR    beside installed packages and folders
    python benchmarks/sizes.py --check                      exit 1 where a limit is broken, and say where

Code lines are lines with code on them: neither blank, nor only a comment, nor part of a docstring. The length of a
function is that of its `def` to its last line, without its docstring and decorators. Whatever lies in a folder `tests`,
or is called test_*.py or conftest.py, counts as test. Files are parsed, never imported.
"""

from __future__ import annotations

import ast
import importlib.util
import io
import json
import statistics
import sys
import tokenize
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from page import table
from script import parser_of

ROOT = Path(__file__).parents[1]

# A function is read at one sitting, without scrolling; a module holds one idea. All lines of a module count.
LIMITS = {"function": 50, "module": 500}

# Rows of the two lists of what is longest.
LONGEST = 10

Function = ast.FunctionDef | ast.AsyncFunctionDef
WITH_DOCSTRINGS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
# What the tokenizer reports beside code: layout, and the end of the file.
NOT_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
    tokenize.ENCODING,
}  # fmt: skip

# Lists of `Sizes`, and what people call them.
LISTS = {"functions": "functions, in lines without docstring", "modules": "modules, in lines of all kinds"}


class Length(NamedTuple):
    """So many lines, of what, where."""

    lines: int
    name: str
    place: str


@dataclass
class Sizes:
    """What was counted in some files; lists have one entry per function or module."""

    code: int = 0
    comments: int = 0
    docstrings: int = 0
    typed: int = 0
    functions: list[Length] = field(default_factory=list)
    modules: list[Length] = field(default_factory=list)

    def broken(self) -> dict[str, list[Length]]:
        """What is longer than the limit for its kind, longest first."""
        found = {"function": self.functions, "module": self.modules}
        return {kind: sorted((each for each in found[kind] if each.lines > most), reverse=True)
                for kind, most in LIMITS.items()}  # fmt: skip


# -- counting ---------------------------------------------------------------------------------------------------------


def count(source: str, place: str, sizes: Sizes) -> None:
    """Add what one file holds."""
    tree = ast.parse(source)
    docstrings = {line for node in ast.walk(tree) for line in docstring_lines(node)}
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        sizes.comments += token.type == tokenize.COMMENT
        if token.type not in NOT_CODE:
            code |= set(range(token.start[0], token.end[0] + 1))
    sizes.code += len(code - docstrings)
    sizes.docstrings += len(docstrings)
    sizes.modules.append(Length(len(source.splitlines()), Path(place).stem, place))
    for node in ast.walk(tree):
        if isinstance(node, Function):
            lines = int(node.end_lineno or node.lineno) - node.lineno + 1 - len(docstring_lines(node))
            sizes.functions.append(Length(lines, node.name, f"{place}:{node.lineno}"))
            sizes.typed += is_typed(node)


def docstring_lines(node: ast.AST) -> range:
    """Line numbers of the docstring of a module, class or function; of anything else, none."""
    if isinstance(node, WITH_DOCSTRINGS) and node.body and isinstance(node.body[0], ast.Expr):
        first = node.body[0]
        if isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            return range(first.lineno, int(first.end_lineno or first.lineno) + 1)
    return range(0)


def is_typed(function: Function) -> bool:
    """Whether what it returns and all it takes are annotated, but for self and cls."""
    given = function.args
    taken = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    needed = [each for each in taken if each is not None and each.arg not in ("self", "cls")]
    return function.returns is not None and all(each.annotation is not None for each in needed)


def sizes_of(paths: Iterable[Path], root: Path) -> Sizes:
    """What some files hold together; places are told relative to `root`."""
    sizes = Sizes()
    for path in sorted(paths):
        count(path.read_text(encoding="utf-8"), str(path.relative_to(root)), sizes)
    return sizes


def is_test(path: Path) -> bool:
    """By its name, or by the folder that it is in."""
    return "tests" in path.parts or path.name.startswith("test_") or path.name == "conftest.py"


# -- what is compared -------------------------------------------------------------------------------------------------


class Compared(NamedTuple):
    """A row of the table: code, and its tests."""

    name: str
    code: Sizes
    tests: Sizes


def this_repository() -> Compared:
    """The package, and the tests beside it."""
    package, tests = (ROOT / "src" / "amcc").rglob("*.py"), (ROOT / "tests").rglob("*.py")
    return Compared("amcc", sizes_of(package, ROOT), sizes_of(tests, ROOT))


def other(name: str) -> Compared:
    """A folder, or an installed package by its name; tests are those inside of it."""
    folder = Path(name)
    if not folder.is_dir():
        folder = _folder_of_package(name)
    # Parts above the folder do not make a test of what is in it.
    files = {path: is_test(path.relative_to(folder)) for path in folder.rglob("*.py")}
    if not files:
        raise SystemExit(f"{name} must hold Python files; {folder} has none.")
    code, tests = ([path for path, test in files.items() if test is wanted] for wanted in (False, True))
    return Compared(name, sizes_of(code, folder), sizes_of(tests, folder))


def _folder_of_package(name: str) -> Path:
    try:
        found = importlib.util.find_spec(name)
    except ModuleNotFoundError:  # of a package around it
        found = None
    if found is None or not found.submodule_search_locations:
        raise SystemExit(f"{name} must be a folder or an installed package; it is neither.")
    return Path(found.submodule_search_locations[0])


# -- telling ----------------------------------------------------------------------------------------------------------

HEAD = (
    "", "code lines", "comments / 100", "docstring lines / 100", "function median / p95 / max", "typed",
    "test / code lines",
)  # fmt: skip


def numbers(compared: Compared) -> dict[str, Any]:
    """The numbers of a row; None where there is nothing to divide by."""
    code = compared.code
    lengths = sorted(each.lines for each in code.functions)
    return {
        "name": compared.name,
        "code_lines": code.code,
        "comments_per_100": 100 * code.comments / code.code if code.code else None,
        "docstring_lines_per_100": 100 * code.docstrings / code.code if code.code else None,
        "function_median": statistics.median(lengths) if lengths else None,
        "function_p95": lengths[int(0.95 * len(lengths))] if lengths else None,
        "function_max": lengths[-1] if lengths else None,
        "typed_share": code.typed / len(lengths) if lengths else None,
        "tests_per_code": compared.tests.code / code.code if code.code and compared.tests.code else None,
    }


def _shown(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def line_of(row: dict[str, Any]) -> list[str]:
    """A row of the table, as text."""
    lengths = (_shown(row[f"function_{which}"], ".0f") for which in ("median", "p95", "max"))
    return [
        row["name"],
        f"{row['code_lines']:,}",
        _shown(row["comments_per_100"], ".1f"),
        _shown(row["docstring_lines_per_100"], ".0f"),
        " / ".join(lengths),
        _shown(row["typed_share"], ".0%").replace("%", " %"),
        _shown(row["tests_per_code"], ".2f"),
    ]


def longest(sizes: Sizes) -> dict[str, list[Length]]:
    """Functions and modules, the first few of each, longest first."""
    return {kind: sorted(getattr(sizes, kind), reverse=True)[:LONGEST] for kind in LISTS}


def as_json(rows: Sequence[dict[str, Any]], ours: Sizes) -> str:
    """Everything as one object."""
    lists = {"longest": longest(ours), "broken": ours.broken()}
    told = {
        name: {kind: [each._asdict() for each in lengths] for kind, lengths in found.items()}
        for name, found in lists.items()
    }
    return json.dumps({"rows": list(rows), "limits": LIMITS, **told})


def as_text(rows: Iterable[dict[str, Any]], ours: Sizes) -> str:
    """The table, and what is longest."""
    lines = table(HEAD, map(line_of, rows))
    for kind, lengths in longest(ours).items():
        lines += [f"longest {LISTS[kind]}"]
        lines += [f"{each.lines:5d}  {each.name:32s} {each.place}" for each in lengths] + [""]
    return "\n".join(lines[:-1])


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table and what is longest; with --check, 1 where a limit is broken."""
    parser = parser_of(__doc__)
    parser.add_argument("others", nargs="*", help="installed packages or folders to compare with")
    parser.add_argument("--json", action="store_true", help="one JSON object instead")
    parser.add_argument("--check", action="store_true", help=f"exit 1 where a limit is broken: {LIMITS}")
    options = parser.parse_args(arguments)
    ours = this_repository()
    rows = [numbers(each) for each in (ours, *map(other, options.others))]
    print((as_json if options.json else as_text)(rows, ours.code))
    broken = [(kind, each) for kind, lengths in ours.code.broken().items() for each in lengths]
    for kind, each in broken if options.check else ():
        # To stderr, so that --json stays one object.
        print(f"{each.place}: {kind} {each.name} has {each.lines} lines, at most {LIMITS[kind]}", file=sys.stderr)
    return int(options.check and bool(broken))


if __name__ == "__main__":
    sys.exit(main())
