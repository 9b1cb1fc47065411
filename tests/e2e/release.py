"""make test-release: wheel and sdist as people install them, in clean environments, on the oldest and newest Python.

    python tests/e2e/release.py                                  # every Python from 3.11 on that is found: both ends
    python tests/e2e/release.py --pythons python3.11 python3.13  # these

Each is installed with what it needs from the package index and with all extras for users. Then the commands run in a
folder of their own, with nothing of this repository in sight. `tests/e2e/test_release.py` does the same without the
network, with the packages that are here.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import HTTPCookieProcessor, build_opener

ROOT = Path(__file__).parents[2]

EXTRAS = "report,polars,features,dask,excel,plot,serve,label-studio"
"""All that users choose from, except PostgreSQL: it needs a server."""

EVERY_MODULE = """
import importlib, pkgutil, amcc
names = [found.name for found in pkgutil.walk_packages(amcc.__path__, "amcc.") if ".migrations." not in found.name]
for name in names:
    if name != "amcc.__main__":
        importlib.import_module(name)
print(len(names), amcc.__file__)
"""
"""Migrations are read by Alembic only: making a campaign runs them."""


def build(place: Path, *options: str) -> tuple[Path, Path]:
    """Wheel and sdist; the wheel is made from the sdist, so nothing is missing there that it needs."""
    subprocess.run([sys.executable, "-m", "build", *options, "-o", place, ROOT], check=True, capture_output=True)
    (wheel,), (sdist,) = place.glob("*.whl"), place.glob("*.tar.gz")
    return wheel, sdist


def names_in(archive: Path) -> set[str]:
    """Files of a wheel or an sdist, without the folder around those of the latter."""
    if archive.suffix == ".whl":
        return set(zipfile.ZipFile(archive).namelist())
    with tarfile.open(archive) as tar:
        return {member.name.partition("/")[2] for member in tar if member.isfile()}


class Installed:
    """An environment with amcc in it, and a folder away from the repository in which its commands run."""

    def __init__(self, place: Path, python: str | Path = sys.executable) -> None:
        self.folder = place / "scratch"
        self.folder.mkdir(parents=True)
        self.venv = place / "venv"
        subprocess.run([python, "-m", "venv", "--without-pip", self.venv], check=True)
        (self.python,) = self.venv.glob("bin/python")
        (self.packages,) = self.venv.glob("lib/python*/site-packages")

    def install(self, *what: str) -> None:
        """Install with the pip that runs us: environments without one are made in no time."""
        pip = [sys.executable, "-m", "pip", "--python", self.python, "install", "-qq", "--disable-pip-version-check"]
        subprocess.run([*pip, *what], check=True)

    def run(self, *command: str, program: str = "amcc") -> str:
        """What a command prints; nothing from outside of the environment helps it."""
        process = self._start(program, *command)
        said, noted = process.communicate()
        assert process.returncode == 0, f"{program} {' '.join(command)}: {noted}"
        return said

    def _start(self, program: str, *command: str) -> subprocess.Popen[str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "AMCC"))}
        return subprocess.Popen(
            [self.venv / "bin" / program, *command], cwd=self.folder, env={**clean, "COLUMNS": "200"},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def serves(self) -> None:
        """A campaign can be made and served: tables, migrations, templates, strings and static files are there."""
        (self.folder / "items.csv").write_text("item,text\none,A tall pine.\ntwo,A wide sea.\n")
        (self.folder / "labels.csv").write_text("label,question,help\ntree,Is there a tree?,\n")
        (self.folder / "password").write_text("correct horse battery\n")
        tables = ["--items", "items.csv", "--labels", "labels.csv", "--password-file", "password"]
        self.run("campaign", "new", "pets", *tables, "--budget", "5", "--price", "0.02")
        told = self.run("campaign", "invite", "pets", "ann")
        (link,) = re.findall(r"/w/[^,\s]+", told)
        served = self._start("amcc", "serve", "pets", "--port", "0")
        try:
            address = served.stdout.readline().split()[-1]
            visitor = build_opener(HTTPCookieProcessor())
            visitor.addheaders = [("Accept-Language", "de")]
            page = visitor.open(f"{address}{link}").read().decode()
            assert "<h1>Willkommen</h1>" in page, page
            files = re.findall(r'(?:href|src)="(/static/[^"]+)"', page)
            assert len(files) > 3, page
            for name in files:
                assert visitor.open(f"{address}{name}").read()
        finally:
            served.terminate()
            served.communicate(timeout=60)


def pythons() -> list[str]:
    """The oldest and the newest Python on this machine that amcc supports."""
    found = []
    for minor in range(11, 30):
        program = shutil.which(f"python3.{minor}")
        if program and subprocess.run([program, "-c", ""], capture_output=True).returncode == 0:
            found.append(program)
    return sorted({found[0], found[-1]}, key=found.index) if found else [sys.executable]


def try_out(archive: Path, extras: str, python: str) -> None:
    """Install an archive into a clean environment and use it."""
    with TemporaryDirectory(prefix="release") as place:
        made = Installed(Path(place), python)
        made.install(f"{archive}[{extras}]" if extras else str(archive))
        version = made.run("--version").strip()
        assert version.removeprefix("amcc ") in archive.name, version
        if "report" in extras:
            assert "amcc-demo/report.html" in made.run("demo")
        if extras == EXTRAS:
            made.run("-c", EVERY_MODULE, program="python")
        if "serve" in extras:
            made.serves()
        print(f"{Path(python).name}: {archive.name}[{extras}] works", flush=True)


def main() -> None:
    """Build, and try both on every Python."""
    parser = argparse.ArgumentParser(description="Install wheel and sdist into clean environments and use them.")
    parser.add_argument(
        "--pythons", nargs="+", default=pythons(), help="programs; by default the oldest and the newest"
    )
    given = parser.parse_args()
    with TemporaryDirectory(prefix="dist") as place:
        wheel, sdist = build(Path(place))
        for python in given.pythons:
            for archive, extras in ((wheel, EXTRAS), (wheel, ""), (sdist, "report,serve")):
                try_out(archive, extras, python)


if __name__ == "__main__":
    main()
