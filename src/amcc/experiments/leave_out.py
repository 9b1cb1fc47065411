"""Choosing settings honestly: by all families of sets but one, scored on the one that was left out.

A setting that is best on the sets at hand is best there partly by luck. What a choice is worth on new data is told by
choosing without a family and looking at that family alone, for each family in turn; the gain over a reference is
paired over families, which are the units of chance. Choices are made by log-loss: Jaccard does not transfer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from amcc.arrays import Floats
from amcc.errors import ParameterError
from amcc.experiments.families import MeanWithError, mean_and_error

__all__ = ["FamilyChoice", "LeftOut", "Scored", "SettingMean", "leave_one_family_out", "setting_means"]


class Scored(NamedTuple):
    """The scores of one setting on one cell; both are means over the cell's draws."""

    setting: str
    family: str
    cell: str
    log_loss: float
    jaccard: float


class SettingMean(NamedTuple):
    """Means of one setting over families, and of what it gains there over a reference: in-sample if chosen by them."""

    setting: str
    log_loss: MeanWithError
    jaccard: MeanWithError
    log_loss_gain: MeanWithError
    jaccard_gain: MeanWithError


class FamilyChoice(NamedTuple):
    """What the other families choose for one family, and what it gives there beyond the reference.

    log_loss, jaccard : on the family that was left out. log_loss_gain, jaccard_gain : minus those of the reference; a
    negative gain in log-loss is good.
    """

    family: str
    setting: str
    log_loss: float
    jaccard: float
    log_loss_gain: float
    jaccard_gain: float


@dataclass(frozen=True)
class LeftOut:
    """One choice per family, and the mean gains over the reference with their standard errors."""

    choices: Sequence[FamilyChoice]
    log_loss_gain: MeanWithError
    jaccard_gain: MeanWithError


def leave_one_family_out(scored: Iterable[Scored], reference: str) -> LeftOut:
    """For each family, the setting with the best mean log-loss over the others, and its gain over `reference`.

    Every setting must have a score on every cell; equal settings go by the order in which they come.

    >>> table = [
    ...     Scored("now", "a", "a", 0.40, 0.7), Scored("now", "b", "b", 0.30, 0.8), Scored("now", "c", "c", 0.20, 0.9),
    ...     Scored("new", "a", "a", 0.10, 0.8), Scored("new", "b", "b", 0.35, 0.7), Scored("new", "c", "c", 0.25, 0.9),
    ... ]
    >>> [choice.setting for choice in leave_one_family_out(table, "now").choices]
    ['now', 'new', 'new']
    """
    settings, families, log_loss, jaccard = _family_tables(list(scored))
    before = _place(reference, settings)
    if len(families) < 2:
        raise ParameterError(f"there must be two families or more to leave one out; got {', '.join(families)}.")
    choices = []
    for place, family in enumerate(families):
        # The family itself has no say in what is chosen for it.
        others = np.arange(len(families)) != place
        chosen = int(log_loss[:, others].mean(axis=1).argmin())
        now, then = (np.array([log_loss[row, place], jaccard[row, place]]) for row in (chosen, before))
        choices.append(FamilyChoice(family, settings[chosen], *now.tolist(), *(now - then).tolist()))
    # (2, n_families): each family is one draw of what a choice gains on data that had no say in it.
    gains = np.array([(choice.log_loss_gain, choice.jaccard_gain) for choice in choices]).T
    return LeftOut(choices, *map(mean_and_error, gains))


def setting_means(scored: Iterable[Scored], reference: str) -> list[SettingMean]:
    """Means of each setting over families and its gains over `reference`, paired over families.

    Whoever takes the best of these has chosen in-sample: see `leave_one_family_out` for what the choice is worth.
    """
    settings, _, log_loss, jaccard = _family_tables(list(scored))
    before = _place(reference, settings)
    parts = zip(log_loss, jaccard, log_loss - log_loss[before], jaccard - jaccard[before], strict=True)
    return [SettingMean(setting, *map(mean_and_error, of)) for setting, of in zip(settings, parts, strict=True)]


def _place(reference: str, settings: Sequence[str]) -> int:
    """Where the reference stands among the settings."""
    if reference not in settings:
        raise ParameterError(f"the reference must be one of the settings {', '.join(settings)}; got {reference!r}.")
    return settings.index(reference)


def _family_tables(scored: Sequence[Scored]) -> tuple[list[str], list[str], Floats, Floats]:
    """Settings, families, and (n_settings, n_families) the mean log-loss and Jaccard over the cells of each family."""
    settings = list(dict.fromkeys(row.setting for row in scored))
    cells = list(dict.fromkeys((row.family, row.cell) for row in scored))
    table = np.full((2, len(settings), len(cells)), np.nan)
    for row in scored:
        table[:, settings.index(row.setting), cells.index((row.family, row.cell))] = row.log_loss, row.jaccard
    # A hole would be a mean over other cells than those of the other settings.
    missing = np.argwhere(np.isnan(table[0]))
    if missing.size:
        setting, cell = settings[missing[0][0]], cells[missing[0][1]][1]
        raise ParameterError(f"every setting must have a score on every cell; {setting!r} has none on {cell!r}.")
    families = list(dict.fromkeys(family for family, _ in cells))
    # (n_families, n_cells) weights that make means over the cells of a family of sums over all cells.
    member = np.array([[family == one for family, _ in cells] for one in families], dtype=np.float64)
    log_loss, jaccard = table @ (member / member.sum(axis=1, keepdims=True)).T if scored else table
    return settings, families, log_loss, jaccard
