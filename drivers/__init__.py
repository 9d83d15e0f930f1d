"""Hardware only: devices as small Protocols, frozen samples, one clock. Knows nothing of recording, the station or Qt."""
