"""Arms and cameras behind ROS 2 topics; the only package that imports rclpy."""
