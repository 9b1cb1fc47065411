"""Tables and figures inside of a document: parts of studies, what is around them, and files of figures."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest
from matplotlib.figure import Figure as Drawing

from amcc.errors import InputError
from amcc.experiments.reproduce.document import BEGIN, END, FIGURES, check_docs, update_docs
from amcc.experiments.reproduce.output import Drawn, Provenance
from amcc.experiments.reproduce.plan import Figure, Reproduction, Table, View

PROVENANCE = Provenance(["a", "b"], ["--seeds", "3"], 3)
ORDER = dict.fromkeys("abc")
EMPTY = f"before\n\n{BEGIN}\n{END}\n\nafter\n"


def study(name: str, number: str = "0.5") -> Reproduction:
    views = [View("seen", ["method"], [[number]]), View("folded", ["method"], [["MV"]], folded=True)]
    table = Table(f"{name}-table", f"Table {name}", "its caption", pa.table({"x": [1]}), views)
    figure = Figure(f"{name}-figure", f"Figure {name}", "what differs", pa.table({"x": [1]}), Drawing)
    return Reproduction({name: [table, figure]}, [f"a note about {name}"])


def update(path, *names, number="0.5"):
    drawn = {f"{name}-figure": Drawn(b"png", f"<svg>{number}</svg>".encode()) for name in names}
    update_docs(path, {name: study(name, number) for name in names}, drawn, PROVENANCE, ORDER)


def part_of(text: str, name: str) -> str:
    return re.search(rf"<!-- reproduce {name} -->.*<!-- /reproduce {name} -->", text, flags=re.DOTALL)[0]


@pytest.fixture
def page(tmp_path):
    path = tmp_path / "results.md"
    path.write_text(EMPTY)
    return path


def test_a_part_holds_tables_figures_and_how_they_came_about(page):
    update(page, "a")
    lines = [line for line in page.read_text().splitlines() if line]
    written = lines.pop(12)
    assert re.fullmatch(r"Written on \d{4}-\d\d-\d\d with amcc .* Seeds 0 to 2\.", written)
    assert lines == [
        "before", BEGIN, "<!-- reproduce a -->",
        "## Table a", "its caption", "### seen", "| method |", "|---|", "| 0.5 |",
        "## Figure a", "what differs", f"![Figure a]({FIGURES}/a-figure.svg)",
        "    amcc reproduce a --seeds 3", "- a note about a",
        "<!-- /reproduce a -->", END, "after",
    ]  # fmt: skip
    assert (page.parent / FIGURES / "a-figure.svg").read_text() == "<svg>0.5</svg>"


def test_a_run_replaces_its_own_parts_only(page):
    update(page, "a", "c")
    first = page.read_text()
    update(page, "c", number="0.7")
    second = page.read_text()
    assert part_of(second, "a") == part_of(first, "a")
    assert part_of(second, "c") == part_of(first, "c").replace("0.5", "0.7")
    assert second.startswith("before\n\n<!-- reproduce -->\n\n<!-- reproduce a -->\n")
    assert second.endswith("<!-- /reproduce c -->\n\n<!-- /reproduce -->\n\nafter\n")
    figures = page.parent / FIGURES
    assert (figures / "a-figure.svg").read_text() == "<svg>0.5</svg>"
    assert (figures / "c-figure.svg").read_text() == "<svg>0.7</svg>"


def test_the_same_run_again_changes_nothing(page):
    update(page, "a", "b")
    first = page.read_text()
    update(page, "a", "b")
    assert page.read_text() == first


def test_parts_stand_in_the_order_of_the_studies(page):
    page.write_text(EMPTY.replace(END, f"<!-- reproduce old -->\nof long ago\n<!-- /reproduce old -->\n{END}"))
    for name in "cab":
        update(page, name)
    text = page.read_text()
    assert re.findall("<!-- reproduce (.+) -->", text) == ["a", "b", "c", "old"]
    assert part_of(text, "old") == "<!-- reproduce old -->\nof long ago\n<!-- /reproduce old -->"


def test_a_document_must_be_utf_8(page):
    page.write_bytes(b"gr\xfcn")
    with pytest.raises(InputError, match=r"results\.md cannot be read: byte 2 is not UTF-8\. Save it as UTF-8\."):
        check_docs(page)


@pytest.mark.parametrize("text", ["nothing", f"{END} {BEGIN}", f"{BEGIN} {BEGIN} {END}"])
def test_both_markers_are_needed(page, text):
    page.write_text(text)
    with pytest.raises(InputError, match="must hold the line <!-- reproduce -->"):
        check_docs(page)


PART = "<!-- reproduce a -->\ntext\n<!-- /reproduce a -->"


@pytest.mark.parametrize(
    ("between", "found"),
    [
        ("words of ours", "'words of ours'"),
        (f"{PART}\n\nwords of ours\nand more", "'words of ours'"),
        (PART.replace("/reproduce a", "/reproduce b"), "'<!-- reproduce a -->'"),
        (f"{PART}\n{PART}", "found a, a"),
    ],
)
def test_what_is_in_no_part_is_not_lost_without_a_word(page, between, found):
    text = EMPTY.replace(END, f"{between}\n{END}")
    page.write_text(text)
    with pytest.raises(InputError, match=r"must hold nothing between .* but parts") as raised:
        update(page, "a")
    assert found in str(raised.value)
    assert page.read_text() == text
    assert not (page.parent / FIGURES).exists()


def test_a_figure_that_cannot_be_written_leaves_all_as_it_was(page):
    update(page, "a", "b")
    before = page.read_text()
    figures = page.parent / FIGURES
    (figures / "c-figure.svg").mkdir()
    with pytest.raises(InputError, match=r"c-figure\.svg cannot be written"):
        update(page, "a", "b", "c", number="0.7")
    assert page.read_text() == before
    assert (figures / "a-figure.svg").read_text() == "<svg>0.5</svg>"
    assert sorted(path.name for path in figures.iterdir()) == ["a-figure.svg", "b-figure.svg", "c-figure.svg"]


def test_tables_need_no_folder_of_figures(page):
    found = Reproduction({"a": study("a").outputs["a"][:1]})
    update_docs(page, {"a": found}, {}, PROVENANCE, ORDER)
    assert "## Table a" in page.read_text()
    assert not (page.parent / FIGURES).exists()
