"""What every test may ask for."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The shared reference data beside the checkout; without it the test is skipped, or fails where it is required."""
    folder = Path(os.environ.get("TELEOP_SHARED_DIR", ROOT.parent / "shared"))
    if not folder.is_dir():
        reason = f"the shared reference data is not at {folder}"
        if os.environ.get("TELEOP_REQUIRE_SHARED"):
            pytest.fail(reason)
        pytest.skip(reason)
    return folder
