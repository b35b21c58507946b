"""The bench of the checks of scanners with one plane: a robot that stands in a closed room, what a
scanner on it must see, and how to run Menura beside a driver.

A scan is a tuple whose last part are its ranges in metres. Drivers wait some tens of milliseconds for
an answer, so a run that fails while this machine gave its processes no processor is made again. Cases
with a `place` are in other scenes, on a robot that moves, with a scanner as it is delivered: `flat_split.py`.
"""

import argparse
import contextlib
import dataclasses
import functools
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from receiving import Judged, Watch, repeated
from side_by_side import side_by_side

ROOM_SIZE_M = (12.0, 8.0, 5.0)
# The robot in the room, and the scanner on it.
ROBOT_M, ROBOT_YAW_DEG = (1.0, -0.5), 20.0
MOUNT_M, MOUNT_YAW_DEG = (0.4, 0.1, 2.5), -35.0
# Single rays and no noise.
EXACT = 'beam = { shape = "ray" }, errors = "none"'

RIG = """\
seed = 5
[world]
{world}
[robot]
trajectory = {{ {trajectory} }}
[engine]
truth_rate_hz = 1000.0
[[device]]
name = "scanner"
profile = "{profile}"
mount = {{ translation_m = {mount}, roll_pitch_yaw_deg = [0.0, 0.0, {mount_yaw}] }}
link = {{ {link} }}
settings = {{ {settings} }}
"""


class GaveUp(Exception):
    """A driver has ended with an error, which one does that this machine has kept waiting."""


def check_all(description, cases, conversation, compare, off_by, at_a_time):
    """Runs the cases that the command line asks for, `at_a_time` of them side by side; the exit code. A case has a
    `name` and `scans`.

    `conversation(case, menura, driver)` gives the scans of a run, `compare(case, scans)` all that is wrong
    with them, and `off_by(case)` how far one range must be off to be found."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--menura", default="target/release/menura", help="the binary")
    parser.add_argument("--driver", required=True, help="the program around MRPT's driver")
    parser.add_argument("--only", choices=[case.name for case in cases], help="one case")
    parser.add_argument("--self-test", action="store_true",
                        help="spoil the scans, too, and expect that to be found")
    arguments = parser.parse_args()
    if arguments.only is None:
        main = functools.partial(check_all, description, cases, conversation, compare, off_by, at_a_time)
        return side_by_side([case.name for case in cases], at_a_time, main)
    failures = 0
    for case in cases:
        if case.name != arguments.only:
            continue

        def attempt():
            with Watch() as watch:
                try:
                    scans = conversation(case, arguments.menura, arguments.driver)
                except GaveUp as error:
                    return Judged(([], [str(error)]), False, str(error))
            faults = list(compare(case, scans))
            return Judged((scans, faults), not faults, watch.excuse())

        try:
            scans, faults = repeated(case.name, attempt)
        except (OSError, subprocess.SubprocessError, RuntimeError) as error:
            print(f"{case.name}: {error}", file=sys.stderr)
            return 2
        for fault in faults[:10]:
            print(f"{case.name}: {fault}")
        failures += len(faults)
        print(f"{case.name}: {len(scans)} scans of {len(scans[0][-1]) if scans else 0} values,",
              f"{len(faults)} faults")
        if arguments.self_test:
            # Other cases may still be at what comes live.
            os.nice(5)
            failures += self_test(case, scans, compare, off_by(case))
    return 1 if failures else 0


# Where a scanner is: the room, a robot that stands in it, and the mount. `flat_split.where` gives others.
IN_THE_ROOM = {
    "world": f'scene = "room"\nparameters = {{ size_m = {list(ROOM_SIZE_M)}, reflectance = 0.9 }}',
    "trajectory": f'kind = "still", position_m = [{ROBOT_M[0]}, {ROBOT_M[1]}, 0.0], yaw_deg = {ROBOT_YAW_DEG}',
    "mount": list(MOUNT_M),
}


def rig_of(profile, link, settings, where):
    """The text of a rig with one scanner."""
    return RIG.format(profile=profile, mount_yaw=MOUNT_YAW_DEG, link=link, settings=settings, **where)


@contextlib.contextmanager
def menura_runs(menura, profile, link, settings, is_ready, where=None):
    """Runs Menura with one scanner, from when `is_ready()` until the end of the block."""
    with tempfile.TemporaryDirectory(prefix="menura-scanner-") as folder:
        rig = Path(folder) / "rig.toml"
        rig.write_text(rig_of(profile, link, settings, where or IN_THE_ROOM))
        with open(Path(folder) / "log", "w+") as log:
            running = subprocess.Popen([menura, "run", str(rig)], stdout=log, stderr=log)

            def said():
                log.seek(0)
                return log.read()

            try:
                deadline = time.monotonic() + 30
                while not is_ready():
                    if running.poll() is not None or time.monotonic() > deadline:
                        raise RuntimeError("menura opened no port:\n" + said())
                    time.sleep(0.05)
                yield
                if running.poll() is not None:
                    raise RuntimeError("menura ended:\n" + said())
            finally:
                running.terminate()
                running.wait(timeout=10)


def driver_says(case, driver, *words):
    """The lines that the driver's program prints. Raises `GaveUp` when it ends with an error."""
    done = subprocess.run([driver, *map(str, words)], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise GaveUp(f"the driver ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout.splitlines()


def pose():
    """The scanner's place in the room and its heading."""
    yaw = math.radians(ROBOT_YAW_DEG)
    x = ROBOT_M[0] + MOUNT_M[0] * math.cos(yaw) - MOUNT_M[1] * math.sin(yaw)
    y = ROBOT_M[1] + MOUNT_M[0] * math.sin(yaw) + MOUNT_M[1] * math.cos(yaw)
    return (x, y, MOUNT_M[2]), yaw + math.radians(MOUNT_YAW_DEG)


def truth_m(angle_rad, divergence_rad, signal_cutoff_m):
    """The ranges (n,) that a scanner reports at `angle_rad` (n,), counter-clockwise from its heading; without divergence those
    of single rays."""
    origin, heading = pose()
    cos, sin, none = np.cos(heading + angle_rad), np.sin(heading + angle_rad), 0 * angle_rad
    along, left, up = np.stack([cos, sin, none], -1), np.stack([-sin, cos, none], -1), np.array([0.0, 0.0, 1.0])
    half = math.tan(divergence_rad / 2) / math.sqrt(2)
    # Goodin et al. 2018: centre, four on the axes, four half as far on the diagonals.
    stencil = half * np.array([(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1),
                               (0.5, 0.5), (0.5, -0.5), (-0.5, 0.5), (-0.5, -0.5)])
    rays = along[:, None] + stencil[:, :1] * left[:, None] + stencil[:, 1:] * up
    rays /= np.linalg.norm(rays, axis=2, keepdims=True)
    low, high = np.array(ROOM_SIZE_M) * [-0.5, -0.5, 0], np.array(ROOM_SIZE_M) * [0.5, 0.5, 1]
    with np.errstate(divide="ignore"):
        range_m = np.where(rays == 0, np.inf, (np.where(rays > 0, high, low) - origin) / rays).min(axis=2)
    near = range_m - range_m.min(axis=1, keepdims=True) <= signal_cutoff_m
    return np.average(range_m, axis=1, weights=near)


def range_faults(scan, error_m, limit_m):
    """The values of a scan that are too far from the truth."""
    for value in np.flatnonzero(np.abs(error_m) > limit_m):
        yield f"scan {scan}, value {value}: {error_m[value]:+.4f} m from the truth"


def noise_faults(errors, range_std_m, unit_m):
    """What is wrong with the mean and the spread of the errors of many ranges, arrays."""
    errors = np.concatenate(errors)
    mean, spread = errors.mean(), errors.std()
    expected = math.hypot(range_std_m, unit_m / math.sqrt(12))
    if abs(mean) > 5 * expected / math.sqrt(len(errors)) + 1e-4:
        yield f"ranges are {mean:+.5f} m off on average"
    if abs(spread / expected - 1) > 0.05:
        yield f"ranges spread by {spread:.5f} m instead of {expected:.5f}"


def self_test(case, scans, compare, off_m):
    """How many spoilt scans go unnoticed."""
    if case.place:
        # The ranges of split beams are computed anew for each version, so each version has only a quarter of the scans.
        case, scans = dataclasses.replace(case, scans=case.scans // 4), scans[:case.scans // 4]
        if faults := list(compare(case, scans)):
            print(f"{case.name}: good scans are taken for spoilt ones: {faults}")
            return 1

    def with_ranges(change):
        return [(*rest, change(list(ranges))) for *rest, ranges in scans]

    def some_off(ranges):
        # Where beams are split, a few values may be off.
        for index in range(7, len(ranges), 20) if case.place else [len(ranges) // 3]:
            ranges[index] += off_m
        return ranges

    spoilt = {
        "values off": with_ranges(some_off),
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
