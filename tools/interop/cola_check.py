#!/usr/bin/env python3
"""Has MRPT's CLMS100Eth configure Menura's LMS111 and compares its scans with the truth.

Menura runs a robot that stands in the built-in scene `room`; the scanner listens at a port of the
loopback. The driver logs in, sets 25 Hz at 0.25 degrees, waits until the scanner measures and asks for
scans. Every range must be that of the wall: with single rays and no noise within half a millimetre,
with the scanner's own spot and noise within five standard deviations, and with the noise's own
spread. Then the robot drives among rods, and every range must be that of the first echo of a beam that may be split.

Exit code 0 when all is well, 1 when a check fails, 2 when Menura
itself did not run.
"""

import socket
import sys
from dataclasses import dataclass

import numpy as np

import flat_split
from flat_scanner import EXACT, check_all, driver_says, menura_runs, noise_faults, range_faults, truth_m
from receiving import free_ports
from split_beams import RODS, Place

DIVERGENCE_RAD = 0.015
SIGNAL_CUTOFF_M = 1.0
RANGE_STD_M = 0.012
UNIT_M = 0.001
# Of the driver: 25 Hz, 0.25 degrees, counter-clockwise, 90 degrees is forward.
FIRST_DEG, STEP_DEG, VALUES = -45.0, 0.25, 1081


@dataclass(frozen=True)
class Case:
    """One way to set the scanner up."""

    name: str
    settings: str
    # Standard deviation of the range, metres; 0 for single rays without noise.
    range_std_m: float = 0.0
    scans: int = 25
    # Where the robot drives and beams are split; None for the room.
    place: Place | None = None


CASES = [
    Case("exact", EXACT),
    Case("noise", "", range_std_m=RANGE_STD_M, scans=50),
    Case("rods", "", range_std_m=RANGE_STD_M, scans=8, place=RODS),
]
# Of the operating instructions: the mirror turns 25 times a second and passes its zero index behind.
MIRROR_HZ, ZERO_INDEX_DEG = 25.0, -90.0

# Of the cases in other places, by name.
benches = {}


def conversation(case, menura, driver):
    """The ranges of each scan that the driver made of one run."""
    port, second = free_ports(2)
    link = f'tcp = ["127.0.0.1:{port}", "127.0.0.1:{second}"]'
    if case.place:
        benches[case.name] = bench(case, menura, link)
    with menura_runs(menura, "sick-lms111", link, case.settings, lambda: can_connect(port),
                      flat_split.where(case.place)):
        # It sleeps 10 s after each look at the state.
        lines = driver_says(case, driver, "127.0.0.1", port, case.scans)
    lines = [line for line in lines if line.startswith("scan ")]
    return [([float(word) for word in line.split()[1:]],) for line in lines]


def bench(case, menura, link):
    angle_deg = FIRST_DEG + STEP_DEG * np.arange(VALUES)
    # Which phase the mirror has is up to when the motor was started.
    timing = flat_split.Timing(1 / MIRROR_HZ, (angle_deg - ZERO_INDEX_DEG) / 360 / MIRROR_HZ)
    return flat_split.Bench(menura, case.place, "sick-lms111", link, np.radians(angle_deg - 90), timing)


def can_connect(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def compare(case, scans):
    """Everything that is wrong with the scans."""
    if len(scans) < case.scans:
        return [f"{len(scans)} scans instead of {case.scans}"]
    if case.place:
        return benches[case.name].compare([ranges for ranges, in scans], UNIT_M)
    faults, errors = [], []
    divergence_rad = DIVERGENCE_RAD if case.range_std_m else 0.0
    truth = truth_m(np.radians(FIRST_DEG + STEP_DEG * np.arange(VALUES) - 90), divergence_rad, SIGNAL_CUTOFF_M)
    limit = UNIT_M / 2 + 5.5 * case.range_std_m + 1e-4
    for number, (ranges,) in enumerate(scans, 1):
        if len(ranges) != VALUES:
            faults.append(f"scan {number} has {len(ranges)} values instead of {VALUES}")
            continue
        errors.append(ranges - truth)
        faults += range_faults(number, errors[-1], limit)
    if case.range_std_m and not faults:
        if len({tuple(ranges) for ranges, in scans}) < case.scans / 2:
            faults.append("most scans are the same")
        faults += noise_faults(errors, case.range_std_m, UNIT_M)
    return faults


if __name__ == "__main__":
    sys.exit(check_all(__doc__, CASES, conversation, compare,
                       lambda case: 2 * UNIT_M + (20 if case.place else 11) * case.range_std_m, at_a_time=3))
