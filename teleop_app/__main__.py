"""`python -m teleop_app` is `teleop`."""

from teleop_app.cli import main

main()
