"""What known truth changed, and whether it can be the truth of these votes at all.

Truth is believed against any number of votes. So a wrong file does more harm than a bad worker: answers of other items,
a column that says the opposite, labels that were exchanged. None of this can be refused, because a crowd can be
wrong, but it can be seen: the truth then contradicts pairs on which the votes by themselves are clear, far more often
than crowds are wrong.

A pair is *clear* where its votes alone would stand behind a decision (`stands_behind`). The model is not
asked, since it has been told the truth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from amcc.arrays import AnyInts, Ints, Mask
from amcc.consensus.calibration import Calibration
from amcc.inference import kappa
from amcc.special import betainc
from amcc.votes import Votes

if TYPE_CHECKING:
    from amcc.consensus.base import ConsensusModel

# From this share of contradicted clear majorities on, truth is suspected. On real crowds it is mostly below 0.1.
SUSPICIOUS_SHARE = 0.2

# Below this agreement beyond chance (Cohen's kappa), truth and clear majorities seem to be about different things.
# Where most labels are rare, both say no nearly everywhere, and few pairs are contradicted whatever the truth says.
SUSPICIOUS_AGREEMENT = 0.2

# Chance that most of all who could be asked would decide otherwise, up to which votes are clear.
UNCLEAR = 0.05

# Fewer clear pairs, or contradicted ones, raise no suspicion: a crowd may be wrong about one item.
ENOUGH_CLEAR, ENOUGH_CONTRADICTED = 10, 3

# Clear pairs of a label from which on it is said that the label itself looks inverted: with four, three contradict it.
ENOUGH_OF_LABEL = 4

# Pairs that a warning names, and labels that are told as corrected most: a sentence holds no more.
EXAMPLES, LABELS_TOLD = 3, 3

# A label counts as corrected from this change of its log-odds on: 50 % becomes 52.5 %.
NOTABLE_OFFSET = 0.1


@dataclass(frozen=True)
class Contradiction:
    """A known pair on which the votes clearly say the opposite."""

    item: str
    label: str
    present: bool
    n_yes: int
    n_no: int

    def sentence(self) -> str:
        """It in words.

        >>> Contradiction("i1", "cat", True, 0, 5).sentence()
        "item 'i1', label 'cat': the truth says yes, 0 of 5 votes do"
        """
        said, n_votes = ("yes", self.n_yes) if self.present else ("no", self.n_no)
        told = f"{n_votes} of {self.n_yes + self.n_no} votes do"
        return f"item {self.item!r}, label {self.label!r}: the truth says {said}, {told}"


@dataclass(frozen=True)
class LabelChange:
    """How the odds of a label were corrected, beside what holds for all labels: by this factor."""

    label: str
    odds: float


@dataclass(frozen=True)
class TruthEffect:
    """What known truth changed in a fit, and what it contradicts.

    n_known : known pairs among those that were asked. n_clear : those on which the votes by themselves are clear.
    contradicted : those of them about which the truth says the opposite, the clearest first.
    n_others, n_flipped : other pairs, and how many of them were decided otherwise than without the truth.
    labels : labels that were corrected most. calibration : what became of probabilities, in words.
    agreement : of truth and clear majorities beyond chance (Cohen's kappa); NaN where either says the same throughout.
    suspicion : why this may not be the truth of these votes; empty where it looks like it.
    """

    n_known: int
    n_clear: int
    contradicted: tuple[Contradiction, ...]
    n_others: int
    n_flipped: int
    labels: tuple[LabelChange, ...]
    calibration: str
    agreement: float
    suspicion: str

    def sentences(self) -> list[str]:
        """What changed, one thing at a time; without the suspicion."""
        told = [self.calibration] if self.calibration else []
        flipped = f"{self.n_flipped:,} of {self.n_others:,} other decisions changed"
        told.append(f"{self.n_known:,} pairs are known; {flipped}")
        if self.labels:
            changes = [f"{each.label} (odds × {each.odds:.2g})" for each in self.labels]
            told.append(f"labels corrected most, beside that: {', '.join(changes)}")
        if self.contradicted:
            n = len(self.contradicted)
            share = f"{n:,} of {self.n_clear:,} clear majorities on known pairs"
            named = "; ".join(each.sentence() for each in self.contradicted[:EXAMPLES])
            told.append(f"the truth contradicts {share}, and is believed: {named}{' …' * (n > EXAMPLES)}")
        return told

    def as_json(self) -> dict[str, Any]:
        """All of it, for scripts."""
        return {
            "known_pairs": self.n_known,
            "clear_pairs": self.n_clear,
            "contradicted": [vars(each) for each in self.contradicted],
            "other_pairs": self.n_others,
            "flipped": self.n_flipped,
            "labels": [vars(each) for each in self.labels],
            "calibration": self.calibration or None,
            "agreement": self.agreement,
            "suspicion": self.suspicion or None,
        }


def truth_effect(model: ConsensusModel, votes: Votes) -> TruthEffect | None:
    """What the known truth of a fit to these votes changed; None where `fit` was given none about asked pairs."""
    known, unseen = model.pair_known_, model.pair_unseen_
    if known is None or unseen is None or not known.any():
        return None
    place = np.flatnonzero(known)
    present, n_yes = model.pair_proba_[place] > 0.5, votes.n_yes[place].astype(np.int64)
    n_no = votes.pairs.n_votes[place] - n_yes
    # The votes by themselves, and not the model: it has been told the truth.
    clear = stands_behind(np.maximum(n_yes, n_no), np.minimum(n_yes, n_no))
    against = clear & (present != (n_yes > n_no))
    clearest_first = np.flatnonzero(against)[np.argsort(-np.abs(n_yes - n_no)[against], kind="stable")]
    found = contradictions(votes, place[clearest_first], present[clearest_first])
    names = [str(name) for name in votes.label_names.cast("string").to_pylist()]
    agreement = cohen_kappa(present[clear], (n_yes > n_no)[clear])
    flipped = ((unseen > 0.5) != (model.pair_proba_ > 0.5))[~known]
    calibration = model.calibration_
    return TruthEffect(
        n_known=len(place),
        n_clear=int(clear.sum()),
        contradicted=found,
        n_others=len(flipped),
        n_flipped=int(flipped.sum()),
        labels=labels_corrected(calibration, names),
        calibration=calibration.sentence() if calibration else "",
        agreement=agreement,
        suspicion=suspicion(votes.pairs.label[place][clear], against[clear], agreement, names, found),
    )


def stands_behind(n_agree: Ints, n_differ: Ints) -> Mask:
    """Where the votes by themselves stand behind a decision that so many agree with, and so many do not.

    If workers are equals, most of all who could be asked would side with the decision, except with a probability of
    `UNCLEAR` (Jeffreys' prior). At 5 % it takes 3 votes that agree, 5 against 1, 7 against 2.

    >>> stands_behind(np.array([2, 3, 4, 5]), np.array([0, 0, 1, 1])).tolist()
    [False, True, False, True]
    """
    return np.asarray(betainc(n_agree + 0.5, n_differ + 0.5, 0.5) <= UNCLEAR)


def contradictions(votes: Votes, pair: Ints, present: Mask) -> tuple[Contradiction, ...]:
    """These pairs by name, with what is true of them and how the votes went."""
    item = votes.item_names.cast("string").take(votes.pairs.item[pair]).to_pylist()
    label = votes.label_names.cast("string").take(votes.pairs.label[pair]).to_pylist()
    n_yes, n_votes = votes.n_yes[pair], votes.pairs.n_votes[pair]
    rows = zip(item, label, present.tolist(), n_yes.tolist(), (n_votes - n_yes).tolist(), strict=True)
    return tuple(Contradiction(*row) for row in rows)


def cohen_kappa(one: Mask, other: Mask) -> float:
    """Agreement of two verdicts beyond chance, 1 where they are equal; NaN where chance alone would make them agree.

    >>> cohen_kappa(np.array([True, True, False, False]), np.array([True, False, False, False]))
    0.5
    """
    if not len(one):
        return np.nan
    return float(kappa((one == other).mean(), one.mean(), other.mean()))


def labels_corrected(calibration: Calibration | None, names: list[str]) -> tuple[LabelChange, ...]:
    """The labels whose offsets are largest, of those that are worth telling."""
    if calibration is None:
        return ()
    size = np.abs(calibration.label)
    order = [label for label in np.argsort(-size, kind="stable")[:LABELS_TOLD] if size[label] >= NOTABLE_OFFSET]
    return tuple(LabelChange(names[label], float(np.exp(calibration.label[label]))) for label in order)


def suspicion(
    label: AnyInts, against: Mask, agreement: float, names: list[str], found: tuple[Contradiction, ...]
) -> str:
    """Why the truth may belong to something else; empty where it does not look so.

    label, against : of the known pairs on which votes are clear, and where truth says the opposite.
    """
    n_clear, n_against = len(against), int(against.sum())
    unrelated = agreement < SUSPICIOUS_AGREEMENT  # not where agreement is NaN: then it is not known
    too_few = n_clear < ENOUGH_CLEAR or n_against < ENOUGH_CONTRADICTED
    if too_few or (n_against <= SUSPICIOUS_SHARE * n_clear and not unrelated):
        return ""
    of_label = np.bincount(label, minlength=len(names))
    share = np.bincount(label, against, minlength=len(names)) / np.maximum(of_label, 1)
    inverted = [names[code] for code in np.flatnonzero((of_label >= ENOUGH_OF_LABEL) & (share > 0.5))]
    # The plainest explanation first: what explains more than half of all contradictions needs no other.
    if n_against > 0.5 * n_clear:
        guess = "yes and no may be exchanged in it"
    elif inverted and len(inverted) < len(names):
        guess = f"labels may be inverted, or exchanged with others: {', '.join(inverted[:EXAMPLES])}"
    elif unrelated:
        guess = "it agrees with clear majorities no better than chance, so it may be about other items"
    else:
        guess = "the crowd may share an error"
    examples = "; ".join(each.sentence() for each in found[:EXAMPLES])
    return (
        f"the truth contradicts {n_against:,} of {n_clear:,} clear majorities on known pairs ({examples}). It is "
        f"believed all the same. Check that it is the right file, that its items are those of the votes, and that its "
        f"column means what it should: {guess}."
    )
