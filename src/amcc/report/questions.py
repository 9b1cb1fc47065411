"""What to ask next: ten questions for whoever reads the page, and the crowd's, with what they are worth.

The choice is that of `amcc next` with every vote at the same price. Nothing is fitted again: the model at hand says
what is believed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from amcc.active.beliefs import CurrentBeliefs, as_they_count
from amcc.active.candidates import Anything
from amcc.active.expert import ExpertQuestions, questions_for_expert
from amcc.active.forecast import NextMoney, next_money
from amcc.active.questions import Triplets
from amcc.active.strategies.voi import ValueOfInformation
from amcc.arrays import Floats, Ints
from amcc.errors import EmptyInputError, TooLargeError
from amcc.report.disagreement import yes_and_no
from amcc.report.findings import Findings, largest, names_of
from amcc.report.html import Html, element, table
from amcc.report.page import Panel

# Questions to the reader: as many as `amcc next --for-expert` asks. Those to the crowd: a first look at its hundred.
FOR_YOU, SHOWN = 10, 10

# Votes whose worth is told: what `amcc next` chooses at once.
BATCH = 100

# Cells of items, or workers, by labels up to which questions are chosen: with five million it takes seconds.
MOST_CELLS = 5_000_000

# Workers who are named as the ones to ask.
MAX_BEST = 5


@dataclass(frozen=True)
class CrowdQuestions:
    """The best questions to the crowd, and what so many answers are expected to change."""

    asked: Triplets
    worth: NextMoney


def for_you(findings: Findings) -> ExpertQuestions | None:
    """What the reader should answer; None where the truth of all pairs is known, or labels are too many."""
    try:
        return questions_for_expert(findings.model, findings.votes, FOR_YOU)
    except (EmptyInputError, TooLargeError):
        return None


def for_crowd(findings: Findings) -> CrowdQuestions | None:
    """What the crowd should be asked; None where nothing is left to ask, or there is too much to choose from."""
    votes, model = findings.votes, findings.model
    if max(votes.n_items, votes.n_workers) * votes.n_labels > MOST_CELLS:
        return None
    hit, false_alarm = as_they_count(*findings.rates_of_coins, model.weights_for(votes))
    known = np.zeros((votes.n_items, votes.n_labels), dtype=bool)
    if model.pair_known_ is not None:
        known[model.pair_item_, model.pair_label_] = model.pair_known_
    beliefs = CurrentBeliefs(
        votes, model.predict_proba(), hit, false_alarm, votes.answers_per_worker, model.label_correlations(),
        np.eye(votes.n_labels), known=known, settling=model.settling_, sharing=model.sharing,
    )  # fmt: skip
    prices = np.ones(votes.n_workers)
    candidates = beliefs.open_among(Anything(votes))
    if not candidates.open_pairs().any():
        return None
    chosen = ValueOfInformation().select(beliefs, candidates, prices, BATCH, np.random.default_rng(0))
    order = largest(chosen.utility, len(chosen))
    asked = chosen.take(order).asked
    return (
        CrowdQuestions(asked, next_money(beliefs, prices, asked, np.ones(len(asked), np.int64), BATCH))
        if len(asked)
        else None
    )


def best_workers(findings: Findings) -> Ints:
    """Those whose answers surely tell most: by the lower end of the interval of their informativeness."""
    rates = findings.model.worker_rates_
    margin = np.hypot(rates.hit_rate - rates.hit_rate_low, rates.false_alarm_rate_high - rates.false_alarm_rate)
    surely: Floats = rates.informativeness - margin
    order = findings.active[largest(surely[findings.active], MAX_BEST)]
    return np.asarray(order[surely[order] > 0])


# -- panels ----------------------------------------------------------------------------------------------------------


def for_you_panel(findings: Findings, chosen: ExpertQuestions | None) -> Panel | None:
    """The questions to the reader, with the commands by which they are answered."""
    if chosen is None:
        return None
    say, source = findings.say, findings.source
    header = [say(f"table.{name}") for name in ("item", "label", "probability", "votes")]
    commands = commands_of(
        f"amcc next {source} --for-expert -o mine.csv", f"amcc consensus {source} --truth mine.csv --report report.html"
    )
    body = table(say("for_you.caption"), header, _rows(findings, chosen.item, chosen.label))
    return findings.panel("for_you", body=Html(body + element("p", say("for_you.how")) + commands))


def for_crowd_panel(findings: Findings, chosen: CrowdQuestions | None) -> Panel | None:
    """The best questions to the crowd, and what a hundred answers are worth."""
    if chosen is None:
        return None
    say, asked = findings.say, chosen.asked.take(np.arange(min(SHOWN, len(chosen.asked))))
    workers = findings.worker_links(asked.worker)
    rows = zip(_rows(findings, asked.item, asked.label), workers, strict=True)
    header = [say(f"table.{name}") for name in ("item", "label", "probability", "votes", "ask")]
    body = table(say("for_crowd.caption"), header, ((*row, who) for row, who in rows))
    command = commands_of(f"amcc next {findings.source} --budget {BATCH} -o questions.csv")
    told = element("p", worth_sentence(findings, chosen.worth))
    return findings.panel("for_crowd", body=Html(told + body + command))


def worth_sentence(findings: Findings, worth: NextMoney) -> str:
    """What a hundred answers are expected to change."""
    say = findings.say
    return say(
        "for_crowd.worth" if worth.settled >= 0.5 else "for_crowd.worth_little",
        n=say.number(BATCH),
        right=say.number(worth.put_right, 0 if worth.put_right >= 10 else 1),
        settled=say.number(worth.settled, 0),
        before=say.percent(worth.error, 2),
        after=say.percent(worth.error_after, 2),
    )


def _rows(findings: Findings, item: Ints, label: Ints) -> Iterator[tuple[str, ...]]:
    """Items and labels by name, with what is believed and how the votes went, if there are any."""
    votes, say, model = findings.votes, findings.say, findings.model
    keys = votes.pairs.item.astype(np.int64) * votes.n_labels + votes.pairs.label
    wanted = item.astype(np.int64) * votes.n_labels + label
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    asked = keys[place] == wanted
    names = zip(names_of(votes.item_names, item), findings.label_links(label), strict=True)
    for (name, link), pair, is_asked, code in zip(names, place.tolist(), asked.tolist(), label.tolist(), strict=True):
        n_yes, n_votes = (int(votes.n_yes[pair]), int(votes.pairs.n_votes[pair])) if is_asked else (0, 0)
        proba = float(model.pair_proba_[pair] if is_asked else model.label_prior_[code])
        yield name, link, say.number(proba, 2), yes_and_no(n_yes, n_votes - n_yes, say)


def commands_of(*commands: str) -> Html:
    """Lines to type."""
    return element("pre", element("code", "\n".join(commands)))
