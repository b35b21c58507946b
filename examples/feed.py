#!/usr/bin/env python3
"""Moves the robot of a rig with a feed (docs/FEED.md) along a circle at 2 m/s.

    menura run examples/feed.toml &
    python3 examples/feed.py
"""
import math
import socket
import struct
import sys
import time

MENURA = ("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 7000)
RATE_HZ, RADIUS_M, SPEED_M_S = 200, 5.0, 2.0

link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
turn_rad_s = SPEED_M_S / RADIUS_M
start = time.monotonic_ns()
sequence = 0
while True:
    now = time.monotonic_ns()
    angle = turn_rad_s * (now - start) * 1e-9
    yaw = angle + math.pi / 2
    link.sendto(struct.pack(
        "<4sIQQ13d", b"MNFD", 1, sequence, now,
        RADIUS_M * math.cos(angle), RADIUS_M * math.sin(angle), 0.0,  # position, east north up
        0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2),  # orientation, x y z w
        SPEED_M_S, 0.0, 0.0,  # velocity, forward left up
        0.0, 0.0, turn_rad_s), MENURA)  # angular rate
    sequence += 1
    time.sleep(max(0.0, (start + sequence * 1_000_000_000 // RATE_HZ - time.monotonic_ns()) * 1e-9))
