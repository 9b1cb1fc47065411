"""Fit a model for a command, and tell people what they should know about the fit.

A fit can be fine and still mislead: known truth that belongs to other votes, features that say nothing, items that
nobody answered, workers who share errors. `fit` notes each of them on standard error, in the same words for every
command.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
import typer

from amcc.cli.console import busy, notes, say
from amcc.cli.options.exclusive import Exclusive, exclusive_groups
from amcc.cli.options.groups import OptionGroup
from amcc.cli.options.parameters import set_parameters
from amcc.cli.options.roster import ReferenceOption, reference_of
from amcc.consensus import METHODS, ConsensusModel, load_model, make_model
from amcc.engine.base import Block, Engine, as_engine
from amcc.errors import InputError, ParameterError
from amcc.roster import Roster
from amcc.truth import Truth
from amcc.votes import Votes
from amcc.watching import watched_by

if TYPE_CHECKING:
    from amcc.consensus.truth_effect import TruthEffect

PARAM_HELP = (
    "Change a parameter of the method, like n_groups=3. May be repeated for others; a wrong name lists those that "
    "there are."
)

# The idea of the paper as a probability model; docs/results.md compares it, also with the paper's own objective.
DEFAULT_METHOD = "amcc"


@dataclass(frozen=True)
class ModelChoice(OptionGroup):
    """Which model is fitted: a method, and those of its parameters that are to differ (`options.parameters`)."""

    method: Annotated[str, typer.Option("--method", "-m", help=f"One of: {', '.join(METHODS)}.")] = DEFAULT_METHOD
    param: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help=PARAM_HELP)] = None
    exclusive: Exclusive = None
    reference: ReferenceOption = None

    def make(self) -> ConsensusModel:
        """The model, not fitted yet."""
        model = make_model(self.method)
        set_parameters(model, self.param or [], self.method)
        more = {"exclusive": exclusive_groups(self.exclusive), "reference": reference_of(self.reference)}
        for name, value in more.items():
            if value is None:
                continue
            if name not in model.get_params():
                raise ParameterError(
                    f"--{name} is for -m {DEFAULT_METHOD}; got -m {self.method}. Leave one of the two out."
                )
            model.set_params(**{name: value})
        return model

    def check_used(self, *, features: bool = False, of_workers: bool = False, roster: Path | None = None) -> None:
        """Raise ParameterError where the model would ignore what people give it, rather than ignore it in silence.

        of_workers : features are to change what is said about workers, not only about items.
        """
        model = self.make()
        if features:
            model.check_uses_features(of_workers=of_workers)
        if roster is not None:
            model.check_uses_roster()

    def usable(self, roster: Roster | None) -> Roster | None:
        """What a file of votes says about its workers, where the model uses it; nobody gave it on purpose."""
        return roster if self.make().uses_roster else None


def fit(
    votes: Votes | Engine,
    choice: ModelChoice,
    start: Path | None = None,
    features: Any = None,
    truth: Truth | None = None,
    roster: Roster | None = None,
) -> ConsensusModel:
    """Fit the chosen model, or go on from the one saved in `start`; notes say what the rest was worth.

    features : one row per item, from `ItemFeatures.read`. truth : what is already known. roster : who the workers are.
    """
    model = choice.make() if start is None else _to_go_on_from(start, choice)
    # Engines have no length: they hold no votes, only a way to them.
    n_votes = len(votes) if isinstance(votes, Votes) else votes.n_votes
    with busy(f"Fitting {choice.method} to {n_votes:,} votes") as show, watched_by(lambda share, note: show(note)):
        model.fit(votes, features, truth, roster)
    if model.has_roster:
        say(*model.families_.sentences())
    tell_reference(model)
    tell_exclusive(model)
    # Engines know no truth: with it, packed votes are read into memory (see `EngineOptions.running`).
    if truth is not None and isinstance(votes, Votes):
        from amcc.consensus.truth_effect import truth_effect

        tell_effect(truth_effect(model, votes))
    described = model.item_prior_
    if described is not None:
        say(described.sentence())
    # Their rows look like all others, and rest on nothing but what is usual.
    unanswered = as_engine(votes).total(items_without_answer).items
    if unanswered:
        known = "their features" if described is not None and described.weight else "the label frequencies"
        items = "1 item has" if unanswered == 1 else f"{unanswered} items have"
        notes.print(f"{items} no answer: all that is known there are {known}")
    return model


def _to_go_on_from(path: Path, choice: ModelChoice) -> ConsensusModel:
    """The saved model, ready for a fit that starts from it; only the default method can do that."""
    from amcc.consensus import AMCC

    model = load_model(path)
    if choice.method != DEFAULT_METHOD or not isinstance(model, AMCC):
        raise InputError(
            f"--from goes on with -m {DEFAULT_METHOD}, from a model that it saved; {path} holds {model!r}, and the "
            f"method is {choice.method}. Leave --from out to fit again."
        )
    options = {"--param": choice.param, "--exclusive": choice.exclusive}
    options["--reference"] = None if choice.reference is None else [choice.reference]
    for option, given in options.items():
        if given:
            raise InputError(
                f"--from goes on with the parameters of the saved model, {model!r}; got {option} {' '.join(given)}. "
                f"Leave {option} out, or --from to fit again."
            )
    return model.set_params(warm_start=True)


def tell_reference(model: ConsensusModel) -> None:
    """Say who the reference is, and how much they had to say."""
    if model.reference_sentence_:
        say(model.reference_sentence_)


def tell_exclusive(model: ConsensusModel) -> None:
    """Say which labels exclude each other, or that it looks as if they did."""
    if model.exclusive_ is not None:
        say(*model.exclusive_.sentences(model.label_names_))


def exclusive_as_json(model: ConsensusModel) -> dict[str, Any] | None:
    """The same, as part of a JSON object; None of models that know no such labels."""
    return None if model.exclusive_ is None else model.exclusive_.as_json(model.label_names_)


def tell_effect(effect: TruthEffect | None) -> None:
    """Note what known truth changed, and warn where it does not look like the truth of these votes."""
    if effect is None:
        return
    say(*effect.sentences())
    if effect.suspicion:
        say(f"WARNING: {effect.suspicion}", style="bold yellow")


def effect_as_json(effect: TruthEffect | None) -> dict[str, Any]:
    """What known truth changed, as part of a JSON object; nothing where none was given."""
    return {} if effect is None else {"truth": effect.as_json()}


class Unanswered(NamedTuple):
    """How many items nobody answered; a tuple, since engines add those of all blocks up."""

    items: int


def items_without_answer(block: Block) -> Unanswered:
    """How many items of the block nobody answered; at the top of a module, as other processes must find it."""
    return Unanswered(block.n_items - len(np.unique(block.pairs.item)))
