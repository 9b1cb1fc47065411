"""One HTML page about a fitted model: what was found, how sure it is, and whom to trust.

The page holds its own scripts and data, so it opens anywhere and fetches nothing. Findings are computed by small
functions on arrays, panels turn them into a chart or a table, and `_page` puts the panels together. All text goes
through `_element`, which escapes whatever is not HTML already.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, cached_property
from html import escape
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.special import logit

from amcc.arrays import Floats, Ints, sigmoid, weight_per_code
from amcc.consensus import AMCC
from amcc.consensus import disagreement as kinds
from amcc.consensus.base import ConsensusModel
from amcc.consensus.grouped import GroupedModel
from amcc.consensus.item_results import pair_reader
from amcc.consensus.truth_effect import truth_effect
from amcc.consensus.undeclared import suspected_families
from amcc.consensus.workers import WorkerRates, likely_spammers
from amcc.engine.base import InMemory
from amcc.errors import MissingExtraError, ParameterError
from amcc.files import whole_file
from amcc.paper import PaperAMCC
from amcc.votes import Description, Interval, Votes

if TYPE_CHECKING:
    import altair as alt

__all__ = ["write_report"]

Flags = npt.NDArray[np.bool_]

TENTATIVE_ALPHA = 0.667  # below this, Krippendorff advises against even tentative conclusions
MIN_COMPARED = 10  # items with two votes on a label: with fewer, its α says little

MAX_FREQUENCIES = 40
MAX_COOCCURRING = 25
MAX_CORRELATED = 30
MAX_LINKS = 60
CIRCLE, MAX_NAME_WIDTH = 660, 165  # of the chart with the links, in pixels
MIN_LINK = 0.1  # correlations nearer to zero are not drawn as lines
MAX_GROUP_LABELS = 30
MAX_NAMES_IN_GROUP = 12
MAX_CELLS_WITH_NUMBERS = 15**2
MAX_MAPPED_WORKERS = 2000
MAX_NAMED_SPAMMERS = 12
MAX_LISTED_WORKERS = 15
MAX_DISPUTED_ITEMS = 15
MAX_LABELS_PER_ITEM = 6
MAX_DISAGREEING_LABELS = 25
MAX_EXAMPLES = 3  # of each kind of disagreement
MAX_NAMES_IN_TEXT = 5
N_BINS = 40
ITEMS_PER_BLOCK = 2**16

WARNING = " ⚠"

# Colours of Okabe and Ito, which most colour-blind people can tell apart.
BLUE, ORANGE, VERMILION = "#0072b2", "#e69f00", "#d55e00"


def write_report(model: ConsensusModel, votes: Votes, path: str | Path, *, title: str = "Crowd consensus") -> None:
    """Write one self-contained HTML page about `model`, which was fitted to `votes`.

    Needs the packages of `pip install 'amcc[report]'`. The file appears complete or not at all.
    """
    _check_extra()
    _check_fitted_to(model, votes)
    findings = Findings(model, votes, votes.describe())
    panels = [panel for make in PANELS if (panel := make(findings)) is not None]
    page = _page(title, _head(findings), panels)
    with whole_file(Path(path)) as temporary:
        temporary.write_text(page, encoding="utf-8")


def _check_extra() -> None:
    for package in ("altair", "vl_convert"):
        try:
            import_module(package)
        except ImportError as error:
            raise MissingExtraError(
                f"the report needs altair and vl-convert-python; {package} cannot be imported ({error}). "
                "Install them: pip install 'amcc[report]'"
            ) from error


@cache
def _chart_script() -> str:
    """The JavaScript that draws charts, all of it, ready to stand in a script element."""
    import vl_convert

    script: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return script.replace("</script", r"<\/script")


def _check_fitted_to(model: ConsensusModel, votes: Votes) -> None:
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


# -- findings ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Findings:
    """A fitted model beside its votes, with what more than one panel needs."""

    model: ConsensusModel
    votes: Votes
    description: Description

    @cached_property
    def spammers(self) -> Flags:
        """(n_workers,) who looks like a spammer."""
        return likely_spammers(self.model.worker_rates_)

    @cached_property
    def items_per_label(self) -> Floats:
        """(n_labels,) expected number of items with each label, unasked pairs at their prior."""
        asked = np.bincount(self.model.pair_label_, minlength=self.votes.n_labels)
        among_asked = weight_per_code(self.model.pair_label_, self.model.pair_proba_, self.votes.n_labels)
        return np.asarray(among_asked + self.model.label_prior_ * (self.votes.n_items - asked))

    @cached_property
    def doubt(self) -> Floats:
        """(n_pairs,) probability that the more likely of present and absent is wrong."""
        return np.minimum(self.model.pair_proba_, 1 - self.model.pair_proba_)

    @cached_property
    def rates_of_coins(self) -> tuple[Floats, Floats]:
        """(n_workers, n_labels) expected hit and false-alarm rates."""
        return self.model.rates_of_coins()

    @cached_property
    def disagreement(self) -> Disagreement:
        """Why people disagree, pair by pair."""
        reader = pair_reader(self.model, InMemory(self.votes), True, False, self.model.pair_proba_)
        explanations, asked = reader.explanations, kinds.asked_of(self.votes)
        assert explanations is not None  # for the type checker: it was asked for
        explanations = explanations.known_to(asked)
        kind = kinds.kinds_of(asked, explanations, self.model.pair_proba_)
        return Disagreement(asked, explanations, kind, explanations.posterior(asked))

    @property
    def settled(self) -> Flags:
        """(n_pairs,) asked pairs that hardly need more answers, as in the column settled of the consensus."""
        return self.model.pair_settled_

    @property
    def n_open(self) -> int:
        """Asked pairs that are not settled."""
        return int((~self.settled).sum())


@dataclass(frozen=True)
class Disagreement:
    """(n_pairs,) kinds of disagreement as places in `kinds.KINDS`, and what they were decided by."""

    asked: kinds.Asked
    explanations: kinds.Explanations
    kind: npt.NDArray[np.int8]
    member: Floats

    def telling(self, kind: int) -> Ints:
        """Pairs of this kind, the most telling first."""
        pairs = np.flatnonzero(self.kind == kind)
        n_yes, n_votes = self.asked.n_yes[pairs], self.asked.n_votes[pairs]
        sure = {kinds.HARD_ITEM: kinds.HARD, kinds.SPLIT_CROWD: kinds.SPLIT}.get(kind)
        if sure is not None:
            strength = self.member[pairs, sure] + 1e-3 * np.minimum(n_yes, n_votes - n_yes)
        elif kind == kinds.LIKELY_SLIP:  # one against many
            strength = np.abs(2.0 * n_yes - n_votes)
        else:  # the least that is known
            strength = -np.abs(2.0 * n_yes - n_votes) + 1e-3 * n_votes
        return np.asarray(pairs[_largest(strength, MAX_EXAMPLES)])


def _cooccurrence(findings: Findings, labels: Ints) -> Floats:
    """[a, b] share of the items with label a that also have b, among those asked about both; NaN if unknown.

    It is unknown on the diagonal, where it would be 1, and where less than one item with a is expected.
    """
    model, n_shown = findings.model, len(labels)
    place = np.full(findings.votes.n_labels, -1)
    place[labels] = np.arange(n_shown)
    both, first = np.zeros((2, n_shown, n_shown))
    for start in range(0, findings.votes.n_items, ITEMS_PER_BLOCK):  # pairs are sorted by item
        pairs = slice(*np.searchsorted(model.pair_item_, (start, start + ITEMS_PER_BLOCK)))
        column = place[model.pair_label_[pairs]]
        shown = column >= 0
        cells = (model.pair_item_[pairs][shown] - start, column[shown])
        proba, asked = np.zeros((2, min(ITEMS_PER_BLOCK, findings.votes.n_items - start), n_shown))
        proba[cells], asked[cells] = model.pair_proba_[pairs][shown], 1.0
        both += proba.T @ proba
        first += proba.T @ asked
    known = (first >= 1) & ~np.eye(n_shown, dtype=bool)
    share = np.full(both.shape, np.nan)
    np.divide(both, first, out=share, where=known)
    return share


def _largest(values: Floats, most: int) -> Ints:
    """Positions of the largest values, largest first; ties keep their order."""
    return np.argsort(-values, kind="stable")[:most]


# -- HTML ----------------------------------------------------------------------------------------------------------


class Html(str):
    """Text that is HTML already."""


NO_HTML = Html("")


def _element(tag: str, *content: str, **attributes: str) -> Html:
    """An HTML element; content is escaped unless it is Html. A final underscore in attribute names is dropped.

    >>> _element("p", "1 < 2", _element("b", "!"), class_="note")
    '<p class="note">1 &lt; 2<b>!</b></p>'
    """
    shown = "".join(f' {name.rstrip("_")}="{escape(value)}"' for name, value in attributes.items())
    inner = "".join(part if isinstance(part, Html) else escape(part) for part in content)
    return Html(f"<{tag}{shown}>{inner}</{tag}>")


def _list(sentences: Iterable[str]) -> Html:
    return _element("ul", *(_element("li", sentence) for sentence in sentences))


def _table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> Html:
    """A table whose first column names the rows."""
    head = _element("tr", *(_element("th", cell, scope="col") for cell in header))
    body = (
        _element("tr", _element("th", first, scope="row"), *(_element("td", cell) for cell in rest))
        for first, *rest in rows
    )
    table = _element("table", _element("caption", caption), _element("thead", head), _element("tbody", *body))
    return _element("div", table, class_="wide")


def _names(vocabulary: pa.Array, codes: npt.NDArray[np.integer[Any]]) -> list[str]:
    return [str(name) for name in vocabulary.take(pa.array(codes)).to_pylist()]


def _some(vocabulary: pa.Array, chosen: Flags) -> str:
    """The first few chosen names, and how many more there are."""
    codes = np.flatnonzero(chosen)
    more = len(codes) - MAX_NAMES_IN_TEXT
    return ", ".join(_names(vocabulary, codes[:MAX_NAMES_IN_TEXT])) + (f" and {more:,} more" if more > 0 else "")


def _counted(n: int, noun: str) -> str:
    """A number with its noun.

    >>> _counted(1, "item"), _counted(2000, "item")
    ('1 item', '2,000 items')
    """
    return f"{n:,} {noun}{'s' * (n != 1)}"


def _estimate(interval: Interval) -> str:
    """An estimate with its interval, or a dash."""
    if interval.estimate is None:
        return "–"
    unknown = interval.low is None or interval.high is None
    return f"{interval.estimate:z.2f}" + ("" if unknown else f" ({interval.low:z.2f} to {interval.high:z.2f})")


# -- head ----------------------------------------------------------------------------------------------------------


def _head(findings: Findings) -> Html:
    """Summary numbers, and what they say in words."""
    tiles = (_element("div", _element("dt", name), _element("dd", value)) for name, value in _summary(findings).items())
    parts = [
        _element("dl", *tiles),
        _element("h2", "What to look at first"),
        _list(_first_looks(findings) or ["Nothing stands out."]),
    ]
    if isinstance(findings.model, AMCC):
        parts += [
            _element("h2", "What the data chose"),
            _list(_choices(findings.model.blend_, findings.votes.n_labels, declared=findings.model.has_roster)),
        ]
    effect = truth_effect(findings.model, findings.votes)
    if effect is not None:
        warned = [f"{WARNING.strip()} {effect.suspicion}"] if effect.suspicion else []
        parts += [_element("h2", "What known truth changed"), _list([*warned, *effect.sentences()])]
    if findings.model.item_prior_ is not None:
        parts += [_element("h2", "What item features changed"), _list([f"{findings.model.item_prior_.sentence()}."])]
    notes = findings.votes.notes()
    if notes:
        parts += [_element("h2", "How the votes were read"), _list(notes)]
    return Html("".join(parts))


def _summary(findings: Findings) -> dict[str, str]:
    about, model = findings.description, findings.model
    return {
        "model": repr(model),
        "written": datetime.now().astimezone().strftime("%Y-%m-%d %H:%M"),
        "workers": f"{about.workers:,}",
        "items": f"{about.items:,}",
        "items without answer": f"{about.items_without_answer:,}{WARNING * (about.items_without_answer > 0)}",
        "labels": f"{about.labels:,}",
        "votes": f"{about.votes:,}",
        "answers per item": f"{about.answers_per_item_mean:.1f}"
        f" ({about.answers_per_item_min:,} to {about.answers_per_item_max:,})",
        "labels per answer": f"{about.labels_per_answer:.2f}",
        "share of labels not asked": f"{about.share_unasked:.1%}",
        "agreement α": _estimate(about.agreement),
        "settled pairs": f"{len(model.pair_proba_) - findings.n_open:,} of {len(model.pair_proba_):,}",
        "open pairs": f"{findings.n_open:,}",
        "settled is": model.settled_basis_,
        "converged": f"{'yes' if model.converged_ else 'no' + WARNING}, {_counted(model.n_iter_, 'round')}",
    }


def _first_looks(findings: Findings) -> list[str]:
    """Sentences about what deserves attention, most urgent first."""
    model, votes, about = findings.model, findings.votes, findings.description
    looks = []
    if not model.converged_:
        looks.append("The estimates had not settled when the model stopped: raise max_iter and fit again.")
    if about.items_without_answer:
        looks.append(
            f"Nobody answered {_counted(about.items_without_answer, 'item')}: "
            f"{_some(votes.item_names, ~model.item_answered_)}. All that is known there is {_all_there_is(model)}."
        )
    if about.agreement.estimate is None:
        looks.append("Agreement cannot be measured: no two workers were asked about the same item and label.")
    n_spammers = int(findings.spammers.sum())
    if n_spammers:
        looks.append(
            f"{_counted(n_spammers, 'worker')} {'look like spammers' if n_spammers > 1 else 'looks like a spammer'}: "
            f"{_some(votes.worker_names, findings.spammers)} (yes comes about as often when the label is absent as "
            "when it is present)."
        )
    looks += [f"{sentence}." for sentence in _suspicions(findings)]
    looks += _look_at_labels(findings)
    if findings.n_open:
        are = "are" if findings.n_open > 1 else "is"
        looks.append(
            f"{_counted(findings.n_open, 'pair')} of {len(votes.pairs):,} {are} open: further answers may change what "
            "is decided there."
        )
    return looks


def _all_there_is(model: ConsensusModel) -> str:
    """What is known about items that nobody answered."""
    described = model.item_prior_ is not None and model.item_prior_.weight > 0
    return "what their features say" if described else "how frequent labels are"


def _suspicions(findings: Findings) -> list[str]:
    """Workers who may be a family that nobody declared."""
    model, votes = findings.model, findings.votes
    seats = model.roster_ if model.has_roster else None
    found = suspected_families(votes, seats)[:MAX_NAMES_IN_TEXT]
    return [suspicion.sentence(votes.worker_names) for suspicion in found]


def _choices(blend: Mapping[str, Any], n_labels: int, *, declared: bool = False) -> list[str]:
    """What the votes said about how to read them."""
    crisp, counts, correlation = blend["crisp"], blend["counts"], blend["correlation"]
    sentences = []
    if n_labels > 1:
        does = "tell much" if correlation > 0.5 else "tell something" if correlation > 0.05 else "tell next to nothing"
        sentences.append(f"Labels of an item {does} about each other: label correlation is used {correlation:.0%}.")
    if crisp > 0.5:
        reason = "Who shares errors was declared" if declared else "Votes look independent given presence"
        sentences.append(f"{reason}, so what worker rates make of the votes is taken at its word ({crisp:.0%}).")
        return sentences
    sentences.append(
        "Votes may agree for other reasons than presence, or are too few to rule that out: several readings are "
        "pooled, and probabilities stay cautious."
    )
    if counts > 0.5:
        sentences.append("Plain counts predict votes about as well as worker rates do, so they count in their place.")
    return sentences


def _look_at_labels(findings: Findings) -> list[str]:
    """A sentence on the labels that workers do not agree on, if there are any."""
    pairs = findings.votes.pairs
    n_compared = np.bincount(pairs.label[pairs.n_votes > 1], minlength=findings.votes.n_labels)
    alphas = [
        (label.agreement.estimate, label)
        for label, n in zip(findings.description.by_label, n_compared, strict=True)
        if label.agreement.estimate is not None and n >= MIN_COMPARED
    ]
    low = [(alpha, label) for alpha, label in alphas if alpha < TENTATIVE_ALPHA]
    if not low:
        return []
    _, worst = min(low, key=lambda pair: pair[0])
    return [
        f"Label {worst.label} is agreed on least, α {_estimate(worst.agreement)}; α is below {TENTATIVE_ALPHA}, the "
        f"usual limit for tentative conclusions, for {len(low):,} of {_counted(len(alphas), 'label')}."
    ]


# -- panels --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Panel:
    """A titled part of the page: how to read it, then a chart, tables or both, then notes."""

    title: str
    explanation: str
    chart: alt.Chart | alt.LayerChart | alt.FacetChart | None = None
    body: Html = NO_HTML
    notes: list[str] = field(default_factory=list)


def _rows(**columns: Iterable[Any]) -> dict[str, Any]:
    """Columns as chart data: numbers rounded to what an eye can see, NaN left empty."""

    def short(value: Any) -> Any:
        if not isinstance(value, float):
            return value
        return None if np.isnan(value) else round(value, 4)

    plain = [column.tolist() if isinstance(column, np.ndarray) else column for column in columns.values()]
    rows = [dict(zip(columns, map(short, row), strict=True)) for row in zip(*plain, strict=True)]
    return {"values": rows}


def _left_out(n_all: int, n_shown: int, noun: str, which: str) -> list[str]:
    return [f"Shown are {n_shown:,} of {_counted(n_all, noun)}: {which}."] if n_shown < n_all else []


def _frequency_panel(findings: Findings) -> Panel:
    import altair as alt

    votes = findings.votes
    shown = _largest(findings.items_per_label, MAX_FREQUENCIES)
    by_label = [findings.description.by_label[code] for code in shown]
    names, items = _names(votes.label_names, shown), findings.items_per_label[shown]
    data = _rows(
        label=names,
        estimated=items / votes.n_items,
        raw=[label.yes_share for label in by_label],
        asked=[label.asked for label in by_label],
        items=[f"{n:,.0f}" if n >= 10 else f"{n:.1f}" for n in items.tolist()],
    )
    width, meanings = 560, ["estimated share of items", "share of yes among votes"]
    base = alt.Chart(data).encode(
        y=alt.Y("label:N", sort=names, title=None),
        tooltip=[
            alt.Tooltip("label:N"),
            alt.Tooltip("items:N", title="estimated items"),
            alt.Tooltip("estimated:Q", title=meanings[0], format=".1%"),
            alt.Tooltip("raw:Q", title=meanings[1], format=".1%"),
            alt.Tooltip("asked:Q", title="votes", format=","),
        ],
    )
    colour = alt.Color(
        "meaning:N", scale=alt.Scale(domain=meanings, range=[BLUE, ORANGE]), legend=alt.Legend(orient="top", title=None)
    )
    bar_data, tick_data = (base.transform_calculate(meaning=f"'{meaning}'") for meaning in meanings)
    share = alt.Axis(format="%", tickCount=6)
    bars = bar_data.mark_bar().encode(
        x=alt.X("estimated:Q", title=None, axis=share),
        color=colour,
    )
    ticks = tick_data.mark_tick(thickness=3, opacity=1).encode(x=alt.X("raw:Q"), color=colour)
    counts = base.mark_text(align="left", dx=8).encode(x=alt.value("width"), text="items:N")
    return Panel(
        "Label frequencies",
        "The bar is the share of items that have the label according to the model, with the number of items on the "
        "right; the tick is the share of yes among the votes, so a tick far from its bar shows where the model "
        "corrects the crowd.",
        alt.layer(bars, ticks, counts).properties(width=width, height=alt.Step(20)),
        notes=_left_out(votes.n_labels, len(shown), "label", "the most frequent"),
    )


def _confidence_panel(findings: Findings) -> Panel:
    import altair as alt

    proba, states = findings.model.pair_proba_, ["open", "settled"]
    counts, edges = np.histogram(proba, N_BINS, (0.0, 1.0))
    settled, _ = np.histogram(proba[findings.settled], edges)
    powers_of_ten = [0, *(10**power for power in range(len(str(counts.max())) + 1))]
    data = _rows(
        low=np.tile(edges[:-1], 2),
        high=np.tile(edges[1:], 2),
        height=np.concatenate([counts, settled]),  # settled pairs stand in front of all pairs: what is left is open
        pairs=np.concatenate([counts - settled, settled]),
        state=np.repeat(states, N_BINS),
    )
    bars = (
        alt.Chart(data)
        .mark_bar(binSpacing=1)
        .encode(
            x=alt.X("low:Q", bin="binned", title="probability that the label is present", axis=alt.Axis(tickCount=10)),
            x2="high:Q",
            y=alt.Y(
                "height:Q",
                title="pairs (logarithmic)",
                stack=None,
                scale=alt.Scale(type="symlog", domainMax=powers_of_ten[-1], nice=False),
                axis=alt.Axis(values=powers_of_ten, format=",d"),
            ),
            color=alt.Color(
                "state:N",
                scale=alt.Scale(domain=states, range=[ORANGE, BLUE]),
                legend=alt.Legend(orient="top", title=None),
            ),
            tooltip=[
                alt.Tooltip("low:Q", title="from"),
                alt.Tooltip("high:Q", title="to"),
                alt.Tooltip("state:N"),
                alt.Tooltip("pairs:Q", format=","),
            ],
        )
    )
    return Panel(
        "Confidence",
        "How many of the asked (item, label) pairs have which probability. Blue pairs are settled: more answers are "
        "hardly needed. Orange ones are open, and those in the middle would gain most from further answers.",
        bars.properties(width=620, height=240),
        notes=[f"{findings.model.settling_.sentence()}."],
    )


def _worker_map_panel(findings: Findings) -> Panel:
    import altair as alt

    rates, votes = findings.model.worker_rates_, findings.votes
    active = np.flatnonzero(rates.answers > 0)
    n_shown = min(len(active), MAX_MAPPED_WORKERS)
    shown = np.sort(np.random.default_rng(0).choice(active, n_shown, replace=False))
    spammer = findings.spammers[shown]
    hit_rate, false_alarm_rate = _interval_columns(rates, shown)
    x, y = _apart(rates.false_alarm_rate[shown], rates.hit_rate[shown])
    data = _rows(
        worker=_names(votes.worker_names, shown),
        answers=rates.answers[shown],
        hit=y,
        false_alarm=x,
        informativeness=rates.informativeness[shown],
        hit_rate=hit_rate,
        false_alarm_rate=false_alarm_rate,
        verdict=np.where(spammer, "likely spammer", "informative or unclear"),
    )
    share = alt.Scale(domain=[0, 1])
    base = alt.Chart(data).encode(
        x=alt.X("false_alarm:Q", title="false-alarm rate: yes although the label is absent", scale=share),
        y=alt.Y("hit:Q", title="hit rate: yes when the label is present", scale=share),
    )
    points = base.mark_point(filled=True, opacity=0.75).encode(
        size=alt.Size(
            "answers:Q",
            scale=alt.Scale(range=[20, 350]),
            legend=alt.Legend(tickMinStep=1, format=",d", symbolFillColor="#888"),
        ),
        color=alt.Color("informativeness:Q", scale=alt.Scale(scheme="viridis", domain=[0, 1], clamp=True)),
        stroke=alt.Stroke(
            "verdict:N",
            scale=alt.Scale(domain=["likely spammer", "informative or unclear"], range=[VERMILION, "#888"]),
            legend=alt.Legend(title=None, symbolFillColor="transparent"),
        ),
        strokeWidth=alt.condition("datum.verdict == 'likely spammer'", alt.value(2), alt.value(0.5)),
        tooltip=[
            alt.Tooltip("worker:N"),
            alt.Tooltip("answers:Q", format=","),
            alt.Tooltip("hit_rate:N", title="hit rate"),
            alt.Tooltip("false_alarm_rate:N", title="false-alarm rate"),
            alt.Tooltip("informativeness:Q", format=".2f"),
            alt.Tooltip("verdict:N"),
        ],
    )
    layers = [*_diagonal(share), points]
    if 0 < spammer.sum() <= MAX_NAMED_SPAMMERS:
        layers.append(_spammer_names(findings, shown[spammer]))
    return Panel(
        "Worker map",
        "Each dot is a worker: good ones are at the top left, and on the dashed diagonal a yes says nothing about "
        "the truth; larger dots gave more answers, and an orange ring marks likely spammers. Dots that would cover "
        "each other stand side by side; pointing at one shows its exact rates.",
        alt.layer(*layers).properties(width=500, height=500),
        notes=_left_out(len(active), n_shown, "worker", "a random sample"),
    )


DOT = 0.016
"""How far apart two dots of the worker map must be to be told apart, in its units: about eight of its 500 pixels."""


def _apart(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The points, those that share a cell of `DOT` by `DOT` wound about its first one like the seeds of a sunflower.

    >>> x, y = _apart(np.array([0.5, 0.5, 0.9]), np.array([0.5, 0.5, 0.9]))
    >>> bool(np.hypot(x[1] - x[0], y[1] - y[0]) > DOT / 2), x[2].item()
    (True, 0.9)
    """
    cells = np.floor(np.column_stack([x, y]) / DOT)
    _, first, cell = np.unique(cells, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(cell, kind="stable")
    rank = np.empty(len(x), dtype=np.int64)
    rank[order] = np.arange(len(x)) - np.searchsorted(cell[order], cell[order])
    reach, turn = 0.7 * DOT * np.sqrt(rank), rank * np.pi * (3 - np.sqrt(5))  # the golden angle leaves no gaps
    moved = rank > 0
    centre = first[cell]
    return (
        np.where(moved, np.clip(x[centre] + reach * np.cos(turn), 0, 1), x),
        np.where(moved, np.clip(y[centre] + reach * np.sin(turn), 0, 1), y),
    )


def _spammer_names(findings: Findings, spammers: Ints) -> alt.Chart:
    """Names to the right of the dots, moved up where one would cover the next."""
    import altair as alt

    rates = findings.model.worker_rates_
    by_height = spammers[np.argsort(rates.hit_rate[spammers])]
    data = _rows(
        x=rates.false_alarm_rate[by_height],
        y=_spread(rates.hit_rate[by_height], gap=0.03),
        worker=_names(findings.votes.worker_names, by_height),
    )
    names: alt.Chart = alt.Chart(data).mark_text(align="left", dx=9).encode(x="x:Q", y="y:Q", text="worker:N")
    return names


def _spread(rising: Floats, gap: float) -> Floats:
    """The rising values, raised where needed to be `gap` apart.

    >>> _spread(np.array([0.0, 0.1, 0.5]), gap=0.2).tolist()
    [0.0, 0.2, 0.5]
    """
    steps = gap * np.arange(len(rising))
    return np.asarray(np.maximum.accumulate(rising - steps) + steps)


def _diagonal(share: alt.Scale) -> list[alt.Chart]:
    """The line where hits and false alarms are equally frequent, and what it means."""
    import altair as alt

    line = alt.Chart(_rows(x=[0, 1], y=[0, 1])).mark_line(strokeDash=[6, 4], color="#888")
    meaning = alt.Chart(_rows(x=[0.75], y=[0.75])).mark_text(
        text="says nothing about the truth", angle=315, dy=12, fontStyle="italic"
    )
    return [chart.encode(x=alt.X("x:Q", scale=share), y=alt.Y("y:Q", scale=share)) for chart in (line, meaning)]


def _cooccurrence_panel(findings: Findings) -> Panel:
    import altair as alt

    votes = findings.votes
    title = "Labels that occur together"
    shown = _largest(findings.items_per_label, MAX_COOCCURRING)
    shown = shown[findings.items_per_label[shown] >= 1]
    share = _cooccurrence(findings, shown)
    if np.isnan(share).all():
        return Panel(title, "No two labels can be compared: that takes items that were asked about both.")
    names = _names(votes.label_names, shown)
    data = _rows(given=np.repeat(names, len(names)), other=np.tile(names, len(names)), share=share.ravel())
    base = alt.Chart(data).encode(
        x=alt.X("other:N", sort=names, title="… also have this label", axis=alt.Axis(orient="top", labelAngle=-45)),
        y=alt.Y("given:N", sort=names, title="of the items with this label …"),
    )
    cells = base.mark_rect(color=BLUE).encode(
        opacity=alt.Opacity(
            "share:Q",
            scale=alt.Scale(domain=[0, 1], range=[0.03, 0.9]),
            legend=alt.Legend(format="%", symbolType="square"),
        ),
        tooltip=[
            alt.Tooltip("given:N", title="of the items with"),
            alt.Tooltip("other:N", title="also have"),
            alt.Tooltip("share:Q", format=".1%"),
        ],
    )
    has_numbers = share.size <= MAX_CELLS_WITH_NUMBERS
    numbers = base.mark_text().encode(text=alt.Text("share:Q", format=".0%"))
    heat_map = alt.layer(cells, *[numbers] * has_numbers).transform_filter("isValid(datum.share)")
    step = alt.Step(40 if has_numbers else 24)
    return Panel(
        title,
        "Read along a row: of the items with the label on the left, how many also have the label at the top, among "
        "items where both were asked (probabilities count as fractions; empty cells are unknown).",
        heat_map.properties(width=step, height=step),
        notes=_left_out(votes.n_labels, len(shown), "label", "the most frequent, each expected on an item at least"),
    )


def _disputed_panel(findings: Findings) -> Panel:
    votes = findings.votes
    expected_wrong = weight_per_code(findings.model.pair_item_, findings.doubt, votes.n_items)
    worst = _largest(expected_wrong, MAX_DISPUTED_ITEMS)
    worst = worst[expected_wrong[worst] >= 0.005]
    title = "Most disputed items"
    if worst.size == 0:
        return Panel(title, "No item is disputed: every asked pair is as good as certain.")
    rows = [
        (name, f"{expected_wrong[item]:.2f}", _list(_doubtful_labels(findings, item)))
        for name, item in zip(_names(votes.item_names, worst), worst.tolist(), strict=True)
    ]
    return Panel(
        title,
        "The items on which the consensus most likely errs; each label comes with the probability that it is present "
        "and with its votes, the most doubtful first. Where the two look different, the steps from one to the other "
        "follow: a no from somebody who often misses the label says little.",
        body=_table("Items with the most wrong labels expected", ("item", "expected wrong labels", "labels"), rows),
    )


def _doubtful_labels(findings: Findings, item: int) -> list[str]:
    """The labels of an item with probability and votes, the most doubtful first."""
    votes = findings.votes
    start, stop = np.searchsorted(votes.pairs.item, (item, item + 1)).tolist()
    doubt = findings.doubt[start:stop]
    n_shown = min(max(int((doubt >= 0.01).sum()), 1), MAX_LABELS_PER_ITEM)
    pairs = start + _largest(doubt, n_shown)
    names = _names(votes.label_names, votes.pairs.label[pairs])
    more = len(doubt) - n_shown
    return [f"{name}: {_account(findings, pair)}" for name, pair in zip(names, pairs.tolist(), strict=True)] + [
        f"and {_counted(more, 'label')} with less doubt"
    ] * (more > 0)


SURPRISE = 0.25
"""Where a probability is so far from the share of yes, the report says how it came about."""


def _account(findings: Findings, pair: int) -> str:
    """The probability of a pair with its votes; where the two do not look alike, how one became the other."""
    votes, proba = findings.votes, float(findings.model.pair_proba_[pair])
    yes, n_votes = int(votes.n_yes[pair]), int(votes.pairs.n_votes[pair])
    shown = f"{proba:.2f} ({yes}\u00a0yes,\u00a0{n_votes - yes}\u00a0no)"
    if abs(proba - yes / n_votes) < SURPRISE:
        return shown
    prior, by_votes = _before_and_after_votes(findings, pair)
    others = f", {proba:.2f} with what else is known of the item" if abs(proba - by_votes) >= 0.05 else ""
    return f"{shown}: {prior:.2f} before any vote, {by_votes:.2f} by the votes of these workers{others}"


def _before_and_after_votes(findings: Findings, pair: int) -> tuple[float, float]:
    """Probability of a pair by its label alone, and by its votes as well, for what these workers' votes are worth."""
    votes, (hit, false_alarm) = findings.votes, findings.rates_of_coins
    own = slice(votes.pairs.start[pair], votes.pairs.start[pair + 1])
    worker, label, yes = votes.worker[own], votes.pairs.label[pair], votes.value[own] > 0
    prior = float(findings.model.label_prior_[label])
    h, f = (np.clip(rate[worker, label], 0.001, 0.999) for rate in (hit, false_alarm))  # nobody is certain
    evidence = np.where(yes, np.log(h / f), np.log((1 - h) / (1 - f))).sum()
    return prior, float(sigmoid(logit(np.clip(prior, 1e-6, 1 - 1e-6)) + evidence))


MEANINGS: dict[kinds.Kind, str] = {
    "clear": "The votes agree, or only people err who often do.",
    "likely slip": "Few votes against a reliable majority, from people who are usually right: probably a mis-click.",
    "too few votes": "More votes would tell what it is.",
    "hard item": "People who are right elsewhere are of two minds here: everybody is noisy.",
    "split crowd": "The same people say yes, and the same say no, as on other items: two views of the label.",
}
KIND_COLOURS = {
    "clear": BLUE, "likely slip": "#56b4e9", "too few votes": "#bbbbbb", "hard item": ORANGE, "split crowd": VERMILION,
}  # fmt: skip


def _disagreement_panel(findings: Findings) -> Panel:
    """How many pairs are of each kind, by label, with examples and what to do."""
    import altair as alt

    votes, found = findings.votes, findings.disagreement
    place = [kinds.KINDS.index(kind) for kind in MEANINGS]
    counts = np.bincount(
        votes.pairs.label * len(place) + found.kind, minlength=votes.n_labels * len(place)
    ).reshape(-1, len(place))[:, place]  # fmt: skip
    total = counts.sum(axis=0)
    rows = [
        (kind, f"{n:,}, {n / max(total.sum(), 1):.0%}", f"{meaning} {kinds.ADVICE[kind]}")
        for (kind, meaning), n in zip(MEANINGS.items(), total.tolist(), strict=True)
    ]
    body = _table("How many pairs, what it means, and what to do", ("kind", "pairs", "meaning and advice"), rows)
    examples = [row for kind in reversed(place[1:]) for row in _examples(findings, found, kind)]
    if examples:
        header = ("kind", "item", "label", "why")
        body = Html(body + _table("The most telling examples", header, examples))
    asked = counts.sum(axis=1)
    shown = _largest(np.where(asked > 0, 1 - counts[:, 0] / np.maximum(asked, 1), -1.0), MAX_DISAGREEING_LABELS)
    shown = shown[asked[shown] > 0]
    names = _names(votes.label_names, shown)
    data = _rows(
        label=np.repeat(names, len(place)),
        kind=list(MEANINGS) * len(shown),
        order=list(range(len(place))) * len(shown),
        pairs=counts[shown].ravel(),
        share=(counts[shown] / asked[shown][:, None]).ravel(),
    )
    bars = (
        alt.Chart(data)
        .mark_bar()
        .encode(
            x=alt.X("share:Q", title="share of asked pairs", stack="zero", axis=alt.Axis(format="%"),
                    scale=alt.Scale(domain=[0, 1])),
            y=alt.Y("label:N", sort=names, title=None),
            order="order:Q",
            color=alt.Color(
                "kind:N",
                scale=alt.Scale(domain=list(KIND_COLOURS), range=list(KIND_COLOURS.values())),
                legend=alt.Legend(orient="top", title=None, columns=3),
            ),
            tooltip=[
                alt.Tooltip("label:N"),
                alt.Tooltip("kind:N"),
                alt.Tooltip("pairs:Q", format=","),
                alt.Tooltip("share:Q", format=".1%"),
            ],
        )
    )  # fmt: skip
    return Panel(
        "Kinds of disagreement",
        "Why people disagree, label by label, the least clear labels first: more votes help where they are too few, "
        "not where the crowd is split or the item is hard.",
        bars.properties(width=560, height=alt.Step(20)),
        body,
        _left_out(int((asked > 0).sum()), len(shown), "label", "the least clear"),
    )


def _examples(findings: Findings, found: Disagreement, kind: int) -> list[tuple[str, ...]]:
    """Rows kind, item, label, why."""
    votes, pairs = findings.votes, found.telling(kind)

    def worker(code: int) -> str:
        return str(votes.worker_names[code].as_py())

    items, labels = (
        _names(votes.item_names, votes.pairs.item[pairs]),
        _names(votes.label_names, votes.pairs.label[pairs]),
    )
    return [
        (kinds.KINDS[kind], item, label, kinds.why(found.asked, found.explanations, pair, kind, worker))
        for item, label, pair in zip(items, labels, pairs.tolist(), strict=True)
    ]


def _workers_panel(findings: Findings) -> Panel:
    rates = findings.model.worker_rates_
    active = np.flatnonzero(rates.answers > 0)
    order = active[_largest(rates.informativeness[active], len(active))]
    most = MAX_LISTED_WORKERS
    if len(order) <= 2 * most:
        listed = [("All workers, the most informative first", order)]
    else:
        listed = [("The most informative", order[:most]), ("The least informative", order[: -most - 1 : -1])]
    header = ("worker", "answers", "hit rate", "false-alarm rate", "informativeness", "verdict")
    return Panel(
        "Workers",
        "Informativeness is the hit rate minus the false-alarm rate, 1 for a worker who is always right and 0 for "
        "one whose answers have nothing to do with the truth; brackets hold 95 % intervals.",
        body=Html("".join(_table(caption, header, _worker_rows(findings, workers)) for caption, workers in listed)),
    )


def _worker_rows(findings: Findings, workers: Ints) -> Iterable[tuple[str, ...]]:
    rates, evidence = findings.model.worker_rates_, findings.model.worker_evidence_
    return zip(
        _names(findings.votes.worker_names, workers),
        [f"{n:,}" for n in rates.answers[workers].tolist()],
        *_interval_columns(rates, workers),
        [f"{value:z.2f}" for value in rates.informativeness[workers].tolist()],
        [f"likely spammer: {evidence[worker]}" if worker in evidence else "" for worker in workers.tolist()],
        strict=True,
    )


def _interval_columns(rates: WorkerRates, workers: Ints) -> tuple[list[str], list[str]]:
    """Hit and false-alarm rates of these workers with their intervals, as text."""
    columns = (
        (rates.hit_rate, rates.hit_rate_low, rates.hit_rate_high),
        (rates.false_alarm_rate, rates.false_alarm_rate_low, rates.false_alarm_rate_high),
    )
    hit, false_alarm = (
        [_estimate(Interval(*row)) for row in np.column_stack(column)[workers].tolist()] for column in columns
    )
    return hit, false_alarm


def _families_panel(findings: Findings) -> Panel | None:
    """How many independent votes each family is worth, beside what workers who share nothing would show."""
    import altair as alt

    if not findings.model.has_roster:
        return None
    rows = findings.model.families(frame="arrow").to_pylist()
    if not rows:
        return None
    names = [row["family"] for row in rows[:MAX_FREQUENCIES]]
    columns = ("family", "votes_per_pair", "effective_votes", "null_low", "null_high")
    data = _rows(**{name: [row[name] for row in rows[:MAX_FREQUENCIES]] for name in columns})
    base = alt.Chart(data).encode(y=alt.Y("family:N", sort=names, title=None))
    tooltip = ["family:N", *(alt.Tooltip(f"{name}:Q", format=".2f") for name in columns[1:])]
    band = base.mark_bar(color=ORANGE, opacity=0.4, height=14).encode(
        x=alt.X("null_low:Q", title="votes on a pair"), x2="null_high:Q", tooltip=tooltip
    )
    given = base.mark_point(color="#888", shape="diamond", size=60).encode(x="votes_per_pair:Q", tooltip=tooltip)
    worth = base.mark_point(color=BLUE, filled=True, size=90).encode(x="effective_votes:Q", tooltip=tooltip)
    table = [
        (
            row["family"],
            row["kind"],
            f"{row['members']:,}",
            f"{row['votes_per_pair']:.1f}",
            f"{row['correlation']:.2f}",
            f"{row['effective_votes']:.1f}",
            f"{row['null_low']:.1f} to {row['null_high']:.1f}",
        )
        for row in rows
    ]
    header = (
        "family",
        "kind",
        "workers",
        "votes on a pair",
        "correlation of errors",
        "worth",
        "if nothing were shared",
    )
    return Panel(
        "Families of workers",
        "Workers of a family, and language models in general, make the same mistakes, so that their votes (grey "
        "diamonds) are worth fewer independent ones (blue). The orange band is what the same estimate would say of "
        "workers who share no errors: where the blue point lies in it, votes alone cannot tell, and what it says is "
        "mostly assumed. Answers by several people on the same pairs, or known truth, would tell.",
        (band + given + worth).properties(width=560, height=alt.Step(26)),
        _table("Families", header, table),
        _left_out(len(rows), len(names), "family", "the first"),
    )


# -- panels of models with groups and label correlation ---------------------------------------------------------------


def _groups_panel(findings: Findings) -> Panel | None:
    """The usual rates of each group on each label, and who belongs to it."""
    import altair as alt

    model, votes = findings.model, findings.votes
    if not isinstance(model, GroupedModel):
        return None
    groups = [group for group in model.groups(frame="arrow").to_pylist() if group["workers"]]
    codes = np.array([group["group"] for group in groups])
    shown = _largest(findings.items_per_label, MAX_GROUP_LABELS)
    names, who = _names(votes.label_names, shown), [f"group {code}" for code in codes.tolist()]
    rates = ("hit rate: yes when present", "false-alarm rate: yes when absent")
    data = _rows(
        rate=np.repeat(rates, len(codes) * len(shown)),
        group=np.tile(np.repeat(who, len(shown)), 2),
        label=np.tile(names, 2 * len(codes)),
        share=model.commonality_[:, codes][:, :, shown].ravel(),
    )
    n_columns = len(shown)
    has_numbers = n_columns <= 12
    base = alt.Chart().encode(
        x=alt.X("label:N", sort=names, title=None, axis=alt.Axis(labelAngle=-45, orient="bottom")),
        y=alt.Y("group:N", sort=who, title=None),
    )
    cells = base.mark_rect(color=BLUE).encode(
        opacity=_strength("share:Q", title=None, format="%"),
        tooltip=["rate:N", "group:N", "label:N", alt.Tooltip("share:Q", format=".1%")],
    )
    numbers = base.mark_text().encode(text=alt.Text("share:Q", format=".0%"))
    step = 52 if has_numbers else max(16, min(52, 640 // n_columns))
    heat_maps = (
        alt.layer(cells, *[numbers] * has_numbers, data=data)
        .properties(width=alt.Step(step), height=alt.Step(26))
        .facet(
            row=alt.Row(
                "rate:N",
                sort=list(rates),
                title=None,
                header=alt.Header(labelOrient="top", labelAnchor="start", labelAngle=0, labelFontSize=12),
            )
        )
    )
    rows = [(f"group {g['group']}", f"{g['weight']:.2f}", _said(g["summary"]), _members(findings, g)) for g in groups]
    return Panel(
        "Groups of workers",
        "Workers who answer alike form a group. The darker a cell, the more often the group says yes to this label: "
        "good groups are dark above and pale below, and where both maps look the same, answers have nothing to do "
        "with the truth. The weight says how informative the group is beside the others.",
        heat_maps,
        _table("Groups, the most informative first", ("group", "weight", "what they do", "workers"), rows),
        _left_out(votes.n_labels, len(shown), "label", "the most frequent"),
    )


def _said(summary: str) -> str:
    """The summary of a group without its number and weight, which have columns of their own."""
    return summary.partition(": ")[2].rpartition("; ")[0]


def _members(findings: Findings, group: Mapping[str, Any]) -> str:
    """Names of the busiest workers of a group."""
    answers = np.where(findings.model._groups()[0] == group["group"], findings.model.worker_rates_.answers + 1, 0)
    shown = _largest(answers.astype(np.float64), min(MAX_NAMES_IN_GROUP, group["workers"]))
    more = group["workers"] - len(shown)
    return ", ".join(_names(findings.votes.worker_names, shown)) + (f" and {more:,} more" if more else "")


def _strength(field: str, most: float = 1.0, **legend: Any) -> alt.Opacity:
    """Opacity for shares: pale is 0, dark is the most there can be."""
    import altair as alt

    scale = alt.Scale(domain=[0, most], range=[0.03, 0.9])
    return alt.Opacity(field, scale=scale, legend=alt.Legend(symbolType="square", **legend))


def _individuality_panel(findings: Findings) -> Panel | None:
    """How far each worker is from what their group usually does."""
    import altair as alt

    model, votes = findings.model, findings.votes
    if not isinstance(model, GroupedModel):
        return None
    active = np.flatnonzero(model.worker_rates_.answers > 0)
    n_shown = min(len(active), MAX_MAPPED_WORKERS)
    rng = np.random.default_rng(0)
    shown = np.sort(rng.choice(active, n_shown, replace=False))
    group = model.worker_group_[shown]
    weights = model.group_weights_
    rows = [f"group {code}, weight {weights[code]:.2f}" for code in range(len(weights))]
    data = _rows(
        worker=_names(votes.worker_names, shown),
        group=[rows[code] for code in group.tolist()],
        distance=worker_individuality(model, votes)[shown],
        answers=model.worker_rates_.answers[shown],
        height=rng.uniform(-1, 1, n_shown),
        verdict=np.where(findings.spammers[shown], "likely spammer", "other"),
    )
    points = (
        alt.Chart(data)
        .mark_point(filled=True, opacity=0.7)
        .encode(
            x=alt.X(
                "distance:Q",
                title="individuality: distance from the group's rates",
                axis=alt.Axis(format="%"),
                scale=alt.Scale(zero=True),
            ),
            y=alt.Y(
                "group:N", sort=rows, title=None, scale=alt.Scale(domain=[rows[code] for code in np.unique(group)])
            ),
            yOffset=alt.YOffset("height:Q", scale=alt.Scale(domain=[-1.6, 1.6])),
            size=alt.Size(
                "answers:Q",
                scale=alt.Scale(range=[20, 250]),
                legend=alt.Legend(tickMinStep=1, format=",d", symbolFillColor="#888"),
            ),
            color=alt.Color(
                "verdict:N",
                scale=alt.Scale(domain=["likely spammer", "other"], range=[VERMILION, BLUE]),
                legend=alt.Legend(title=None),
            ),
            shape=alt.Shape(
                "verdict:N",
                scale=alt.Scale(domain=["likely spammer", "other"], range=["triangle-up", "circle"]),
                legend=None,
            ),
            tooltip=[
                alt.Tooltip("worker:N"),
                alt.Tooltip("group:N"),
                alt.Tooltip("distance:Q", title="individuality", format=".1%"),
                alt.Tooltip("answers:Q", format=","),
                alt.Tooltip("verdict:N"),
            ],
        )
    )
    return Panel(
        "Individuality",
        "Each mark is a worker, in the row of the group: on the left those who do just what their group usually does, "
        "on the right those with ways of their own. Whoever gave few answers is taken to be like the group.",
        points.properties(width=560, height=alt.Step(64)),
        notes=_left_out(len(active), n_shown, "worker", "a random sample"),
    )


def worker_individuality(model: GroupedModel, votes: Votes) -> Floats:
    """(n_workers,) how far a worker's rates are from their group's, root of the mean square over their votes."""
    n_votes = np.bincount(votes.coins.slot // 2, minlength=len(votes.coins))
    square = weight_per_code(model.coin_worker_, n_votes * (model.individuality_**2).mean(axis=1), votes.n_workers)
    total = weight_per_code(model.coin_worker_, n_votes, votes.n_workers)
    return np.sqrt(square / np.maximum(total, 1))


MOST_CORRELATED = 5_000
"""Labels up to which all their correlations are looked at: 200 MB."""


def _correlation(findings: Findings) -> Floats | None:
    """[label, label] correlation with an empty diagonal, if the model has learned it and there is anything to see."""
    if not (isinstance(findings.model, GroupedModel) and 2 <= findings.votes.n_labels <= MOST_CORRELATED):
        return None
    correlation = np.nan_to_num(findings.model.label_correlation_)
    np.fill_diagonal(correlation, 0.0)
    return correlation


def _strongest(correlation: Floats) -> float:
    """Where the scale of strength ends: correlations of crowds are often far from 1."""
    return max(0.3, float(np.ceil(10 * np.abs(correlation).max()) / 10))


def _involved(correlation: Floats) -> Ints:
    """The labels most involved in correlations, ordered so that similar ones are neighbours."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    strength = np.where(np.abs(correlation) > MIN_LINK, np.abs(correlation), 1e-3 * np.abs(correlation)).sum(axis=1)
    shown = np.sort(_largest(strength, MAX_CORRELATED))
    distance = np.clip(1 - correlation[np.ix_(shown, shown)], 0, 2)
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform(0.5 * (distance + distance.T)), "average", optimal_ordering=True)
    return np.asarray(shown[leaves_list(tree)])


SIGNS = ["more often together", "less often together"]


def _are_cosines(model: ConsensusModel) -> bool:
    """Whether label correlations are the cosines of eq4: never negative, and above zero for unrelated labels."""
    return isinstance(model, PaperAMCC)


def _correlation_panel(findings: Findings) -> Panel | None:
    import altair as alt

    if isinstance(findings.model, GroupedModel) and findings.votes.n_labels > MOST_CORRELATED:
        return Panel("Label correlation", f"Not looked at where there are more than {MOST_CORRELATED:,} labels.")
    correlation = _correlation(findings)
    if correlation is None:
        return None
    votes, shown, cosines = findings.votes, _involved(correlation), _are_cosines(findings.model)
    meaning = (
        "How alike two labels are ticked (the cosine of eq4, above 0 also for labels that have nothing to do with each "
        "other)"
        if cosines
        else "Whether two labels come together more often (blue) or less often (orange) than if they had nothing to do "
        "with each other"
    )
    names, n_shown = _names(votes.label_names, shown), len(shown)
    value = correlation[np.ix_(shown, shown)]
    value[np.eye(n_shown, dtype=bool)] = np.nan
    data = _rows(
        first=np.repeat(names, n_shown),
        second=np.tile(names, n_shown),
        value=value.ravel(),
        strength=np.abs(value).ravel(),
        sign=np.where(value.ravel() < 0, SIGNS[1], SIGNS[0]),
    )
    base = alt.Chart(data).encode(
        x=alt.X("second:N", sort=names, title=None, axis=alt.Axis(orient="top", labelAngle=-45)),
        y=alt.Y("first:N", sort=names, title=None),
    )
    cells = base.mark_rect().encode(
        color=alt.Color(
            "sign:N",
            scale=alt.Scale(domain=SIGNS, range=[BLUE, VERMILION]),
            legend=None if cosines else alt.Legend(title=None, symbolType="square", symbolOpacity=1),
        ),
        opacity=_strength("strength:Q", _strongest(correlation), title="strength", symbolFillColor="#888"),
        tooltip=[
            alt.Tooltip("first:N", title="label"),
            alt.Tooltip("second:N", title="and"),
            alt.Tooltip("value:Q", title="correlation", format=".2f"),
        ],
    )
    has_numbers = value.size <= MAX_CELLS_WITH_NUMBERS
    numbers = base.mark_text().encode(text=alt.Text("value:Q", format=".2f"))
    heat_map = alt.layer(cells, *[numbers] * has_numbers).transform_filter("isValid(datum.value)")
    step = alt.Step(44 if has_numbers else 20)
    return Panel(
        "Label correlation",
        f"{meaning}; the darker, the stronger. Labels that go together are neighbours.",
        heat_map.properties(width=step, height=step),
        notes=_left_out(votes.n_labels, n_shown, "label", "those with the strongest correlations"),
    )


def _links_panel(findings: Findings) -> Panel | None:
    """The strongest correlations as lines between labels on a circle."""
    import altair as alt

    correlation = _correlation(findings)
    if correlation is None or findings.votes.n_labels < 3 or _are_cosines(findings.model):
        return None
    shown = _involved(correlation)
    value = np.triu(correlation[np.ix_(shown, shown)])
    first, second = np.nonzero(np.abs(value) > MIN_LINK)
    strongest = _largest(np.abs(value[first, second]), MAX_LINKS)
    first, second = first[strongest], second[strongest]
    title = "Strongest label correlations"
    if first.size == 0:
        return Panel(title, f"No two labels have a correlation beyond ±{MIN_LINK}.")
    turn = 2 * np.pi * np.arange(len(shown)) / len(shown)
    x, y = np.sin(turn), np.cos(turn)
    names, r = _names(findings.votes.label_names, shown), value[first, second]
    links = _rows(
        x=x[first],
        y=y[first],
        x2=x[second],
        y2=y[second],
        pair=[f"{names[a]} – {names[b]}" for a, b in zip(first.tolist(), second.tolist(), strict=True)],
        value=r,
        strength=np.abs(r),
        sign=np.where(r < 0, SIGNS[1], SIGNS[0]),
    )
    room = min(7 * max(map(len, names)), MAX_NAME_WIDTH)
    reach = 1.06 * CIRCLE / (CIRCLE - 2 * room)
    square = alt.Scale(domain=[-reach, reach])
    places = {"x": alt.X("x:Q", scale=square, axis=None), "y": alt.Y("y:Q", scale=square, axis=None)}
    lines = (
        alt.Chart(links)
        .mark_rule(opacity=0.75)
        .encode(
            **places,
            x2="x2:Q",
            y2="y2:Q",
            strokeWidth=alt.StrokeWidth(
                "strength:Q",
                scale=alt.Scale(domain=[MIN_LINK, _strongest(correlation)], range=[0.75, 7], clamp=True),
                legend=alt.Legend(title="strength", tickCount=4),
            ),
            strokeDash=alt.StrokeDash("sign:N", scale=alt.Scale(domain=SIGNS, range=[[1, 0], [10, 6]]), legend=None),
            color=alt.Color(
                "sign:N", scale=alt.Scale(domain=SIGNS, range=[BLUE, VERMILION]), legend=alt.Legend(title=None)
            ),
            tooltip=[alt.Tooltip("pair:N"), alt.Tooltip("value:Q", title="correlation", format=".2f")],
        )
    )
    degrees = np.degrees(turn) - 90
    right = x >= -1e-9
    nodes = (
        alt.Chart(_rows(x=x, y=y)).mark_point(filled=True, color="currentColor", size=45, opacity=1).encode(**places)
    )
    sides: tuple[tuple[Flags, Literal["left", "right"]], ...] = ((right, "left"), (~right, "right"))
    texts = [
        alt.Chart(
            _rows(
                x=1.06 * x[side],
                y=1.06 * y[side],
                label=[names[node] for node in np.flatnonzero(side).tolist()],
                angle=degrees[side] + (0 if align == "left" else 180),
            )
        )
        .mark_text(align=align, baseline="middle", limit=room)
        .encode(**places, text="label:N", angle=alt.Angle("angle:Q", scale=None))
        for side, align in sides
        if side.any()
    ]
    n_links = int((np.abs(np.triu(correlation)) > MIN_LINK).sum())
    return Panel(
        title,
        f"A line joins two labels whose correlation is beyond ±{MIN_LINK}: thick lines are strong, solid blue ones "
        "join labels that come together, dashed orange ones labels that avoid each other.",
        alt.layer(lines, nodes, *texts).properties(width=CIRCLE, height=CIRCLE),
        notes=_left_out(n_links, len(first), "correlation", "the strongest"),
    )


def _convergence_panel(findings: Findings) -> Panel | None:
    import altair as alt

    model = findings.model
    history = model.objective_history_
    if len(history) < 3:
        return None
    rises = history[-1] >= history[0]
    data = _rows(round=range(1, len(history) + 1), objective=[float(value) for value in history])
    course = (
        alt.Chart(data)
        .mark_line(color=BLUE, point=alt.OverlayMarkDef(color=BLUE, size=14) if len(history) <= 60 else False)
        .encode(
            x=alt.X("round:Q", title="round", axis=alt.Axis(tickMinStep=1, format=",d")),
            y=alt.Y(
                "objective:Q",
                title="log-likelihood bound" if rises else "objective",
                scale=alt.Scale(zero=False),
                axis=alt.Axis(format=",.0f" if max(history) - min(history) > 10 else ",.3~f"),
            ),
            tooltip=["round:Q", alt.Tooltip("objective:Q", format=",.4f")],
        )
    )
    end = "and had settled" if model.converged_ else "and had not yet settled"
    return Panel(
        "Convergence",
        f"The fit {'raises' if rises else 'lowers'} its objective round by round; it took "
        f"{_counted(len(history), 'round')} {end} when it stopped. A curve that is flat at its end is a good sign.",
        course.properties(width=620, height=200),
    )


PANELS: tuple[Callable[[Findings], Panel | None], ...] = (
    _frequency_panel,
    _confidence_panel,
    _worker_map_panel,
    _families_panel,
    _groups_panel,
    _individuality_panel,
    _cooccurrence_panel,
    _correlation_panel,
    _links_panel,
    _disputed_panel,
    _disagreement_panel,
    _workers_panel,
    _convergence_panel,
)


# -- page ----------------------------------------------------------------------------------------------------------

STYLE = """
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 22%, transparent); }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 1000px; margin: 2rem auto; padding: 0 1rem;
       color: CanvasText; background: Canvas; overflow-wrap: anywhere; }
h1, h2 { line-height: 1.2; }
h2 { margin: 1.5rem 0 .5rem; font-size: 1.25rem; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(210px, 1fr)); gap: .75rem 1.5rem; }
dt, .note, caption { font-size: .875rem; opacity: .75; }
dd { margin: 0; font-weight: 600; }
section { margin-top: 2rem; border-top: 1px solid var(--line); }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; font-size: .875rem;
        font-variant-numeric: tabular-nums; }
caption { text-align: left; padding-bottom: .25rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem 1rem .25rem 0; border-bottom: 1px solid var(--line); }
th[scope=row] { min-width: 9rem; }
th[scope=col] { overflow-wrap: normal; }
td:has(ul) { width: 65%; }
li { break-inside: avoid; }
td ul { margin: 0; padding: 0; list-style: none; columns: 2; }
.chart, .wide { overflow-x: auto; }
@media (max-width: 700px) {
  body { margin: 1rem auto; }
  dl { grid-template-columns: 1fr 1fr; }
  th, td { padding-right: .6rem; }
  th[scope=row] { min-width: 4rem; }
  td:has(ul) { width: auto; min-width: 14rem; }
  td ul { columns: 1; }
}
@media print {
  body { max-width: none; margin: 0; }
  section, tr { break-inside: avoid; }
  .chart svg { max-width: 100%; height: auto; }
}
"""

# Text and lines take the colour of the page, whether that is light or dark.
_TEXT = {
    "labelColor": "currentColor",
    "titleColor": "currentColor",
    "titleFontWeight": "normal",
    "labelLimit": 230,
    "labelFontSize": 12,
    "titleFontSize": 12,
}
CHART_OPTIONS = {
    "mode": "vega-lite",
    "renderer": "svg",
    "actions": False,
    "config": {
        "background": "transparent",
        "font": "system-ui, sans-serif",
        "view": {"stroke": None},
        "text": {"color": "currentColor", "fontSize": 12},
        "axis": _TEXT
        | {
            "domainColor": "currentColor",
            "tickColor": "currentColor",
            "gridColor": "currentColor",
            "gridOpacity": 0.1,
            "maxExtent": 260,
        },
        "legend": _TEXT,
    },
}

# A chart that is wider than the page is drawn narrower, with its legend below, so that its text stays readable. Those
# with a fixed step per label cannot shrink: the page lets them scroll.
DRAW_CHARTS = """
const room = document.body.clientWidth - 32;
if (room < 700) {
  const below = {direction: "vertical", anchor: "start"};
  Object.assign(options.config.legend, {orient: "bottom", columns: 2, offset: 24, layout: {bottom: below}});
  Object.assign(options.config.axis, {labelOverlap: "greedy", titleLimit: room - 60});
}
for (const chart of Object.values(charts)) {
  if (!(chart.width > room - 60)) continue;
  const square = chart.height === chart.width;
  chart.width = room;
  chart.autosize = {type: square ? "pad" : "fit-x", contains: "padding"};
  if (square) chart.width = chart.height = room - 60;
}
for (const [id, chart] of Object.entries(charts)) {
  vegaEmbed("#" + id, chart, options).catch(error => {
    document.getElementById(id).textContent = "This chart could not be drawn: " + error.message;
  });
}
"""

# The page may run its own scripts and may not load anything.
POLICY = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:"


def _page(title: str, head: Html, panels: Sequence[Panel]) -> str:
    charts = {f"chart-{number}": _specification(panel) for number, panel in enumerate(panels) if panel.chart}
    sections = (_section(panel, f"chart-{number}") for number, panel in enumerate(panels))
    drawing = f"const charts = {_script_json(charts)}, options = {_script_json(CHART_OPTIONS)};{DRAW_CHARTS}"
    return "\n".join(
        (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            _element("title", title),
            _element("style", Html(STYLE)),
            "</head>\n<body>",
            _element("h1", title),
            head,
            *sections,
            _element("noscript", "The charts need JavaScript; the tables do not."),
            _element("script", Html(_chart_script())),
            _element("script", Html(drawing)),
            "</body>\n</html>\n",
        )
    )


def _specification(panel: Panel) -> dict[str, Any]:
    """The chart as Vega-Lite, described for screen readers, without the web address of its schema."""
    parts = panel.chart.to_dict() if panel.chart else {}
    return {name: part for name, part in parts.items() if name != "$schema"} | {"description": panel.explanation}


def _section(panel: Panel, chart_id: str) -> Html:
    chart = [_element("div", class_="chart", id=chart_id)] if panel.chart else []
    notes = (_element("p", note, class_="note") for note in panel.notes)
    return _element(
        "section", _element("h2", panel.title), _element("p", panel.explanation), *chart, panel.body, *notes
    )


def _script_json(value: Any) -> str:
    """JSON that cannot end the script element it stands in.

    >>> _script_json("</script>")
    '"\\\\u003c/script>"'
    """
    return json.dumps(value, allow_nan=False).replace("<", "\\u003c")
