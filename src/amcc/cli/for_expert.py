"""amcc next --for-expert: what the requester should answer themselves.

Nobody is paid, so there is no budget and there are no prices; what is asked is chosen by `amcc.active.expert`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import typer

from amcc.active.buying import check_batch
from amcc.active.expert import DRAWN, questions_for_expert
from amcc.cli.console import busy
from amcc.cli.fitting import ModelChoice, effect_as_json, fit
from amcc.cli.options.groups import OptionGroup
from amcc.consensus.truth_effect import truth_effect
from amcc.errors import EmptyInputError, ParameterError
from amcc.roster import Roster
from amcc.truth import Truth
from amcc.votes import Votes

# Questions to the requester: as many as people answer at once, and enough to show (docs/active.md).
EXPERT_BATCH = 10


@dataclass(frozen=True)
class ExpertOptions(OptionGroup):
    """Whether the requester is asked, and what."""

    for_expert: Annotated[
        bool,
        typer.Option(
            "--for-expert", help="Choose what you should answer yourself, to say how the crowd is to be read."
        ),
    ] = False
    whole_items: Annotated[
        bool, typer.Option("--whole-items", help="With --for-expert: so many items, with all their labels.")
    ] = False
    drawn: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="With --for-expert: share of the questions drawn at random; the others are those "
            "that a model of what may be wrong finds most telling. On real sets chance did better.",
        ),
    ] = DRAWN


def check_free(options: Mapping[str, Any]) -> None:
    """Raise ParameterError for options that make no sense where nobody is paid; those that are true were given."""
    if given := [name for name, value in options.items() if value]:
        raise ParameterError(
            f"with --for-expert you are asked yourself: {', '.join(given)} would change nothing. Leave it out, or ask "
            "the crowd, without --for-expert."
        )


def check_expert_only(expert: ExpertOptions) -> None:
    """Raise ParameterError for options that make no sense where the crowd is asked."""
    for name, given in (("--whole-items", expert.whole_items), ("--drawn", expert.drawn != DRAWN)):
        if given:
            raise ParameterError(f"{name} says what to ask you; give it with --for-expert.")


def ask_expert(
    votes: Votes,
    known: Truth | None,
    roster: Roster | None,
    n: int,
    expert: ExpertOptions,
    choice: ModelChoice,
    seed: int,
) -> tuple[pa.Table, dict[str, Any], list[str]]:
    """Rows, JSON and a sentence about what the requester should answer first."""
    check_batch(n)  # before a fit, which takes a while
    if not len(votes):
        raise EmptyInputError("--for-expert needs votes: what you are asked depends on what the crowd says.")
    model = fit(votes, choice, truth=known, roster=roster)
    with busy(f"Choosing after {len(votes):,} votes"):
        chosen = questions_for_expert(model, votes, n, whole_items=expert.whole_items, drawn=expert.drawn, seed=seed)
    rows = chosen.table(votes)
    # The gain is for scripts: to people, the words of `why` say more than a share of an uncertainty.
    questions = [{**row, "gain": gain} for row, gain in zip(rows.to_pylist(), chosen.gain.tolist(), strict=True)]
    effect = effect_as_json(truth_effect(model, votes))
    as_json = {"for_expert": True, "whole_items": expert.whole_items, "questions": questions, **effect}
    n_items = len(np.unique(chosen.item))
    return rows, as_json, [expert_summary(len(chosen), n_items, told=known is not None)]


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
