"""The root group of an episode: its attributes are the description of the episode."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from recorder import journal, labels, layout, metadata
from recorder.episode import SCHEMA_VERSION, EpisodeInfo
from recorder.errors import EpisodeFormatError, EpisodeNotFoundError
from recorder.segments import EpisodeState

FINISHED = (EpisodeState.COMPLETE, EpisodeState.RECOVERED)


def write_info(episode: Path, info: EpisodeInfo) -> None:
    """Put the description in place, in one step that survives a power loss."""
    members = _members(episode, info) if info.state in FINISHED else None
    document = metadata.encode_group(info.model_dump(mode="json"), members)
    layout.replace_file(layout.metadata_path(episode), document, layout.root_scratch(episode), durable=True)


def amend(episode: Path, attributes: Mapping[str, Any]) -> None:
    """Put some attributes in place of their like, in one step that survives a power loss; all else stays as it is."""
    document = metadata.read_document(episode)
    document["attributes"] = {**document["attributes"], **attributes}
    data = json.dumps(document, allow_nan=False).encode()
    layout.replace_file(layout.metadata_path(episode), data, layout.root_scratch(episode), durable=True)


def _members(episode: Path, info: EpisodeInfo) -> dict[str, Any]:
    """Metadata documents of every declared stream and its arrays, by path within the episode."""
    nodes = [
        node
        for spec in info.stream_specs
        for node in (spec.name, *(f"{spec.name}/{array.name}" for array in metadata.array_layouts(spec)))
    ]
    return {node: metadata.read_document(episode / node) for node in nodes}


def stored_info(episode: Path) -> EpisodeInfo:
    """The description as the root group has it.

    Raises:
        EpisodeFormatError: There is none, or not one of this schema.
    """
    attributes = metadata.read_document(episode).get("attributes")
    version = attributes.get("schema_version") if isinstance(attributes, dict) else None
    if version != SCHEMA_VERSION:
        raise EpisodeFormatError(f"{episode} has schema version {version}; this version reads {SCHEMA_VERSION}")
    try:
        return EpisodeInfo.model_validate(attributes)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise EpisodeFormatError(f"{episode}: attribute {place}: {first['msg']}") from error


def read_info(episode: Path) -> EpisodeInfo:
    """The description as it is now: of a finished episode the stored one with its labels, else what the journal says.

    Raises:
        EpisodeNotFoundError: There is nothing at that path.
        EpisodeFormatError: What is there is no episode of this schema.
    """
    if not episode.is_dir():
        raise EpisodeNotFoundError(f"there is no episode at {episode}")
    info = stored_info(episode)
    if info.state in FINISHED:
        return labels.effective(info)
    path = layout.journal_path(episode)
    if path.is_file():
        info = journal.fold(path)
    state = EpisodeState.RECORDING if journal.is_held(path) else EpisodeState.INTERRUPTED
    return info.model_copy(update={"state": state})
