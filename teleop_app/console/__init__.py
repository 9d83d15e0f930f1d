"""The operator's window, a client of the station; the only package that imports Qt."""
