"""All languages say the same things, and pages ask for nothing that no language says."""

from __future__ import annotations

import re
from string import Formatter

import pytest

from amcc.serve.web.pages import HERE
from amcc.serve.web.strings import LANGUAGES, Strings, preferred, strings_in, wanted_language

OTHERS = [language for language in LANGUAGES if language != "en"]


def places(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("language", OTHERS)
def test_languages_have_the_same_keys_and_places(language):
    english, other = strings_in("en").texts, strings_in(language).texts
    assert english.keys() == other.keys()
    assert {key: places(text) for key, text in english.items()} == {key: places(text) for key, text in other.items()}


@pytest.mark.parametrize("language", OTHERS)
def test_texts_are_translated(language):
    """Few words are the same in two languages; a text that was forgotten is."""
    english, other = strings_in("en").texts, strings_in(language).texts
    same = {key for key, text in english.items() if text == other[key] and len(text) > len("Label (CSV)")}
    assert not same


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_text_is_empty(language):
    assert all(text.strip() for text in strings_in(language).texts.values())


def test_templates_and_code_use_keys_that_exist():
    known = strings_in("en").texts
    files = [*HERE.glob("*.py"), *(HERE / "templates").iterdir()]
    used = {key for path in files for key in re.findall(r"""\bt\(["']([a-z_]+\.[a-z_]+)["'][,)]""", path.read_text())}
    assert len(used) > 100
    assert not used - known.keys()


@pytest.mark.parametrize(
    ("chosen", "accepted", "offered", "wanted"),
    [
        (None, "", ["de", "en"], "de"),  # the campaign's first
        (None, "es-MX,es;q=0.9,en;q=0.8", ["en", "es"], "es"),
        (None, "fr", ["zh", "en"], "zh"),
        ("de", "es", ["en", "de", "es"], "de"),  # a click counts most
        ("fr", "es", ["en", "es"], "es"),  # a language that nobody offers
        (None, "en;q=0, de", ["en", "de"], "de"),
        (None, "\x00;;q=,,=", ["en"], "en"),
        (None, "de", ["xx"], "en"),  # settings may name languages that we do not have
    ],
)
def test_wanted_language(chosen, accepted, offered, wanted):
    assert wanted_language(chosen, accepted, offered) == wanted


def test_the_best_language_first():
    assert preferred("de;q=0.7,en,zh-Hans-CN;q=0.9") == ["en", "zh", "de"]


def test_money_as_people_write_it():
    assert strings_in("en").money(5, 2, "EUR") == "0.05\u00a0EUR"
    assert strings_in("es").money(1205, 2, "EUR") == "12,05\u00a0EUR"
    assert strings_in("zh").money(7, 0, "JPY") == "7\u00a0JPY"
    assert Strings("en", {}).money(7, 0, "") == "7"


def test_shares():
    assert strings_in("de").share(0.5) == "50,0\u00a0%"


def test_chinese_has_its_own_punctuation():
    """Commas and colons of half a width beside Chinese letters are a mistake that every reader sees."""
    wrong = re.compile(r"[\u3400-\u9fff][,:;?!()]|[,:;?!()][\u3400-\u9fff]")
    assert [text for text in strings_in("zh").texts.values() if wrong.search(text)] == []
