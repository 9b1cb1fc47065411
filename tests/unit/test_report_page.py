"""HTML, pieces of charts, and how panels become a page that is safe, whole and small."""

import json
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from string import Formatter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amcc.cli.consensus import LANGUAGE_HELP
from amcc.errors import ParameterError
from amcc.report import html
from amcc.report.html import Html, chapter, element, table, tiles
from amcc.report.language import LANGUAGES, language

pytest.importorskip("altair")
pytest.importorskip("vl_convert")

import altair as alt
import vl_convert

from amcc.report import charts, page
from amcc.report.page import Panel, make_page, script_json, write_page
from report_pages import Page, data_of

SAY = language("en")
counted, and_more, left_out, with_interval = SAY.counted, SAY.and_more, SAY.left_out, SAY.interval

ANY_TEXT = st.text(st.characters(codec="utf-8"), max_size=30)


# -- HTML ----------------------------------------------------------------------------------------------------------


@given(ANY_TEXT)
def test_text_in_an_element_is_what_a_browser_shows(text):
    shown = element("p", text)
    assert unescape(shown.removeprefix("<p>").removesuffix("</p>")) == text
    assert not re.search(r"[<>]", shown.removeprefix("<p>").removesuffix("</p>"))


@given(ANY_TEXT)
def test_an_attribute_cannot_be_left(text):
    shown = element("p", title=text)
    assert shown.count('"') == 2
    assert unescape(shown.removeprefix('<p title="').removesuffix('"></p>')) == text


def test_only_html_is_trusted():
    assert element("p", Html("<b>x</b>")) == "<p><b>x</b></p>"
    assert element("p", str(element("b", "x")) + "") == "<p>&lt;b&gt;x&lt;/b&gt;</p>"  # adding makes a plain string


def test_underscores_of_attributes_are_dropped_at_the_end_and_hyphens_elsewhere():
    assert element("p", "x", class_="note", aria_label="1") == '<p class="note" aria-label="1">x</p>'


def test_a_chapter_without_sentences_has_no_heading():
    assert chapter("Title", iter([])) == ""
    assert isinstance(chapter("Title", []), Html)
    assert chapter("<T>", ["a & b"]) == "<h2>&lt;T&gt;</h2><ul><li>a &amp; b</li></ul>"


def test_tiles_are_names_with_numbers():
    assert tiles({"votes": "1,000", "<i>": "&"}) == (
        "<dl><div><dt>votes</dt><dd>1,000</dd></div><div><dt>&lt;i&gt;</dt><dd>&amp;</dd></div></dl>"
    )


def test_tables_escape_captions_headers_and_cells_but_not_html():
    shown = table("<c>", ["<h>"], [["<r>", "<d>", element("b", "bold")]])
    for name in "chrd":
        assert f"&lt;{name}&gt;" in shown
    assert "<td><b>bold</b></td>" in shown


def test_a_table_may_have_no_rows():
    assert "<tbody></tbody>" in table("none", ["a"], [])


@pytest.mark.parametrize(
    ("n", "noun", "said"),
    [
        (0, "item", "0 items"),
        (1, "family", "1 family"),
        (2, "family", "2 families"),
        (1_000_000, "answer", "1,000,000 answers"),
    ],
)
def test_numbers_with_nouns(n, noun, said):
    assert counted(n, noun) == said


def test_names_and_how_many_more():
    assert and_more([], 0) == ""
    assert and_more(["a"], 1) == "a"
    assert and_more(["a", "b"], 3) == "a, b and 1 more"


def test_a_note_about_what_is_left_out_only_where_something_is():
    assert left_out(3, 3, "label", "all") == []
    assert left_out(1001, 1, "label", "the first") == ["Shown are 1 of 1,001 labels: the first."]


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ((0.125, 0.1, 0.15), "0.12 (0.10 to 0.15)"),
        ((0.5, None, 0.6), "0.50"),
        ((0.5, 0.4, None), "0.50"),
        ((None, 0.4, 0.6), html.DASH),
        ((-0.001, -0.002, 0.0), "0.00 (0.00 to 0.00)"),
        ((-0.5, -0.6, -0.4), "-0.50 (-0.60 to -0.40)"),
    ],
)
def test_estimates_with_intervals(numbers, said):
    assert with_interval(*numbers) == said


# -- pieces of charts ----------------------------------------------------------------------------------------------


def test_rows_are_rounded_and_hold_no_nan():
    data = charts.rows(
        name=["a", "b"], number=np.array([0.123456, np.nan]), count=np.array([10**6, 2]), flag=[True, False]
    )
    assert data == {
        "values": [
            {"name": "a", "number": 0.1235, "count": 10**6, "flag": True},
            {"name": "b", "number": None, "count": 2, "flag": False},
        ]
    }
    json.dumps(data, allow_nan=False)


def test_columns_of_unequal_length_are_a_mistake():
    with pytest.raises(ValueError, match="shorter"):
        charts.rows(a=[1, 2], b=[1])


def test_columns_of_records_keep_their_order():
    records = iter([{"a": 1, "b": 2, "c": 3}, {"a": 4, "b": 5, "c": 6}])
    assert charts.columns_of(records, "c", "a") == {"c": [3, 6], "a": [1, 4]}


def test_categories_pair_each_look_with_its_name():
    channel = charts.categories(alt.Color, "kind:N", {"x": "#000", "y": "#fff"}, charts.ON_TOP).to_dict()
    assert channel["scale"] == {"domain": ["x", "y"], "range": ["#000", "#fff"]}
    assert channel["legend"] == {"orient": "top", "title": None}
    assert charts.categories(alt.Shape, "kind:N", {"x": "circle"}, None).to_dict()["legend"] is None
    assert charts.categories(alt.Shape, "kind:N", {"x": "circle"}).to_dict()["legend"] == {"title": None}


def test_the_darkest_tile_is_the_most_there_can_be():
    channel = charts.strength("share:Q", 0.4, title="how much").to_dict()
    assert channel["scale"] == {"domain": [0, 0.4], "range": [0.03, 0.9]}
    assert channel["legend"] == {"symbolType": "square", "title": "how much"}


@pytest.mark.parametrize("numbered", [True, False])
def test_heat_maps_have_numbers_where_there_is_room(numbered):
    base = alt.Chart(charts.rows(x=["a"], y=["b"], share=[0.5])).encode(x="x:N", y="y:N")
    tile = {"opacity": charts.strength("share:Q")}
    chart = charts.heat_map(base, tile, "share:Q", ".0%", numbered=numbered, color="#123", ink="#456").to_dict()
    tiles_, *numbers = chart["layer"]
    assert tiles_["mark"] == {"type": "rect", "color": "#123"}
    assert len(numbers) == numbered
    for layer in numbers:
        assert layer["mark"] == {"type": "text", "color": "#456"}
        assert layer["encoding"]["text"] == {"field": "share", "format": ".0%", "type": "quantitative"}
        assert "opacity" not in layer["encoding"]  # pale tiles have numbers as black as the others


def test_colours_can_be_told_apart():
    colours = [charts.BLUE, charts.ORANGE, charts.VERMILION, charts.SKY, charts.PALE_GREY]
    rgb = np.array([[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in colours])
    distance = np.abs(rgb[:, None] - rgb[None]).sum(axis=2) + 1000 * np.eye(len(colours))
    assert distance.min() > 60


# -- the page ------------------------------------------------------------------------------------------------------


def dots():
    return alt.Chart(charts.rows(x=[0.1], y=[0.2])).mark_point().encode(x="x:Q", y="y:Q")


def shown(*panels, title="Title", head=html.NO_HTML):
    return Page(make_page(title, head, panels))


def test_panels_become_sections_in_their_order():
    found = shown(Panel("One", "how to read it", dots(), notes=["small print"]), Panel("Two", "words only"))
    assert found.headings == ["One", "Two"]
    assert sum(tag == "section" for tag, _ in found.elements) == 2
    assert "how to read it small print words only" in found.text
    assert ("p", {"class": "note"}) in found.elements


def test_only_panels_with_charts_have_a_place_for_one():
    found = shown(Panel("One", "no chart"), Panel("Two", "chart", dots()), Panel("Three", "chart", dots()))
    places = [attributes["id"] for _, attributes in found.elements if attributes.get("class") == "chart"]
    assert places == list(found.charts) == ["chart-1", "chart-2"]


def test_charts_are_described_for_screen_readers_and_have_no_address():
    (chart,) = shown(Panel("One", "each dot is a dot", dots())).charts.values()
    assert chart["description"] == "each dot is a dot"
    assert "$schema" not in chart
    assert data_of(chart) == [[{"x": 0.1, "y": 0.2}]]
    assert "<svg" in vl_convert.vegalite_to_svg(chart)


def test_a_page_without_panels_is_a_page():
    found = shown(head=element("p", "head"))
    assert found.charts == {}
    assert found.text.endswith("Title head Charts and search need JavaScript; the tables do not.")


@given(ANY_TEXT)
def test_no_text_can_end_a_script(text):
    written = script_json({"name": text, "more": ["</script>", "<!--"]})
    assert "<" not in written
    assert json.loads(written)["name"] == text


def test_a_chart_with_nan_is_an_error_before_it_is_a_broken_page():
    with pytest.raises(ValueError, match="not JSON compliant"):
        script_json({"values": [float("nan")]})


def test_the_script_that_draws_cannot_end_its_element():
    script = page._chart_script()
    assert "</script" not in script
    assert "vegaEmbed" in script


def test_style_and_scripts_are_read_from_their_files():
    assert "@media print" in page.STYLE
    assert "</style" not in page.STYLE
    assert "vegaEmbed(" in page.DRAW_CHARTS
    for script in (page.DRAW_CHARTS, page.LOOK_UP):
        assert "</script" not in script
        assert "//" not in re.sub(r"^ *//.*$", "", script, flags=re.MULTILINE)  # fetches from no address


def test_the_policy_knows_each_script_and_no_other():
    text = make_page("Title", html.NO_HTML, [Panel("One", "chart", dots())])
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)[1]
    scripts = re.findall(r"<script>(.*?)</script>", text, flags=re.DOTALL)
    assert len(scripts) == 2
    assert set(re.findall(r"'sha256-[^']+'", policy)) == {page._hash(script) for script in scripts}
    assert "unsafe-inline" not in policy.split("style-src")[0]


# -- languages -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_command_names_the_language(code):
    assert f"{code} ({LANGUAGES[code]})" in LANGUAGE_HELP


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_language_has_the_same_keys_and_places(code):
    def places(text):
        return {place for _, place, _, _ in Formatter().parse(text) if place}

    texts, english = language(code).texts, language("en").texts
    assert texts.keys() == english.keys()
    assert {key: places(text) for key, text in texts.items()} == {key: places(text) for key, text in english.items()}
    assert all(text.strip() == text and text for text in texts.values())


def test_every_text_is_used():
    source = "".join(path.read_text() for path in Path(page.__file__).parent.glob("*.py"))
    unused = [key for key in SAY.texts if not re.search(rf"[\".]{key.split('.')[-1]}\b", source) and not made_up(key)]
    assert unused == []


def made_up(key):
    """Keys whose last word is put together: forms of plurals, nouns, verdicts."""
    parts = ("answer.", "convergence.objective_", "doubt.measured_", "items.state_", "items.order_")
    return key.endswith((".one", ".many")) or key.startswith(parts)


def test_numbers_are_written_as_in_the_language():
    german = language("de")
    assert german.number(1234567) == "1.234.567"
    assert german.percent(0.1234) == "12,3\u00a0%"
    assert german.interval(0.5, 0.25, 0.75) == "0,50 (0,25 bis 0,75)"


def test_a_language_that_there_is_none_of_is_refused():
    with pytest.raises(ParameterError, match="language must be one of en, de; got 'xx'"):
        language("xx")


@given(ANY_TEXT)
def test_names_in_sentences_are_escaped_and_links_are_not(name):
    told = SAY.html("doubt.named", workers=name)
    assert "<" not in told
    assert unescape(told) == SAY("doubt.named", workers=name)
    assert element("a", name) in SAY.html("doubt.named", workers=element("a", name))


def test_the_title_is_text_in_both_places():
    found = shown(title="<b>A & B</b>")
    assert found.text.count("<b>A & B</b>") == 2
    assert "b" not in {tag for tag, _ in found.elements}


def test_a_page_is_written_as_utf8_over_an_old_one(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("old")
    write_page(str(path), "±α")
    assert path.read_bytes() == "±α".encode()
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]


def test_now_has_minutes_and_no_more():
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", page.now())


def test_the_package_can_be_imported_without_what_draws_charts():
    code = """
import sys
for name in ("altair", "vl_convert"):
    sys.modules[name] = None
from amcc.report import write_audit_report, write_report
try:
    write_audit_report(None, "nowhere.html")
except Exception as error:
    assert "pip install 'amcc[report]'" in str(error), error
else:
    raise SystemExit("it should have been refused")
"""
    subprocess.run([sys.executable, "-c", code], check=True)
