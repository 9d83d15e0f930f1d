"""The shapes that say who commands the arm without colour."""

import math

from PyQt6.QtCore import QPointF, QRectF
from PyQt6.QtGui import QPainterPath, QPolygonF

from teleop_app.console.looks import Shape


def shape_path(shape: Shape, box: QRectF) -> QPainterPath:
    """The outline of `shape`, filling `box`."""
    path = QPainterPath()
    left, top, width, height = box.x(), box.y(), box.width(), box.height()
    match shape:
        case Shape.DISC:
            path.addEllipse(box)
        case Shape.DIAMOND:
            path.addPolygon(_polygon(box, 4, 0.0))
        case Shape.OCTAGON:
            path.addPolygon(_polygon(box, 8, math.pi / 8))
        case Shape.BARS:
            path.addRect(QRectF(left + 0.12 * width, top, 0.28 * width, height))
            path.addRect(QRectF(left + 0.60 * width, top, 0.28 * width, height))
        case Shape.ARROWS:
            for start in (0.0, 0.5):
                x = left + start * width
                corners = ((x, top), (x + 0.5 * width, top + height / 2), (x, top + height))
                path.addPolygon(QPolygonF([QPointF(*corner) for corner in corners]))
        case Shape.QUESTION:
            path.addEllipse(box)
            path.addEllipse(box.adjusted(0.2 * width, 0.2 * height, -0.2 * width, -0.2 * height))
    path.closeSubpath()
    return path


def _polygon(box: QRectF, corners: int, turn: float) -> QPolygonF:
    centre, radius = box.center(), box.width() / 2
    angles = [turn + 2 * math.pi * i / corners for i in range(corners)]
    return QPolygonF([QPointF(centre.x() + radius * math.cos(a), centre.y() + radius * math.sin(a)) for a in angles])
