"""A MuJoCo world of primitives as a workcell: its own process steps it, arm, cameras and pads are clients."""
