"""Verification of a stream's stamps: order, bounds, and whether the stored figures are those of the rows."""

import numpy as np
from numpy.typing import NDArray

from recorder import metadata
from recorder.episode import StreamSummary
from recorder.findings import Finding, Subject, runs
from recorder.metadata import RECEIVED, TIME
from recorder.row_files import read_rows
from recorder.stamps import summarise

FUTURE_TOLERANCE_NS = 20_000_000
"""A device's stamp may be so much later than its arrival: the error of mapping its clock to the host's [ns]."""
RATE_TOLERANCE = 0.1
"""A measured rate may differ so much from the declared one before it is worth a warning."""
_FIGURES = ("first_ns", "last_ns", "gaps", "gap_rows", "duplicates", "stale_runs", "backwards")


def check_stamps(subject: Subject, rows: int) -> list[Finding]:
    """Check both stamp arrays, which must be whole."""
    arrays = metadata.array_layouts(subject.spec)[:2]
    time, received = (read_rows(subject.path / array.name, array, 0, rows) for array in arrays)
    checks = (_check_bounds, _check_order, _check_figures)
    return [finding for check in checks for finding in check(subject, time, received)]


def _located(subject: Subject, sentence: str, array: str, wrong: NDArray[np.bool_], offset: int = 0) -> list[Finding]:
    return [subject.error(sentence, array, run) for run in runs(int(row) + offset for row in np.flatnonzero(wrong))]


def _check_bounds(subject: Subject, time: NDArray[np.int64], received: NDArray[np.int64]) -> list[Finding]:
    findings = []
    for name, stamps in ((TIME, time), (RECEIVED, received)):
        findings += _located(subject, "no stamp (zero or negative)", name, stamps <= 0)
    findings += _located(subject, "stamps later than their arrival", TIME, time > received + FUTURE_TOLERANCE_NS)
    findings += _located(subject, "before the start of the episode", TIME, (time > 0) & (time < subject.info.start_ns))
    if subject.info.stop_ns is not None:
        findings += _located(subject, "not before the end of the episode", TIME, time >= subject.info.stop_ns)
    return findings


def _check_order(subject: Subject, time: NDArray[np.int64], received: NDArray[np.int64]) -> list[Finding]:
    findings = _located(subject, "arrived before the row before it", RECEIVED, np.diff(received) < 0, 1)
    backwards = runs(int(row) + 1 for row in np.flatnonzero(np.diff(time) < 0))
    as_recorded = subject.summary is not None and subject.summary.backwards == int(np.count_nonzero(np.diff(time) < 0))
    report = subject.warning if as_recorded else subject.error
    return findings + [report("stamp before that of the row before", TIME, run) for run in backwards]


def _check_figures(subject: Subject, time: NDArray[np.int64], received: NDArray[np.int64]) -> list[Finding]:
    found = summarise(time, received, subject.spec.rate_hz, 0)
    findings = [] if subject.summary is None else _compare(subject, subject.summary, found)
    for row in found.gap_rows:
        gap_s = (time[row] - time[row - 1]) / 1e9
        findings.append(subject.warning(f"a gap of {gap_s:.3f} s before it", TIME, (row, row + 1)))
    for run in found.stale_runs:
        sentence = f"the same sample again for {run.duration_s:.3f} s"
        findings.append(subject.warning(sentence, TIME, (run.row, run.row + run.rows)))
    if found.rate_hz is not None and abs(found.rate_hz / subject.spec.rate_hz - 1) > RATE_TOLERANCE:
        findings.append(subject.warning(f"{found.rate_hz:.2f} Hz measured, {subject.spec.rate_hz:g} Hz declared"))
    return findings


def _compare(subject: Subject, stored: StreamSummary, found: StreamSummary) -> list[Finding]:
    findings = [
        subject.error(f"{name} is not what the episode says", TIME)
        for name in _FIGURES
        if getattr(stored, name) != getattr(found, name)
    ]
    if stored.drops != metadata.read_drops(subject.path):
        findings.append(subject.error("the number of dropped samples is not what the episode says", TIME))
    if stored.drops:
        findings.append(subject.warning(f"{stored.drops} samples were lost before they were recorded"))
    if stored.lost:
        findings.append(subject.warning(f"lost in an interruption: {stored.lost}"))
    return findings
