"""The last chapter: the numbers of the votes, and what the model made of them on the way.

Sentences about known truth, features and the reading of files come from the library, which speaks English; a page in
another language says so to screen readers.
"""

from __future__ import annotations

from collections.abc import Mapping

from amcc.consensus import AMCC
from amcc.consensus.truth_effect import truth_effect
from amcc.report.answer import agreement
from amcc.report.confidence import convergence_panel
from amcc.report.findings import Findings
from amcc.report.html import Html, chapter, element, joined, tiles
from amcc.report.language import Language
from amcc.report.page import Chapter, now

WARNING = " ⚠"

# Shares below this are shown as 0 %.
HALF_PERCENT = 0.005


def made_chapter(findings: Findings) -> Chapter:
    """Numbers, then lists of sentences, those that apply, then the course of the fit."""
    model, say = findings.model, findings.say
    lists: dict[str, list[str]] = {
        "made.exclusive": [],
        "made.pooled": [],
        "made.reference": [],
        "made.truth": [english(each) for each in _truth_changed(findings)],
        "made.features": [],
        "made.read": [english(each) for each in findings.votes.notes()],
    }
    if model.exclusive_ is not None:
        lists["made.exclusive"] = [english(each) for each in model.exclusive_.sentences(model.label_names_)]
    if isinstance(model, AMCC):
        lists["made.pooled"] = readings(model.trust_, findings.votes.n_labels, say)
        if model.reference_sentence_:
            lists["made.reference"] = [english(f"{model.reference_sentence_}.")]
    if model.item_prior_ is not None:
        lists["made.features"] = [english(f"{model.item_prior_.sentence()}.")]
    body = joined([tiles(summary(findings)), *(chapter(say(key), each, "h3") for key, each in lists.items())])
    course = convergence_panel(findings)
    return Chapter("made", say("made.title"), [course] if course else [], intro=body)


def english(sentence: str) -> Html:
    """A sentence of the library, which is English whatever the language of the page."""
    return element("span", sentence, lang="en")


def summary(findings: Findings) -> dict[str, str]:
    """Name to number; a warning sign marks those that deserve a look."""
    about, model, say = findings.description, findings.model, findings.say
    n_pairs = len(model.pair_proba_)
    silent = f"{say.number(about.items_without_answer)}{WARNING * (about.items_without_answer > 0)}"
    per_item = say(
        "made.range",
        mean=say.number(about.answers_per_item_mean, 1),
        least=say.number(about.answers_per_item_min),
        most=say.number(about.answers_per_item_max),
    )
    rounds = say.counted(model.n_iter_, "round")
    converged = f"{say('table.yes')}, {rounds}" if model.converged_ else f"{say('table.no')}{WARNING}, {rounds}"
    named = {
        "model": repr(model),
        "written": now(),
        "workers": say.number(about.workers),
        "items": say.number(about.items),
        "silent": silent,
        "labels": say.number(about.labels),
        "votes": say.number(about.votes),
        "per_item": per_item,
        "per_answer": say.number(about.labels_per_answer, 2),
        "unasked": say.percent(about.share_unasked),
        "agreement": agreement(findings),
        "settled": say("table.of", n=say.number(n_pairs - findings.n_open), n_all=say.number(n_pairs)),
        "open": say.number(findings.n_open),
        "basis": say(f"made.{model.settled_basis_}"),
        "converged": converged,
    }
    return {say(f"made.{name}"): text for name, text in named.items()}


def readings(trust: Mapping[str, float], n_labels: int, say: Language) -> list[str]:
    """How the votes were read; trust : 0 to 1, that votes are independent, and that labels inform each other.

    >>> from amcc.report.language import language
    >>> readings({"independence": 0.0, "correlation": 0.4}, 1, language("en"))[0][:34]
    'Votes are read in three ways: by w'
    """
    sentences = [say("pooled.three")]
    # What rounds to 0 % moves nothing, and is not worth a sentence.
    if trust["independence"] >= HALF_PERCENT:
        sentences.append(say("pooled.independent", share=say.percent(trust["independence"], 0)))
    if n_labels > 1:
        informed = trust["correlation"] >= HALF_PERCENT
        key = "pooled.labels_inform" if informed else "pooled.labels_alone"
        sentences.append(say(key, share=say.percent(trust["correlation"], 0)))
    return sentences


def _truth_changed(findings: Findings) -> list[str]:
    """What known truth changed, beginning with a warning where it contradicts everybody; nothing without truth."""
    effect = truth_effect(findings.model, findings.votes)
    if effect is None:
        return []
    warned = [f"{WARNING.strip()} {effect.suspicion}"] if effect.suspicion else []
    return [*warned, *effect.sentences()]
