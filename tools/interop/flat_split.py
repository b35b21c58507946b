"""Scanners with one plane whose beams are split: a robot that drives a circle within the built-in scenes `rods` or
`meadow-wall`, and what its scanner, as it is delivered, must see there.

A driver does not say when a scan was taken. The robot's way is known, so the time is found from the scan itself, by
its ranges to the walls: to a revolution of the mirror where scans are taken from a clock's start on, else to a common
phase. That uses one number for all scans; everything else of some thousand ranges is compared.
"""

import math
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

import flat_scanner
import room
import split_beams
from echoes import Optics
from split_beams import Comparison, Read

# Below the top of the fence, and between two of its level wires.
MOUNT_M = (0.4, 0.1, 1.2)
SPEED_M_S = 0.25
# How long runs may take until the last scan.
LONGEST_S = 60.0
# Ranges that are this near to a wall are taken for the wall's when the time is looked for.
NEAR_M = 0.06
# Of the first look for the time of a scan whose phase is not known.
COARSE_S = 0.02
# That first look uses one value of this many.
THIN = 8
# Where the lap begins in which the first of such scans is looked for; half a lap after it must be over within LONGEST_S.
FIRST_LAP_S = 1.0


@dataclass(frozen=True)
class Timing:
    """When a scanner's values are taken: `after_s` (n,) after a multiple of `period_s` and a phase."""

    period_s: float
    after_s: np.ndarray
    # How many periods lie between one scan and the next, all from a multiple of the period on; None if the phase and
    # that is to be found.
    step: int | None = None


def where(place):
    """Where the scanner is in a place, for `flat_scanner`; None in none."""
    return place and {
        "world": place.world(None),
        "trajectory": f'kind = "circle", {place.circle}, speed_m_s = {SPEED_M_S}',
        "mount": list(MOUNT_M),
    }


def misfit(ranges_m, walls_m):
    """How far a scan is from each row of ranges to walls: what is near to a wall counts by its square."""
    error = np.minimum(np.abs(walls_m - ranges_m), NEAR_M)
    return np.einsum("mn,mn->m", error, error)


class Bench:
    """The scanner of a run: where it was when, and what it had before it. `link` is any of its rig's."""

    def __init__(self, menura, place, profile, link, angles_rad, timing):
        self.place, self.angles_rad, self.timing = place, angles_rad, timing
        self.optics = Optics(profile)
        with tempfile.TemporaryDirectory(prefix="menura-scanner-") as folder:
            rig = Path(folder) / "rig.toml"
            rig.write_text(flat_scanner.rig_of(profile, link, "", where(place)))
            truth = room.truth_of(menura, rig, LONGEST_S)
        if np.any(truth.rotation[:, :2]) or np.ptp(truth.position[:, 2]):
            raise RuntimeError("the robot does not stay on a plane")
        # On a plane, what is straight between the truth's rows is so number by number.
        self.time_s, self.row = truth.time, truth.position
        self.heading = np.unwrap(2 * np.arctan2(truth.rotation[:, 2], truth.rotation[:, 3]))
        # When scans began that were compared last, and what was wanted of them.
        self.began, self.wanted = None, None
        # Walls all around; the scanner looks straight ahead.
        self.half_m = {"rods": 9.0, "meadow-wall": 12.0}[place.scene]

    def pose(self, time_s):
        """The scanner's place (n, 3) and its heading (n,)."""
        position = np.stack([np.interp(time_s, self.time_s, axis) for axis in self.row.T], -1)
        heading = np.interp(time_s, self.time_s, self.heading)
        sin, cos = np.sin(heading), np.cos(heading)
        x, y, z = MOUNT_M
        return position + np.stack([x * cos - y * sin, x * sin + y * cos, 0 * cos + z], -1), \
            heading + math.radians(flat_scanner.MOUNT_YAW_DEG)

    def walls_m(self, time_s, thin=1):
        """The ranges to the walls of scans that begin at `time_s` (m,), (m, n): of every `thin`th value."""
        when = (time_s[:, None] + self.timing.after_s[::thin]).ravel()
        place, heading = self.pose(when)
        angle = heading + np.tile(self.angles_rad[::thin], len(time_s))
        along = np.stack([np.cos(angle), np.sin(angle)], -1)
        with np.errstate(divide="ignore"):
            reach = np.where(along == 0, np.inf, (np.copysign(self.half_m, along) - place[:, :2]) / along)
        return reach.min(axis=1).reshape(len(time_s), -1)

    @cached_property
    def grid(self):
        """Times at which a scan may have begun, and some ranges to the walls of each."""
        timing = self.timing
        time_s = np.arange(0.0, LONGEST_S - 1, COARSE_S if timing.step is None else timing.period_s * timing.step)
        return time_s, self.walls_m(time_s, THIN)

    @cached_property
    def lap_s(self):
        """How long the robot's circle takes, after which it is where it was."""
        return 2 * math.pi * np.ptp(self.time_s) / abs(self.heading[-1] - self.heading[0])

    def misfit(self, ranges_m, time_s):
        """How badly a scan fits to have begun at each time."""
        return misfit(ranges_m, self.walls_m(time_s))

    def begins(self, scans_m):
        """When the scans began, seconds; `scans_m` (scans, n)."""
        timing, period = self.timing, self.timing.period_s
        time_s, walls_m = self.grid
        if timing.step is not None:
            count = len(time_s) - len(scans_m) + 1
            total = sum(misfit(scan[::THIN], walls_m[number:number + count]) for number, scan in enumerate(scans_m))
            return time_s[np.argmin(total)] + np.arange(len(scans_m)) * timing.step * period
        best = []
        for scan in scans_m:
            # A lap is no whole number of periods: of scans found in different laps, some would have another phase. So the
            # first is looked for in one lap, which one does not matter, and the others within half a lap after it.
            since = best[0] - COARSE_S if best else FIRST_LAP_S
            span = slice(*np.searchsorted(time_s, (since, since + self.lap_s / (2 if best else 1))))
            about = time_s[span][np.argmin(misfit(scan[::THIN], walls_m[span]))]
            fine = np.arange(max(about - 2 * COARSE_S, 0), about + 2 * COARSE_S, 0.001)
            best.append(fine[np.argmin(self.misfit(scan, fine))])
        # All have one phase: the mean of the angles that their own are, then what fits them together best.
        turn = np.exp(2j * np.pi * np.array(best) / period)
        phase_s = np.angle(np.mean(turn)) / (2 * np.pi) * period
        began = phase_s + np.round((np.array(best) - phase_s) / period) * period
        later = np.arange(-0.003, 0.003, 0.00005)
        total = sum(self.misfit(scan, begin + later) for scan, begin in zip(scans_m, began))
        return began + later[np.argmin(total)]

    def wanted_of(self, began):
        """The echoes of all values of scans that began at these times."""
        when = (began[:, None] + self.timing.after_s).ravel()
        place, heading = self.pose(when)
        angle = heading + np.tile(self.angles_rad, len(began))
        sin, cos = np.sin(angle), np.cos(angle)
        flat = 0 * sin
        along, left = np.stack([cos, sin, flat], -1), np.stack([-sin, cos, flat], -1)
        up = np.stack([flat, flat, flat + 1], -1)
        world = split_beams.world_of(self.place, self.optics)
        return split_beams.received(world, self.optics, place, along, left, up)

    def compare(self, scans, unit_m):
        """Everything that is wrong with scans, lists of ranges in metres."""
        odd = [number for number, scan in enumerate(scans, 1) if len(scan) != len(self.angles_rad)]
        if odd:
            return [f"scans {odd} do not have {len(self.angles_rad)} values"]
        scans_m = np.array(scans)
        began = self.begins(scans_m)
        if not np.array_equal(began, self.began):
            self.began, self.wanted = began, self.wanted_of(began)
        wanted = self.wanted
        ranges_m = scans_m.ravel()
        read = Read(np.where((ranges_m > 0) & (ranges_m < self.optics.max_range_m), ranges_m, np.nan)[:, None], None)
        laser = np.zeros(len(ranges_m), int)
        done = Comparison(self.optics, "first", laser, unit_m)
        if self.timing.step is None:
            # The phase is known to half a millisecond, and the scanner's place to a tenth of a millimetre: within that, one
            # of a beam's five columns of rays passes one of two edges every 20 cm. So two to five pulses in a thousand differ.
            done.share = 0.01
        done.run(wanted, read)
        # A value between a rod and the wall is one whose light came from both.
        split = np.mean(wanted.light_apart_m > 1.0)
        done.expect("many beams are split", split > 0.05, f"{split:.1%} of them")
        self.told = [f"{split:.1%} of beams split", *done.told]
        return done.failures
