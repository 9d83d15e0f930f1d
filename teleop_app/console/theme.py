"""How the console looks: two palettes, one typeface, three sizes, an 8-pixel grid, one style sheet."""

from dataclasses import dataclass
from typing import Literal

from PyQt6.QtGui import QColor, QFont, QPalette
from PyQt6.QtWidgets import QApplication

ThemeName = Literal["dark", "light"]

GRID = 8
"""[px]."""
SMALL, BODY, LARGE = 12, 15, 26
"""The three sizes [px]."""
FAMILIES = ("Inter", "Noto Sans", "DejaVu Sans")
"""The first one installed is used for everything."""


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours by what they mean; control sources are told apart by word and shape too."""

    window: str
    panel: str
    """Surfaces that hold something."""
    inset: str
    """Behind pictures and plots."""
    line: str
    text: str
    quiet: str
    """Captions and units."""
    faint: str
    """What is impossible now."""
    policy: str
    operator: str
    handover: str
    hold: str
    stopped: str
    on_policy: str
    """Text on each of the five."""
    on_operator: str
    on_handover: str
    on_hold: str
    on_stopped: str
    amber: str
    alarm: str
    """Red as text and outline."""


DARK = Palette(
    window="#15171a", panel="#1d2024", inset="#0e1012", line="#31353b",
    text="#e4e6e9", quiet="#9aa1aa", faint="#666c75",
    policy="#1f6fd1", operator="#f08c1a", handover="#7d4bc9", hold="#565c65", stopped="#c62f2f",
    on_policy="#ffffff", on_operator="#1b1204", on_handover="#ffffff", on_hold="#ffffff", on_stopped="#ffffff",
    amber="#f0b13c", alarm="#ff6b62",
)  # fmt: skip
LIGHT = Palette(
    window="#eceef0", panel="#fafbfb", inset="#dfe2e5", line="#c3c8ce",
    text="#1a1d21", quiet="#59616b", faint="#9ba2ab",
    policy="#1b62bd", operator="#f2901f", handover="#7442bd", hold="#6a717b", stopped="#c22a2a",
    on_policy="#ffffff", on_operator="#1b1204", on_handover="#ffffff", on_hold="#ffffff", on_stopped="#ffffff",
    amber="#8f5a00", alarm="#b81f1f",
)  # fmt: skip
PALETTES: dict[ThemeName, Palette] = {"dark": DARK, "light": LIGHT}


def apply_theme(app: QApplication, name: ThemeName) -> Palette:
    """Dress the whole application; returns the palette for widgets that paint themselves."""
    palette = PALETTES[name]
    app.setStyle("Fusion")
    app.setFont(typeface())
    app.setPalette(_qt_palette(palette))
    app.setStyleSheet(style_sheet(palette))
    return palette


def typeface(size: int = BODY, *, bold: bool = False) -> QFont:
    """The one typeface, with tabular figures."""
    font = QFont()
    font.setFamilies(list(FAMILIES))
    font.setPixelSize(size)
    font.setBold(bold)
    font.setFeature(QFont.Tag("tnum"), 1)
    return font


def _qt_palette(colours: Palette) -> QPalette:
    palette = QPalette()
    roles = {
        QPalette.ColorRole.Window: colours.window,
        QPalette.ColorRole.Base: colours.panel,
        QPalette.ColorRole.AlternateBase: colours.panel,
        QPalette.ColorRole.Button: colours.panel,
        QPalette.ColorRole.Text: colours.text,
        QPalette.ColorRole.WindowText: colours.text,
        QPalette.ColorRole.ButtonText: colours.text,
        QPalette.ColorRole.PlaceholderText: colours.quiet,
        QPalette.ColorRole.Highlight: colours.line,
        QPalette.ColorRole.HighlightedText: colours.text,
        QPalette.ColorRole.ToolTipBase: colours.panel,
        QPalette.ColorRole.ToolTipText: colours.text,
    }
    for role, colour in roles.items():
        palette.setColor(role, QColor(colour))
    return palette


def style_sheet(c: Palette) -> str:
    """Everything that is not painted by hand."""
    return f"""
    QWidget {{ color: {c.text}; font-size: {BODY}px; }}
    QMainWindow, QWidget#page {{ background: {c.window}; }}
    QToolTip {{ background: {c.panel}; color: {c.text}; border: 1px solid {c.line}; padding: 4px; }}
    QFrame#panel {{ background: {c.panel}; border: 1px solid {c.line}; border-radius: 4px; }}
    QLabel#caption {{ color: {c.quiet}; font-size: {SMALL}px; }}
    QLabel#small {{ font-size: {SMALL}px; }}
    QLabel[level="amber"] {{ color: {c.amber}; }}
    QLabel[level="red"] {{ color: {c.alarm}; font-weight: bold; }}
    QLabel[level="quiet"] {{ color: {c.quiet}; }}
    QLabel#recording {{ color: {c.quiet}; border: 1px solid {c.line}; border-radius: 4px; padding: 4px 12px; }}
    QLabel#recording[on="true"] {{ background: {c.text}; color: {c.window}; border-color: {c.text};
        font-weight: bold; }}
    QLineEdit {{ background: transparent; border: 1px solid transparent; border-radius: 4px; padding: 3px 4px;
        selection-background-color: {c.policy}; selection-color: {c.on_policy}; }}
    QLineEdit:hover {{ border-color: {c.line}; }}
    QLineEdit:focus {{ background: {c.inset}; border-color: {c.text}; }}
    QFrame#fault {{ background: {c.panel}; border: 2px solid {c.alarm}; border-radius: 4px; }}
    QFrame#fault QLabel {{ color: {c.text}; }}
    QFrame#fault QLabel#sign {{ color: {c.alarm}; font-size: {LARGE}px; font-weight: bold; }}
    QPushButton {{ background: {c.panel}; border: 1px solid {c.line}; border-radius: 4px; padding: 0 8px;
        min-height: 22px; }}
    QPushButton:hover {{ border-color: {c.quiet}; }}
    QPushButton:pressed {{ background: {c.line}; }}
    QPushButton:disabled {{ color: {c.faint}; }}
    QPushButton#flat {{ border: none; background: transparent; color: {c.quiet}; font-size: {SMALL}px;
        text-align: left; padding: 0 4px; }}
    QPushButton#flat:hover {{ color: {c.text}; }}
    QPushButton#reason {{ border: none; background: transparent; text-align: left; min-height: 24px; }}
    QPushButton#reason:hover {{ background: {c.line}; }}
    QTableView {{ background: {c.panel}; border: none; font-size: {SMALL}px; outline: none;
        selection-background-color: {c.line}; selection-color: {c.text}; }}
    QHeaderView {{ background: {c.panel}; }}
    QHeaderView::section {{ background: {c.panel}; color: {c.quiet}; border: none; font-size: {SMALL}px;
        padding: 0 4px 2px 4px; }}
    QPlainTextEdit {{ background: transparent; border: none; color: {c.quiet}; font-size: {SMALL}px; }}
    QScrollBar:vertical {{ background: transparent; width: 8px; margin: 0; }}
    QScrollBar::handle:vertical {{ background: {c.line}; border-radius: 4px; min-height: 24px; }}
    QScrollBar::add-line, QScrollBar::sub-line {{ height: 0; }}
    """
