"""docs/paper.md has a row with a verdict for every label of the paper, and names only what exists.

Every word in code type on the page must be a label of the paper, a name of the package, a command, a file, a test, a
strategy, a method or a study: a name that drifts from the code fails here. The last tests give the checks something
wrong and see that they complain.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

from amcc.active.strategies import STRATEGIES
from amcc.cli import app
from amcc.consensus import METHODS
from amcc.experiments.reproduce import STUDIES

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "paper.md").read_text()
# Entries of docs/deviations.md by their number, its other sections by what stands before the colon.
HEADINGS = re.findall(
    r"^## (D\d+(?=\.)|[^:\n]+(?=:))", (ROOT / "docs" / "deviations.md").read_text(), flags=re.MULTILINE
)
DEVIATIONS = {heading for heading in HEADINGS if re.fullmatch(r"D\d+", heading)}

# All that carries a \label in the paper's LaTeX; there is no eq14.
LABELS = (
    *(f"eq{number}" for number in range(1, 24) if number != 14),
    "the1",
    *("sec:relwork", "AMCC", "activelearning", "sec:optimization", "exp", "active-result", "concl"),
    *("dataset", "Table3", "Table4", "metric-result", "sparseresult"),
    *("frame", "type", "worker-sonyc", "active", "cost", "batchsize", "alpha-beta", "rm", "eta", "convergence"),
)

HEAD = ("paper", "what it says", "code", "shown by", "deviation", "verdict")
# What a verdict begins with; the top of the page says what each means.
VERDICTS = (
    "as printed", "repaired", "chosen", "reconstructed", "holds", "does not hold", "not reproducible", "no claim",
)  # fmt: skip
SPAN = re.compile(r"`([^`\n]+)`")


class Row(NamedTuple):
    """A row of a table of the page."""

    paper: str
    says: str
    code: str
    shown_by: str
    deviation: str
    verdict: str


# -- reading the page -------------------------------------------------------------------------------------------------


def tables_of(page: str) -> list[list[tuple[str, ...]]]:
    """The cells of every table, its head included, without the line below the head."""
    found: list[list[tuple[str, ...]]] = []
    before = ""
    for line in page.splitlines():
        if line.startswith("|"):
            if not before.startswith("|"):
                found.append([])
            if not re.fullmatch(r"\|(-+\|)+", line):
                found[-1].append(tuple(cell.strip() for cell in line.strip().strip("|").split("|")))
        before = line
    return found


def rows_of(page: str) -> list[Row]:
    """The rows of all tables with the head of the concordance; any other table is wrong."""
    rows = []
    for head, *cells in tables_of(page):
        assert head == HEAD, f"a table has the head {head}"
        for each in cells:
            assert len(each) == len(HEAD), f"a row must have {len(HEAD)} cells; {each} has {len(each)}"
            rows.append(Row(*each))
    return rows


ROWS = rows_of(PAGE)


def labels_in(rows: list[Row]) -> list[str]:
    """The labels of the rows: what stands in code type in the first cell."""
    return [label for row in rows for label in SPAN.findall(row.paper)]


def complaints_about(row: Row) -> list[str]:
    """What is wrong with a row: an empty cell, a deviation or a verdict that is none."""
    found = [f"{name} is empty" for name, cell in zip(HEAD, row, strict=True) if not cell]
    if row.deviation != "as printed" and not set(row.deviation.split(", ")) <= {*HEADINGS, "left open"}:
        found.append(f"deviation must be 'as printed', 'left open' or in docs/deviations.md; got {row.deviation!r}")
    if not row.verdict.startswith(VERDICTS):
        found.append(f"a verdict must begin with one of {', '.join(VERDICTS)}; got {row.verdict!r}")
    return found


# -- names ------------------------------------------------------------------------------------------------------------


def found_object(name: str) -> Any:
    """What a dotted name means: a module, what is in it, or in a class of it; raises LookupError."""
    parts = name.split(".")
    for n_module in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:n_module]))
        except ModuleNotFoundError:
            continue
        for part in parts[n_module:]:
            found = attribute_of(found, part, name)
        return found
    raise LookupError(name)


def attribute_of(owner: Any, part: str, name: str) -> Any:
    """A part of a module or class; of fields that are only declared, the class that declares them."""
    if hasattr(owner, part):
        return inspect.getattr_static(owner, part) if inspect.isclass(owner) else getattr(owner, part)
    if inspect.isclass(owner) and any(part in inspect.get_annotations(each) for each in owner.__mro__):
        return owner
    raise LookupError(f"{name}: {owner!r} has no {part}")


def check_name(span: str) -> None:
    """Raise LookupError unless the name exists, with the parameters that stand in brackets behind it."""
    name, _, inside = span.partition("(")
    found = found_object(name)
    if parameters := re.findall(r"(\w+)=", inside):
        unknown = set(parameters) - set(inspect.signature(found).parameters)
        if unknown:
            raise LookupError(f"{name} has no parameter {', '.join(sorted(unknown))}")


def source_of(name: str) -> str:
    """The text of what a name means."""
    found = found_object(name.partition("(")[0])
    found = getattr(found, "fget", getattr(found, "func", found))  # properties, also cached ones
    return inspect.getsource(found)


# -- commands ---------------------------------------------------------------------------------------------------------


def check_command(line: str) -> None:
    """Raise LookupError unless the line names a command, its arguments, options that exist, and values that do."""
    _, *words = shlex.split(line)
    command: Any = typer.main.get_command(app)
    while hasattr(command, "commands"):
        if not words or words[0] not in command.commands:
            raise LookupError(f"{line}: no such command")
        command = command.commands[words.pop(0)]
        command = getattr(command, "loaded", command)
    try:
        given, left, _ = command.make_parser(command.context_class(command)).parse_args(words)
    except Exception as error:
        raise LookupError(f"{line}: {error}") from None
    needed = [each.name for each in command.params if each.param_type_name == "argument" and each.required]
    if left or any(given.get(name) is None for name in needed):
        raise LookupError(f"{line}: arguments are {', '.join(needed)}")
    for name, known in (("strategy", STRATEGIES), ("method", METHODS), ("methods", METHODS), ("what", STUDIES)):
        value = given.get(name) or ()
        unknown = set(value.split(",") if isinstance(value, str) else value) - set(known)
        if unknown:
            raise LookupError(f"{line}: {name} must be known; got {', '.join(sorted(unknown))}")
    for said in given.get("param") or ():
        if said.partition("=")[0] not in METHODS[given["method"]]().get_params():
            raise LookupError(f"{line}: {given['method']} has no parameter {said}")


@cache
def named_tests() -> set[str]:
    """All functions that are tests."""
    return set(re.findall(r"def (test_\w+)", "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))))


def check_span(span: str) -> None:
    """Raise LookupError unless it is something that exists."""
    if span in LABELS or span in STRATEGIES or span in METHODS or span in STUDIES or span in named_tests():
        return
    if span.startswith("amcc "):
        check_command(span)
    elif span.startswith("amcc."):
        check_name(span)
    elif not ("/" in span and (ROOT / span).exists()):
        raise LookupError(f"{span!r} is no label, name, command, file, test, strategy, method or study")


# -- the page ---------------------------------------------------------------------------------------------------------


def test_labels_are_those_of_the_paper():
    source = ROOT.parent / "shared" / "paper" / "amcc.tex"
    if not source.exists():
        pytest.skip(f"the paper's LaTeX is not at {source}")
    text = re.sub(r"(?<!\\)%.*", "", source.read_text())
    assert sorted(re.findall(r"\\label\{([^}]+)\}", text)) == sorted(LABELS)


def test_every_label_has_exactly_one_row():
    assert sorted(labels_in(ROWS)) == sorted(LABELS)


def test_page_covers_much():
    assert len(tables_of(PAGE)) >= 9
    assert len(ROWS) > 120


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.paper)
def test_row_has_deviation_and_verdict(row):
    assert not complaints_about(row)


def test_every_deviation_has_a_row():
    assert len(DEVIATIONS) >= 12
    assert set(re.findall(r"\bD\d+\b", PAGE)) == DEVIATIONS
    assert {each for row in ROWS for each in row.deviation.split(", ")} >= DEVIATIONS


@pytest.mark.parametrize("span", sorted(set(SPAN.findall(PAGE))))
def test_what_is_named_exists(span):
    check_span(span)


@pytest.mark.parametrize("label", [label for label in LABELS if label.startswith("eq")])
def test_code_of_an_equation_carries_its_label(label):
    (row,) = (row for row in ROWS if f"`{label}`" in row.paper)
    names = [span for span in SPAN.findall(row.code) if span.startswith("amcc.")]
    assert any(re.search(rf"\b{label}\b", source_of(name)) for name in names), names


def test_values_of_the_parameters_are_the_defaults():
    section = PAGE.partition("\n## Parameters\n")[2].partition("\n## ")[0]
    named = re.findall(r"`(amcc[\w.]+)\((\w+)=([^)]+)\)`", section)
    assert {parameter for _, parameter, _ in named} >= {"hsic_weight", "laplacian_weight", "n_groups", "n_neighbors"}
    for name, parameter, value in named:
        default = inspect.signature(found_object(name)).parameters[parameter].default
        assert default == ast.literal_eval(value), f"{name}: {parameter}"


def test_prose_stays_within_the_line():
    assert [line for line in PAGE.splitlines() if len(line) > 120 and not line.startswith("|")] == []


def test_verdicts_and_heads_are_explained():
    top = PAGE.partition("\n## ")[0]
    for word in (*VERDICTS, "left open"):
        assert f"*{word}*" in top


def test_readme_leads_to_the_page():
    assert "(docs/paper.md)" in (ROOT / "README.md").read_text()


# -- the checks can fail ----------------------------------------------------------------------------------------------

GOOD = Row("`eq1`", "something", "`amcc.linalg.hsic`", "`amcc methods`", "D1", "repaired: by an anchor")


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({}, None),
        ({"verdict": ""}, "verdict is empty"),
        ({"deviation": ""}, "deviation is empty"),
        ({"says": ""}, "what it says is empty"),
        ({"verdict": "see elsewhere"}, "a verdict must begin"),
        ({"deviation": "some"}, "deviation must be"),
        ({"deviation": "as printed, D1"}, "deviation must be"),
        ({"deviation": "D1, D999"}, "deviation must be"),
        ({"deviation": "D1, left open"}, None),
        ({"deviation": "Selection"}, None),
    ],
)
def test_broken_rows_are_found(change, wrong):
    found = complaints_about(GOOD._replace(**change))
    assert not found if wrong is None else any(each.startswith(wrong) for each in found)


def test_broken_tables_are_found():
    head, line = "| " + " | ".join(HEAD) + " |", "|---|---|---|---|---|---|"
    row = "| " + " | ".join(GOOD) + " |"
    assert rows_of(f"text\n\n{head}\n{line}\n{row}\n") == [GOOD]
    assert labels_in([GOOD, GOOD]) == ["eq1", "eq1"]
    for broken in (f"{head}\n{line}\n| a | b |", f"| paper | verdict |\n|---|---|\n{row}"):
        with pytest.raises(AssertionError):
            rows_of(broken)


@pytest.mark.parametrize(
    "span",
    [
        "amcc.linalg.no_such_function",
        "amcc.no_such_module.function",
        "amcc.consensus.PaperAMCC.no_such_method",
        "amcc.consensus.PaperAMCC(no_such_parameter=1)",
        "amcc no-such-command",
        "amcc reproduce table99",
        "amcc reproduce table4 --no-such-option",
        "amcc replay votes.csv",
        "amcc replay votes.csv truth.csv --strategy no-such-strategy",
        "amcc consensus votes.csv -m no-such-method",
        "amcc consensus votes.csv -m amcc-frobenius --param no_such_parameter=1",
        "amcc data no-such-command",
        "tests/unit/test_no_such_file.py",
        "test_no_such_test",
        "eq14",
    ],
)
def test_names_that_do_not_exist_are_found(span):
    with pytest.raises(LookupError):
        check_span(span)


@pytest.mark.parametrize(
    "span",
    [
        "amcc.linalg.hsic",
        "amcc.consensus.models.paper.problem.PaperState.response",
        "amcc.active.beliefs.CurrentBeliefs.proba",
        "amcc.consensus.PaperAMCC(printed=True)",
        "amcc data list",
        "amcc reproduce table4 r --data DATA",
        "amcc consensus votes.csv -m amcc-printed",
        "docs/deviations.md",
        "test_commonality_is_the_minimum",
        "amcc-rw",
        "eq23",
    ],
)
def test_names_that_exist_are_found(span):
    check_span(span)
