"""The page about a fitted model: what was found, how sure it is, and whom to trust.

| file | panels |
|---|---|
| `overview.py` | the head: numbers, and what to look at first |
| `labels.py` | label frequencies; labels that occur together |
| `confidence.py` | how sure the model is; convergence of the fit |
| `workers.py` | worker map; tables of workers |
| `groups.py` | families of workers; groups; individuality |
| `correlation.py` | label correlation; its strongest links |
| `disagreement.py` | most disputed items; kinds of disagreement |
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from amcc.consensus.base import ConsensusModel
from amcc.errors import ParameterError
from amcc.report import confidence, correlation, disagreement, groups, labels, workers
from amcc.report.findings import Findings
from amcc.report.overview import overview
from amcc.report.page import Panel, make_page
from amcc.votes import Votes

# In the order of the page: labels, workers, how both hang together, single items, and long tables last. A panel with
# nothing to show is None and is left out.
PANELS: tuple[Callable[[Findings], Panel | None], ...] = (
    labels.frequency_panel,
    confidence.confidence_panel,
    workers.worker_map_panel,
    groups.families_panel,
    groups.groups_panel,
    groups.individuality_panel,
    labels.cooccurrence_panel,
    correlation.correlation_panel,
    correlation.links_panel,
    disagreement.disputed_panel,
    disagreement.disagreement_panel,
    workers.workers_panel,
    confidence.convergence_panel,
)


def consensus_page(model: ConsensusModel, votes: Votes, title: str) -> str:
    """The page as text. Raises a `ParameterError` if the model was fitted to other votes."""
    _check_fitted_to(model, votes)
    findings = Findings(model, votes, votes.describe())
    panels = [panel for make in PANELS if (panel := make(findings)) is not None]
    return make_page(title, overview(findings), panels)


def _check_fitted_to(model: ConsensusModel, votes: Votes) -> None:
    """Refuse votes that the model was not fitted to: the page would mix the numbers of two crowds.

    Models do not keep votes, so what they do keep is compared: the pairs, and how many answers each worker gave.
    """
    same = (
        np.array_equal(model.pair_item_, votes.pairs.item)
        and np.array_equal(model.pair_label_, votes.pairs.label)
        and np.array_equal(model.worker_rates_.answers, votes.answers_per_worker)
        and len(model.item_names_) == votes.n_items
    )
    if not same:
        raise ParameterError(
            f"votes must be those that the model was fitted to; it knows {len(model.pair_item_)} (item, label) pairs "
            f"of {len(model.worker_names_)} workers, and {votes!r} are others. Call fit(votes) first."
        )
