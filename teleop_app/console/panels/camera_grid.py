"""All cameras, the first one largest, in a thin frame of the banner's colour."""

from PyQt6.QtCore import QRect, Qt, pyqtSignal
from PyQt6.QtGui import QColor, QPainter, QPaintEvent, QPen, QResizeEvent
from PyQt6.QtWidgets import QWidget
from typing_extensions import override

from teleop_app.console.inbox import Preview
from teleop_app.console.panels.camera_tile import CameraTile
from teleop_app.console.pictures import Size
from teleop_app.console.situation import Situation
from teleop_app.console.theme import BODY, GRID, Palette, typeface

ASPECT = 4 / 3
FRAME = 4
"""Thickness of the coloured frame [px]."""
_ROWS_BESIDE = 4


class CameraGrid(QWidget):
    """Places the tiles itself, so that pictures are as large as they can be."""

    cameras_changed = pyqtSignal()
    placed = pyqtSignal()
    """Tiles have new places and sizes."""

    def __init__(self, palette: Palette) -> None:
        """Begin without cameras."""
        super().__init__()
        self._palette = palette
        self.tiles: dict[str, CameraTile] = {}
        """In the order of their places, the first one large."""
        self._colour, self._dashed = QColor(palette.hold), True
        self.setMinimumSize(40 * GRID, 26 * GRID)

    def set_cameras(self, cameras: tuple[str, ...]) -> None:
        """Have one tile for each of `cameras`; tiles that stay keep their picture."""
        if set(cameras) == set(self.tiles):
            return
        for name in set(self.tiles) - set(cameras):
            tile = self.tiles.pop(name)
            tile.hide()
            tile.deleteLater()
        self.tiles = {name: self.tiles.get(name) or self._new_tile(name) for name in cameras}
        self.cameras_changed.emit()
        self._place()

    def show_preview(self, preview: Preview) -> None:
        """Hand a picture to its tile; a camera that was not announced gets one."""
        camera = preview.header.camera
        if camera not in self.tiles:
            self.set_cameras((*self.tiles, camera))
        self.tiles[camera].show_preview(preview)

    def show_situation(self, situation: Situation) -> None:
        """Frame and ages."""
        look = situation.look
        colour = QColor(getattr(self._palette, look.tint.value) if look.known else self._palette.quiet)
        if (colour, not look.known) != (self._colour, self._dashed):
            self._colour, self._dashed = colour, not look.known
            self.update()
        for tile in self.tiles.values():
            tile.show_age(situation.reading, live=situation.live)

    def rooms(self) -> dict[str, Size]:
        """Camera -> height and width of its tile in the screen's own pixels."""
        ratio = self.devicePixelRatioF()
        return {name: (round(t.height() * ratio), round(t.width() * ratio)) for name, t in self.tiles.items()}

    def ideal_height(self, width: int, height: int) -> int:
        """How much of width x height the pictures can use [px]."""
        rects = arrange(len(self.tiles), width - 2 * FRAME, height - 2 * FRAME)
        used = max((rect.bottom() for rect in rects), default=height) - min((rect.top() for rect in rects), default=0)
        return min(height, used + 1 + 2 * FRAME)

    def enlarge(self, camera: str) -> None:
        """Swap `camera` with the largest one."""
        names = list(self.tiles)
        place = names.index(camera)
        names[0], names[place] = names[place], names[0]
        self.tiles = {name: self.tiles[name] for name in names}
        self._place()

    def _new_tile(self, name: str) -> CameraTile:
        tile = CameraTile(name, self._palette)
        tile.setParent(self)
        tile.chosen.connect(self.enlarge)
        tile.show()
        return tile

    def _place(self) -> None:
        inner = self.rect().adjusted(FRAME, FRAME, -FRAME, -FRAME)
        for tile, rect in zip(
            self.tiles.values(), arrange(len(self.tiles), inner.width(), inner.height()), strict=True
        ):
            tile.setGeometry(rect.translated(inner.topLeft()))
        self.placed.emit()
        self.update()

    @override
    def resizeEvent(self, event: QResizeEvent | None) -> None:
        self._place()

    @override
    def paintEvent(self, event: QPaintEvent | None) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(self._palette.inset))
        style = Qt.PenStyle.DashLine if self._dashed else Qt.PenStyle.SolidLine
        painter.setPen(QPen(self._colour, FRAME, style, join=Qt.PenJoinStyle.MiterJoin))
        half = FRAME // 2
        painter.drawRect(self.rect().adjusted(half, half, -half, -half))
        if not self.tiles:
            painter.setFont(typeface(BODY))
            painter.setPen(QColor(self._palette.quiet))
            painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, "no cameras yet")
        painter.end()


def arrange(count: int, width: int, height: int) -> list[QRect]:
    """Places for `count` pictures in width x height, the first one largest.

    The others stand beside it or below it, whichever shows more picture [px].
    """
    if count == 0 or width <= 0 or height <= 0:
        return [QRect() for _ in range(count)]
    if count == 1:
        tall = min(height, round(width / ASPECT))
        return [QRect(0, (height - tall) // 2, width, tall)]
    return max((_beside(count, width, height), _below(count, width, height)), key=_shown)


def _beside(count: int, width: int, height: int) -> list[QRect]:
    """The others in one column (two from five others on) right of the first."""
    others = count - 1
    columns = -(-others // _ROWS_BESIDE)
    rows = -(-others // columns)
    side = min((width - FRAME) // (max(rows, 2) + columns), round(height / rows * ASPECT))
    large = min(width - columns * (side + FRAME), round(height * ASPECT))
    left = (width - large - columns * (side + FRAME)) // 2
    tall = min(height, round(max(large / ASPECT, rows * side / ASPECT)))
    top = (height - tall) // 2
    rects = [QRect(left, top, large, tall)]
    for i in range(others):
        column, row = divmod(i, rows)
        y0, y1 = _part(tall, rows, row)
        rects.append(QRect(left + large + FRAME + column * (side + FRAME), top + y0, side, y1 - y0))
    return rects


def _below(count: int, width: int, height: int) -> list[QRect]:
    """The others in one row under the first."""
    others = count - 1
    tall = min(round(width / others / ASPECT), height // 3)
    rects = [QRect(0, 0, width, height - tall - FRAME)]
    for i in range(others):
        x0, x1 = _part(width, others, i)
        rects.append(QRect(x0, height - tall, x1 - x0, tall))
    return rects


def _part(length: int, parts: int, index: int) -> tuple[int, int]:
    """Start and end of one of equal parts with a gap between them."""
    each = (length - (parts - 1) * FRAME) / parts
    start = index * (each + FRAME)
    return round(start), round(start + each)


def _shown(rects: list[QRect]) -> float:
    """Area of 4:3 pictures in `rects`, the first one counted twice: it is the one looked at."""
    areas = [min(r.width() / ASPECT, r.height()) ** 2 for r in rects]
    return sum(areas) + areas[0]
