"""What several verbs of `teleop episodes` take, and the exit code that they share."""

import getpass
from pathlib import Path
from typing import Annotated

import typer

CollectionPath = Annotated[Path, typer.Argument(help="A collection's folder.", show_default=False)]
AnyPath = Annotated[Path, typer.Argument(help="An episode, or a collection for all of its episodes.")]
EpisodePaths = Annotated[list[Path], typer.Argument(help="Episodes.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Author = Annotated[
    str, typer.Option(default_factory=getpass.getuser, show_default="the user of this process", help="Who says so.")
]
FOUND_WANTING = 1
"""Exit code where something recorded is not as it should be."""
