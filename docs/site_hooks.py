"""What the site has beside the pages of this folder: hooks of mkdocs, see mkdocs.yml.

Pages that are made while it is built: the changelog, CONTRIBUTING.md and SECURITY.md, which lie above this folder;
notebooks; the Python reference; a gallery of reports. And `llms.txt`, a list of all pages with a
sentence each, and `llms-full.txt`, their text: for readers that are programs.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
ABOVE = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md"}
LEADS_TO = {**ABOVE, "README.md": "index.md"}
"""Where links to files above this folder lead on the site."""
MODULES = {
    "amcc": "What most people need: read votes, fit, look at workers, ask next, write a report.",
    "amcc.consensus": "The other models, the base class of all of them, and models by name.",
    "amcc.active": "Buying votes: campaigns, prices, accounts, strategies, replays and forecasts.",
    "amcc.engine": "Votes that do not fit in memory: packed, block by block, on a cluster.",
    "amcc.audit": "A consensus measured on a random slice that people answered.",
    "amcc.data": "Simulated crowds with known truth, and public data sets.",
    "amcc.metrics": "Scores of label sets and probabilities against the truth, on arrays.",
    "amcc.errors": "What is raised, and when: every error that users see is an `AmccError`.",
}
"""The public modules, each a page, and what stands at its head."""
OF_MODELS = (
    *("fit", "fit_predict", "fit_predict_proba", "predict", "predict_proba", "pairs", "sets", "labels_", "probas_"),
    *("workers", "groups", "families", "tables", "settled_basis_", "get_params", "set_params", "save", "load"),
)
"""What the page of the default shows of what all models can; the rest is for those who write one."""
MEASURED = ("results.md", "active-results.md", "performance.md", "paper.md", "deviations.md", "changelog.md")
"""Long pages that mention everything: in the search they come after those that explain."""
SENTENCES: dict[str, tuple[str, str]] = {}
"""Title and first sentence of each page that was read so far, for `llms.txt`."""
TEXTS: dict[str, str] = {}
"""The Markdown of these pages, for `llms-full.txt`."""


def on_files(files: Files, *, config: Any) -> Files:
    """Add the pages that are made here."""
    made = {there: (ROOT / here).read_text() for here, there in ABOVE.items()}
    made |= {f"notebooks/{path.stem}.md": notebook_page(path) for path in (ROOT / "docs/notebooks").glob("*.ipynb")}
    made |= {"api/index.md": api_index()} | {f"api/{name.split('.')[-1]}.md": api_page(name) for name in MODULES}
    made |= gallery()
    for there, text in made.items():
        files.append(File.generated(config, there, content=text))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Links to notebooks and to files above this folder lead to their pages; note what `llms.txt` says."""
    markdown = re.sub(r"(\]\([^)\s]+)\.ipynb\)(?!{)", r"\1.md)", markdown)  # what has attributes is a download
    above = "|".join(map(re.escape, LEADS_TO))
    markdown = re.sub(rf"\]\((?:\.\./)?({above})", lambda link: f"]({LEADS_TO[link[1]]}", markdown)
    if page.file.src_uri in ABOVE.values():
        markdown = markdown.replace("](docs/", "](")
    if page.file.src_uri in MEASURED:
        page.meta["search"] = {"boost": 0.3}
    SENTENCES[page.file.src_uri] = title(markdown), first_sentence(markdown)
    TEXTS[page.file.src_uri] = markdown
    return markdown


def on_post_build(*, config: Any) -> None:
    """Write the two files for readers that are programs, in the order of the navigation."""
    lines = ["# amcc", "", f"> {config.site_description}.", ""]
    for part in config.nav:
        ((heading, entries),) = part.items()
        lines += [f"## {heading}", ""]
        for entry in entries:
            ((_, place),) = entry.items()
            name, sentence = SENTENCES[place]
            lines.append(f"- [{name}]({place.removesuffix('.md')}.html): {sentence}")
        lines.append("")
    site = Path(config.site_dir)
    (site / "llms.txt").write_text("\n".join(lines))
    (site / "llms-full.txt").write_text("\n\n".join(TEXTS[place] for place in SENTENCES))


def title(markdown: str) -> str:
    """The first heading."""
    found = re.search(r"^# (.+)$", markdown, flags=re.MULTILINE)
    return found[1] if found else ""


def first_sentence(markdown: str) -> str:
    """The first sentence of the first paragraph that is prose, without links and line breaks."""
    for paragraph in re.split(r"\n\s*\n", re.sub(r"<!--.*?-->", "", markdown, flags=re.DOTALL)):
        if re.match(r"[A-Z`*\[]", paragraph.lstrip()):
            plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", " ".join(paragraph.split()))
            return re.split(r"(?<=[.!?])(?:\s|$)", plain, maxsplit=1)[0]
    return ""


def public_names(module: str) -> list[str]:
    """Functions and classes that a module shows, but those that `amcc` shows already."""
    there = importlib.import_module(module)
    own = [name for name, value in vars(there).items() if getattr(value, "__module__", None) == module]
    names = getattr(there, "__all__", own)
    shown_above = [] if module == "amcc" else importlib.import_module("amcc").__all__
    return [
        name
        for name in names
        if not name.startswith("_")
        and name not in shown_above
        and (inspect.isclass(getattr(there, name)) or inspect.isfunction(getattr(there, name)))
    ]


def api_page(module: str) -> str:
    """The page of a module: every name with its docstring."""
    wanted = f"\n    options: {{inherited_members: true, members: [{', '.join(OF_MODELS)}]}}"
    names = [f"::: {module}.{name}{wanted if name == 'AMCC' else ''}\n" for name in public_names(module)]
    return "\n".join([f"# {module}", "", MODULES[module], "", *names])


def api_index() -> str:
    """All names with the first sentence of each."""
    lines = [
        "# Python reference",
        "",
        "All public names of the package, with a sentence each. Models work like scikit-learn's: `fit`, `get_params`, "
        "and attributes that end in `_`.",
    ]
    for module, sentence in MODULES.items():
        lines += ["", f"## [{module}]({module.split('.')[-1]}.md)", "", sentence, "", "| name | meaning |", "|---|---|"]
        for name in public_names(module):
            said = first_sentence(inspect.getdoc(getattr(importlib.import_module(module), name)) or "")
            lines.append(f"| [`{name}`][{module}.{name}] | {said.replace('|', '&#124;')} |")
    return "\n".join(lines)


@cache  # `mkdocs serve` builds again and again
def gallery() -> dict[str, str]:
    """Reports about simulated crowds, and a page that leads to them."""
    sys.path.append(str(ROOT / "docs"))
    from build_gallery import EXAMPLES, write_gallery

    with TemporaryDirectory() as folder:
        write_gallery(Path(folder))
        reports = {f"gallery/{path.name}": path.read_text() for path in Path(folder).glob("report-*.html")}
    lines = [
        "# A gallery of reports",
        "",
        "What `amcc consensus votes.csv --report report.html` writes, about simulated crowds. Each is one file that "
        "loads nothing else; [Share a report](report.md) says what is in it.",
        "",
        *(f"- [{example.shows}](gallery/report-{name}.html): {example.about}" for name, example in EXAMPLES.items()),
        "",
        "![The top of the first report](figures/report-top.png)",
    ]
    return {**reports, "gallery.md": "\n".join(lines)}


def notebook_page(path: Path) -> str:
    """A notebook as Markdown, with what its cells printed: text, tables, pictures."""
    parts = []
    for cell in json.loads(path.read_text())["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        parts += [_shown(output) for output in cell["outputs"]]
    head, *rest = parts
    parts = [head, f"[Download this notebook]({path.name}){{ .md-button download }}", *rest]
    return "\n\n".join(parts)


def _shown(output: dict[str, Any]) -> str:
    """One output of a cell."""
    data = {kind: "".join(text) for kind, text in output.get("data", {}).items()}
    if "text/html" in data:  # as every other table of the site looks
        return re.sub(r"<style.*?</style>|(?<=<table) [^>]*", "", data["text/html"], flags=re.DOTALL)
    if "image/png" in data:
        return f'<img alt="what the cell draws" src="data:image/png;base64,{data["image/png"].strip()}">'
    text = "".join(output.get("text", "")) or data.get("text/plain", "")
    return f"```text\n{text.rstrip()}\n```"
