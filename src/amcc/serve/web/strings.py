"""What the pages say, in each language: one file per language in `strings/`, all with the same keys.

A text has a key like "work.send", and places like {amount} that are filled in. No text depends on a plural: numbers
stand after a colon ("Pages: 1"), which is right in every language.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from amcc.active.prices import major_units
from amcc.serve.settings import LANGUAGES

# Where there is no other wish.
DEFAULT = "en"

# Languages that write 0,05 where English writes 0.05.
WITH_COMMA = ("de", "es")

FOLDER = Path(__file__).parent / "strings"


@dataclass(frozen=True)
class Strings:
    """The texts of one language; `strings("work.send")` is one of them."""

    language: str
    texts: Mapping[str, str]

    def __call__(self, key: str, **values: Any) -> str:
        """The text with this key, filled in."""
        return self.texts[key].format(**values) if values else self.texts[key]

    def money(self, units: int, decimals: int, currency: str) -> str:
        """An amount as people write it here.

        >>> strings_in("de").money(1205, 2, "EUR")
        '12,05\\xa0EUR'
        """
        return f"{self.number(major_units(units, decimals))}\u00a0{currency}".strip()

    def number(self, text: str) -> str:
        """A number that was written with a point."""
        return text.replace(".", ",") if self.language in WITH_COMMA else text

    def share(self, value: float, digits: int = 1) -> str:
        """A share in per cent; what is there is never called nothing.

        >>> strings_in("en").share(0.1234), strings_in("de").share(0.0004), strings_in("en").share(0.0)
        ('12.3\\xa0%', '<\\xa00,1\\xa0%', '0.0\\xa0%')
        """
        least = 10.0**-digits
        less, shown = ("<\u00a0", least) if 0 < 100 * value < least / 2 else ("", 100 * value)
        return f"{less}{self.number(f'{shown:.{digits}f}')}\u00a0%"


@cache
def strings_in(language: str) -> Strings:
    """All texts of a language."""
    return Strings(language, flat(tomllib.loads((FOLDER / f"{language}.toml").read_text(encoding="utf-8"))))


def flat(tree: Mapping[str, Any], before: str = "") -> dict[str, str]:
    """Texts by their whole key.

    >>> flat({"work": {"send": "Send"}})
    {'work.send': 'Send'}
    """
    found: dict[str, str] = {}
    for name, branch in tree.items():
        found |= flat(branch, f"{before}{name}.") if isinstance(branch, Mapping) else {f"{before}{name}": branch}
    return found


def wanted_language(chosen: str | None, accepted: str, offered: Sequence[str]) -> str:
    """The language of a page: what the visitor chose, else what the browser prefers, else the campaign's first.

    chosen : what the visitor clicked, if anything.
    accepted : the header Accept-Language.
    offered : languages of the campaign.

    >>> wanted_language(None, "fr;q=0.9, de-AT;q=0.8, en;q=0.5", ["en", "de"])
    'de'
    """
    known = [each for each in offered if each in LANGUAGES] or [DEFAULT]
    if chosen in known:
        return str(chosen)
    for language in preferred(accepted):
        if language in known:
            return language
    return known[0]


def preferred(accepted: str) -> list[str]:
    """Languages of a header Accept-Language, the best first, without their regions.

    >>> preferred("en;q=0.5, zh-CN, junk;q=x")
    ['zh', 'en']
    """
    ranked: list[tuple[float, str]] = []
    for part in accepted.split(","):
        name, _, quality = part.strip().partition(";q=")
        try:
            ranked.append((float(quality or 1), name.strip().lower().partition("-")[0]))
        except ValueError:
            continue
    return [name for quality, name in sorted(ranked, key=lambda each: -each[0]) if quality > 0]
