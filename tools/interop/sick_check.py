#!/usr/bin/env python3
"""Has MRPT's CSickLaserSerial configure Menura's LMS 2xx and compares its scans with the truth.

Menura runs a robot that stands in the built-in scene `room`; the scanner is on a pseudo-terminal. The
driver finds its rate, sets another one, configures it and streams. Every range must be that of the
wall: with single rays and no noise within half a unit, with the scanner's own spot and noise
within five standard deviations, and with the noise's own spread. Then the robot drives among rods and in a meadow
with a fence, and every range must be that of the first echo of a beam that may be split.

Exit code 0 when all is well, 1 when a check fails, 2 when Menura
itself did not run.
"""

import math
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import flat_split
from flat_scanner import EXACT, check_all, driver_says, menura_runs, noise_faults, range_faults, truth_m
from split_beams import MEADOW_WALL, RODS, Place

DIVERGENCE_RAD = 0.0129
SIGNAL_CUTOFF_M = 1.6


@dataclass(frozen=True)
class Case:
    """One scanner with one way to use it."""

    name: str
    baud: int
    millimetres: bool
    angle_deg: int = 180
    resolution_centideg: int = 50
    profile: str = "sick-lms291-s05-x1.27"
    settings: str = EXACT
    # Standard deviation of the range, metres; 0 for single rays without noise.
    range_std_m: float = 0.0
    scans: int = 20
    # Where the robot drives and beams are split; None for the room.
    place: Place | None = None

    @property
    def unit_m(self):
        return 0.001 if self.millimetres else 0.01


CASES = [
    Case("38400-cm", 38400, False),
    Case("38400-mm-from-500000", 38400, True, settings=EXACT + ", baud_rate = 500000"),
    Case("38400-100-degrees", 38400, False, 100, 100, profile="sick-lms211"),
    Case("500000-mm", 500000, True, scans=100),
    Case("500000-mm-noise", 500000, True, settings="", range_std_m=0.01, scans=100),
    Case("500000-mm-rods", 500000, True, settings="", range_std_m=0.01, scans=20, place=RODS),
    Case("500000-mm-meadow-wall", 500000, True, settings="", range_std_m=0.01, scans=20, place=MEADOW_WALL),
]
MIRROR_HZ = 75.0

# Of the cases in other places, by name.
benches = {}


def conversation(case, menura, driver):
    """What the driver makes of one run: first angle, aperture, ranges of each scan."""
    with tempfile.TemporaryDirectory(prefix="menura-sick-") as folder:
        port = Path(folder) / "scanner"
        link = f'pty = "{port}"'
        if case.place:
            benches[case.name] = bench(case, menura, link)
        with menura_runs(menura, case.profile, link, case.settings, port.exists,
                          flat_split.where(case.place)):
            lines = driver_says(case, driver, port, case.baud, int(case.millimetres), case.angle_deg,
                                case.resolution_centideg, case.scans)
    lines = [line for line in lines if line and line[0] in "-0123456789"]
    numbers = [[float(word) for word in line.split()] for line in lines]
    return [(row[0], row[1], row[2:]) for row in numbers]


def bench(case, menura, link):
    """Half degrees are taken in two revolutions of the mirror, the whole ones in the first; it looks to the right as
    a revolution begins."""
    value = np.arange(361)
    after_s = (value % 2 + value * 0.5 / 360) / MIRROR_HZ
    timing = flat_split.Timing(1 / MIRROR_HZ, after_s, step=2)
    return flat_split.Bench(menura, case.place, case.profile, link, np.radians(value * 0.5 - 90), timing)


def compare(case, scans):
    """Everything that is wrong with the scans."""
    if len(scans) < case.scans:
        return [f"{len(scans)} scans instead of {case.scans}"]
    if case.place:
        return benches[case.name].compare([ranges for _, _, ranges in scans], case.unit_m)
    faults, errors = [], []
    count = case.angle_deg * 100 // case.resolution_centideg + 1
    aperture = math.radians(case.angle_deg)
    divergence_rad = DIVERGENCE_RAD if case.range_std_m else 0.0
    truth = truth_m(np.linspace(-aperture / 2, aperture / 2, count), divergence_rad, SIGNAL_CUTOFF_M)
    limit = case.unit_m / 2 + 5 * case.range_std_m + 1e-4
    for number, (first, span, ranges) in enumerate(scans, 1):
        if len(ranges) != count:
            faults.append(f"scan {number} has {len(ranges)} values instead of {count}")
            continue
        # MRPT says 180 degrees whatever the field of view is.
        if abs(span - math.pi) > 1e-6 or abs(first + math.pi / 2) > 1e-6:
            faults.append(f"scan {number} goes from {first} over {span} rad")
        errors.append(ranges - truth)
        faults += range_faults(number, errors[-1], limit)
    if case.range_std_m and not faults:
        faults += noise_faults(errors, case.range_std_m, case.unit_m)
    return faults


if __name__ == "__main__":
    sys.exit(check_all(__doc__, CASES, conversation, compare,
                       lambda case: case.unit_m + (20 if case.place else 6) * case.range_std_m, at_a_time=2))
