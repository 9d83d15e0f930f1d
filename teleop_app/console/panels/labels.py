"""Small labels that all panels use."""

from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QFrame, QHBoxLayout, QLabel, QStyle, QVBoxLayout, QWidget

from teleop_app.console.stream_health import Level
from teleop_app.console.theme import GRID


def caption(text: str) -> QLabel:
    """A small, quiet label."""
    label = QLabel(text)
    label.setObjectName("caption")
    return label


def small(text: str = "") -> QLabel:
    """A small label in the text's own colour."""
    label = QLabel(text)
    label.setObjectName("small")
    return label


def set_property(widget: QWidget, name: str, value: str) -> None:
    """Change a property that the style sheet looks at; costs nothing when it is what it was."""
    if widget.property(name) == value:
        return
    widget.setProperty(name, value)
    style: QStyle | None = widget.style()
    if style is not None:
        style.unpolish(widget)
        style.polish(widget)


def set_level(label: QLabel, level: Level) -> None:
    """Colour a label by how much attention it needs."""
    set_property(label, "level", level.value)


def beside(*widgets: QWidget, spacing: int = GRID) -> QHBoxLayout:
    """A row without margins."""
    row = QHBoxLayout()
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(spacing)
    for widget in widgets:
        row.addWidget(widget, 0, Qt.AlignmentFlag.AlignVCenter)
    return row


class Panel(QFrame):
    """A surface with a caption and room for more."""

    def __init__(self, title: str) -> None:
        """Start with the caption; `rows` takes the rest, `head` what stands right of the caption."""
        super().__init__()
        self.setObjectName("panel")
        self.rows = QVBoxLayout(self)
        self.rows.setContentsMargins(GRID, GRID // 2, GRID, GRID)
        self.rows.setSpacing(GRID // 2)
        self.title = caption(title)
        self.head = beside(self.title)
        self.head.addStretch(1)
        self.rows.addLayout(self.head)
