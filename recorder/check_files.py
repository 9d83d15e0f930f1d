"""Verification of a stream's files: metadata, lengths, chunk files, checksums of numbers."""

import json

from recorder import metadata
from recorder.errors import RecorderError
from recorder.findings import Finding, Subject
from recorder.metadata import IMAGE, ArrayLayout
from recorder.row_files import checksums, lost_chunks


def check_metadata(subject: Subject) -> tuple[list[Finding], int | None]:
    """Compare every metadata document with the declaration.

    Returns:
        Findings, and the length that all arrays agree on; None if they do not.
    """
    findings = []
    try:
        if metadata.read_spec(subject.path) != subject.spec:
            findings.append(subject.error("not what the episode declares"))
    except RecorderError as error:
        findings.append(subject.error(str(error)))
    lengths: dict[str, int] = {}
    for array in metadata.array_layouts(subject.spec):
        findings += _check_document(subject, array, lengths)
    claimed = subject.summary.samples if subject.summary else None
    if len(set(lengths.values())) > 1 and (subject.finished or metadata.IMAGE not in lengths):
        text = ", ".join(f"{name} {rows}" for name, rows in lengths.items())
        findings.append(subject.error(f"arrays differ in length: {text}"))
    elif claimed is not None and set(lengths.values()) != {claimed}:
        findings.append(subject.error(f"{min(lengths.values(), default=0)} rows, but the episode says {claimed}"))
    return findings, min(lengths.values()) if lengths and not findings else None


def _check_document(subject: Subject, array: ArrayLayout, lengths: dict[str, int]) -> list[Finding]:
    try:
        rows = metadata.read_rows(subject.path, array.name)
        found = metadata.read_document(subject.path / array.name)
    except RecorderError as error:
        return [subject.error(str(error), array.name)]
    lengths[array.name] = rows
    expected = json.loads(array.encode(rows, metadata.read_drops(subject.path)))
    wrong = sorted(key for key in expected.keys() | found.keys() if expected.get(key) != found.get(key))
    return [subject.error(f"wrong metadata: {', '.join(wrong)}", array.name)] if wrong else []


def check_chunks(subject: Subject, rows: int) -> list[Finding]:
    """Look for every file of numbers by name and size: a Zarr reader would give zeros for a lost one."""
    return [
        subject.error(
            f"{path.relative_to(subject.path)} " + ("has the wrong size" if path.is_file() else "is missing"),
            array.name,
            (start, stop),
        )
        for array in metadata.array_layouts(subject.spec)
        if array.name != IMAGE
        for start, stop, path in lost_chunks(subject.path / array.name, array, rows)
    ]


def check_sums(subject: Subject, rows: int) -> list[Finding]:
    """Compare every chunk of numbers with the checksum taken when it was written."""
    if subject.summary is None:
        return []
    findings = []
    for array in metadata.array_layouts(subject.spec):
        if array.name == IMAGE or lost_chunks(subject.path / array.name, array, rows):
            continue
        expected = subject.summary.checksums.get(array.name, ())
        found = checksums(subject.path / array.name, array, rows)
        if len(expected) != len(found):
            findings.append(subject.error(f"{len(expected)} checksums for {len(found)} chunk files", array.name))
            continue
        for number, (one, other) in enumerate(zip(expected, found, strict=True)):
            if one != other:
                span = (number * array.chunk_rows, min(rows, (number + 1) * array.chunk_rows))
                findings.append(subject.error("the data are not what was written (checksum differs)", array.name, span))
    return findings
