"""What people install: wheel and sdist hold what they must and nothing else, and the wheel works by itself."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from release import EXTRAS, ROOT, Installed, build, names_in

import amcc

SOURCE = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src" / "amcc").rglob("*")
          if path.is_file() and "__pycache__" not in path.parts and path.suffix not in (".nbi", ".nbc")}  # fmt: skip


@pytest.fixture(scope="module")
def archives(tmp_path_factory) -> tuple[Path, Path]:
    return build(tmp_path_factory.mktemp("dist"), "--no-isolation")


@pytest.fixture(scope="module")
def installed(archives, tmp_path_factory) -> Installed:
    """The wheel in an environment of its own; what it depends on is taken from the tests' environment."""
    made = Installed(tmp_path_factory.mktemp("installed"))
    made.install("--no-deps", "--no-index", str(archives[0]))
    # Names in a .pth file are looked up, but .pth files there are not read: an editable amcc is not seen.
    (made.packages / "dependencies.pth").write_text("\n".join(path for path in sys.path if "site-packages" in path))
    return made


def test_the_wheel_holds_the_package_and_nothing_else(archives):
    names = {name for name in names_in(archives[0]) if ".dist-info/" not in name}
    assert names == SOURCE
    suffixes = {Path(name).suffix for name in names}
    assert {".py", ".typed", ".toml", ".csv", ".json", ".css", ".js", ".html", ".svg", ".txt"} == suffixes


def test_licences_are_in_the_wheel(archives):
    licences = {name.partition("/licenses/")[2] for name in names_in(archives[0]) if "/licenses/" in name}
    assert licences == {"LICENSE", "src/amcc/serve/web/static/htmx-LICENSE.txt"}


def test_the_sdist_holds_the_source_and_nothing_else(archives):
    around = {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "SECURITY.md", "PKG-INFO"}
    assert names_in(archives[1]) - {".gitignore"} == {f"src/{name}" for name in SOURCE} | around


def test_the_demo_works_from_the_wheel_alone(installed):
    assert installed.run("--version") == f"amcc {amcc.__version__}\n"
    where = installed.run("-c", "import amcc; print(amcc.__file__)", program="python")
    assert Path(where.strip()).is_relative_to(installed.packages)
    told = installed.run("demo", "--votes", "2000")
    assert "amcc-demo/report.html" in told
    assert "<script" in (installed.folder / "amcc-demo" / "report.html").read_text()


def test_a_campaign_is_made_and_served_from_the_wheel(installed):
    installed.serves()


def test_all_extras_for_users_are_tried():
    there = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"].keys()
    # PostgreSQL needs a server; the others are for those who work on amcc.
    assert set(EXTRAS.split(",")) == there - {"postgres", "bench", "bench-snorkel", "docs", "dev"}


# -- versions and citation ---------------------------------------------------------------------------------------


def test_one_version_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == amcc.__version__ == citation()["version"]
    assert re.search(rf"^## {re.escape(amcc.__version__)}\b", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)


def citation() -> dict:
    return yaml.safe_load((ROOT / "CITATION.cff").read_text())


def test_the_citation_file_follows_its_schema():
    """The rules of CFF 1.2.0 for the fields that we use; other fields are refused here until their rule is, too."""
    about = citation()
    fields = {"cff-version", "message", "title", "type", "license", "version", "authors", "preferred-citation"}
    assert set(about) == fields
    assert about["cff-version"] == "1.2.0" and about["type"] == "software"
    assert about["license"] == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["license"]
    paper = about["preferred-citation"]
    assert set(paper) == {"type", "title", "authors"} and paper["type"] == "article"
    for entry in (about, paper):
        assert entry["title"].strip()
        assert entry["authors"]
        for author in entry["authors"]:  # a person or an entity
            assert set(author) in ({"name"}, {"family-names", "given-names"})
            assert all(isinstance(name, str) and name.strip() for name in author.values())
    assert all(isinstance(about[field], str) and about[field].strip() for field in ("message", "version"))
