"""A collection's trash, as an operator uses it: put away, bring back, and know at a glance what is there."""

from pathlib import Path

from recorder.episode_writer import discard, restore
from recorder.layout import episode_paths, trash_path
from teleop_app.station.errors import RequestRefusedError


class Trash:
    """Moves closed episodes; counts are kept so that nobody has to look at the disk twenty times a second."""

    def __init__(self, collection: Path) -> None:
        """Use the trash of `collection`, which need not exist yet."""
        self._collection = collection
        self._last: Path | None = None
        self.listed, self.trashed = 0, 0
        """Episodes in the collection and in its trash, as of the last change."""
        self.count()

    def count(self) -> None:
        """Look what is on disk."""
        trash = trash_path(self._collection)
        self.listed = len(episode_paths(self._collection)) if self._collection.is_dir() else 0
        self.trashed = len(episode_paths(trash)) if trash.is_dir() else 0

    def put(self, episode: Path | str) -> Path:
        """Put a closed episode away, given by its path or its id, and return where it is now."""
        return self.note(discard(episode if isinstance(episode, Path) else _find(self._collection, episode)))

    def note(self, trashed: Path) -> Path:
        """Remember what was put away by other means."""
        self._last = trashed
        self.count()
        return trashed

    def restore(self, episode_id: str | None = None) -> Path:
        """Bring back the episode of that id, or else the last one put away, and return where it is now."""
        trashed = _find(trash_path(self._collection), episode_id) if episode_id is not None else self._last
        if trashed is None:
            raise RequestRefusedError("nothing has been discarded in this session")
        self._last = None if trashed == self._last else self._last
        restored = restore(trashed)
        self.count()
        return restored


def _find(folder: Path, episode_id: str) -> Path:
    found = [path for path in folder.glob("*.zarr") if path.stem.endswith(episode_id)]
    if len(found) != 1:
        raise RequestRefusedError(f"there is no episode {episode_id} in {folder}")
    return found[0]
