"""Arms built from serial bus servos, over pyserial."""
