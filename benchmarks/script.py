"""What the scripts of this folder share: how they read options and take time."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any


def parser_of(doc: str | None) -> argparse.ArgumentParser:
    """A parser with the docstring of the script as its help, lines as they are: examples and lists stay readable."""
    return argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)


def whole_number(text: str) -> int:
    """A number of votes as people type it.

    >>> whole_number("1e6"), whole_number("300000")
    (1000000, 300000)
    """
    return int(float(text))


def seconds_of(task: Callable[[], Any]) -> float:
    """How long a task takes, once."""
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


def write_between(page: Path, mark: str, lines: Sequence[str]) -> None:
    """Put lines where a page has its place for them: between <!-- mark --> and <!-- /mark -->."""
    begin, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
    before, _, rest = page.read_text().partition(begin)
    page.write_text(f"{before}{begin}\n" + "\n".join(lines) + f"\n{end}" + rest.partition(end)[2])


def hush() -> None:
    """Say nothing of fits that stopped early: thousands of them are compared, whether or not they have settled."""
    # Here, for settings.py changes modules of amcc before the first of them is imported.
    from amcc.errors import ConvergenceWarning

    warnings.simplefilter("ignore", ConvergenceWarning)
