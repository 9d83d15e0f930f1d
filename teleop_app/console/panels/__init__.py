"""One file for each part of the window; every panel shows what it is given and asks for nothing itself."""
