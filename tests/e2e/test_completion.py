"""The Tab key: what shells are told, and what they get when they ask."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# One command with lazy options and one group of commands.
ASKED = {"amcc con": "consensus", "amcc consensus --se": "--sets", "amcc campaign in": "invite"}


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    """The command `amcc` as an installation makes it, in a folder of its own, which is the first of the PATH."""
    path = tmp_path_factory.mktemp("bin") / "amcc"
    path.write_text(f"#!{sys.executable}\nfrom amcc.__main__ import main\nmain()\n")
    path.chmod(0o755)
    return path


def run(*command: object, **environment: str) -> str:
    done = subprocess.run(list(map(str, command)), env={**os.environ, **environment}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def asked_by(shell: str, line: str) -> dict[str, str]:
    """The variables by which each shell hands over what was typed."""
    words = line.split()
    return {
        "bash": {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)},
        "zsh": {"_TYPER_COMPLETE_ARGS": line},
        "fish": {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }[shell]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_its_script_and_its_answers(program, shell):
    script = run(program, _AMCC_COMPLETE=f"source_{shell}")
    assert f"_AMCC_COMPLETE=complete_{shell}" in script
    line, wanted = "amcc campaign in", "invite"
    assert wanted in run(program, _AMCC_COMPLETE=f"complete_{shell}", **asked_by(shell, line))


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize("line", ASKED)
def test_bash_completes(program, line):
    """A real shell reads the script and calls what it registered for `amcc`."""
    words = line.split()
    code = f"""
source <(_AMCC_COMPLETE=source_bash amcc)
COMP_WORDS=({line}) COMP_CWORD={len(words) - 1}
$(complete -p amcc | sed 's/.*-F \\([^ ]*\\) .*/\\1/') amcc
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    assert ASKED[line] in run("bash", "-c", code, PATH=f"{program.parent}:{os.environ['PATH']}").split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_it_is_installed_for_the_shell_that_asks(program, tmp_path):
    """`python -m amcc` installs it for the command `amcc`, too; nothing but the home folder is touched."""
    code = f"{sys.executable} -m amcc --install-completion; true"  # `true`: else bash would become Python, and be gone
    assert "bash completion installed" in run("bash", "-c", code, HOME=str(tmp_path))
    (sourced,) = (line for line in (tmp_path / ".bashrc").read_text().splitlines() if "amcc" in line)
    script = Path(sourced.split()[-1].strip("'")).read_text()
    assert "_AMCC_COMPLETE=complete_bash" in script and script.rstrip().endswith("amcc")
