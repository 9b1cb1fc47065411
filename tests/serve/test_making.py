"""New campaigns from files: what is wrong is said with file, row and column, and nothing is left behind."""

from __future__ import annotations

import stat

import pytest
from small import PASSWORD, files, new, opened

from amcc.errors import AmccError, InputError, NotFoundError, ParameterError
from amcc.serve.folders import Folder
from amcc.serve.service import Service, new_campaign

BAD_ITEMS = {
    "name,text\na,b\n": "a column 'item' is missing; the columns are 'name', 'text'",
    "item\na\n": "a column that says what to show is missing: one of text, image, audio, url, html",
    "item,text\n": "no rows",
    "item,text\na,x\nb,\n": "row 2, item 'b', has none",
    "item,text,html\na,x,y\n": "row 1, item 'a', has text and html",
    "item,text\na,x\na,y\n": "item 'a' must be there once; it is in rows 1 and 2",
    "item,text\n,x\n": "row 1 has none",
    "item,image\na,../secret.png\n": "row 1, column 'image': a file must be in the folder of items.csv",
    "item,image\na,cat.png\n": "row 1, column 'image': the file 'cat.png' is not there",
    "item,url\na,javascript:alert(1)\n": "row 1, column 'url': an address must begin with https:// or http://",
}

BAD_LABELS = {
    "name\ncat\n": "a column 'label' is missing",
    "label\ncat\ncat\n": "label 'cat' must be there once; it is in rows 1 and 2",
    "label,question\n,what\n": "row 1 has none",
    f"label,question\ncat,{'x' * 3000}\n": "row 1, column 'question'",
}

BAD_WORKERS = {
    "name\nann\n": "a column 'worker' is missing",
    "worker,kind\nann,robot\n": "row 1, column 'kind'",
    "worker,price\nann,0.05\nbob,0.001\n": "the price in row 2 must have at most 2 decimals; got 0.001",
    "worker,price\nann,0\n": "the price in row 1 must be above 0",
    "worker,price\nann,-1\n": "the price in row 1 must not be negative",
    "worker,kind,family\nann,human,a\ngpt,model,a\n": "family 'a' is human above and model in row 2",
}

BAD_TRUTH = {
    "item,label,truth\ni0,cat,1\nmissing,cat,1\n": "'missing'",
    "item,label,truth\ni0,cat,perhaps\n": "perhaps",
    "item,label,truth\ni0,cow,1\n": "none of its 1 labels is there",
}


@pytest.fixture
def given(tmp_path):
    return {**files(tmp_path / "files"), "budget": "1.00", "price": "0.02", "password": PASSWORD}


def refused(tmp_path, given, problem, kind=AmccError):
    with pytest.raises(kind) as error:
        new_campaign(tmp_path / "pets", **given)
    assert problem in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == ["files"]


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [("items", *row) for row in BAD_ITEMS.items()] + [("labels", *row) for row in BAD_LABELS.items()]
    + [("workers", *row) for row in BAD_WORKERS.items()] + [("truth", *row) for row in BAD_TRUTH.items()],
)  # fmt: skip
def test_bad_files(tmp_path, given, name, content, problem):
    path = tmp_path / "files" / f"{name}.csv"
    path.write_text(content)
    refused(tmp_path, {**given, name: [path] if name == "truth" else path}, problem)
    with pytest.raises(AmccError, match=f"{name}.csv"):
        new_campaign(tmp_path / "pets", **{**given, name: [path] if name == "truth" else path})


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"budget": "0"}, "above 0"),
        ({"budget": "1.001"}, "at most 2 decimals"),
        ({"budget": "much"}, "a number"),
        ({"price": "0"}, "an answer must cost at least one minor unit"),
        ({"price": "0.001"}, "the price must have at most 2 decimals"),
        ({"page_price": "-1"}, "must not be negative"),
        ({"price": "2.00"}, "the budget must pay for at least one answer, 2.00; got 1.00"),
        ({"password": "short"}, "8 to 1,000 characters"),
        ({"audit_share": 0.6, "check_share": 0.6}, "together must be at most 1"),
        ({"lease_seconds": 1}, "lease_seconds must be a whole number from 10"),
        ({"worker_cap": 0}, "worker_cap must be above 0"),
        ({"worker_cap": 0.01}, "worker_cap must let a worker earn at least one answer, 0.02; 0.01 of the budget is"),
        ({"languages": ("en", "xx")}, "a language must be one of en, de, es, zh; got 'en, xx'"),
        ({"platform": "mturk"}, "platform must be"),
        ({"completion_url": "javascript:1"}, "completion_url must begin with"),
        ({"items": "nowhere.csv"}, "nowhere.csv"),
    ],
)
def test_bad_settings(tmp_path, given, change, problem):
    refused(tmp_path, {**given, **change}, problem)


def test_a_folder_that_is_there_is_left_alone(tmp_path, given):
    (tmp_path / "pets").mkdir()
    (tmp_path / "pets" / "note").write_text("mine")
    with pytest.raises(InputError, match="is there already"):
        new_campaign(tmp_path / "pets", **given)
    assert (tmp_path / "pets" / "note").read_text() == "mine"


def test_the_folder_is_its_owners(tmp_path):
    folder = new(tmp_path)
    for path in (folder, folder / "secret.key", folder / "campaign.toml"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
    assert len(Folder.read(folder).secret) == 32
    with pytest.raises(InputError, match=r"it has no campaign.toml"):
        Service.open(tmp_path)


def test_all_kinds_of_items_and_their_files(tmp_path, given):
    folder = tmp_path / "files"
    (folder / "cat.png").write_bytes(b"png")
    given["items"].write_text(
        "item,text,image,url,html\na,words,,,\nb,,cat.png,,\nc,,,https://example.org/x,\nd,,,,<b>bold</b>\n"
    )
    with Service.open(new_campaign(tmp_path / "pets", **given)) as service:
        assert [service.item(n).kind for n in range(4)] == ["text", "image", "url", "html"]
        assert service.media_file(1) == (folder / "cat.png").resolve()
        for other in (0, 2, 3, 4):
            with pytest.raises(NotFoundError):
                service.media_file(other)


def test_items_are_added_all_or_none(tmp_path):
    with opened(tmp_path) as service:
        more = tmp_path / "more.csv"
        more.write_text("item,text\nnew,Text\ni3,Old\n")
        with pytest.raises(InputError, match="'i3' in row 2 is there already"):
            service.add_items(more, actor="test")
        more.write_text("item,text\nnew,Text\nnewer,Text\n")
        assert service.status().n_items == 6
        assert service.add_items(more, actor="test") == 2
        assert service.status().n_items == 8 and service.item(7).name == "newer"
        seen = {page.item.name for _ in range(8) if (page := service.next_page(0)) and not service.answer(
            0, page.lease_id, {each.label_id: "yes" for each in page.questions}).already}  # fmt: skip
        assert {"new", "newer"} <= seen


def test_labels_keep_their_names(tmp_path):
    with opened(tmp_path) as service:
        path = tmp_path / "labels.csv"
        path.write_text("label,question\ncat,A cat?\ndog,A dog?\nhorse,A horse?\n")
        with pytest.raises(InputError, match=r"must stay as they are.*lacks 'bird' and adds 'horse'"):
            service.change_labels(path, actor="test")
        path.write_text("label,question,help\ncat,A cat?,furry\ndog,Is there a dog?,\nbird,Is there a bird?,\n")
        assert service.change_labels(path, actor="test") == 1
        assert service.labels()[0].question == "A cat?" and service.labels()[0].help == "furry"


def test_settings_that_cannot_change(tmp_path):
    with opened(tmp_path) as service:
        for wrong in ({"currency": "EUR"}, {"decimals": 3}, {"nonsense": 1}, {"most_labels": 0}, {"vote_price": -1}):
            with pytest.raises(ParameterError):
                service.change(actor="test", **wrong)
        assert service.change(actor="test", reason="why", most_labels=2).most_labels == 2
        entry = service.log(1)[0]
        assert (entry.action, entry.actor, entry.details) == ("change", "test", {"reason": "why", "most_labels": 2})
