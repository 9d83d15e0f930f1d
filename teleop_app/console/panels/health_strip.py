"""One cell for each stream: name and measured rate; amber and red only for what needs a look."""

from PyQt6.QtGui import QFontMetrics
from PyQt6.QtWidgets import QGridLayout, QLabel, QWidget

from teleop_app.console.panels.labels import Panel, beside, caption, set_level
from teleop_app.console.situation import Situation
from teleop_app.console.stream_health import Level, Verdict, judge, judge_loop
from teleop_app.console.theme import BODY, GRID, typeface

_SIGNS = {Level.AMBER: " ▲", Level.RED: " ■"}
_PER_ROW = 10
_NOT_KNOWN = Verdict(Level.QUIET, "—", "Not known: the station cannot be heard.")
LOOP, POLICY = "loop p99", "policy"


class HealthStrip(Panel):
    """Streams, control loop and policy."""

    def __init__(self) -> None:
        """Begin without cells."""
        super().__init__("")
        self.title.hide()
        self.cells: dict[str, QLabel] = {}
        self._grid = QGridLayout()
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(2 * GRID)
        self._grid.setVerticalSpacing(GRID // 2)
        self.rows.setContentsMargins(GRID, GRID // 2, GRID, GRID // 2)
        self.rows.setSpacing(0)
        self.rows.addLayout(self._grid)
        self._holders: list[QWidget] = []
        self._fit(("station",))

    def show_situation(self, situation: Situation) -> None:
        """Judge everything anew; twice a second is enough for reading."""
        status = situation.status
        if status is None:
            return
        verdicts = {stream.name: judge(stream) for stream in status.streams}
        if status.policy_latency_ms is not None:
            latency = f"{status.policy_latency_ms:.0f} ms"
            verdicts[POLICY] = Verdict(Level.OK, latency, f"The policy answers within {latency}.")
        if status.loop.rate_hz:
            verdicts[LOOP] = judge_loop(status.loop)
        if not situation.live:
            verdicts = dict.fromkeys(verdicts, _NOT_KNOWN)
        self._fit(tuple(verdicts))
        for name, verdict in verdicts.items():
            cell = self.cells[name]
            cell.setText(verdict.text + _SIGNS.get(verdict.level, ""))
            cell.setToolTip(verdict.sentence)
            set_level(cell, verdict.level)

    def _fit(self, names: tuple[str, ...]) -> None:
        """Have exactly the cells `names`, each as wide as its longest ordinary text so that nothing jumps."""
        if names == tuple(self.cells):
            return
        for holder in self._holders:
            self._grid.removeWidget(holder)
            holder.deleteLater()
        self.cells, self._holders = {}, []
        widest = QFontMetrics(typeface(BODY, bold=True)).horizontalAdvance("200.0 ▲")
        for place, name in enumerate(names):
            cell, holder = QLabel("—"), QWidget()
            cell.setMinimumWidth(widest)
            row = beside(caption(name), cell)
            row.addStretch(1)
            holder.setLayout(row)
            self._grid.addWidget(holder, place // _PER_ROW, place % _PER_ROW)
            self.cells[name] = cell
            self._holders.append(holder)
