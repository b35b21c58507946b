#!/usr/bin/env python3
"""Drives a robot without a drive base in a square (docs/DRIVING.md): 2 m sides, 0.5 m/s.

    menura run examples/twist.toml &
    python3 examples/twist.py
"""
import math
import socket
import struct
import sys
import time

MENURA = ("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 7100)
link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)


def drive(forward_m_s, turn_rad_s, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        link.sendto(struct.pack("<4sIIdd", b"MNDR", 1, 0, forward_m_s, turn_rad_s), MENURA)
        time.sleep(0.02)


for _ in range(4):
    drive(0.5, 0.0, 4.0)
    drive(0.0, 0.5, math.pi / 2 / 0.5)
drive(0.0, 0.0, 0.5)
