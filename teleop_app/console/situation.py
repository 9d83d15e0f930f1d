"""What every panel is shown: the newest of the station, and whether it can be heard at all."""

from dataclasses import dataclass

from teleop_app.console.inbox import Link, LinkState, Reading
from teleop_app.console.looks import Look, look
from teleop_app.station.messages import StationStatus


@dataclass(frozen=True, slots=True)
class Situation:
    """One moment."""

    link: Link
    reading: Reading | None = None

    @property
    def status(self) -> StationStatus | None:
        """The newest status, however old it is."""
        return self.reading.status if self.reading is not None else None

    @property
    def live(self) -> bool:
        """Whether the station is heard."""
        return self.link.state is LinkState.LIVE

    @property
    def trouble(self) -> str:
        """Why the station cannot be asked, for the tooltip of a dimmed button; empty while it talks."""
        return "" if self.live else "The station cannot be heard."

    @property
    def look(self) -> Look:
        """Who commands the arm."""
        return look(self.status, self.link.state)
