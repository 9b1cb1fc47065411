"""Write a gallery of reports about simulated crowds: `python docs/build_gallery.py FOLDER [--pictures]`.

The folder gets one HTML file per crowd and an index. With --pictures, the pictures of docs/report.md are taken with a
real browser (apt-get install chromium).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

import amcc
from amcc.data.simulate import CrowdSpec, SimulatedWorld, simulate_crowd
from amcc.report.html import element

FIGURES = Path(__file__).with_name("figures")

# Items whose truth is given where truth is given: the error can be measured, and most of the truth stays unknown.
KNOWN_ITEMS = 60


@dataclass(frozen=True)
class Example:
    """A report of the gallery: its title, what to look at, the crowd, what else the fit is given, and the language."""

    shows: str
    about: str
    spec: CrowdSpec
    given: Callable[[SimulatedWorld], dict[str, object]] = lambda crowd: {}
    language: str = "en"


def known_truth(crowd: SimulatedWorld) -> dict[str, object]:
    """The truth of some random items."""
    chosen = np.random.default_rng(0).choice(crowd.votes.n_items, KNOWN_ITEMS, replace=False).tolist()
    names, labels = crowd.votes.item_names.to_pylist(), crowd.votes.label_names.to_pylist()
    sets = [[labels[code] for code in np.flatnonzero(crowd.truth[item])] for item in chosen]
    return {"truth": amcc.Truth.from_frames(pa.table({"item": [names[item] for item in chosen], "labels": sets}))}


EXAMPLES = {
    "usual": Example(
        "A usual crowd", "20,000 votes, one worker in five a spammer.", CrowdSpec.for_votes(20_000, seed=0)
    ),
    "truth": Example(
        "With known truth",
        f"{KNOWN_ITEMS} items are known, so that errors are measured beside those that are claimed.",
        CrowdSpec(n_items=400, n_workers=40, n_labels=6, answers_per_item=6, seed=1),
        known_truth,
    ),
    "deutsch": Example(
        "Auf Deutsch",
        "the same kind of report in German.",
        CrowdSpec(n_items=300, n_workers=30, n_labels=5, answers_per_item=6, seed=2),
        language="de",
    ),
    "many-labels": Example(
        "100 labels",
        "more labels than fit in a picture.",
        CrowdSpec(n_items=300, n_workers=40, n_labels=100, answers_per_item=4, seed=3),
    ),
}


def write_gallery(folder: Path, names: list[str] | None = None) -> None:
    """One report for each example, and an index with links to them."""
    folder.mkdir(parents=True, exist_ok=True)
    chosen = {name: EXAMPLES[name] for name in names or EXAMPLES}
    for name, example in chosen.items():
        crowd = simulate_crowd(example.spec)
        model = amcc.AMCC().fit(crowd.votes, **example.given(crowd))
        path = folder / f"report-{name}.html"
        amcc.write_report(model, crowd.votes, path, title=example.shows, language=example.language)
    links = (
        element("li", element("a", example.shows, href=f"report-{name}.html", lang=example.language))
        for name, example in chosen.items()
    )
    head = '<!DOCTYPE html>\n<html lang="en"><meta charset="utf-8"><title>Reports</title>'
    index = f"{head}{element('h1', 'Reports about simulated crowds')}{element('ul', *links)}</html>\n"
    (folder / "index.html").write_text(index, encoding="utf-8")


def take_pictures(folder: Path) -> None:
    """The top at a desk and on a phone, a worker, and the items."""
    sys.path.append(str(Path(__file__).parents[1] / "tests" / "serve"))
    from browser import browsing, visiting

    phone = {"viewport": {"width": 390, "height": 780}, "is_mobile": True}
    address = (folder / "report-usual.html").resolve().as_uri()
    shots = {
        "report-top": ("", {}),
        "report-worker": ("#worker-5", {}),
        "report-items": ("#items", {}),
        "report-phone": ("", phone),
    }
    with browsing() as browser:
        for name, (anchor, looks) in shots.items():
            with visiting(browser, **looks) as page:
                page.goto(address + anchor)
                page.locator("#items-pages button").first.wait_for()
                page.wait_for_timeout(1000)  # charts are drawn above what is shown, and move it
                if anchor:
                    page.evaluate("anchor => document.querySelector(anchor).scrollIntoView()", anchor)
                page.screenshot(path=FIGURES / f"{name}.png")


def main() -> None:
    """Write the gallery, and take pictures where they are wanted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pictures", action="store_true")
    asked = parser.parse_args()
    write_gallery(asked.folder)
    if asked.pictures:
        take_pictures(asked.folder)


if __name__ == "__main__":
    main()
