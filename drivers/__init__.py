"""Hardware only: devices as small Protocols, frozen samples, one clock. No recording, no station, no Qt."""
