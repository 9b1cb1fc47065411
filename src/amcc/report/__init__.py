"""HTML pages that people read: one about a fitted model, one about an audit.

Each page is a single file. It holds its own scripts and data, so it opens anywhere and fetches nothing.

    findings → panels → chapters → page

`findings.py` computes what several panels need. A *panel* is a titled part of the page with a chart, tables or both;
there is one file per topic, and `consensus.py` and `audit.py` say which panels make a page, in which order. `html.py`
(text and tables), `charts.py` (pieces of charts), `language.py` (texts and numbers in each language), `stored.py` (data
inside of the page) and `page.py` (panels become a page) serve both pages.

**A new panel** is a function from `Findings` to a `Panel`, or to None where it has nothing to show, a line in a chapter
of `consensus.py`, and its texts in each file of `strings/`. **A new language** is a file there, and a line in
`language.py`.

The two functions here can be imported without the packages of `pip install 'amcc[report]'`. The modules with charts
cannot: they are imported when a report is written, after `check_extra` has said what is missing.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from amcc.report.page import check_extra, write_page

if TYPE_CHECKING:
    from amcc.audit import Audit
    from amcc.consensus.base import ConsensusModel
    from amcc.votes import Votes

__all__ = ["write_audit_report", "write_report"]


def write_report(
    model: ConsensusModel,
    votes: Votes,
    path: str | Path,
    *,
    title: str | None = None,
    language: str = "en",
    source: str = "votes.csv",
) -> None:
    """Write one self-contained HTML page about `model`, which was fitted to `votes`.

    Parameters
    ----------
    model : fitted model
        It must have been fitted to these votes, in memory; others are refused.
    votes : Votes
        Needed beside the model, as a model does not keep who said what.
    path : str or Path
        The file appears complete or not at all; an older one is replaced.
    title : str, optional
        Of the page; "Crowd consensus" in its language, unless it is given.
    language : "en" or "de"
        Of the page: its words, and how numbers are written.
    source : str
        The file of the votes, as it stands in the commands that the page says to type.
    """
    check_extra()
    from amcc.report.consensus import consensus_page

    write_page(path, consensus_page(model, votes, title, language, source))


def write_audit_report(audit: Audit, path: str | Path, *, title: str = "Audit of a crowd consensus") -> None:
    """Write one self-contained HTML page about an audit, the result of `amcc.audit.audit`.

    The file appears complete or not at all; an older one is replaced.
    """
    check_extra()
    from amcc.report.audit import audit_page

    write_page(path, audit_page(audit, title))
