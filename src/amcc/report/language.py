"""What the page says, in each language: one file per language in `strings/`, all with the same keys and {places}.

A sentence stands there whole: nobody can translate a half. Numbers are written as readers of the language write them.
Where words depend on a number, a text has two forms, `one` and `many`.

    say = language("de")
    say("items.title"), say.number(1234), say.percent(0.5)
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from string import Formatter
from typing import Any

from amcc.errors import ParameterError
from amcc.report.html import DASH, Html

# As speakers call it.
LANGUAGES = {"en": "English", "de": "Deutsch"}

FOLDER = Path(__file__).parent / "strings"


@dataclass(frozen=True)
class Language:
    """The texts of one language, and how numbers are written in it; `say("items.title")` is one of the texts."""

    code: str
    texts: Mapping[str, str]

    def __call__(self, key: str, **values: Any) -> str:
        """The text with this key, its places filled in."""
        return self.texts[key].format(**values) if values else self.texts[key]

    def html(self, key: str, **values: Any) -> Html:
        """The same as HTML: text and values are escaped, unless a value is Html itself, as a link is.

        >>> language("en").html("table.of", n="<1>", n_all=Html("<b>2</b>"))
        '&lt;1&gt; of <b>2</b>'
        """
        parts = []
        for literal, place, _, _ in Formatter().parse(self.texts[key]):
            value = values[place] if place else ""
            parts += [escape(literal), value if isinstance(value, Html) else escape(str(value))]
        return Html("".join(parts))

    def plural(self, n: int, key: str) -> str:
        """The key of the form that goes with a number."""
        return f"{key}.{'one' if n == 1 else 'many'}"

    # -- numbers -----------------------------------------------------------------------------------------------------

    def local(self, text: str) -> str:
        """A number that was written as in English.

        >>> language("de").local("1,234.5")
        '1.234,5'
        """
        return text.translate(str.maketrans(",.", self.texts["number.thousands"] + self.texts["number.decimal"]))

    def number(self, n: float, digits: int = 0) -> str:
        """A number with so many digits after the point; what rounds to zero has no sign, as -0.00 looks wrong.

        >>> language("en").number(1234), language("de").number(-0.001, 2)
        ('1,234', '0,00')
        """
        return self.local(f"{n:z,.{digits}f}")

    def percent(self, share: float | None, digits: int = 1) -> str:
        """A share in percent, or a dash.

        >>> language("en").percent(0.1234), language("en").percent(None)
        ('12.3\\xa0%', '–')
        """
        return DASH if share is None else f"{self.number(100 * share, digits)}\u00a0%"

    def interval(self, estimate: float | None, low: float | None, high: float | None) -> str:
        """A number with two digits and its interval, as far as they are known.

        >>> language("en").interval(0.5, 0.401, 0.6), language("en").interval(None, None, None)
        ('0.50 (0.40 to 0.60)', '–')
        """
        if estimate is None:
            return DASH
        shown = self.number(estimate, 2)
        if low is None or high is None:
            return shown
        return self("number.interval", estimate=shown, low=self.number(low, 2), high=self.number(high, 2))

    def counted(self, n: int, noun: str) -> str:
        """A number with its noun.

        >>> language("en").counted(1, "family"), language("de").counted(2000, "item")
        ('1 family', '2.000 Objekte')
        """
        return f"{self.number(n)} {self.texts[self.plural(n, f'noun.{noun}')]}"

    # -- lists -------------------------------------------------------------------------------------------------------

    def and_more(self, shown: Sequence[str], n_all: int) -> Html:
        """The names that are shown, escaped unless they are Html, and how many there are beside them.

        >>> language("en").and_more(["ann", "bob"], 2), language("en").and_more(["ann", "<bob>"], 2002)
        ('ann, bob', 'ann, &lt;bob&gt; and 2,000 more')
        """
        names = Html(", ".join(name if isinstance(name, Html) else escape(name) for name in shown))
        more = n_all - len(shown)
        return self.html("table.and_more", names=names, n=self.number(more)) if more > 0 else names

    def left_out(self, n_all: int, n_shown: int, noun: str, which: str) -> list[str]:
        """The note below a panel that shows only some; no note where it shows all.

        >>> language("en").left_out(50, 40, "label", "the most frequent")
        ['Shown are 40 of 50 labels: the most frequent.']
        """
        if n_shown >= n_all:
            return []
        return [self("table.left_out", n=self.number(n_shown), all=self.counted(n_all, noun), which=which)]


@cache
def language(code: str) -> Language:
    """All texts of a language."""
    if code not in LANGUAGES:
        raise ParameterError(f"language must be one of {', '.join(LANGUAGES)}; got {code!r}.")
    return Language(code, flat(tomllib.loads((FOLDER / f"{code}.toml").read_text(encoding="utf-8"))))


def flat(tree: Mapping[str, Any], before: str = "") -> dict[str, str]:
    """Texts by their whole key.

    >>> flat({"items": {"title": "Items"}})
    {'items.title': 'Items'}
    """
    found: dict[str, str] = {}
    for name, branch in tree.items():
        found |= flat(branch, f"{before}{name}.") if isinstance(branch, Mapping) else {f"{before}{name}": branch}
    return found
