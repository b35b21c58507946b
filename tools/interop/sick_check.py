#!/usr/bin/env python3
"""Has MRPT's CSickLaserSerial configure Menura's LMS 2xx and compares its scans with the truth.

Menura runs a robot that stands in the built-in scene `room`; the scanner is on a pseudo-terminal. The
driver finds its rate, sets another one, configures it and streams. Every range must be that of the
wall: with single rays and no noise within half a unit, with the scanner's own spot and noise
within five standard deviations, and with the noise's own spread.

Needs only the standard library. Exit code 0 when all is well, 1 when a check fails, 2 when Menura
itself did not run.
"""

import math
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from flat_scanner import EXACT, check_all, driver_says, menura_runs, noise_faults, truth_m

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

    @property
    def unit_m(self):
        return 0.001 if self.millimetres else 0.01


CASES = [
    Case("38400-cm", 38400, False),
    Case("38400-mm-from-500000", 38400, True, settings=EXACT + ", rate_baud = 500000"),
    Case("38400-100-degrees", 38400, False, 100, 100, profile="sick-lms211"),
    Case("500000-mm", 500000, True, scans=100),
    Case("500000-mm-noise", 500000, True, settings="", range_std_m=0.01, scans=100),
]


def conversation(case, menura, driver):
    """What the driver makes of one run: first angle, aperture, ranges of each scan."""
    with tempfile.TemporaryDirectory(prefix="menura-sick-") as folder:
        port = Path(folder) / "scanner"
        with menura_runs(menura, case.profile, f'pty = "{port}"', case.settings, port.exists):
            lines = driver_says(case, driver, port, case.baud, int(case.millimetres), case.angle_deg,
                                case.resolution_centideg, case.scans)
    lines = [line for line in lines if line and line[0] in "-0123456789"]
    numbers = [[float(word) for word in line.split()] for line in lines]
    return [(row[0], row[1], row[2:]) for row in numbers]


def compare(case, scans):
    """Everything that is wrong with the scans."""
    if len(scans) < case.scans:
        return [f"{len(scans)} scans instead of {case.scans}"]
    faults, errors = [], []
    count = case.angle_deg * 100 // case.resolution_centideg + 1
    aperture = math.radians(case.angle_deg)
    divergence_rad = DIVERGENCE_RAD if case.range_std_m else 0.0
    truth = [truth_m(-aperture / 2 + index * aperture / (count - 1), divergence_rad, SIGNAL_CUTOFF_M)
             for index in range(count)]
    limit = case.unit_m / 2 + 5 * case.range_std_m + 1e-4
    for number, (first, span, ranges) in enumerate(scans, 1):
        if len(ranges) != count:
            faults.append(f"scan {number} has {len(ranges)} values instead of {count}")
            continue
        # MRPT says 180 degrees whatever the field of view is.
        if abs(span - math.pi) > 1e-6 or abs(first + math.pi / 2) > 1e-6:
            faults.append(f"scan {number} goes from {first} over {span} rad")
        for index, said in enumerate(ranges):
            error = said - truth[index]
            errors.append(error)
            if abs(error) > limit:
                faults.append(f"scan {number}, value {index}: {said} m, {error:+.4f} from the truth")
    if case.range_std_m and not faults:
        faults += noise_faults(errors, case.range_std_m, case.unit_m)
    return faults


if __name__ == "__main__":
    sys.exit(check_all(__doc__, CASES, conversation, compare,
                       lambda case: case.unit_m + 6 * case.range_std_m))
