"""Joints over the last ten seconds: measured state, command sent, and what policy and operator propose."""

import math
from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg
from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QLabel, QPushButton

from teleop_app.console.inbox import Reading
from teleop_app.console.panels.labels import Panel, small
from teleop_app.console.theme import GRID, SMALL, Palette, typeface

WINDOW_S = 10.0
_KEEP = 400
"""Statuses remembered; more than ten seconds at twenty a second."""
_STEP_RAD = 0.25
"""The vertical range is a multiple of this [rad]."""
ALL = "all joints"
KINDS = ("state", "sent", "policy", "operator")
"""Fields of a JointStatus."""

Series = np.ndarray[tuple[int], np.dtype[np.float64]]
"""One joint over time, shape (n_statuses,) [rad]."""


class JointPlot(Panel):
    """One joint with everything known of it, or the state of all."""

    def __init__(self, palette: Palette) -> None:
        """Begin empty, showing all joints."""
        super().__init__("Joints [rad]")
        self._palette = palette
        self.names: tuple[str, ...] = ()
        self.selected = ALL
        self._times: Series = np.full(_KEEP, -np.inf)
        """Of the last statuses, the newest at the end [s]."""
        self._values: dict[str, np.ndarray[tuple[int, int], np.dtype[np.float64]]] = {}
        """Kind -> shape (_KEEP, n_joints) [rad], NaN where there is none."""
        self.curves: list[pg.PlotCurveItem] = []
        self._span = (0.0, 0.0)
        self.legend: QLabel = small()
        self.legend.setTextFormat(Qt.TextFormat.RichText)
        self.choice = QPushButton()
        self.choice.setObjectName("flat")
        self.choice.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.choice.setToolTip("Click for the next joint.")
        self.choice.clicked.connect(self.select_next)
        self.head.addWidget(self.choice)
        self.rows.addWidget(self.legend)
        self._box = pg.ViewBox(enableMenu=False, enableMouse=False)
        self.rows.addWidget(self._new_plot(), 1)
        self._show_choice()

    def _new_plot(self) -> pg.GraphicsLayoutWidget:
        """A view box and two axes: a whole PlotItem would bring menus of its own, which outlive the window."""
        view = pg.GraphicsLayoutWidget()
        view.setBackground(self._palette.panel)
        view.setMinimumHeight(11 * GRID)
        view.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        view.ci.layout.setContentsMargins(0, 0, 0, 0)
        view.ci.layout.setSpacing(0)
        self._box.setRange(xRange=(-WINDOW_S, 0), yRange=(-1, 1), padding=0, disableAutoRange=True)
        view.addItem(self._box, 0, 1)
        left, bottom = pg.AxisItem("left"), pg.AxisItem("bottom")
        for axis, row, column in ((left, 0, 0), (bottom, 1, 1)):
            axis.linkToView(self._box)
            axis.setPen(self._palette.line)
            axis.setTextPen(self._palette.quiet)
            axis.setStyle(tickFont=typeface(SMALL), tickLength=0)
            axis.setCacheMode(axis.CacheMode.DeviceCoordinateCache)
            view.addItem(axis, row, column)
        left.setWidth(5 * GRID)
        bottom.setTicks([[(-8, "-8 s"), (-6, "-6 s"), (-4, "-4 s"), (-2, "-2 s")]])
        bottom.setHeight(2 * GRID)
        return view

    def select_next(self) -> None:
        """Show the next joint; after the last one, all."""
        choices = (ALL, *self.names)
        here = choices.index(self.selected) if self.selected in choices else 0
        self.selected = choices[(here + 1) % len(choices)]
        self._show_choice()
        self.redraw()

    def add(self, reading: Reading) -> None:
        """Remember one status."""
        joints = reading.status.joints
        if joints.names != self.names:
            self.names, self.selected = joints.names, ALL
            self._times = np.full(_KEEP, -np.inf)
            self._values = {kind: np.full((_KEEP, len(self.names)), np.nan) for kind in KINDS}
            self._show_choice()
        self._times[:-1] = self._times[1:]
        self._times[-1] = reading.status.time_ns / 1e9
        for kind, values in self._values.items():
            row = getattr(joints, kind)
            values[:-1] = values[1:]
            values[-1] = row if row is not None and len(row) == len(self.names) else np.nan

    def redraw(self) -> None:
        """Draw what is remembered; ten times a second is enough."""
        if not self.names:
            return
        kept = self._times >= self._times[-1] - WINDOW_S
        times = self._times[kept] - self._times[-1]
        series = [self._values[kind][kept, joint] for kind, joint in self._drawn()]
        self._fit_height(series)
        for curve, values in zip(self.curves, series, strict=True):
            curve.setData(times, values, connect="finite")

    def _fit_height(self, series: list[Series]) -> None:
        """Keep all values in sight, in steps, so that the scale stands still while the arm moves."""
        values = np.concatenate(series) if series else np.empty(0)
        values = values[np.isfinite(values)]
        if not values.size:
            return
        low = _STEP_RAD * math.floor(values.min() / _STEP_RAD)
        high = _STEP_RAD * math.ceil(values.max() / _STEP_RAD)
        span = (low, max(high, low + _STEP_RAD))
        if span != self._span:
            self._span = span
            self._box.setYRange(*span, padding=0.08)

    def _drawn(self) -> list[tuple[str, int]]:
        if self.selected == ALL:
            return [("state", i) for i in range(len(self.names))]
        joint = self.names.index(self.selected)
        return [(kind, joint) for kind in KINDS]

    def _show_choice(self) -> None:
        self.choice.setText(f"{self.selected}  ▸")
        for curve in self.curves:
            self._box.removeItem(curve)
        self.curves = [pg.PlotCurveItem(pen=pen) for pen in self._pens()]
        for curve in self.curves:
            self._box.addItem(curve)
        c, sep = self._palette, "&nbsp;&nbsp; "
        self.legend.setText(
            _ink(c.quiet, "measured state of each joint")
            if self.selected == ALL
            else f"━ state{sep}{_ink(c.quiet, '╍ sent')}{sep}{_ink(_policy_ink(c), '╍ policy')}{sep}"
            f"{_ink(c.operator, '┅ operator')}"
        )

    def _pens(self) -> Sequence[pg.mkPen]:
        c, dash, dots = self._palette, Qt.PenStyle.DashLine, Qt.PenStyle.DotLine
        if self.selected == ALL:
            shades = np.linspace(0.35, 1.0, max(len(self.names), 1))
            return [pg.mkPen(_mix(c.panel, c.text, share), width=1) for share in shades]
        return [
            pg.mkPen(c.text, width=2),
            pg.mkPen(c.quiet, width=1, style=dash),
            pg.mkPen(_policy_ink(c), width=1, style=dash),
            pg.mkPen(c.operator, width=1, style=dots),
        ]


def _ink(colour: str, text: str) -> str:
    return f"<span style='color:{colour}'>{text}</span>"


def _policy_ink(colours: Palette) -> str:
    """Policy blue, lighter than the banner's where it is a thin line on a dark ground."""
    return pg.mkColor(colours.policy).lighter(140).name() if colours.window < "#8" else colours.policy


def _mix(ground: str, ink: str, share: float) -> tuple[int, int, int]:
    """A shade between two colours."""
    a, b = pg.mkColor(ground).getRgb()[:3], pg.mkColor(ink).getRgb()[:3]
    red, green, blue = (round(x + (y - x) * share) for x, y in zip(a, b, strict=True))
    return red, green, blue
