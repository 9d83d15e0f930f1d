"""The headless core: control loop, arbiter, limits, recording session, server. No Qt, no rclpy, no zarr."""
