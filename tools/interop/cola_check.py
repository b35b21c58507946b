#!/usr/bin/env python3
"""Has MRPT's CLMS100Eth configure Menura's LMS111 and compares its scans with the truth.

Menura runs a robot that stands in the built-in scene `room`; the scanner listens at a port of the
loopback. The driver logs in, sets 25 Hz at 0.25 degrees, waits until the scanner measures and asks for
scans. Every range must be that of the wall: with single rays and no noise within half a millimetre,
with the scanner's own spot and noise within five standard deviations, and with the noise's own
spread.

Needs only the standard library. Exit code 0 when all is well, 1 when a check fails, 2 when Menura
itself did not run.
"""

import argparse
import math
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOM_SIZE_M = (12.0, 8.0, 5.0)
# The robot in the room, and the scanner on it.
ROBOT_M, ROBOT_YAW_DEG = (1.0, -0.5), 20.0
MOUNT_M, MOUNT_YAW_DEG = (0.4, 0.1, 2.5), -35.0
DIVERGENCE_RAD = 0.015
SIGNAL_CUTOFF_M = 1.0
RANGE_STD_M = 0.012
UNIT_M = 0.001
# Of the driver: 25 Hz, 0.25 degrees, counter-clockwise, 90 degrees is forward.
FIRST_DEG, STEP_DEG, VALUES = -45.0, 0.25, 1081

RIG = """\
seed = 5
[world]
scene = "room"
parameters = {{ size_m = {room}, reflectance = 0.9 }}
[robot]
trajectory = {{ kind = "still", position_m = [{robot[0]}, {robot[1]}, 0.0], yaw_deg = {yaw} }}
[[device]]
name = "scanner"
profile = "sick-lms111"
mount = {{ translation_m = {mount}, roll_pitch_yaw_deg = [0.0, 0.0, {mount_yaw}] }}
link = {{ tcp = ["127.0.0.1:{port}", "127.0.0.1:{second}"] }}
settings = {{ {settings} }}
"""


@dataclass(frozen=True)
class Case:
    """One way to set the scanner up."""

    name: str
    settings: str
    # Standard deviation of the range, metres; 0 for single rays without noise.
    range_std_m: float = 0.0
    scans: int = 25


CASES = [
    Case("exact", 'beam = { shape = "ray" }, noise = { range_std_m = 0.0, intensity_std = 0.0 }'),
    Case("noise", "", range_std_m=RANGE_STD_M, scans=50),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--menura", default="target/release/menura", help="the binary")
    parser.add_argument("--driver", required=True, help="cola_mrpt, built from cola_mrpt.cpp")
    parser.add_argument("--only", choices=[case.name for case in CASES], help="one case")
    parser.add_argument("--self-test", action="store_true",
                        help="spoil the scans, too, and expect that to be found")
    arguments = parser.parse_args()
    failures = 0
    for case in CASES:
        if arguments.only not in (None, case.name):
            continue
        try:
            scans = conversation(case, arguments.menura, arguments.driver)
        except (OSError, subprocess.SubprocessError, RuntimeError) as error:
            print(f"{case.name}: {error}", file=sys.stderr)
            return 2
        faults = compare(case, scans)
        for fault in faults[:10]:
            print(f"{case.name}: {fault}")
        failures += len(faults)
        print(f"{case.name}: {len(scans)} scans of {len(scans[0]) if scans else 0} values,",
              f"{len(faults)} faults")
        if arguments.self_test:
            failures += self_test(case, scans)
    print("cola_check:", f"{failures} failed" if failures else "all compared, none failed")
    return 1 if failures else 0


def free_ports():
    """Two ports of the loopback that nobody has."""
    with socket.socket() as first, socket.socket() as second:
        first.bind(("127.0.0.1", 0))
        second.bind(("127.0.0.1", 0))
        return first.getsockname()[1], second.getsockname()[1]


def conversation(case, menura, driver):
    """The ranges of each scan that the driver made of one run."""
    with tempfile.TemporaryDirectory(prefix="menura-cola-") as folder:
        rig = Path(folder) / "rig.toml"
        port, second = free_ports()
        rig.write_text(RIG.format(
            room=list(ROOM_SIZE_M), robot=ROBOT_M, yaw=ROBOT_YAW_DEG, mount=list(MOUNT_M),
            mount_yaw=MOUNT_YAW_DEG, port=port, second=second, settings=case.settings))
        with open(Path(folder) / "log", "w+") as log:
            running = subprocess.Popen([menura, "run", str(rig)], stdout=log, stderr=log)
            try:
                wait_for(port, running, log)
                # It sleeps 10 s after each look at the state.
                done = subprocess.run([driver, "127.0.0.1", str(port), str(case.scans)],
                                      capture_output=True, text=True, timeout=120)
                if done.returncode != 0:
                    print(f"{case.name}: the driver ended with {done.returncode}: {done.stderr}")
                if running.poll() is not None:
                    log.seek(0)
                    raise RuntimeError("menura ended:\n" + log.read())
            finally:
                running.terminate()
                running.wait(timeout=10)
    lines = [line for line in done.stdout.splitlines() if line.startswith("scan ")]
    return [[float(word) for word in line.split()[1:]] for line in lines]


def wait_for(port, running, log):
    """Until the scanner can be connected to."""
    deadline = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if running.poll() is not None or time.monotonic() > deadline:
                log.seek(0)
                raise RuntimeError("menura opened no port:\n" + log.read()) from None
            time.sleep(0.05)


def pose():
    """The scanner's place in the room and its heading."""
    yaw = math.radians(ROBOT_YAW_DEG)
    x = ROBOT_M[0] + MOUNT_M[0] * math.cos(yaw) - MOUNT_M[1] * math.sin(yaw)
    y = ROBOT_M[1] + MOUNT_M[0] * math.sin(yaw) + MOUNT_M[1] * math.cos(yaw)
    return (x, y, MOUNT_M[2]), yaw + math.radians(MOUNT_YAW_DEG)


def wall(origin, direction):
    """Metres from inside the room to its surface, along a unit vector."""
    low = (-ROOM_SIZE_M[0] / 2, -ROOM_SIZE_M[1] / 2, 0.0)
    high = (ROOM_SIZE_M[0] / 2, ROOM_SIZE_M[1] / 2, ROOM_SIZE_M[2])
    return min(((high if d > 0 else low)[axis] - origin[axis]) / d
               for axis, d in enumerate(direction) if d)


def truth_m(case, angle):
    """The range that a scanner reports at `angle`, counter-clockwise from its heading."""
    origin, heading = pose()
    along = (math.cos(heading + angle), math.sin(heading + angle), 0.0)
    left, up = (-along[1], along[0], 0.0), (0.0, 0.0, 1.0)
    half = math.tan(DIVERGENCE_RAD / 2) / math.sqrt(2) if case.range_std_m else 0.0
    # Goodin et al. 2018: centre, four on the axes, four half as far on the diagonals.
    stencil = [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1),
               (0.5, 0.5), (0.5, -0.5), (-0.5, 0.5), (-0.5, -0.5)]
    ranges = []
    for u, v in stencil:
        ray = [a + half * (u * b + v * c) for a, b, c in zip(along, left, up)]
        length = math.sqrt(sum(part * part for part in ray))
        ranges.append(wall(origin, [part / length for part in ray]))
    near = min(ranges)
    ranges = [one for one in ranges if one - near <= SIGNAL_CUTOFF_M]
    return sum(ranges) / len(ranges)


def compare(case, scans):
    """Everything that is wrong with the scans."""
    if len(scans) < case.scans:
        return [f"{len(scans)} scans instead of {case.scans}"]
    faults, errors = [], []
    truth = [truth_m(case, math.radians(FIRST_DEG + index * STEP_DEG - 90))
             for index in range(VALUES)]
    limit = UNIT_M / 2 + 5.5 * case.range_std_m + 1e-4
    for number, ranges in enumerate(scans, 1):
        if len(ranges) != VALUES:
            faults.append(f"scan {number} has {len(ranges)} values instead of {VALUES}")
            continue
        for index, (said, true) in enumerate(zip(ranges, truth)):
            errors.append(said - true)
            if abs(said - true) > limit:
                faults.append(f"scan {number}, value {index}: {said} m, "
                              f"{said - true:+.4f} from the truth")
    if case.range_std_m and not faults:
        if len({tuple(ranges) for ranges in scans}) < case.scans / 2:
            faults.append("most scans are the same")
        mean = sum(errors) / len(errors)
        spread = math.sqrt(sum((error - mean) ** 2 for error in errors) / len(errors))
        expected = math.hypot(case.range_std_m, UNIT_M / math.sqrt(12))
        if abs(mean) > 5 * expected / math.sqrt(len(errors)) + 1e-4:
            faults.append(f"ranges are {mean:+.5f} m off on average")
        if abs(spread / expected - 1) > 0.05:
            faults.append(f"ranges spread by {spread:.5f} m instead of {expected:.5f}")
    return faults


def self_test(case, scans):
    """How many spoilt scans go unnoticed."""
    def with_ranges(change):
        return [change(list(ranges)) for ranges in scans]

    def one_off(ranges):
        ranges[len(ranges) // 3] += 2 * UNIT_M + 11 * case.range_std_m
        return ranges

    spoilt = {
        "one value off": with_ranges(one_off),
        "turned round": with_ranges(lambda ranges: ranges[::-1]),
        "shifted by one value": with_ranges(lambda ranges: ranges[1:] + ranges[-1:]),
        "a value missing": with_ranges(lambda ranges: ranges[1:]),
        "a scan missing": scans[1:],
    }
    missed = 0
    for what, changed in spoilt.items():
        if not compare(case, changed):
            print(f"{case.name}: {what}: not noticed")
            missed += 1
    print(f"{case.name}: {len(spoilt) - missed} of {len(spoilt)} spoilt versions noticed")
    return missed


if __name__ == "__main__":
    sys.exit(main())
