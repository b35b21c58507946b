#!/usr/bin/env python3
"""Has MRPT's CVelodyneScanner read the position packets of a live VLP-16 that a receiver of the rig sets.

Positions that the driver hands over must be those of the rig, second by second; once the pulse is
locked, its scans must have satellite time.

Exit code 0 when all is well, 1 when a check fails, 2 when Menura or the driver did not run.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from velodyne_drivers_check import free_ports

SECONDS = 13
START_S = 12 * 3600 + 59 * 60 + 51.7
LATITUDE_DEG, LONGITUDE_DEG = 47.285, 8.565

RIG = """\
start_utc = 2026-06-01T12:59:51.7Z
origin = {{ latitude_deg = {latitude}, longitude_deg = {longitude}, altitude_m = 450.0 }}

[world]
scene = "courtyard"
parameters = {{ grass_blades = 0, trees = 0 }}

[robot]
trajectory = {{ kind = "circle", radius_m = 3.0, speed_m_s = 1.0 }}

[[device]]
name = "gps"
profile = "garmin-18x-lvc"
mount = {{ translation_m = [0.0, 0.0, 2.0] }}
link = {{ tcp = "127.0.0.1:0" }}
settings = {{ baud = 9600, sentences = ["RMC"], acquisition = {{ startup_s = 0.0 }}, pulse = {{ after_fix_s = 1.0 }} }}

[[device]]
name = "vlp16"
profile = "velodyne-vlp16-3.0"
mount = {{ translation_m = [0.0, 0.0, 1.0] }}
link = {{ udp = {{ to = "127.0.0.1:{port}", position_port = {position_port} }} }}
gps_cable = "gps"
settings = {{ beam = {{ shape = "ray" }} }}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--menura", default="target/release/menura", help="the binary")
    parser.add_argument("--driver", default="target/interop/velodyne_mrpt", help="the program around MRPT's")
    arguments = parser.parse_args()
    port, position_port = free_ports()
    with tempfile.TemporaryDirectory(prefix="menura-interop-") as folder:
        rig = Path(folder) / "rig.toml"
        rig.write_text(RIG.format(latitude=LATITUDE_DEG, longitude=LONGITUDE_DEG, port=port,
                                  position_port=position_port))
        words = [arguments.driver, "VLP16", port, position_port, "127.0.0.1", Path(folder) / "points"]
        with subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as driver:
            try:
                line = driver.stdout.readline()
                while line and line != "ready\n":
                    line = driver.stdout.readline()
                run = subprocess.run([arguments.menura, "run", rig, "--duration", f"{SECONDS}s"],
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                said, _ = driver.communicate(timeout=60)
            finally:
                driver.kill()
        if run.returncode != 0 or driver.returncode != 0:
            print(f"menura or the driver failed:\n{run.stdout}", file=sys.stderr)
            return 2
    failures = check(said.splitlines())
    for failure in failures:
        print(f"  FAILED {failure}")
    print("velodyne_gps_check:", f"{len(failures)} failed" if failures else "all read, none failed")
    return 1 if failures else 0


def check(lines):
    """What is wrong with what the driver made of the packets."""
    wrong, seconds = [], set()
    for line in lines:
        if not line.startswith("gps "):
            continue
        _, validity, utc, latitude, longitude = line.split()
        second = int(utc[:2]) * 3600 + int(utc[2:4]) * 60 + float(utc[4:])
        if validity != "A":
            continue
        seconds.add(second)
        if abs(float(latitude) - LATITUDE_DEG) > 1e-3 or abs(float(longitude) - LONGITUDE_DEG) > 1e-3:
            wrong.append(f"{line} is elsewhere")
    if not seconds:
        return [*wrong, "no position with a fix"]
    first, last = min(seconds), max(seconds)
    if seconds != {float(second) for second in range(round(first), round(last) + 1)}:
        wrong.append(f"seconds are missing or not whole: {sorted(seconds)}")
    # The last second's sentence comes within the second, the run ends 0.7 s into one.
    if not START_S + SECONDS - 2 < last <= START_S + SECONDS:
        wrong.append(f"the last position is of {last} s of the day")
    scans = [line == "scan 1" for line in lines if line.startswith("scan ")]
    if len(scans) < 10 * (SECONDS - 2) or scans[0] or not scans[-1]:
        wrong.append(f"{len(scans)} scans, satellite time of the first {scans[:1]}, of the last {scans[-1:]}")
    print(f"mrpt, vlp16: {len(seconds)} positions with a fix, {len(scans)} scans, "
          f"{sum(scans)} with satellite time")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
