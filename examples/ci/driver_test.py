#!/usr/bin/env python3
"""A driver test for CI: velodyne-decoder must decode ten rotations, complete and with ranges within the room.

    pip install velodyne-decoder
    python3 examples/ci/driver_test.py --menura menura

It starts Menura with a VLP-16 in the closed room, passes the live packets to the driver, and checks the decoded
clouds. Replace `clouds` by your own driver, and `judge` by checks that your robot needs. The exit code is 0 if all
rotations pass; Menura is stopped in any case.
"""
import argparse
import itertools
import math
import socket
import subprocess
import sys
import tempfile
import time

import velodyne_decoder

ROTATIONS, PORT = 10, 12368
RIG = f"""
seed = 7
[world]
scene = "room"
[robot]
trajectory = {{ kind = "still", position_m = [0.0, 0.0, 0.0] }}
[[device]]
name = "lidar"
profile = "velodyne-vlp16-3.0"
mount = {{ translation_m = [0.0, 0.0, 1.5] }}
link = {{ udp = {{ to = "127.0.0.1:{PORT}" }} }}
"""


def packets():
    """The live datagrams, each with its arrival time."""
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    link.bind(("127.0.0.1", PORT))
    link.settimeout(10.0)
    while True:
        data = link.recv(2048)
        yield time.time(), data


def clouds():
    """The driver under test: a cloud for each rotation."""
    decoder = velodyne_decoder.StreamDecoder(velodyne_decoder.Config())
    for stamp, data in packets():
        cloud = decoder.decode(stamp, data)
        if cloud is not None:
            yield cloud[1]


def judge(cloud):
    """The error in a rotation as text, or None."""
    # A rotation has 28,900 pulses. Pulses that graze the floor or the ceiling return too little light.
    if not 26_500 <= len(cloud) <= 28_500:
        return f"{len(cloud)} points; a rotation at 600 rpm has about 27,100"
    ranges_m = [math.hypot(point[0], point[1], point[2]) for point in cloud]
    if max(ranges_m) > 60.0 or min(ranges_m) < 0.5:
        return f"ranges from {min(ranges_m):.2f} to {max(ranges_m):.2f} m; the room's walls are nearer"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--menura", default="menura", help="the program; default: menura on the path")
    menura = parser.parse_args().menura
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as rig:
        rig.write(RIG)
        rig.flush()
        sensor = subprocess.Popen([menura, "run", rig.name])
        try:
            # The first rotation is skipped: it can have started before the driver opened its socket.
            for number, cloud in enumerate(itertools.islice(clouds(), 1, ROTATIONS + 1)):
                wrong = judge(cloud)
                if wrong:
                    sys.exit(f"rotation {number}: {wrong}")
        finally:
            sensor.terminate()
            sensor.wait()
    print(f"{ROTATIONS} rotations, whole and in place")


if __name__ == "__main__":
    main()
