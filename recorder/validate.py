"""Is an episode whole? Everything that can be told from the disk without the devices.

Zarr readers give zeros for a chunk that is missing, so a lost file is looked for by name. Zeros that were recorded are
data like any other.
"""

from pathlib import Path

from recorder import journal, layout, metadata, root
from recorder.check_files import check_chunks, check_metadata, check_sums
from recorder.check_images import check_images
from recorder.check_stamps import check_stamps
from recorder.episode import EpisodeInfo
from recorder.errors import EpisodeNotFoundError, RecorderError
from recorder.findings import Finding, Severity, Subject
from recorder.metadata import RECEIVED, TIME
from recorder.segments import EpisodeState
from recorder.streams import ImageStreamSpec

__all__ = ["Finding", "Severity", "verify"]


def verify(path: Path | str) -> list[Finding]:
    """Check every file of an episode against what the episode says of itself.

    Returns:
        What was found, errors first; empty if there is nothing to say.

    Raises:
        EpisodeNotFoundError: There is nothing at that path.
    """
    episode = Path(path)
    try:
        info = root.read_info(episode)
    except EpisodeNotFoundError:
        raise
    except RecorderError as error:
        return [Finding(Severity.ERROR, str(error))]
    findings = [*_check_state(episode, info), *_check_root(episode, info)]
    for spec in info.stream_specs:
        findings += _check_stream(Subject(episode / spec.name, spec, info))
    return sorted(findings, key=lambda finding: finding.severity is Severity.WARNING)


def _check_state(episode: Path, info: EpisodeInfo) -> list[Finding]:
    name = episode.name
    if info.state is EpisodeState.INTERRUPTED:
        return [Finding(Severity.ERROR, f"{name}: its recording was interrupted; recover it first")]
    if info.state is EpisodeState.RECORDING:
        return [Finding(Severity.WARNING, f"{name}: still being recorded; only what was committed is checked")]
    path = layout.journal_path(episode)
    if path.is_file() and not journal.is_held(path):
        return [Finding(Severity.WARNING, f"{name}: a journal is left over; recover removes it")]
    return []


def _check_root(episode: Path, info: EpisodeInfo) -> list[Finding]:
    """Undeclared streams, and whether the root's copy of the metadata is that of the arrays."""
    declared = {spec.name for spec in info.stream_specs}
    strangers = sorted(node.name for node in episode.iterdir() if node.is_dir() and node.name not in declared)
    findings = [
        Finding(Severity.WARNING, f"stream {name}: the episode does not declare it", name) for name in strangers
    ]
    copies = metadata.read_document(episode).get("consolidated_metadata", {}).get("metadata", {})
    for node, copy in copies.items():
        stream, _, array = node.partition("/")
        try:
            same = metadata.read_document(episode / node) == copy
        except RecorderError:
            continue  # the stream's own check says so
        if not same:
            sentence = f"stream {stream}, array {array}: metadata differ from their copy in the root group"
            findings.append(Finding(Severity.ERROR, sentence, stream, array))
    return findings


def _check_stream(subject: Subject) -> list[Finding]:
    if not subject.path.is_dir():
        sentence = "declared, but not on disk"
        return [subject.error(sentence) if subject.finished else subject.warning(sentence)]
    findings, rows = check_metadata(subject)
    if rows is None:
        return findings
    lost = check_chunks(subject, rows)
    findings += lost
    if not any(finding.array in (TIME, RECEIVED) for finding in lost):
        findings += check_stamps(subject, rows)
    findings += check_sums(subject, rows)
    if isinstance(subject.spec, ImageStreamSpec):
        findings += check_images(subject, subject.spec, rows)
    return findings
