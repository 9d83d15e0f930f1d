"""ROS 2: arms and cameras behind topics, and a publisher that plays recorded episodes. The only importer of rclpy."""
