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

from gps_rig import START_S, is_elsewhere, rig
from receiving import DropCounter, Judged, Watch, free_ports, repeated

SECONDS = 13
# Of the day.
FIRST_S = START_S % 86_400


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--menura", default="target/release/menura", help="the binary")
    parser.add_argument("--driver", default="target/interop/velodyne_mrpt", help="the program around MRPT's")
    arguments = parser.parse_args()
    try:
        failures = repeated("velodyne_gps_check", lambda: attempt(arguments))
    except (OSError, subprocess.SubprocessError) as error:
        print(f"velodyne_gps_check: {error}", file=sys.stderr)
        return 2
    for failure in failures:
        print(f"  FAILED {failure}")
    print("velodyne_gps_check:", f"{len(failures)} failed" if failures else "all read, none failed")
    return 1 if failures else 0


def attempt(arguments):
    """What is wrong in one run, and whether this machine explains it: the driver thins positions out by
    the time at which it reads them, so that it misses some if it must wait for a processor."""
    port, position_port = free_ports(2)
    with tempfile.TemporaryDirectory(prefix="menura-interop-") as folder:
        file = Path(folder) / "rig.toml"
        udp = f'to = "127.0.0.1:{port}", position_port = {position_port}'
        file.write_text(rig(("vlp16", "velodyne-vlp16-3.0", udp, 'beam = { shape = "ray" }')))
        words = [arguments.driver, "VLP16", port, position_port, "127.0.0.1", Path(folder) / "points"]
        with subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as driver:
            try:
                line = driver.stdout.readline()
                while line and line != "ready\n":
                    line = driver.stdout.readline()
                drops = DropCounter(port, position_port)
                with Watch() as watch:
                    run = subprocess.run([arguments.menura, "run", file, "--duration", f"{SECONDS}s"],
                                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                losses = drops.losses()
                said, _ = driver.communicate(timeout=60)
            finally:
                driver.kill()
        if run.returncode != 0 or driver.returncode != 0:
            raise subprocess.SubprocessError(f"menura or the driver failed:\n{run.stdout}")
    failures = check(said.splitlines())
    return Judged(failures, not failures, str(losses) if losses.all else watch.excuse(0.2))


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
        if is_elsewhere(float(latitude), float(longitude)):
            wrong.append(f"{line} is elsewhere")
    if not seconds:
        return [*wrong, "no position with a fix"]
    first, last = min(seconds), max(seconds)
    if seconds != {float(second) for second in range(round(first), round(last) + 1)}:
        wrong.append(f"seconds are missing or not whole: {sorted(seconds)}")
    # The last second's sentence comes within the second, the run ends 0.7 s into one.
    if not FIRST_S + SECONDS - 2 < last <= FIRST_S + SECONDS:
        wrong.append(f"the last position is of {last} s of the day")
    scans = [line == "scan 1" for line in lines if line.startswith("scan ")]
    if len(scans) < 10 * (SECONDS - 2) or scans[0] or not scans[-1]:
        wrong.append(f"{len(scans)} scans, satellite time of the first {scans[:1]}, of the last {scans[-1:]}")
    print(f"mrpt, vlp16: {len(seconds)} positions with a fix, {len(scans)} scans, "
          f"{sum(scans)} with satellite time")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
