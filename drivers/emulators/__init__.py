"""Byte-accurate firmware of serial devices behind a pty, for tests, demos and users without hardware."""
