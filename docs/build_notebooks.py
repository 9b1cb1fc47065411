"""Run the notebooks of docs/notebooks and keep what their cells print: `python docs/build_notebooks.py`."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).with_name("notebooks")


def executed(path: Path) -> Any:
    """The notebook with its outputs, after a run in an empty folder. A cell that fails raises.

    When it ran, how often, and ids of cells say nothing to a reader; without them, a second run gives the same file.
    """
    os.environ.setdefault("MPLCONFIGDIR", tempfile.gettempdir())
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
    for number, cell in enumerate(notebook.cells):
        cell["id"], cell["metadata"] = f"cell-{number}", {}
        if cell.cell_type == "code":
            cell["execution_count"] = None
            cell["outputs"] = [_without_count(output) for output in cell.outputs]
    notebook["metadata"] = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return notebook


def printed(notebook: Any) -> list[str]:
    """What the cells print and show as text."""
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    return [output.get("text") or output["data"]["text/plain"] for output in outputs]


def _without_count(output: Any) -> Any:
    if "execution_count" in output:
        output["execution_count"] = None
    return output


if __name__ == "__main__":
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        nbformat.write(executed(path), path)
