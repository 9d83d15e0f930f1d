"""Adds labels to finished episodes, and trims them, which is a label too: nothing recorded is touched.

Labels stand in the episode's root attributes, so that the episode stays one folder. They are added under the
collection's lock by one rename: two people who label at once both have their say, and a kill leaves the labels as they
were or as they are.
"""

import math
from collections.abc import Callable, Sequence
from pathlib import Path

from recorder import layout, root
from recorder.episode import EpisodeInfo, Label
from recorder.errors import EpisodeBusyError, EpisodeNotFoundError, LabelError
from recorder.labels import Change, effective, labels_for
from recorder.segments import EpisodeState


def label(path: Path | str, changes: Sequence[Change], *, author: str, utc_ns: int) -> tuple[Label, ...]:
    """Say something of a finished episode, in the trash or not.

    Args:
        path: The episode.
        changes: What is said; either all of it is taken or nothing.
        author: Who says it.
        utc_ns: When, nanoseconds since 1970-01-01 UTC.

    Returns:
        The labels that were added; none for what held already.

    Raises:
        EpisodeNotFoundError: There is no episode at that path.
        EpisodeBusyError: It is being recorded, or its recording was interrupted.
        LabelError: A change does not fit the episode.
    """
    return _label(Path(path), lambda _info: changes, author, utc_ns)


def trim(
    path: Path | str, start_s: float | None = None, stop_s: float | None = None, *, author: str, utc_ns: int
) -> tuple[Label, ...]:
    """Keep only the part [start_s, stop_s) of a finished episode. What is cut off stays on disk.

    Args:
        path: The episode.
        start_s: From the start of the recording [s]; None leaves the start of what is kept where it is.
        stop_s: The same for its end.
        author: Who trims.
        utc_ns: When, nanoseconds since 1970-01-01 UTC.

    Returns:
        As `label`.

    Raises:
        As `label`; LabelError if the part is empty or reaches beyond the recording.
    """
    wanted = (start_s, stop_s)
    if not all(edge is None or math.isfinite(edge) for edge in wanted):
        raise LabelError(f"a trim needs two moments in seconds, not {start_s} and {stop_s}")

    def change(info: EpisodeInfo) -> Sequence[Change]:
        edges = [
            old if edge is None else info.start_ns + round(edge * 1e9)
            for edge, old in zip(wanted, info.kept, strict=True)
        ]
        whole = edges == [info.start_ns, info.stop_ns]
        return [Change("kept_ns", None if whole else tuple(edges))]

    return _label(Path(path), change, author, utc_ns)


def untrim(path: Path | str, *, author: str, utc_ns: int) -> tuple[Label, ...]:
    """Keep the whole of an episode again; arguments, result and errors as those of `label`."""
    return label(path, [Change("kept_ns", None)], author=author, utc_ns=utc_ns)


def _label(
    episode: Path, changes: Callable[[EpisodeInfo], Sequence[Change]], author: str, utc_ns: int
) -> tuple[Label, ...]:
    if not episode.is_dir():
        raise EpisodeNotFoundError(f"there is no episode at {episode}")
    with layout.locked_folder(layout.collection_of(episode)):
        _check_finished(episode)
        info = effective(root.stored_info(episode))
        added, labelled = labels_for(info, changes(info), author=author, utc_ns=utc_ns)
        if added:
            root.amend(episode, labelled.model_dump(mode="json", include={"labels"}))
    return added


def _check_finished(episode: Path) -> None:
    state = root.read_info(episode).state
    if state is EpisodeState.RECORDING:
        raise EpisodeBusyError(f"{episode} is being recorded; stop it first")
    if state is EpisodeState.INTERRUPTED:
        raise EpisodeBusyError(f"{episode}: its recording was interrupted; recover it first")
