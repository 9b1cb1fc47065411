"""Records of tools for evaluation and of data sets, written by us after the documented shapes.

Three items and two labels, correct and polite. ann says yes to both of s1, and to neither of s2; the model m1 says yes
to correct and no to polite of s1, and nothing else.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa

# Who said what, as (worker, item, label, yes); every tool below spells this out in its own way.
SAID = [
    ("ann", "s1", "correct", True), ("ann", "s1", "polite", True), ("ann", "s2", "correct", False),
    ("ann", "s2", "polite", False), ("m1", "s1", "correct", True), ("m1", "s1", "polite", False),
]  # fmt: skip


def langfuse(worker: str, item: str, label: str, value: Any, kind: str = "BOOLEAN", **more: Any) -> dict[str, Any]:
    """A score as the third version of its interface gives it."""
    source = {"ann": "ANNOTATION", "bob": "ANNOTATION"}.get(worker, "EVAL")
    by = {"authorUserId": worker} if source == "ANNOTATION" else {"metadata": {"judge": worker, "model": "gpt"}}
    return {
        "id": f"{worker}-{item}-{label}", "name": label, "value": value, "dataType": kind, "source": source,
        "subject": {"kind": "trace", "id": item}, "timestamp": "2026-11-01T10:00:00.000Z", **by, **more,
    }  # fmt: skip


def langsmith(worker: str, item: str, label: str, value: Any, **more: Any) -> dict[str, Any]:
    """Feedback on a run."""
    people = worker in ("ann", "bob")
    source = {"type": "app", "user_id": worker} if people else {"type": "model", "metadata": {"judge": worker}}
    return {
        "id": f"{worker}-{item}-{label}", "run_id": item, "key": label, "score": value, "value": None, "comment": None,
        "correction": None, "created_at": "2026-11-01T10:00:00+00:00", "feedback_source": source, **more,
    }  # fmt: skip


def phoenix(worker: str, item: str, label: str, value: Any, word: str | None = None, **more: Any) -> dict[str, Any]:
    """An annotation of a span."""
    return {
        "id": f"{worker}-{item}-{label}", "span_id": item, "name": label, "identifier": worker,
        "annotator_kind": "HUMAN" if worker in ("ann", "bob") else "LLM", "metadata": {},
        "result": {"score": None if value is None else float(value), "label": word, "explanation": None}, **more,
    }  # fmt: skip


def mlflow(worker: str, item: str, label: str, value: Any, **more: Any) -> dict[str, Any]:
    """An assessment of a trace."""
    kind = "HUMAN" if worker in ("ann", "bob") else "LLM_JUDGE"
    return {
        "assessment_id": f"{worker}-{item}-{label}", "assessment_name": label, "trace_id": item,
        "source": {"source_type": kind, "source_id": worker}, "feedback": {"value": value},
        "create_time": "2026-11-01T10:00:00Z", "valid": True, **more,
    }  # fmt: skip


JUDGES = {"langfuse": langfuse, "langsmith": langsmith, "phoenix": phoenix, "mlflow": mlflow}

LEWIDI = {
    "s1": {
        "text": "A sentence.", "annotators": "ann,m1", "annotations": {"ann": "correct,polite", "m1": "correct"},
        "soft_label": {"correct": {"0": 0.0, "1": 1.0}, "polite": {"0": 0.5, "1": 0.5}},
    },
    "s2": {"text": "Another.", "annotators": "ann", "annotations": {"ann": ""}, "soft_label": {}},
}  # fmt: skip

PEOPLE = {"ann": {f"{item}__{label}": int(yes) for worker, item, label, yes in SAID if worker == "ann"}}
MODELS = {"m1": {f"{item}__{label}": int(yes) for worker, item, label, yes in SAID if worker == "m1"}}


def rows() -> list[dict[str, Any]]:
    """A plain table of the same."""
    return [{"worker": w, "item": i, "label": lab, "value": int(yes)} for w, i, lab, yes in SAID]


def save_to_disk(folder: Path, table: pa.Table, files: int = 1) -> None:
    """A data set in Arrow files, as the library of Hugging Face saves it."""
    folder.mkdir(parents=True)
    names = [f"data-{number:05}-of-{files:05}.arrow" for number in range(files)]
    size = -(-table.num_rows // files)
    for number, name in enumerate(names):
        with pa.OSFile(str(folder / name), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
            stream.write_table(table.slice(number * size, size))
    (folder / "dataset_info.json").write_text('{"features": {}}')
    listed = ", ".join(f'{{"filename": "{name}"}}' for name in names)
    (folder / "state.json").write_text(f'{{"_data_files": [{listed}], "_split": null}}')


def workbook(path: Path, sheets: dict[str, list[list[Any]]]) -> None:
    """A spreadsheet with text, numbers and true or false in its cells, without any library."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    numbered = list(enumerate(sheets, start=1))
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="rels" ContentType="'
        'application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" '
        f'ContentType="{kind}.sheet.main+xml"/>' + "".join(
            f'<Override PartName="/xl/worksheets/sheet{n}.xml" ContentType="{kind}.worksheet+xml"/>'
            for n, _ in numbered
        ) + "</Types>",
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="rId1" '
        f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>' + "".join(
            f'<sheet name="{name}" sheetId="{n}" r:id="rId{n}"/>' for n, name in numbered
        ) + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">' + "".join(
            f'<Relationship Id="rId{n}" Type="{office}/worksheet" Target="worksheets/sheet{n}.xml"/>'
            for n, _ in numbered
        ) + "</Relationships>",
    }  # fmt: skip
    for n, name in numbered:
        body = "".join(f"<row>{''.join(map(_cell, row))}</row>" for row in sheets[name])
        parts[f"xl/worksheets/sheet{n}.xml"] = f'<worksheet xmlns="{main}"><sheetData>{body}</sheetData></worksheet>'
    with zipfile.ZipFile(path, "w") as archive:
        for part, text in parts.items():
            archive.writestr(part, '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>' + text)


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return f'<c t="b"><v>{int(value)}</v></c>'
    if value is None:
        return "<c/>"
    return f"<c><v>{value}</v></c>" if isinstance(value, int | float) else (
        f'<c t="inlineStr"><is><t>{value}</t></is></c>'
    )  # fmt: skip


def open_document(path: Path, sheets: dict[str, list[list[Any]]]) -> None:
    """The same as an OpenDocument spreadsheet, all cells text."""
    space = "urn:oasis:names:tc:opendocument:xmlns"
    tables = "".join(
        f'<table:table table:name="{name}">' + "".join(
            "<table:table-row>" + "".join(
                f'<table:table-cell office:value-type="string"><text:p>{cell}</text:p></table:table-cell>'
                for cell in row
            ) + "</table:table-row>" for row in rows
        ) + "</table:table>" for name, rows in sheets.items()
    )  # fmt: skip
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content xmlns:office="{space}:office:1.0" '
        f'xmlns:table="{space}:table:1.0" xmlns:text="{space}:text:1.0"><office:body><office:spreadsheet>{tables}'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    manifest = (
        f'<?xml version="1.0" encoding="UTF-8"?><manifest:manifest xmlns:manifest="{space}:manifest:1.0"><manifest:'
        'file-entry manifest:full-path="/" manifest:media-type="application/vnd.oasis.opendocument.spreadsheet"/>'
        "</manifest:manifest>"
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", content)
        archive.writestr("META-INF/manifest.xml", manifest)
