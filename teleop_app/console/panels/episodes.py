"""The episodes of the collection, newest first; any of them can be discarded and brought back."""

from typing import Any

from PyQt6.QtCore import QAbstractTableModel, QModelIndex, Qt, pyqtSignal
from PyQt6.QtGui import QColor
from PyQt6.QtWidgets import QAbstractItemView, QHeaderView, QTableView
from typing_extensions import override

from recorder.segments import EpisodeState
from teleop_app.console.panels.labels import Panel, small
from teleop_app.console.panels.top_bar import clock
from teleop_app.console.theme import GRID, Palette
from teleop_app.station.messages import EpisodeRow

_HEADS = ("Episode", "Outcome", "Length", "Interv.", "")
_WORDS = {"success": "✓ success", "failure": "✗ failure", "aborted": "aborted", "unset": "unset"}
_WIDTHS = (7 * GRID, 0, 7 * GRID, 6 * GRID, 7 * GRID)
"""0 takes what is left [px]."""
_LAST = len(_HEADS) - 1


class EpisodesPanel(Panel):
    """The list."""

    discard_asked = pyqtSignal(str, bool)
    """An episode's id, and whether it is to be discarded (otherwise brought back)."""

    def __init__(self, palette: Palette) -> None:
        """Begin with an empty list."""
        super().__init__("Episodes")
        self.summary = small()
        self.head.addWidget(self.summary)
        self.model = EpisodeModel(palette)
        self.table = QTableView()
        self.table.setModel(self.model)
        self.table.setShowGrid(False)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.table.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.table.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        if (rows := self.table.verticalHeader()) is not None:
            rows.hide()
            rows.setDefaultSectionSize(22)
        if (columns := self.table.horizontalHeader()) is not None:
            columns.setMinimumSectionSize(3 * GRID)
            for place, width in enumerate(_WIDTHS):
                mode = QHeaderView.ResizeMode.Fixed if width else QHeaderView.ResizeMode.Stretch
                columns.setSectionResizeMode(place, mode)
                columns.resizeSection(place, width)
            columns.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
            columns.setHighlightSections(False)
            columns.setFixedHeight(2 * GRID + GRID // 2)
        self.table.clicked.connect(self._clicked)
        self.rows.addWidget(self.table, 1)

    def show_episodes(self, rows: tuple[EpisodeRow, ...]) -> None:
        """Replace the list."""
        self.model.set_rows(rows)
        kept = [row for row in rows if not row.discarded and row.state != EpisodeState.RECORDING]
        good = sum(row.outcome == "success" for row in kept)
        self.summary.setText(f"{len(kept)} kept, {good} success" if rows else "none yet")

    def _clicked(self, index: QModelIndex) -> None:
        row = self.model.rows[index.row()]
        if index.column() == _LAST and row.state != EpisodeState.RECORDING:
            self.discard_asked.emit(row.id, not row.discarded)


class EpisodeModel(QAbstractTableModel):
    """EpisodeRows, newest first."""

    def __init__(self, palette: Palette) -> None:
        """Begin empty."""
        super().__init__()
        self._palette = palette
        self.rows: tuple[EpisodeRow, ...] = ()

    def set_rows(self, rows: tuple[EpisodeRow, ...]) -> None:
        """Replace all rows."""
        self.beginResetModel()
        self.rows = tuple(sorted(rows, key=lambda row: -row.index))
        self.endResetModel()

    @override
    def rowCount(self, parent: QModelIndex | None = None) -> int:
        return len(self.rows)

    @override
    def columnCount(self, parent: QModelIndex | None = None) -> int:
        return len(_HEADS)

    @override
    def headerData(self, section: int, orientation: Qt.Orientation, role: int = 0) -> Any:
        across = orientation is Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole
        return _HEADS[section] if across else None

    @override
    def data(self, index: QModelIndex, role: int = 0) -> Any:
        row, column = self.rows[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return _cells(row)[column]
        if role == Qt.ItemDataRole.ForegroundRole:
            dim = row.discarded or column == _LAST or (row.outcome == "unset" and column == 1)
            return QColor(self._palette.faint if row.discarded else self._palette.quiet if dim else self._palette.text)
        if role == Qt.ItemDataRole.ToolTipRole:
            last = "Bring it back." if row.discarded else "Move it to the trash; can be undone."
            return last if column == _LAST else f"{row.id}: {row.task} ({row.collection_mode}, {row.state})"
        return None


def _cells(row: EpisodeRow) -> tuple[str, ...]:
    if row.state == EpisodeState.RECORDING:
        return (f"{row.index}", "● recording", "", "", "")
    outcome = "discarded" if row.discarded else _WORDS.get(row.outcome, row.outcome)
    if row.faults and not row.discarded:
        outcome += " ▲"
    undo = "undo" if row.discarded else "discard"
    return (f"{row.index}", outcome, clock(row.duration_s), f"{row.interventions or ''}", undo)
