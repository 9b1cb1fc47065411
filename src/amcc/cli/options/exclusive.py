"""Labels that exclude each other, as people type them: `--exclusive all`, `none`, or `factual,mixed,opinion`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from amcc.errors import ParameterError

EXCLUSIVE_HELP = (
    "Labels of which exactly one is true: all, none, or a group like factual,mixed,opinion; may be repeated for other "
    "groups. Unless it is given, all labels exclude each other where at least 300 answers about several labels have "
    "exactly one each."
)

Exclusive = Annotated[list[str] | None, typer.Option("--exclusive", metavar="LABELS", help=EXCLUSIVE_HELP)]


def exclusive_groups(said: list[str] | None) -> Any:
    """What was typed, as the parameter `exclusive` of the default method.

    >>> exclusive_groups(None), exclusive_groups(["all"]), exclusive_groups(["none"]), exclusive_groups(["a,b", "c, d"])
    (None, True, False, [['a', 'b'], ['c', 'd']])
    """
    if not said:
        return None
    words = {"all": True, "none": False}
    if len(said) == 1 and said[0].strip().lower() in words:
        return words[said[0].strip().lower()]
    groups = [[label.strip() for label in group.split(",")] for group in said]
    for text, labels in zip(said, groups, strict=True):
        if len(labels) < 2 or not all(labels):
            raise ParameterError(
                f"--exclusive must be all, none, or labels with commas between them, two or more of each group; got "
                f"{text!r}{' beside others' * (len(said) > 1 and text.strip().lower() in words)}. Names that have "
                "commas themselves can be given in Python: AMCC(exclusive=…)."
            )
    return groups
