#!/usr/bin/env python3
"""Compares what velodyne-decoder makes of Menura's HDL-32E, VLP-16, Puck Hi-Res, VLP-32C and VLS-128
traffic with the truth.

Menura records, and then sends live, a robot that drives a circle in the built-in scene `room`,
without noise. Every shot must come back, and every decoded point, carried into the world by the
robot's pose at the point's own time, must lie on a plane of the room. Nothing may be missing,
nothing extra, and the live bytes must be those of the recording.

Exit code 0 when all is well, 1 when a check fails, 2 when Menura itself did not run.
"""

import argparse
import functools
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import velodyne_decoder as vd

import room
from room import PROFILES, ROTATION_RATE_RPM
from traffic import START_UTC, Traffic

SETTINGS = room.NO_ERRORS + """\
azimuth_jitter_centideg = 0.0
beam = { shape = "ray", min_range_m = 0.1, sees = { reflectance = 0.0 } }
"""


@dataclass(frozen=True)
class Case:
    """One firmware in one return mode."""

    profile: str
    model: vd.Model
    return_mode: str

    @property
    def name(self):
        return f"{self.profile} {self.return_mode}"


MODELS = {
    "velodyne-hdl32e-2.2": vd.Model.HDL32E,
    "velodyne-vlp16-3.0": vd.Model.VLP16,
    "velodyne-puck-hires-3.0": vd.Model.PuckHiRes,
    "velodyne-vlp32c-3.0": vd.Model.VLP32C,
    "velodyne-vls128-5.1": vd.Model.VLS128,
    "velodyne-vls128-5.2": vd.Model.VLS128,
}
CASES = [Case(profile, model, mode)
         for profile, model in MODELS.items() for mode in ("strongest", "last", "dual")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--menura", default="target/release/menura", help="the binary")
    parser.add_argument("--seconds", type=float, default=0.15, help="length of each run (default 0.15: a turn and a half)")
    parser.add_argument("--only", choices=sorted(MODELS), help="one model")
    arguments = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory(prefix="menura-interop-") as folder:
        for index, case in enumerate(CASES):
            if arguments.only in (None, case.profile):
                try:
                    failures += check(case, arguments, Path(folder) / str(index))
                except (OSError, subprocess.SubprocessError) as error:
                    print(f"{case.name}: {error}", file=sys.stderr)
                    return 2
    print("velodyne_fixed_check:", f"{failures} failed" if failures else "all compared, none failed")
    return 1 if failures else 0


def check(case, arguments, folder):
    """Whether a case fails."""
    traffic = Traffic(arguments.menura, arguments.seconds, folder, lambda port: room.rig(
        case.profile, case.return_mode, port, SETTINGS))
    truth = room.Truth(folder / "out" / "truth.csv")
    failures = []
    if traffic.live != traffic.recorded:
        failures.append(f"the live bytes are not the recorded ones: {len(traffic.live)} packets live, "
                        f"{len(traffic.recorded)} recorded")
    points = decode(case, traffic.recorded)
    firings = len(traffic.recorded) * firings_a_packet(case)
    if len(points) != firings:
        failures.append(f"{len(points)} points of {firings} firings")
    if lasers_of(case) == 128:
        # Of the first packet the decoder knows no rate of the rotor yet.
        points = points[firings_a_packet(case):]
    error, limit = off_the_walls(case, points, truth)
    worst = np.argmax(error / limit)
    bad = int(np.count_nonzero(error > limit))
    if bad:
        failures.append(f"{bad} points off the walls")
    print(f"{case.name}: {len(traffic.recorded)} packets, {len(points)} points; "
          f"off the walls {1e3 * error[worst]:.3g} of {1e3 * limit[worst]:.3g} mm")
    for line in failures:
        print(f"  FAILED {line}")
    return bool(failures)


def decode(case, payloads):
    """Rows x y z intensity time column ring type, `time` after the start."""
    decoder = vd.StreamDecoder(vd.Config(model=case.model, min_range=0, max_range=1000))
    scans = [decoder.decode(START_UTC.timestamp(), payload) for payload in payloads]
    parts = []
    for scan in [*scans, decoder.finish()]:
        if scan is not None:
            stamp, points = scan
            rows = np.array(points, float).reshape(-1, 8)
            rows[:, 4] += stamp.device - START_UTC.timestamp()
            parts.append(rows)
    return np.concatenate(parts)


@functools.cache
def profile_of(name):
    with open(PROFILES / f"{name}.toml", "rb") as file:
        return tomllib.load(file)


def firings_a_packet(case):
    """Blocks of 32 points; with dual return each firing stands twice, and the decoder, seeing the
    same return twice, makes one point of them."""
    if case.return_mode != "dual":
        return 384
    return 128 if lasers_of(case) == 128 else 192


def lasers_of(case):
    return len(profile_of(case.profile)["lasers"]["rows"])


def off_the_walls(case, points, truth):
    """How far each point lies from the nearest plane of the room, and how far it may, metres."""
    error = room.Room(room.SIZE_M).off_the_walls(room.in_world(truth, points[:, 4], points[:, :3]))
    range_m = np.linalg.norm(points[:, :3], axis=1)
    unit_m = profile_of(case.profile)["packet"]["distance_unit_mm"] / 1000
    moved_m, turned_rad = truth.interpolation_error()
    # Half a count; half a hundredth of a degree in the block's azimuth, and as much again where the
    # decoder reads the rotor's rate from such azimuths; a microsecond of the stamp at 4 m/s.
    limit = unit_m / 2 + range_m * (np.radians(0.01) + turned_rad) + moved_m + 1e-4
    if lasers_of(case) == 128:
        # The decoder counts one maintenance slot more than the manual in the second half.
        slot_s = profile_of(case.profile)["lasers"]["sequence_us"] * 1e-6 / 20
        limit += range_m * np.radians(ROTATION_RATE_RPM * 6 * slot_s)
    return error, limit


if __name__ == "__main__":
    sys.exit(main())
