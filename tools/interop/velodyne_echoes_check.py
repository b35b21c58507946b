#!/usr/bin/env python3
"""Compares what velodyne-decoder makes of Menura's Velodynes, as they are delivered, with beams that were split.

Menura records, and then sends live, a robot that drives a circle within rods, and within a meadow with a fence,
before walls: nine rays a pulse, the profile's own errors, one return or two. For some thousand pulses of each case
the echoes are worked out apart from Menura's own code (`split_beams.py`); both returns must be there where two
are, each in its place, with its range and intensity.

Exit code 0 when all is well, 1 when a check fails, 2 when Menura itself did not run.
"""

import argparse
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import velodyne_decoder as vd

import hdl64e
import room
import shots
from echoes import Optics
from split_beams import MEADOW_WALL, RODS, SIGNS, Comparison, Read, expected, self_test, world_of
from traffic import START_UTC, Traffic
from velodyne_fixed_check import MODELS, profile_of

HDL64E = {
    "velodyne-hdl64e-s1": vd.Model.HDL64E_S1,
    "velodyne-hdl64e-s2": vd.Model.HDL64E_S2,
    "velodyne-hdl64e-s3": vd.Model.HDL64E_S3,
}
# The rotor's uneven turning is left out: no driver is told of it.
FIXED_SETTINGS = "azimuth_jitter_centideg = 0.0\n"
HDL64E_SETTINGS = 'start_azimuth_deg = 0.0\ntimestamp_marks = "first-firing"\nlag_ms = 0.0\n'
# One turn of the rotor, and a little.
SECONDS = 0.11
# The most that an HDL-64E's table adds to an intensity at these ranges.
MOST_ADDED = 70.0
# Of the first packet decoders know no rate of the rotor.
FIRST = 512
# A Velodyne's time is told in whole microseconds, and decoders know the firing times to some microseconds; a laser
# fires every 46 us or more.
TIME_SLACK_US = 20.0


@dataclass(frozen=True)
class Case:
    """One firmware in one return mode in one place."""

    profile: str
    return_mode: str
    place: object

    @property
    def name(self):
        return f"{self.profile} {self.return_mode} {self.place.scene}"

    @property
    def is_hdl64e(self):
        return self.profile in HDL64E

    @property
    def dual(self):
        return self.return_mode == "dual"


def cases():
    """Every model with both returns, or with one if it has no more, among rods; some in the meadow as well, with each
    return alone."""
    for profile in [*MODELS, *HDL64E]:
        modes = profile_of(profile)["returns"]["modes"]
        best = "dual" if "dual" in modes else "strongest"
        yield Case(profile, best, RODS)
        if profile in ("velodyne-vlp16-3.0", "velodyne-hdl64e-s2"):
            yield from (Case(profile, mode, MEADOW_WALL) for mode in modes)
    yield Case("velodyne-vls128-5.2", "dual", MEADOW_WALL)
    yield Case("velodyne-hdl64e-s3", "dual", MEADOW_WALL)
    yield Case("velodyne-vlp16-3.0", "strongest", SIGNS)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--menura", default="target/release/menura", help="the binary")
    parser.add_argument("--pulses", type=int, default=2500, help="pulses of a case that are compared (default 2500)")
    parser.add_argument("--only", help="cases whose name contains this")
    arguments = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory(prefix="menura-interop-") as folder:
        for index, case in enumerate(cases()):
            if arguments.only and arguments.only not in case.name:
                continue
            try:
                failures += check(case, arguments, Path(folder) / str(index))
            except (OSError, subprocess.SubprocessError) as error:
                print(f"{case.name}: {error}", file=sys.stderr)
                return 2
    print("velodyne_echoes_check:", f"{failures} failed" if failures else "all compared, none failed")
    return 1 if failures else 0


def check(case, arguments, folder):
    """How much fails in a case."""
    settings = HDL64E_SETTINGS if case.is_hdl64e else FIXED_SETTINGS
    traffic = Traffic(arguments.menura, SECONDS, folder, lambda port: room.rig(
        case.profile, case.return_mode, port, settings, world=case.place.world(folder), circle=case.place.circle))
    failures = []
    if traffic.live != traffic.recorded:
        failures.append(f"the live bytes are not the recorded ones: {len(traffic.live)} packets live, "
                        f"{len(traffic.recorded)} recorded")
    truth = room.Truth(folder / "out" / "truth.csv")
    optics = Optics(case.profile)
    fired, ring, config = bench(case, traffic, folder)
    pulses = chosen(fired, arguments.pulses)
    wanted = expected(world_of(case.place, optics), optics, truth, fired.time_us[pulses],
                      fired.exit_point[pulses], fired.direction[pulses])
    rows = decode(config, traffic.recorded)
    shot = shots_of(case, rows, fired, ring, traffic.recorded)
    if len(shot) != len(rows) or np.any(shot[FIRST:] < 0):
        print(f"{case.name}: FAILED {len(rows)} points, {np.count_nonzero(shot >= 0)} of shots")
        return len(failures) + 1
    read, beside = returns_of(case, rows, shot, fired, pulses)
    if np.any(beside > 1):
        failures.append(f"points beside their rays: {np.count_nonzero(beside > 1)}")
    laser = fired.laser[pulses]
    profile = profile_of(case.profile)
    # An HDL-64E's table is in the way of exact distances by some millimetres.
    step_m = 0.006 if case.is_hdl64e else profile["packet"]["distance_unit_mm"] / 1000

    mode = "dual-hdl64e" if case.is_hdl64e and case.dual else case.return_mode
    # The decoder adds what the table says to an HDL-64E's intensities.
    full_scale, retro_full_gain = 255.0, None
    if not case.is_hdl64e:
        full_scale, retro_full_gain = profile["packet"]["diffuse_full_scale"], profile["packet"]["retro_full_gain"]

    def compare(read):
        done = Comparison(optics, mode, laser, step_m, full_scale, retro_full_gain)
        done.added = MOST_ADDED if case.is_hdl64e else 0.0
        return done.run(wanted, read)

    done = compare(read)
    failures += done.failures
    failures += [f"{what}: not noticed" for what in self_test(compare, read)]
    print(f"{case.name}: {len(traffic.recorded)} packets; {'; '.join(done.told)}")
    for line in failures:
        print(f"  FAILED {line}")
    return len(failures)


def bench(case, traffic, folder):
    """The case's shots, flat and each once, their lasers' rings, and the decoder's configuration."""
    packets = len(traffic.recorded)
    if case.is_hdl64e:
        calibration = folder / "calibration.yaml"
        traffic.run("profiles", case.profile, "--calibration", calibration)
        table = hdl64e.Calibration(calibration.read_text())
        fired = shots.of_hdl64e(case.profile, hdl64e.blocks_of(traffic.recorded), case.dual, table)
        blocks = [0, 1, 4, 5, 8, 9] if case.dual else range(12)
        config = vd.Config(model=HDL64E[case.profile], min_range=0, max_range=1000,
                           calibration=vd.Calibration.from_string(calibration.read_text()))
        ring = table.ring
    else:
        fired = shots.of_fixed_optics(case.profile, packets, case.dual)
        rows = np.array(sorted(profile_of(case.profile)["lasers"]["rows"]), float)
        blocks = range(0, 8 if len(rows) == 128 else 12, 2) if case.dual else range(12)
        config = vd.Config(model=MODELS[case.profile], min_range=0, max_range=1000)
        ring = np.argsort(np.argsort(rows[:, 1], kind="stable"))
    return flat(fired, list(blocks)), ring, config


def flat(fired, blocks):
    """The shots of some blocks of each packet, one after another."""
    return shots.Shots(*(part[:, blocks].reshape(-1, *part.shape[3:]) for part in vars(fired).values()))


def chosen(fired, count):
    """About `count` of the shots, from all over the run."""
    step = max(1, (len(fired.time_us) - FIRST) // count) | 1
    return np.arange(FIRST, len(fired.time_us), step)


def decode(config, payloads):
    """Rows x y z intensity time column ring type, `time` after the start."""
    decoder = vd.StreamDecoder(config)
    scans = [decoder.decode(START_UTC.timestamp(), payload) for payload in payloads]
    parts = []
    for scan in [*scans, decoder.finish()]:
        if scan is not None:
            stamp, points = scan
            rows = np.array(points, float).reshape(-1, 8)
            rows[:, 4] += stamp.device - START_UTC.timestamp()
            parts.append(rows)
    return np.concatenate(parts)


def shots_of(case, rows, fired, ring, payloads):
    """Which shot each point is of; -1 if none fits."""
    if case.is_hdl64e and not case.dual:
        # An S1 tells no times; points come in the order of the shots that have a return.
        return np.flatnonzero(hdl64e.blocks_of(payloads)["shot"]["distance"].ravel() > 0)
    # One ring after another, with more than a run between them.
    apart_us = 10e6
    place = ring[fired.laser] * apart_us + fired.time_us
    shots_in_order = np.argsort(place)
    place = place[shots_in_order]
    wanted = rows[:, 6] * apart_us + rows[:, 4] * 1e6
    nearest = np.minimum(np.searchsorted(place, wanted - TIME_SLACK_US), len(place) - 1)
    return np.where(np.abs(place[nearest] - wanted) <= TIME_SLACK_US, shots_in_order[nearest], -1)


def returns_of(case, rows, shot, fired, pulses):
    """The returns of the pulses, and how far each point lies beside its ray, as a share of what it may."""
    columns = 2 if case.dual else 1
    read = Read(*(np.full((len(pulses), columns), np.nan) for _ in range(2)))
    row_of = np.full(len(fired.laser), -1)
    row_of[pulses] = np.arange(len(pulses))
    points = np.flatnonzero((shot >= 0) & (row_of[shot] >= 0))
    shot, points = shot[points], rows[points]
    offset = points[:, :3] - fired.exit_point[shot]
    range_m = np.linalg.norm(offset, axis=1)
    # The azimuth's steps; what the decoder makes of an S1's blocks may be off by 0.13 degrees; and of an HDL-64E the
    # corrections across the beam, which differ from those along it.
    limit = range_m * np.radians(0.16 if case.profile.endswith("s1") else 0.03) + (0.05 if case.is_hdl64e else 0.004)
    beside = np.linalg.norm(offset - range_m[:, None] * fired.direction[shot], axis=1) / limit
    for column in range(columns):
        # Types are 1 for the strongest, 2 for the last, 3 for both in one.
        some = (points[:, 7].astype(int) & (column + 1)) > 0 if case.dual else np.full(len(points), True)
        read.range_m[row_of[shot[some]], column] = range_m[some]
        read.intensity[row_of[shot[some]], column] = points[some, 3]
    return read, beside


if __name__ == "__main__":
    sys.exit(main())
