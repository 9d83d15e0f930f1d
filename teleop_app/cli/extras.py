"""Parts of the application that need an extra of the distribution: one sentence where it is not installed."""

from collections.abc import Iterator
from contextlib import contextmanager

from teleop_app.station.errors import StationError


@contextmanager
def extra(name: str, what: str) -> Iterator[None]:
    """Import inside; a missing package becomes a sentence naming the extra `name` that `what` needs."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "a package").partition(".")[0]
        raise StationError(f"{what} needs {package}: run `pip install 'teleop-app[{name}]'`") from None
