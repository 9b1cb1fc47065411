"""What stands in a page: forms and their fields, as a browser without scripts sees them."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any


@dataclass
class Form:
    """A form: where it goes, its hidden fields, and what can be chosen."""

    action: str
    hidden: dict[str, str] = field(default_factory=dict)
    choices: dict[str, list[str]] = field(default_factory=dict)

    def filled(self, value: str = "yes") -> dict[str, str]:
        """As somebody sends it who answers everything alike."""
        return self.hidden | dict.fromkeys(self.choices, value)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self.tags: list[tuple[str, dict[str, Any]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append((tag, given))
        if tag == "form":
            self.forms.append(Form(str(given.get("action"))))
        elif tag == "input" and self.forms:
            name, value = str(given.get("name")), str(given.get("value"))
            if given.get("type") == "hidden":
                self.forms[-1].hidden[name] = value
            elif given.get("type") == "radio":
                self.forms[-1].choices.setdefault(name, []).append(value)


def forms(text: str) -> list[Form]:
    """All forms of a page."""
    reader = _Reader()
    reader.feed(text)
    return reader.forms


def work_form(text: str) -> Form:
    """The form with the questions."""
    (found,) = (form for form in forms(text) if form.action == "/work")
    return found


def tags(text: str, name: str) -> list[dict[str, Any]]:
    """Attributes of all tags of a name."""
    reader = _Reader()
    reader.feed(text)
    return [given for tag, given in reader.tags if tag == name]
