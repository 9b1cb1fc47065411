"""The public data sets that amcc knows: where they come from, what is in them, and how to read them.

Nothing is downloaded. A folder of data sets holds one folder per set, named as here, in the layout of `LAYOUTS`;
SONYC-UST and the MULAN sets are also read as their makers publish them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypedDict

from amcc.data.features import FeatureSet, read_npz
from amcc.data.layout import FEATURES_FILE, VOTES_FILE, CrowdSet, read_crowd
from amcc.data.mulan import read_mulan
from amcc.data.sonyc import Level, read_sonyc
from amcc.errors import FileFormatError, InputError, ParameterError

__all__ = [
    "DATASETS",
    "LAYOUTS",
    "CrowdSet",
    "DataSet",
    "FeatureSet",
    "check_set",
    "data_folder",
    "family_of",
    "is_present",
    "read_features",
    "read_set",
]

VARIABLE = "AMCC_DATA"

TruthKind = Literal["independent", "own", "none", "labels"]
"""Found without the votes; made from the very votes; not there; or there without votes, to simulate workers."""
Layout = Literal["votes", "features"]
LAYOUTS: dict[Layout, str] = {
    "votes": (
        f"{VOTES_FILE} (worker,item,label,value; 1 = given, -1 = answered and not given, no row = not asked), "
        "truth.csv (item,label: what is true), truth_items.csv (items whose truth is known; without it, all) or "
        "truth_known.csv (item,label: pairs whose truth is known)"
    ),
    "features": f"{FEATURES_FILE} (arrays X, Y, items, label_names)",
}


@dataclass(frozen=True)
class DataSet:
    """What is known about a data set before it is read.

    Parameters
    ----------
    name : str. Also the name of its folder.
    title : str. What it is about.
    source : str. Where its makers or others publish it.
    files : str. Which files there; empty where nobody knows.
    licence : str. As stated at the source.
    layout : "votes" or "features"; see `LAYOUTS`.
    counts : what `check_set` verifies.
    truth : "independent", "own", "none" or "labels". Where the truth comes from.
    votes_from : str. How the published answers become votes, and what is taken as truth.
    in_paper : bool. Whether the paper reports results on it.
    original : str. Files of the source that are read as they are, beside the layout; empty if there are none.
    scored_voters : names of the workers who had no part in the truth, where others had; empty where all may be scored.
    family : str. Sets with the same one share people, questions or makers, so that together they count once when
        methods are compared; empty where a set stands alone.
    """

    name: str
    title: str
    source: str
    files: str
    licence: str
    layout: Layout
    counts: Mapping[str, int]
    truth: TruthKind
    votes_from: str
    in_paper: bool = False
    original: str = ""
    scored_voters: tuple[str, ...] = ()
    family: str = ""


class SonycPart(TypedDict):
    """Which part of SONYC-UST a set is."""

    level: Level
    verified_only: bool


SONYC_PARTS: dict[str, SonycPart] = {
    "sonyc_ust_fine_val": {"level": "fine", "verified_only": True},
    "sonyc_ust_fine_all": {"level": "fine", "verified_only": False},
    "sonyc_ust_coarse_val": {"level": "coarse", "verified_only": True},
}
SONYC_FOLDER = "sonyc_ust"
"""One file serves all three parts: it may lie in the folder of a part or in this one."""
MULAN_FILES = {"mulan_emotions": "emotions", "mulan_scene": "scene", "mulan_yeast": "yeast"}


# -- finding and reading --------------------------------------------------------------------------------------------


def data_folder(option: Path | None) -> Path | None:
    """The folder of data sets: the one named, else that of the environment variable AMCC_DATA, else None."""
    named = os.environ.get(VARIABLE)
    folder = option or (Path(named) if named else None)
    if folder is not None and not folder.is_dir():
        origin = "" if option else f" ({VARIABLE})"
        raise InputError(f"{folder}{origin} must be a folder with data sets in it; there is no such folder.")
    return folder


def known_set(name: str) -> DataSet:
    """The entry of that name."""
    if name not in DATASETS:
        raise ParameterError(f"a data set must be one of {', '.join(DATASETS)}; got {name!r}.")
    return DATASETS[name]


def family_of(name: str) -> str:
    """The family of a set; its own name where it stands alone or is not known here."""
    known = DATASETS.get(name)
    return known.family if known and known.family else name


def is_present(name: str, folder: Path) -> bool:
    """Whether the set's files lie below the folder, in either layout."""
    main = folder / name / (VOTES_FILE if known_set(name).layout == "votes" else FEATURES_FILE)
    return main.exists() or _original(name, folder) is not None


def read_set(name: str, folder: Path) -> CrowdSet:
    """Votes and truth of a set below the folder."""
    if known_set(name).layout != "votes":
        raise ParameterError(f"{name} has no votes, only features and labels. Use read_features and simulate workers.")
    if (folder / name / VOTES_FILE).exists():
        return read_crowd(folder / name)
    if (original := _original(name, folder)) is not None:
        return read_sonyc(original, **SONYC_PARTS[name])
    raise FileFormatError(_not_there(name, folder))


def read_features(name: str, folder: Path) -> FeatureSet:
    """Features and labels of a set below the folder."""
    if known_set(name).layout != "features":
        raise ParameterError(f"{name} has no features and labels, but votes. Use read_set.")
    if (path := folder / name / FEATURES_FILE).exists():
        return read_npz(path)
    if (original := _original(name, folder)) is not None:
        return read_mulan(original.parent, MULAN_FILES[name])
    raise FileFormatError(_not_there(name, folder))


def check_set(name: str, folder: Path) -> list[str]:
    """What differs from the registry, one sentence each; empty where nothing does."""
    try:
        found = counts_of(name, folder)
    except InputError as error:
        return [str(error)]
    return [
        f"{name} should have {wanted:,} {what}; {folder / name} has {found[what]:,}."
        for what, wanted in known_set(name).counts.items()
        if found[what] != wanted
    ]


def counts_of(name: str, folder: Path) -> dict[str, int]:
    """How many of everything a set below the folder has."""
    if known_set(name).layout == "features":
        described = read_features(name, folder)
        (n_items, n_labels), n_features = described.truth.shape, described.features.shape[1]
        true_labels = int(described.truth.sum())
        return {"items": n_items, "labels": n_labels, "features": n_features, "true labels": true_labels}
    crowd = read_set(name, folder)
    return {
        "workers": crowd.votes.n_workers,
        "items": crowd.votes.n_items,
        "labels": crowd.votes.n_labels,
        "answers": int(crowd.votes.answers_per_item.sum()),
        "votes": len(crowd.votes),
        "items with truth": int(crowd.known.any(axis=1).sum()),
        "true labels": int((crowd.truth & crowd.known).sum()),
    }


def _original(name: str, folder: Path) -> Path | None:
    """The file of the source's own layout, if it is there."""
    if name in SONYC_PARTS:
        places = [folder / place / "annotations.csv" for place in (name, SONYC_FOLDER)]
    else:
        places = [folder / name / f"{MULAN_FILES[name]}.xml"] if name in MULAN_FILES else []
    return next((place for place in places if place.exists()), None)


def _not_there(name: str, folder: Path) -> str:
    wanted = VOTES_FILE if DATASETS[name].layout == "votes" else FEATURES_FILE
    return f"{folder / name} must hold {wanted}; there is none. `amcc data where {name}` says how to get it."


# -- the sets -------------------------------------------------------------------------------------------------------


def _votes(
    workers: int, items: int, labels: int, answers: int, votes: int, items_with_truth: int, true_labels: int
) -> dict[str, int]:
    counts = {"workers": workers, "items": items, "labels": labels, "answers": answers, "votes": votes}
    return {**counts, "items with truth": items_with_truth, "true labels": true_labels}


def _features(items: int, labels: int, features: int, true_labels: int) -> dict[str, int]:
    return {"items": items, "labels": labels, "features": features, "true labels": true_labels}


_SONYC = DataSet(
    name="sonyc_ust_fine_val",
    title="sounds of New York City, 23 fine tags, the clips with verified truth",
    source="SONYC-UST 1.0, doi:10.5281/zenodo.3233082; also github.com/ihounie/urban-sound-tagging-baseline (686a516)",
    files="annotations-dev.csv, there kim2/annotations.csv",
    licence="not stated beside the file in that repository (its code: MIT); the Zenodo record is said to be CC BY 4.0",
    layout="votes",
    counts=_votes(301, 443, 23, 1329, 30567, 443, 642),
    truth="independent",
    votes_from=(
        "Volunteers are annotators above 0; tags other-or-unknown (X) are left out. Truth: annotator 0, on which the "
        "makers of the data agreed. The paper's table has 118 workers: those with more than two answers."
    ),
    in_paper=True,
    original=f"annotations.csv as published, in the set's own folder or in {SONYC_FOLDER}",
    family="sonyc",
)
_STORIES = DataSet(
    name="apple_ekman",
    title="emotions in 78 sentences of the story Apple, Ekman's six",
    source="github.com/duanbb/Emotion-Interoperability (1d40e6c); Duan, Oyama, Sato and Kurihara 2014",
    files="Input/*.csv",
    licence="none stated",
    layout="votes",
    counts=_votes(68, 78, 6, 2340, 14040, 78, 81),
    truth="own",
    votes_from=(
        "Ticked = 1, else -1; neutral = -1 on all. Truth: the most frequent set of the same workers, ties united, as "
        "the authors' program has it: thin to a few answers before scoring."
    ),
    in_paper=True,
    family="stories",
)
_IMAGENET = DataSet(
    name="imagenet_real_golden",
    title="classes in 155 photographs, each asked about a few of 621, by 78 raters",
    source="github.com/google-research/reassessed-imagenet (bcd006f); Beyer and others 2020",
    files="raters_golden.npz, golden.npz",
    licence="Apache-2.0, stated for the code; the data lie in the same repository",
    layout="votes",
    counts=_votes(78, 155, 621, 12090, 88530, 155, 248),
    truth="independent",
    votes_from=(
        "Yes = 1; no and maybe = -1; classes that were not proposed have no row. Truth: three of five experts said "
        "yes, known only of the pairs that they judged. Everybody answered everything: thin to a few answers."
    ),
    family="imagenet",
)
_NIH = DataSet(
    name="nih_four_findings",
    title="four findings in 4376 chest X-rays, three readers each",
    source="github.com/SaimMSiddiqui/ThoracicDiseaseDetection (3214336), a copy of the labels by Google Health",
    files="gcs-public-data--healthcare-nih-chest-xray-labels/four_findings_expert_labels/*",
    licence="for research and education only, says the README of the labels",
    layout="votes",
    counts=_votes(22, 4376, 4, 13077, 52308, 4376, 3195),
    truth="independent",
    votes_from=(
        "Yes = 1; no and hedge = -1. Truth: what the readers agreed on after up to five rounds of discussion, better "
        "than their first reading but not independent of it. Majkowska and others 2019."
    ),
    family="nih",
)
_JUDGES = DataSet(
    name="llm_framing",
    title="22 framing questions about 116 texts: six language models, one person on a quarter of the items",
    source="github.com/nitaytech/AltTest (18428b1)",
    files="framing: answers of people and of models",
    licence="none stated",
    layout="votes",
    counts=_votes(7, 116, 22, 725, 15950, 116, 789),
    truth="independent",
    votes_from=(
        "Models answered every pair; one person is a voter. Truth: the majority of at least two other people, known "
        "only of some pairs. workers.csv says who is a model, and of which family."
    ),
    family="judges",
)
_EMOTIONS = DataSet(
    name="mulan_emotions",
    title="emotions in 593 pieces of music",
    source="MULAN, github.com/tsoumakas/mulan (43f6389)",
    files="data/multi-label/emotions/{emotions.arff, emotions.xml}",
    licence="none stated for the data (the MULAN library: GPL)",
    layout="features",
    counts=_features(593, 6, 72, 1108),
    truth="labels",
    votes_from="No crowd: workers are simulated as in the paper, from the features. Items keep the order of the file.",
    in_paper=True,
    original="emotions.arff and emotions.xml",
    family="mulan",
)

_ALL = (
    _SONYC,
    replace(
        _SONYC,
        name="sonyc_ust_fine_all",
        title="sounds of New York City, 23 fine tags, all clips; truth for 443 of them",
        counts=_votes(549, 2794, 23, 8382, 192786, 443, 642),
        in_paper=False,
    ),
    replace(
        _SONYC,
        name="sonyc_ust_coarse_val",
        title="sounds of New York City, 8 coarse tags, the clips with verified truth",
        counts=_votes(301, 443, 8, 1329, 10632, 443, 723),
        in_paper=False,
    ),
    DataSet(
        name="affective",
        title="emotions in 100 headlines, six scores each",
        source="github.com/Praznat/annotationmodeling (9677293); Snow, O'Connor, Jurafsky and Ng 2008",
        files="data/snow_affect/*.standardized.tsv",
        licence="repository BSD-3-Clause; the authors of the data distribute them without an explicit licence",
        layout="votes",
        counts=_votes(38, 100, 6, 1000, 6000, 100, 163),
        truth="independent",
        votes_from=(
            "Scores of 1 or more = 1, 0 = -1. Truth: the mean of six experts is 20 or more. Both cuts are a choice; "
            "the paper does not say how it made labels of scores."
        ),
        in_paper=True,
    ),
    _STORIES,
    replace(
        _STORIES,
        name="apple_nakamura",
        title="emotions in 78 sentences of the story Apple, Nakamura's ten",
        counts=_votes(57, 78, 10, 2340, 23400, 78, 67),
    ),
    replace(
        _STORIES,
        name="love_ekman",
        title="emotions in 63 sentences of the story Love, Ekman's six",
        counts=_votes(54, 63, 6, 1890, 11340, 63, 47),
    ),
    replace(
        _STORIES,
        name="love_nakamura",
        title="emotions in 63 sentences of the story Love, Nakamura's ten",
        counts=_votes(41, 63, 10, 2583, 25830, 63, 75),
    ),
    replace(
        _STORIES,
        name="apple_nakamura_run10",
        title="emotions in 78 sentences of the story Apple, Nakamura's ten, by other workers",
        counts=_votes(15, 78, 10, 623, 6230, 78, 67),
        truth="independent",
        votes_from=(
            "Ticked = 1, else -1; neutral = -1 on all. Truth: the most frequent set of the 30 workers of "
            "apple_nakamura, none of whom votes here; weak, for it hangs on ties."
        ),
        in_paper=False,
    ),
    DataSet(
        name="movie",
        title="genres of 100 films",
        source="not found in public; Yoshimura, Baba and Kashima 2017 used it",
        files="",
        licence="not known",
        layout="votes",
        counts={"workers": 89, "items": 100, "labels": 19},
        truth="none",
        votes_from=(
            "All that is known is the paper's table: 89 workers, 100 items, 19 labels, 35 answers per item, 6811 "
            "labels given, 1.95 per answer. It says that there is a truth, not where it comes from."
        ),
        in_paper=True,
    ),
    _EMOTIONS,
    replace(
        _EMOTIONS,
        name="mulan_scene",
        title="contents of 2407 photographs",
        files="data/multi-label/scene/{scene-train.arff, scene-test.arff, scene.xml}",
        counts=_features(2407, 6, 294, 2585),
        original="scene.xml and scene.arff, or scene-train.arff and scene-test.arff",
    ),
    replace(
        _EMOTIONS,
        name="mulan_yeast",
        title="functions of 2417 genes of yeast",
        files="data/multi-label/yeast/{yeast.arff, yeast.xml}",
        counts=_features(2417, 14, 103, 10241),
        original="yeast.arff and yeast.xml",
    ),
    DataSet(
        name="crowdtruth_tweets",
        title="events in tweets; nearly all have a single label",
        source="github.com/CrowdTruth/Cross-Task-Majority-Vote-Eval (5cf30be)",
        files="tweets_raw.csv, tweets_aggregated.csv",
        licence="none stated",
        layout="votes",
        counts=_votes(418, 3020, 8, 21142, 169136, 3019, 2873),
        truth="independent",
        votes_from="Chosen events = 1, others -1; NONE = -1 on all. Truth: trusted judgments of its makers.",
    ),
    DataSet(
        name="chexpert_test_3readers",
        title="findings in 500 chest X-ray studies by three radiologists",
        source="github.com/rajpurkarlab/cheXpert-test-set-labels (a03eb34); Irvin and others 2019",
        files="radiologists/*/*.csv, groundtruth.csv",
        licence="none stated (the images need Stanford's research use agreement)",
        layout="votes",
        counts=_votes(3, 500, 14, 1500, 21000, 500, 1392),
        truth="independent",
        votes_from="Workers: the three benchmark radiologists. Truth: the majority of five others.",
    ),
    DataSet(
        name="varierr_nli",
        title="inference in 500 pairs of sentences, several labels allowed",
        source="github.com/mainlp/VariErr-NLI (b2cbdd3); Weber-Genzel and others 2024",
        files="varierr.json",
        licence="none stated",
        layout="votes",
        counts=_votes(4, 500, 3, 1865, 5595, 500, 749),
        truth="independent",
        votes_from=(
            "First round; who said idk did not answer. Truth: labels that survived the second round, a new judgment of "
            "the same four people."
        ),
    ),
    DataSet(
        name="so_emotions",
        title="emotions in 4800 posts about programming",
        source="github.com/collab-uniba/EmotionDatasetMSR18 (d6a679f); Novielli, Calefato and Lanubile 2018",
        files="Emotions_GoldSandard_andAnnotation.xlsx",
        licence="no formal licence; the README asks for citation (fair use policy)",
        layout="votes",
        counts=_votes(12, 4800, 6, 14400, 86400, 4800, 2974),
        truth="own",
        votes_from="Worker: group and rater. Truth: the majority of the same three raters: thin to two before scoring.",
    ),
    DataSet(
        name="open_domain_relex",
        title="relations in 4100 sentences",
        source="github.com/CrowdTruth/Open-Domain-Relation-Extraction (0672c44), doi:10.5281/zenodo.1472330",
        files="data/input/AMT/*.csv, data/input/CF/*.csv",
        licence="none stated",
        layout="votes",
        counts=_votes(709, 4100, 18, 60980, 1097640, 0, 0),
        truth="none",
        votes_from=(
            "Chosen relations = 1, others -1; NONE = -1 on all; empty answers are left out. The published files hold "
            "workers' network addresses and places: leave those columns out."
        ),
    ),
    _IMAGENET,
    replace(
        _IMAGENET,
        name="imagenet_real_full",
        title="classes in 24,889 photographs, each asked about a few of 1000; truth for 155 of them",
        files="raters.npz, golden.npz",
        counts=_votes(85, 24889, 1000, 171646, 924810, 155, 248),
        votes_from=_IMAGENET.votes_from.partition(" Everybody")[0],
    ),
    DataSet(
        name="crowdtruth_medical",
        title="relations in 975 medical sentences, 15 workers each",
        source="github.com/CrowdTruth/Cross-Task-Majority-Vote-Eval (5cf30be)",
        files="medical_raw.csv, medical_aggregated.csv",
        licence="none stated",
        layout="votes",
        counts=_votes(304, 975, 9, 14920, 134280, 948, 532),
        truth="independent",
        votes_from=(
            "Chosen relations = 1, others -1; NONE = -1 on all; relations merged as by the authors. Truth: trusted "
            "judgments, known only of the relations causes and treats."
        ),
    ),
    _NIH,
    replace(
        _NIH,
        name="nih_all_findings",
        title="15 findings in 810 chest X-rays, the same five readers",
        files="gcs-public-data--healthcare-nih-chest-xray-labels/all_findings_expert_labels/*",
        counts=_votes(5, 810, 15, 4050, 60750, 810, 1276),
        votes_from=(
            "Yes = 1, else -1. Truth: the majority of the readers w0002, w0004 and w0005, so that only the other two "
            "are independent of it. Nabulsi and others 2021."
        ),
        scored_voters=("w0001", "w0003"),
    ),
    DataSet(
        name="ecg_ribeiro",
        title="six abnormalities in 827 electrocardiograms",
        source="github.com/antonior92/automatic-ecg-diagnosis (4039348); Ribeiro and others 2020",
        files="data/annotations/*.csv",
        licence="MIT",
        layout="votes",
        counts=_votes(5, 827, 6, 4135, 24810, 827, 158),
        truth="independent",
        votes_from=(
            "w0001 students, w0002 emergency residents, w0003 cardiology residents, w0004 and w0005 cardiologists. "
            "Truth: what the two cardiologists agree on, else a third: independent of the first three only."
        ),
        scored_voters=("w0001", "w0002", "w0003"),
    ),
    _JUDGES,
    replace(
        _JUDGES,
        name="llm_cebab_aspects",
        title="four aspects of 940 restaurant reviews: six language models, one person on a quarter of the items",
        files="cebab_aspects: answers of people and of models",
        counts=_votes(7, 940, 4, 5808, 6220, 920, 481),
    ),
    DataSet(
        name="llm_civilcomments",
        title="toxic or not: 4997 comments, 20 language models",
        source="github.com/SprocketLab/CARE (72f5b29)",
        files="answers of the models to Civil Comments",
        licence="none stated; Civil Comments itself is CC0",
        layout="votes",
        counts=_votes(20, 4997, 1, 99927, 99927, 4997, 2497),
        truth="independent",
        votes_from="One label. Truth: what people said, a balanced sample. The models share many errors.",
        family="judges",
    ),
)
DATASETS: dict[str, DataSet] = {data_set.name: data_set for data_set in _ALL}
