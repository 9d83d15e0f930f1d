"""The application: a headless station, a Qt console, and the command line over both."""

__version__ = "0.1.0"
