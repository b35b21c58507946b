#!/usr/bin/env python3
"""A robot that brakes: it reads the packets of a VLP-16 and sends STOP when something is close ahead.

    menura run examples/stop.toml --duration 30s &
    python3 examples/stop_robot.py
"""
import math
import socket
import struct

CLOSE_M, AHEAD_DEG, ENOUGH = 6.0, 15.0, 3

lidar = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
lidar.bind(("127.0.0.1", 2368))
brake = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
has_stopped = False
clear = 0
while True:
    packet = lidar.recv(2000)
    close = seen = 0
    for block in range(12):
        _, azimuth = struct.unpack_from("<HH", packet, 100 * block)
        if abs((azimuth / 100 + 180) % 360 - 180) > AHEAD_DEG:
            continue
        for channel in range(32):
            elevation_deg = (channel % 16) * 2 - 15 if channel % 2 == 0 else channel % 16
            distance, _ = struct.unpack_from("<HB", packet, 100 * block + 4 + 3 * channel)
            range_m = distance * 0.002
            # Only points near the sensor's height: others can be the floor.
            if abs(range_m * math.sin(math.radians(elevation_deg))) < 0.5:
                seen += 1
                close += 0 < range_m < CLOSE_M
    if close >= ENOUGH and not has_stopped:
        brake.sendto(b"STOP", ("127.0.0.1", 7100))
        has_stopped = True
    # Ready for the next STOP after six packets that cover the sector ahead without a close point.
    clear = clear + 1 if seen and not close else 0 if close else clear
    if clear > 5:
        has_stopped = False
