"""The top of the page: what was found, what to do next, whom to ask, what not to trust.

Many readers look at nothing else. So sentences are short, name the workers, items and labels that they are about, lead
to the evidence below, and come with the line to type. What is as it should be is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from amcc.active.expert import ExpertQuestions
from amcc.arrays import Ints, Mask
from amcc.consensus.base import ConsensusModel
from amcc.consensus.truth_effect import truth_effect
from amcc.report.errors import Measured, overall
from amcc.report.findings import Findings, names_of
from amcc.report.html import NO_HTML, Html, bullets, element, joined, link, tiles
from amcc.report.label_entries import LabelFacts
from amcc.report.page import Chapter
from amcc.report.questions import BATCH, CrowdQuestions, best_workers, commands_of, worth_sentence

# Below this, Krippendorff advises against even tentative conclusions.
TENTATIVE_ALPHA = 0.667
# Items with two votes on a label. With fewer, its α is mostly chance, and the sentence would name a random label.
MIN_COMPARED = 10
# Names in a sentence: enough to look some of them up, and the sentence stays one.
MAX_NAMES_IN_TEXT = 5
# Share of a label's pairs on which the crowd is split from which its meaning should be written down.
SPLIT_SHARE = 0.1


@dataclass(frozen=True)
class Known:
    """What the top of the page goes by: findings, and what the chapters below show."""

    findings: Findings
    measured: Measured | None
    for_you: ExpertQuestions | None
    for_crowd: CrowdQuestions | None
    labels: LabelFacts


def answer_chapter(known: Known) -> Chapter:
    """The first chapter."""
    say = known.findings.say
    parts = {"do": steps(known), "ask": whom_to_ask(known), "doubt": what_to_doubt(known)}
    body = [element("p", lead(known.findings), class_="lead"), tiles(key_numbers(known))]
    for name, points in parts.items():
        found = list(points) or [say.html(f"answer.{name}_nothing")]
        listed = element("ol", *(element("li", each) for each in found)) if name == "do" else bullets(found)
        body += [element("section", element("h3", say(f"answer.{name}")), listed, id=name, class_=f"points {name}")]
    return Chapter("answer", say("answer.title"), intro=joined(body))


def lead(findings: Findings) -> str:
    """What was found, in two sentences."""
    say, model = findings.say, findings.model
    return say(
        "answer.lead",
        present=say.counted(int(model.pair_present().sum()), "label"),
        items=say.counted(findings.votes.n_items, "item"),
        wrong=say.number(findings.doubt.sum()),
        pairs=say.number(len(findings.doubt)),
        workers=say.counted(findings.votes.n_workers, "worker"),
    )


def key_numbers(known: Known) -> dict[str, str]:
    """The few numbers that most readers came for."""
    findings, say = known.findings, known.findings.say
    n_pairs, n_spammers = len(findings.doubt), int(findings.spammers.sum())
    return {
        say("tiles.expected_error"): link("errors", say.percent(float(findings.doubt.mean()) if n_pairs else None)),
        say("tiles.measured_error"): link("errors", overall(findings, known.measured)),
        say("tiles.settled"): link("confidence", say.percent(1 - findings.n_open / n_pairs if n_pairs else None)),
        say("tiles.spammers"): link(
            "workers", say("table.of", n=say.number(n_spammers), n_all=say.number(findings.votes.n_workers))
        ),
        say("tiles.agreement"): link("label_table", say.interval(findings.description.agreement.estimate, None, None)),
    }


def agreement(findings: Findings) -> str:
    """Agreement over whole label sets, with its interval."""
    about = findings.description.agreement
    return findings.say.interval(about.estimate, about.low, about.high)


# -- what to do next -------------------------------------------------------------------------------------------------


def steps(known: Known) -> Iterator[Html]:
    """Steps, the most urgent first: what puts all numbers in doubt, what nobody measured, then what is open."""
    findings, say, source = known.findings, known.findings.say, known.findings.source
    if not findings.model.converged_:
        more = f"amcc consensus {source} --param max_iter={2 * max(findings.model.n_iter_, 500)}"
        yield step(say.html("do.converge", here=link("made", say("here.made"))), more)
    effect = truth_effect(findings.model, findings.votes)
    if effect is not None and effect.suspicion:
        yield step(say.html("do.truth", here=link("made", say("here.made"))))
    if findings.suspected:
        yield step(
            say.html("do.families"),
            f"amcc workers {source} --suggest-workers workers.csv",
            f"amcc consensus {source} --workers workers.csv --report report.html",
        )
    if known.measured is None and known.for_you is not None:
        here = link("for_you", say("here.questions"))
        yield step(
            say.html("do.yourself", n=say.counted(len(known.for_you), "question"), here=here),
            f"amcc next {source} --for-expert -o mine.csv",
            f"amcc consensus {source} --truth mine.csv --report report.html",
        )
    yield from _ask_crowd(known)
    if findings.spammers.any():
        first = names_of(findings.votes.worker_names, np.flatnonzero(findings.spammers)[:1])[0]
        here = link("workers", say("here.evidence"))
        n = int(findings.spammers.sum())
        yield step(
            say.html(say.plural(n, "do.spammers"), n=say.counted(n, "worker"), here=here),
            f"amcc workers {source} --worker {quoted(first)}",
        )
    if split := _split_labels(known.labels):
        named = say.and_more(findings.label_links(np.array(split[:MAX_NAMES_IN_TEXT])), len(split))
        yield step(say.html("do.meaning", labels=named, here=link("kinds", say("here.evidence"))))


def _ask_crowd(known: Known) -> Iterator[Html]:
    """Whether further answers of the crowd are worth their price."""
    findings, say = known.findings, known.findings.say
    if not findings.n_open:
        return
    here = link("for_crowd", say("here.questions")) if known.for_crowd else link("items", say("here.items"))
    told = say.html(
        say.plural(findings.n_open, "do.crowd"),
        open=say.number(findings.n_open),
        pairs=say.number(len(findings.doubt)),
        worth=worth_sentence(findings, known.for_crowd.worth) if known.for_crowd else "",
        here=here,
    )
    yield step(told, f"amcc next {findings.source} --budget {BATCH} -o questions.csv")


def _split_labels(facts: LabelFacts) -> list[int]:
    """Labels on whose meaning the crowd is split, those with the most such pairs first."""
    split = facts.kinds[:, -1]
    often = np.flatnonzero((split > SPLIT_SHARE * facts.asked) & (facts.asked >= MIN_COMPARED))
    return [int(label) for label in often[np.argsort(-split[often], kind="stable")]]


def step(told: Html, *commands: str) -> Html:
    """What to do, and the lines to type, if there are any."""
    return joined([element("p", told), commands_of(*commands) if commands else NO_HTML])


def quoted(name: str) -> str:
    """A name as a shell takes it."""
    import shlex

    return shlex.quote(name)


# -- whom to ask -----------------------------------------------------------------------------------------------------


def whom_to_ask(known: Known) -> Iterator[Html]:
    """You, the best of the crowd, and somebody who knows the hard items."""
    findings, say = known.findings, known.findings.say
    if known.for_you is not None:
        here = link("for_you", say("here.questions"))
        yield say.html("ask.you", n=say.counted(len(known.for_you), "question"), here=here)
    best = best_workers(findings)
    if len(best):
        yield say.html("ask.best", workers=say.and_more(findings.worker_links(best), len(best)))
    n_hard = int(known.labels.kinds[:, -2].sum())
    if n_hard:
        here = link("kinds", say("here.evidence"))
        yield say.html(say.plural(n_hard, "ask.expert"), n=say.counted(n_hard, "pair"), here=here)


# -- what not to trust -----------------------------------------------------------------------------------------------


def what_to_doubt(known: Known) -> Iterator[Html]:
    """What deserves no trust, or less than it seems to; most urgent first."""
    findings, say = known.findings, known.findings.say
    model, votes, about = findings.model, findings.votes, findings.description
    if not model.converged_:
        yield say.html("doubt.converged")
    yield _error_claim(known)
    if about.items_without_answer:
        silent = _some(votes.item_names, ~model.item_answered_, findings)
        n = say.counted(about.items_without_answer, "item")
        yield say.html("doubt.silent", n=n, items=silent, known=_all_there_is(model, findings))
    if about.agreement.estimate is None:
        yield say.html("doubt.agreement")
    if findings.spammers.any():
        codes = np.flatnonzero(findings.spammers)
        named = say.and_more(findings.worker_links(codes[:MAX_NAMES_IN_TEXT]), len(codes))
        n = say.counted(len(codes), "worker")
        yield say.html(say.plural(len(codes), "doubt.spammers"), n=n, workers=named)
    for suspicion in findings.suspected[:MAX_NAMES_IN_TEXT]:
        who = np.array(suspicion.workers)
        named = say.and_more(findings.worker_links(who[:MAX_NAMES_IN_TEXT]), len(who))
        if suspicion.correlation is None or suspicion.usual is None:
            yield say.html("doubt.named", workers=named)
        else:
            numbers = {"value": say.number(suspicion.correlation, 2), "usual": say.number(suspicion.usual, 2)}
            yield say.html("doubt.family", workers=named, **numbers)
    yield from _doubtful_labels(findings)
    if findings.n_open:
        n, pairs = say.number(findings.n_open), say.number(len(votes.pairs))
        yield say.html(
            say.plural(findings.n_open, "doubt.open"), n=n, pairs=pairs, here=link("items", say("here.items"))
        )


def _error_claim(known: Known) -> Html:
    """Whether the expected error was measured, and what came out."""
    say, measured = known.findings.say, known.measured
    here = link("errors", say("here.evidence"))
    if measured is None:
        return say.html("doubt.claimed", here=here)
    row = measured.overall
    verdict = "worse" if row["claimed"] < row["low"] else "better" if row["claimed"] > row["high"] else "right"
    found = overall(known.findings, measured)
    return say.html(f"doubt.measured_{verdict}", claimed=say.percent(row["claimed"]), measured=found, here=here)


def _doubtful_labels(findings: Findings) -> Iterator[Html]:
    """A sentence on the labels that workers do not agree on, if there are any.

    Agreement is Krippendorff's α: 1 where all agree, 0 where votes agree no more often than by chance.
    """
    pairs, say = findings.votes.pairs, findings.say
    n_compared = np.bincount(pairs.label[pairs.n_votes > 1], minlength=findings.votes.n_labels)
    alphas = [
        (label.agreement.estimate, code)
        for code, (label, n) in enumerate(zip(findings.description.by_label, n_compared, strict=True))
        if label.agreement.estimate is not None and n >= MIN_COMPARED
    ]
    low = sorted(pair for pair in alphas if pair[0] < TENTATIVE_ALPHA)
    if low:
        alpha, worst = low[0]
        others: Sequence[Html] = findings.label_links(
            np.array([code for _, code in low[1:MAX_NAMES_IN_TEXT]], dtype=int)
        )
        yield say.html(
            say.plural(len(low), "doubt.labels"),
            label=findings.label_links(np.array([worst]))[0],
            alpha=say.number(alpha, 2),
            limit=say.local(str(TENTATIVE_ALPHA)),
            n=say.number(len(low)),
            all=say.counted(len(alphas), "label"),
            others=say.and_more(others, len(low) - 1),
        )


def _some(vocabulary: pa.Array, chosen: Mask, findings: Findings) -> Html:
    """The first of the chosen names, and how many more there are."""
    codes: Ints = np.flatnonzero(chosen)
    return findings.say.and_more(names_of(vocabulary, codes[:MAX_NAMES_IN_TEXT]), len(codes))


def _all_there_is(model: ConsensusModel, findings: Findings) -> str:
    """What is known of items that nobody answered."""
    says_something = model.item_prior_ is not None and model.item_prior_.weight > 0
    return findings.say("doubt.features" if says_something else "doubt.frequencies")
