"""The numbers that shape the default's probabilities and that no vote can teach, each with its reason.

A crowd with many votes overrules most of them; small crowds depend on them. They are gathered here so that a user can
see them (`amcc settings`), change them (`AMCC(settings={"lean": 0.5})`) and find in a saved model which ones it was
fitted with (`settings_`). Functions get the settings passed; nothing reads them from a global.

Not here: numerical limits (tolerances, sizes of samples and blocks, caps of rounds), where the ascent starts, how many
degrees there are and where they start, and fixed ratios to a setting. Some of them move probabilities too. Each is a
constant in its file, with its reason there; the reason of a setting names the fixed ratios to it.

What each number is worth was measured at half and at double its value by `benchmarks/settings.py --write`, which writes
`settings_measured.json`; `measured_settings` reads it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import Field as DataclassField
from dataclasses import dataclass, field, fields
from importlib.resources import files
from typing import Any, Literal, get_args

from amcc.consensus.calibration import INTERCEPT_SPREAD
from amcc.errors import ParameterError

Group = Literal["crowd priors", "readings", "known truth"]

# Next to this file, so that it comes with every installed package.
MEASURED = "settings_measured.json"

# What a setting may be, from the least to the most. Ranges refuse what cannot be computed with, and typing errors; they
# do not say what is sensible.
Range = tuple[float, float]
RATE: Range = (1e-4, 1 - 1e-4)  # log-odds are taken of it, so that it is neither 0 nor 1
WEIGHT: Range = (0.0, 1.0)  # from not at all to fully
SPREAD: Range = (0.01, 10.0)  # of log-odds: below it nothing can differ, beyond it everything is equally likely
VOTES: Range = (0.1, 1000.0)  # Beta functions need more than 0; nobody lends more than a worker ever gives
STANDARD_ERRORS: Range = (-100.0, 100.0)  # either end is certainty: "always" and "never" can be said


def number(value: float, group: Group, within: Range, reason: str) -> Any:
    """A field with its default value, what it may be, and the reason for the value."""
    return field(default=value, metadata={"group": group, "least": within[0], "most": within[1], "reason": reason})


@dataclass(frozen=True)
class Settings:
    """Numbers set by hand; each may be anything in its range.

    The metadata of a field hold its `reason`, its `group`, the `least` and the `most` that it may be. Values out of
    range are refused when the object is made, so that a function that gets settings need not check them.

    A new setting is a field here, used where it belongs; `tests/unit/test_settings.py` then wants it to move a
    probability, and `benchmarks/settings.py --write` to be run.

    >>> Settings().usual_hit, Settings(usual_hit=0.8).usual_hit
    (0.7, 0.8)
    """

    # The formatter would give every argument its own line, and hide the numbers between reasons.
    # fmt: off

    # -- crowd priors: what a worker is like before anybody has seen a vote of theirs

    usual_hit: float = number(0.7, "crowd priors", RATE,
        "Workers tick about seven in ten labels that are present. The crowd's own rate soon replaces it; what must "
        "stay is that it lies above usual_false_alarm, since nothing else says which of the two rates is which.")
    usual_false_alarm: float = number(0.05, "crowd priors", RATE,
        "Workers seldom tick a label that is absent: they would have to invent it. At half, a yes proves more in "
        "crowds with few votes; at double, less.")
    usual_yes: float = number(0.15, "crowd priors", RATE,
        "How often an answer is yes, whoever gives it: most labels are absent from most items. Workers who do not "
        "look start there, and so does the common frequency of labels. Already at 0.18, some reliable workers in "
        "crowds full of spammers were taken for spammers.")
    label_spread: float = number(0.35, "crowd priors", SPREAD,
        "How much hit rates of labels differ within a crowd, in log-odds. Tight, since a label that is often present "
        "looks like one that is often invented: without this limit, small data sets fit noise.")
    pseudo_votes: float = number(8.0, "crowd priors", VOTES,
        "Votes or pairs that a whole lends to each of its parts: a group to a worker on a label, all labels to one "
        "label; half as many to a kind of items, which is there to differ. With as many of its own, a part counts "
        "half for itself: at double it needs twice as many. What groups lend is only a start: it is halved or "
        "doubled as long as that explains the workers better. Fixed ratios: groups start with four times as much "
        "for false alarms (crowd.FALSE_ALARM_FACTOR), and with an eighth and eight times as much where workers do "
        "not look (crowd.UNINFORMATIVE_STARTS).")

    # -- readings: what votes may mean, and how far each meaning is believed

    steepness: float = number(1.6, "readings", (0.05, 20.0),
        "Log-odds of presence per log-odds of a yes. Above 1, because what most people say is right more often than "
        "one of them is. At double, probabilities are far too sure, at half not sure enough.")
    lean: float = number(0.3, "readings", (-5.0, 5.0),
        "In log-odds of a yes: workers miss more often than they invent, so that presence is as likely as not at 43 "
        "% of yes (at half: 46 %, at double: 35 %). At zero it would be at one half, as majority has it. Double scores "
        "better on both, but on one draw of small sets that would then have chosen it, and twice as many of the "
        "settled pairs are wrong.")
    coins_share: float = number(1 / 3, "readings", WEIGHT,
        "Weight of the reading by coins in the pool on a pair without votes; counts and degrees share the rest evenly. "
        "A tenth more or less makes no difference that matters; with a half, two small sets fall .08 below majority.")
    coins_votes: float = number(30.0, "readings", (1.0, 1e6),
        "Votes on a pair with which coins have half of that weight. Where many people agree it is they who count, and "
        "what the kind of the pair says in general would keep the claimed error up. At a million it hardly falls with "
        "the votes.")
    independent_z: float = number(6.0, "readings", STANDARD_ERRORS,
        "Standard errors by which votes must be predicted better where the other votes count fully than where they "
        "count for three quarters, for coins to be used without softening, half of the way. Far out, because being "
        "sure without reason costs most: crowds with independent votes reach 8 to 11 on 100,000 votes, real crowds lie "
        "below 5 but for two sets thinned to few answers.")
    independent_votes: float = number(50_000.0, "readings", (0.0, 1e9),
        "Votes with which that answer is half believed. A crowd that shares a taste looks independent until there are "
        "enough votes to tell: with a tenth, 300 items of one real crowd are .03 worse in log-loss.")
    most_correlation: float = number(0.5, "readings", WEIGHT,
        "Largest weight of the other labels of an item where readings are pooled: what the pool says about those "
        "labels is in doubt itself.")
    correlated_items: float = number(200.0, "readings", (0.0, 1e6),
        "Items with which it is half believed that other labels help. On sixty items of some crowds they seem to, "
        "and do harm: log-loss of small sets would be .004 higher without this.")

    # -- known truth: how far it may correct the probabilities of other pairs

    truth_spread: float = number(INTERCEPT_SPREAD, "known truth", SPREAD,
        "How far experts may be stricter or more lenient than assumed, in log-odds: by a factor of two in the odds. "
        "What labels add and how much too sure probabilities may be is held tighter, in fixed ratios "
        "(calibration.LABEL_SPREAD, SLOPE_SPREAD). At half, ten known items correct too little; at double, they are "
        "believed nearly at once. Double scores better on both, but on one draw of small sets that would then have "
        "chosen it, and more of the settled pairs are wrong.")

    # fmt: on

    def __post_init__(self) -> None:
        for each in fields(self):
            _check(each, getattr(self, each.name))


def _check(each: DataclassField[Any], value: Any) -> None:
    """Raise ParameterError unless the value is a number, not true or false, in the range of its field."""
    least, most = each.metadata["least"], each.metadata["most"]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not least <= value <= most:  # not-a-number is in no range
        raise ParameterError(f"settings: {each.name} must be a number from {least:g} to {most:g}; got {value!r}.")


def settings_with(changes: Mapping[str, float] | None) -> Settings:
    """The default settings with some of them changed, as `AMCC(settings=…)` takes them.

    >>> settings_with({"lean": 0}).lean
    0
    """
    if changes is None:
        return Settings()
    if not isinstance(changes, Mapping):
        raise ParameterError(f"settings must be None or numbers by name; got {changes!r}.")
    known = [each.name for each in fields(Settings)]
    for name in changes:
        if name not in known:
            raise ParameterError(f"settings: there is no {name!r}; there are {', '.join(known)}.")
    return Settings(**changes)


# -- describing -------------------------------------------------------------------------------------------------------


def described_settings() -> list[dict[str, Any]]:
    """One row per setting, by group: name, group, value, least, most, reason."""
    rows = [{"name": each.name, "value": each.default, **each.metadata} for each in fields(Settings)]
    return sorted(rows, key=lambda row: get_args(Group).index(row["group"]))  # sorted keeps the order within a group


def half_and_double(name: str) -> tuple[float, float]:
    """The values at which a setting is measured: half and double.

    Of what lies between 0 and 1 the odds are halved and doubled: twice a rate of 0.7 is none. Nothing leaves its range.

    >>> half_and_double("steepness"), half_and_double("usual_hit")
    ((0.8, 3.2), (0.538, 0.824))
    """
    (row,) = (row for row in described_settings() if row["name"] == name)
    value, least, most = row["value"], row["least"], row["most"]
    if least >= 0 and most <= 1:
        odds = value / (1 - value)
        both = [factor * odds / (1 + factor * odds) for factor in (0.5, 2.0)]
    else:
        both = [value / 2, value * 2]
    half, double = (min(max(float(f"{each:.3g}"), least), most) for each in both)
    return half, double


def measured_settings() -> dict[str, Any]:
    """What `benchmarks/settings.py --write` found.

    seed, date, families, command, how : how it was measured
    now : scores of the default; settings : scores by name at "half" and at "double", each with the value tried
    """
    found: dict[str, Any] = json.loads(files(__package__).joinpath(MEASURED).read_text(encoding="utf-8"))
    return found
