"""amcc next --for-expert: what the requester should answer themselves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from amcc.active.expert import questions_for_expert
from amcc.cli.common import DEFAULT_METHOD, busy, effect_as_json, fit, notes, print_json, write_rows
from amcc.consensus.truth_effect import truth_effect
from amcc.errors import EmptyInputError, ParameterError
from amcc.roster import Roster
from amcc.truth import Truth
from amcc.votes import Votes

EXPERT_BATCH = 10
"""Questions to the requester: as many as people answer at once, and enough to show (docs/active.md)."""


def check_free(given: Sequence[str]) -> None:
    """Raise ParameterError for options that make no sense where nobody is paid."""
    if given:
        raise ParameterError(
            f"with --for-expert you are asked yourself: {', '.join(given)} would change nothing. Leave it out, or ask "
            "the crowd, without --for-expert."
        )


def ask_expert(
    votes: Votes,
    known: Truth | None,
    roster: Roster | None,
    n: int,
    whole_items: bool,
    drawn: float,
    seed: int,
    output: Path | None,
    safe_csv: bool,
    as_json: bool,
) -> None:
    """Write what the requester should answer first."""
    if not len(votes):
        raise EmptyInputError("--for-expert needs votes: what you are asked depends on what the crowd says.")
    model = fit(votes, DEFAULT_METHOD, truth=known, roster=roster)
    with busy(f"Choosing after {len(votes):,} votes"):
        chosen = questions_for_expert(model, votes, n, whole_items=whole_items, drawn=drawn, seed=seed)
    rows = chosen.table(votes)
    if as_json:
        questions = [{**row, "gain": gain} for row, gain in zip(rows.to_pylist(), chosen.gain.tolist(), strict=True)]
        print_json({"for_expert": True, "whole_items": whole_items, "questions": questions,
                    **effect_as_json(truth_effect(model, votes))})  # fmt: skip
    if not as_json or output is not None:
        write_rows(rows, output, safe_csv=safe_csv)
    n_items = len(np.unique(chosen.item))
    notes.print(expert_summary(len(chosen), n_items, told=known is not None), soft_wrap=True)


def expert_summary(n_questions: int, n_items: int, *, told: bool) -> str:
    """What was chosen, and how to hand the answers back.

    >>> expert_summary(10, 9, told=False).split(": ")[0]
    '10 questions to you, about 9 items'
    """
    asked = f"{n_questions} question{'s' * (n_questions > 1)} to you, about {n_items} item{'s' * (n_items > 1)}"
    more = ", together with what you know already" * told
    return (
        f"{asked}: add a column truth with yes or no (blank: you do not know), and hand the table{more} back with "
        "--truth FILE"
    )
