"""Docstrings as Markdown, for the pages of the API: an extension of griffe, which reads the sources for mkdocstrings.

Docstrings here are sentences, with lines `name : what it is` for parameters and fields, in sections of numpydoc or
without. Numpydoc's own reader takes what follows the colon for a type, so the lines become a list before it sees them.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

NAMES = r"\*{0,2}\w+(?:, \*{0,2}\w+)*"
"""Names before a colon, or alone in the line above their description."""


class Markdown(griffe.Extension):
    """Rewrites every docstring when it is read."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """See griffe."""
        if obj.docstring:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    """The same docstring with sections in bold, definitions as lists, examples as code, and pages as links."""
    text = re.sub(r"^(\w[\w ]*)\n-{3,}$", r"\n**\1**\n", text, flags=re.MULTILINE)
    text = re.sub(r"^>>> .*(?:\n(?!\s*$).*)*", r"```pycon\n\g<0>\n```", text, flags=re.MULTILINE)
    text = re.sub(rf"^({NAMES}) : (.*(?:\n    .*)*)", _definition, text, flags=re.MULTILINE)
    text = re.sub(rf"^({NAMES})((?:\n    .*)+)", _definition, text, flags=re.MULTILINE)
    text = re.sub(r"(?<=\n)(?<!\n\n)(?<!\n- )(?=- `)", "\n", text)  # a list begins after an empty line
    return re.sub(r"docs/([\w-]+)\.md", r"[\1](../\1.md)", text)


def _definition(found: re.Match[str]) -> str:
    """An item of a list; a type, which has a line of its own above a sentence, in italics."""
    names = ", ".join(f"`{name}`" for name in found[1].split(", "))
    first, *rest = (line.strip() for line in found[2].split("\n"))
    is_type = bool(first and rest) and rest[0][:1].isupper() and not first.endswith((".", ","))
    return f"- {names}: " + " ".join([f"*{first}*." if is_type else first, *rest]).strip()
