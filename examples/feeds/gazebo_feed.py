#!/usr/bin/env python3
"""Moves the robot of a rig as a model of Gazebo (Harmonic or later) moves (docs/OTHER-SIMULATORS.md).

    menura run examples/feed.toml &
    python3 examples/feeds/gazebo_feed.py --world default --model my_robot
"""
import argparse
import time

from gz.msgs10.pose_v_pb2 import Pose_V
from gz.transport13 import Node
from menura_feed import Feed

parser = argparse.ArgumentParser()
parser.add_argument("--world", default="default")
parser.add_argument("--model", required=True)
parser.add_argument("--menura", default="127.0.0.1:7000", help="`listen` of the rig's feed")
options = parser.parse_args()

feed = Feed(options.menura)


def on_poses(poses):
    """Sends the model's pose. Gazebo and Menura have the same frames: the world is east, north, up; x is forward."""
    time_ns = poses.header.stamp.sec * 1_000_000_000 + poses.header.stamp.nsec
    for pose in poses.pose:
        if pose.name == options.model:
            position, q = pose.position, pose.orientation
            feed.send(time_ns, (position.x, position.y, position.z), (q.x, q.y, q.z, q.w))


node = Node()
topic = f"/world/{options.world}/dynamic_pose/info"
if not node.subscribe(Pose_V, topic, on_poses):
    raise SystemExit(f"cannot subscribe to {topic}")
while True:
    time.sleep(1.0)
