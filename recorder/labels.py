"""What is said of an episode after it was recorded: which words there are, and what they come to.

The recorded attributes are never written again. A label names one of them, what held before and what holds now, who
said so and when; labels are only added. `effective` replays them, so an episode reads as its last labels left it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import StringConstraints, TypeAdapter, ValidationError

from recorder.episode import EpisodeInfo, Intervention, Label
from recorder.errors import EpisodeFormatError, LabelError
from recorder.intervals import operator_interval
from recorder.segments import Outcome

Word = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, pattern=r"^[^\s,]+$")]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Fields = Mapping[str, TypeAdapter[Any]]

EPISODE_FIELDS: Fields = {
    "outcome": TypeAdapter(Outcome),
    "task": TypeAdapter(Text),
    "notes": TypeAdapter(str),
    "tags": TypeAdapter(tuple[Word, ...]),
    "failure_entry": TypeAdapter(Literal[""] | Word),
    "kept_ns": TypeAdapter(tuple[int, int] | None),
}
"""Attributes of an episode that may be labelled, and what each may be."""
INTERVENTION_FIELDS: Fields = {
    "reason": TypeAdapter(Word),
    "outcome": TypeAdapter(Literal["recovered", "not_recovered", "unknown"]),
    "failure_entry": TypeAdapter(Literal[""] | Word),
    "phase_split_ns": TypeAdapter(int | None),
}
"""The same for an intervention."""


@dataclass(frozen=True)
class Change:
    """Something to be said."""

    field: str
    value: object
    """For `add` and `remove`, one tag, or one line of the notes to add."""
    intervention: int | None = None
    """Index of the intervention that it is said of; None for the episode."""
    how: Literal["set", "add", "remove"] = "set"


def effective(info: EpisodeInfo) -> EpisodeInfo:
    """Give the description as its labels left it.

    Args:
        info: The description as stored.

    Raises:
        EpisodeFormatError: A label does not fit the episode.
    """
    for number, label in enumerate(info.labels):
        try:
            info = _applied(info, label.field, label.intervention, label.new)
        except LabelError as error:
            raise EpisodeFormatError(f"episode {info.id}: label {number}: {error}") from error
    return info


def labels_for(
    info: EpisodeInfo, changes: Sequence[Change], *, author: str, utc_ns: int
) -> tuple[tuple[Label, ...], EpisodeInfo]:
    """Put changes into labels; what holds already is not said again.

    Args:
        info: The effective description.
        changes: In order; a later one sees what the earlier ones did.
        author: Who says so.
        utc_ns: When, nanoseconds since 1970-01-01 UTC.

    Returns:
        The new labels, and the description with them.

    Raises:
        LabelError: A change does not fit the episode.
    """
    if not author.strip():
        raise LabelError("a label needs an author")
    said = datetime.fromtimestamp(utc_ns // 1000 / 1e6, UTC)
    added = []
    for change in changes:
        old = _value(info, change.field, change.intervention)
        info = _applied(info, change.field, change.intervention, _wanted(change, old))
        _check(info, change)
        new = _value(info, change.field, change.intervention)
        if new != old:
            place = {"field": change.field, "intervention": change.intervention}
            added.append(Label(**place, old=old, new=new, author=author.strip(), time_utc=said))
    return tuple(added), info.model_copy(update={"labels": (*info.labels, *added)})


def _wanted(change: Change, old: Any) -> object:
    if change.how == "set":
        return change.value
    if change.field == "tags":
        others = [tag for tag in old if tag != change.value]
        if change.how == "remove":
            return others
        return old if change.value in old else [*old, change.value]
    if change.field == "notes" and change.how == "add":
        return f"{old}\n{change.value}" if old else change.value
    raise LabelError(f"{change.field} can only be set, not {change.how}")


def _target(info: EpisodeInfo, field: str, intervention: int | None) -> EpisodeInfo | Intervention:
    fields, what = (EPISODE_FIELDS, "an episode") if intervention is None else (INTERVENTION_FIELDS, "an intervention")
    if field not in fields:
        raise LabelError(f"{field} is nothing that can be said of {what}; that is {', '.join(fields)}")
    if intervention is None:
        return info
    if not 0 <= intervention < len(info.interventions):
        raise LabelError(
            f"episode {info.id} has {len(info.interventions)} interventions, none with index {intervention}"
        )
    return info.interventions[intervention]


def _value(info: EpisodeInfo, field: str, intervention: int | None) -> Any:
    return _target(info, field, intervention).model_dump(mode="json", include={field})[field]


def _applied(info: EpisodeInfo, field: str, intervention: int | None, value: object) -> EpisodeInfo:
    target = _target(info, field, intervention)
    fields = EPISODE_FIELDS if intervention is None else INTERVENTION_FIELDS
    try:
        valid = fields[field].validate_python(value)
    except ValidationError as error:
        raise LabelError(f"{field} cannot be {value!r}: {error.errors()[0]['msg']}") from error
    changed = target.model_copy(update={field: valid})
    if isinstance(changed, EpisodeInfo):
        return changed
    interventions = (changed if one.index == changed.index else one for one in info.interventions)
    return info.model_copy(update={"interventions": tuple(interventions)})


def _check(info: EpisodeInfo, change: Change) -> None:
    """Refuse moments that lie outside of what they are said of."""
    if change.field == "kept_ns" and info.kept_ns is not None:
        (start, stop), last = info.kept_ns, info.stop_ns
        if not info.start_ns <= start < stop or (last is not None and stop > last):
            raise LabelError(
                f"episode {info.id} is {info.recorded_s:.3f} s long; the part from {info.seconds(start):.3f} s to "
                f"{info.seconds(stop):.3f} s cannot be kept of it"
            )
    if change.field == "phase_split_ns" and change.intervention is not None:
        _check_split(info, info.interventions[change.intervention])


def _check_split(info: EpisodeInfo, one: Intervention) -> None:
    if one.phase_split_ns is None:
        return
    acted = operator_interval(info, one.index)
    if acted is None:
        raise LabelError(f"in intervention {one.index} the operator never commanded; there is nothing to split")
    start, stop = acted
    if not start <= one.phase_split_ns <= stop:
        raise LabelError(
            f"in intervention {one.index} the operator commanded from {info.seconds(start):.3f} s to "
            f"{info.seconds(stop):.3f} s; {info.seconds(one.phase_split_ns):.3f} s is not in it"
        )
