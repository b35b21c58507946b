#!/usr/bin/env python3
"""Has PCL's HDLGrabber and VLPGrabber and MRPT's CVelodyneScanner read Menura's Velodynes live, and
compares every point they make with the truth.

Menura runs a robot that drives a circle in the built-in scene `room`, without noise. Every shot comes
back, and the drivers keep the order of the packets, so of each point laser, firing time and ray are
known beforehand, from the profile's tables and the robot's path. What a driver leaves out by design
is known too (`DRIVERS`) and taken into account; nothing else may be off.

Further cases have sensors as they are delivered, with nine rays a pulse and the profile's own errors, among rods
and in a meadow with a fence (`split_beams.py`): both returns of a pulse must come where two echoes are.

Exit code 0 when all is well, 1 when a check fails, 2 when Menura or a driver did not run.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml

import hdl64e
import room
import shots
import split_beams
from echoes import Optics
from receiving import DropCounter, Judged, Losses, free_ports
from split_beams import MEADOW_WALL, RODS, Comparison, Place, Read
from traffic import Traffic

START = "start_azimuth_deg = 0.0\n"
SETTINGS = room.NO_ERRORS + START + """\
beam = { shape = "ray", max_range_m = 120.0, min_range_m = 0.9, sees = { reflectance = 0.0 } }
"""
# What drivers' single precision takes from a place.
FLOAT_M = 3e-5


@dataclass(frozen=True)
class Case:
    """A driver and the unit it reads."""

    driver: str
    profile: str
    return_mode: str = "strongest"
    # The port it sends from; PCL's filter asks for 443 unless told otherwise.
    source_port: int = 2368
    # Where the sensor is as it is delivered and beams are split; None for the room.
    place: Place | None = None

    @property
    def name(self):
        words = [self.driver, self.profile, self.return_mode]
        return " ".join(words + [self.place.scene] if self.place else words)

    @property
    def is_dual(self):
        return self.return_mode == "dual"

    @property
    def is_hdl64e(self):
        return "hdl64e" in self.profile


CASES = [
    Case("pcl-hdl", "velodyne-hdl32e-2.2"),
    Case("pcl-hdl", "velodyne-hdl32e-2.2", "dual"),
    Case("pcl-hdl", "velodyne-hdl64e-s1", source_port=443),
    Case("pcl-hdl", "velodyne-hdl64e-s2", source_port=443),
    Case("pcl-vlp", "velodyne-vlp16-3.0"),
    Case("pcl-vlp", "velodyne-vlp16-3.0", "dual"),
    Case("mrpt-VLP16", "velodyne-vlp16-3.0"),
    Case("mrpt-VLP16", "velodyne-vlp16-3.0", "dual"),
    Case("mrpt-HDL32", "velodyne-hdl32e-2.2"),
    Case("mrpt-HDL64", "velodyne-hdl64e-s2"),
    Case("pcl-hdl", "velodyne-hdl32e-2.2", "dual", place=RODS),
    Case("pcl-hdl", "velodyne-hdl64e-s2", source_port=443, place=MEADOW_WALL),
    Case("pcl-vlp", "velodyne-vlp16-3.0", "dual", place=RODS),
    Case("pcl-vlp", "velodyne-vlp16-3.0", "dual", place=MEADOW_WALL),
    Case("mrpt-VLP16", "velodyne-vlp16-3.0", "dual", place=RODS),
    Case("mrpt-VLP16", "velodyne-vlp16-3.0", "dual", place=MEADOW_WALL),
    Case("mrpt-HDL64", "velodyne-hdl64e-s2", place=RODS),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--menura", default="target/release/menura", help="the binary")
    parser.add_argument("--programs", type=Path, default=Path("target/interop"),
                        help="where velodyne_pcl and velodyne_mrpt are")
    parser.add_argument("--seconds", type=float, default=0.22, help="length of each run (default 0.22: two turns, and a "
                        "little that ends the second one)")
    parser.add_argument("--only", help="cases whose name contains this")
    arguments = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory(prefix="menura-interop-") as folder:
        for index, case in enumerate(CASES):
            if arguments.only and arguments.only not in case.name:
                continue
            try:
                failures += check(case, arguments, Path(folder) / str(index))
            except (OSError, subprocess.SubprocessError) as error:
                print(f"{case.name}: {error}", file=sys.stderr)
                return 2
    print("velodyne_drivers_check:", f"{failures} failed" if failures else "all compared, none failed")
    return 1 if failures else 0


@dataclass(frozen=True)
class Rules:
    """What a driver makes of a packet's shots."""

    # The time within what is not counted when the azimuth is worked out: "block", "sequence" or none.
    ignores: str | None
    # Slots of a block that it reads.
    slots: int = 32
    # Whether it knows dual return, and so takes two equal returns for one.
    knows_dual: bool = True
    # Whether the two returns of a shot follow one another, or the shots of the one block those of the other.
    pairs_shots: bool = False
    # Hundredths of a degree that its azimuth may be off: the block's half, and its own rounding.
    azimuth_centideg: float = 0.5
    # What it leaves out of an HDL-64E's table; the unit that it reads has none of that.
    leaves_out: tuple = ("dist_correction_x", "dist_correction_y")
    # Whether x is right and y forward.
    right_forward_up: bool = False


DRIVERS = {
    "pcl-hdl": Rules("block", knows_dual=False, right_forward_up=True),
    # Half of the packet's first step for the second sequence, cut to whole hundredths.
    "pcl-vlp": Rules("sequence", azimuth_centideg=2.0, right_forward_up=True, pairs_shots=True),
    # The median step of the packet, rounded twice, and a table of sines with 35999 steps to a turn.
    "mrpt-VLP16": Rules(None, slots=16, azimuth_centideg=2.5),
    "mrpt-HDL32": Rules(None, slots=16, azimuth_centideg=2.5),
    # The sines again.
    "mrpt-HDL64": Rules("block", slots=16, azimuth_centideg=1.5, leaves_out=(
        "dist_correction_x", "dist_correction_y", "rot_correction", "vert_offset_correction")),
}


class Driver:
    """A program around a driver, listening on a free port of the loopback."""

    def __init__(self, case, programs, folder, calibration):
        self.points_file = folder / "points"
        self.port, self.position_port = free_ports(2)
        # Of the last `hear`.
        self.losses = Losses()
        kind, _, model = case.driver.partition("-")
        words = [programs / f"velodyne_{kind}", model, self.port]
        if kind == "pcl":
            words += ["127.0.0.1", case.source_port, self.points_file]
        else:
            words += [self.position_port, "127.0.0.1", self.points_file]
        words += [calibration] if case.is_hdl64e else []
        self.words = [str(word) for word in words]

    def hear(self, send):
        """The points it makes of what `send` has sent: rows x y z intensity; and what it printed."""
        with subprocess.Popen(self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
            try:
                line = running.stdout.readline()
                while line and line != "ready\n":
                    line = running.stdout.readline()
                if line:
                    drops = DropCounter(self.port, self.position_port)
                    send()
                    self.losses = drops.losses()
                said, _ = running.communicate(timeout=60)
            finally:
                running.kill()
        if running.returncode != 0:
            raise subprocess.SubprocessError(f"{self.words[0]} ended with {running.returncode}")
        return np.fromfile(self.points_file, np.float32).reshape(-1, 4).astype(float), said

    def close(self):
        """It has ended with `hear`."""


def judge_driver(live, _sent, losses):
    """A driver shows no datagrams: whatever this machine drops spoils what it makes."""
    return Judged(live, losses.all == 0, str(losses))


def check(case, arguments, folder):
    """How much fails in a case."""
    folder.mkdir()
    rules = DRIVERS[case.driver]
    settings, corrections, table = START if case.place else SETTINGS, None, None
    if case.is_hdl64e:
        corrections, rig_table, table = calibrations(arguments.menura, case.profile, rules, folder)
        settings += f'calibration = "{rig_table}"\n'
    else:
        settings += "azimuth_jitter_centideg = 0.0\n"
    driver = Driver(case, arguments.programs, folder, corrections)
    where = {"world": case.place.world(folder), "circle": case.place.circle} if case.place else {}
    traffic = Traffic(arguments.menura, arguments.seconds, folder / "run", lambda port: room.rig(
        case.profile, case.return_mode, port, settings, f"127.0.0.1:{case.source_port}", **where), driver, judge_driver)
    points, said = traffic.live
    blocks = hdl64e.blocks_of(traffic.recorded)
    fired = (shots.of_hdl64e(case.profile, blocks, case.is_dual, table) if case.is_hdl64e
             else shots.of_fixed_optics(case.profile, len(blocks), case.is_dual))
    truth = room.Truth(folder / "run" / "out" / "truth.csv")
    order = order_of_points(case, rules, blocks)
    print(f"{case.name}: {len(blocks)} packets, {len(points)} points", end="")
    if len(points) != len(order):
        print(f"\n  FAILED {len(points)} points, not {len(order)}")
        return 1
    if case.place:
        wanted = Wanted(case, fired, truth, order, table)

        def run(cloud):
            return wanted.compare(rules, blocks, cloud)
    else:
        pulses = Pulses(fired, truth, order)

        def run(cloud):
            return compare(case, rules, blocks, pulses, cloud)
    failures, told = run(points)
    print(f"; {', '.join(told)}")
    for line in failures:
        print(f"  FAILED {line}")
    missed = self_test(lambda cloud: run(cloud)[0], points)
    if missed:
        print(f"  FAILED {missed} spoilt clouds went unnoticed")
    return len(failures) + missed


def calibrations(menura, profile, rules, folder):
    """The unit's corrections as drivers read them, as a rig does, and as numbers; without what the
    driver does not know."""
    xml, yaml_file = folder / "db.xml", folder / "calibration.yaml"
    for file in xml, yaml_file:
        subprocess.run([menura, "profiles", profile, "--calibration", file], check=True,
                       stderr=subprocess.DEVNULL)
    table, text = yaml.safe_load(yaml_file.read_text()), xml.read_text()
    for key in rules.leaves_out:
        for laser in table["lasers"]:
            laser[key] = 0.0
        first, *words = key.replace("_correction", "-correction").replace("_", "-").split("-")
        tag = first + "".join(word.capitalize() for word in words) + "_"
        text, changed = re.subn(f"(?<=<{tag}>)[^<]*", "0", text)
        assert changed == 64, tag
    for laser in table["lasers"]:
        laser["two_pt_correction_available"] = False
    xml.write_text(text)
    yaml_file.write_text(yaml.safe_dump(table))
    return xml, yaml_file, hdl64e.Calibration(yaml_file.read_text())


def order_of_points(case, rules, blocks):
    """Which shot each point is made of, as indices into flattened (packets, 12, 32): all shots with a return that
    the driver reads before the last turn of the rotor begins, which ends no sweep yet."""
    index = np.arange(blocks.size * 32).reshape(*blocks.shape, 32)
    distance = blocks["shot"]["distance"]
    is_point = distance > 0
    if case.is_dual and rules.knows_dual:
        # Of two equal returns the second one is left out.
        is_point[:, 1::2] &= distance[:, 1::2] != distance[:, ::2]
    azimuth = blocks["azimuth"].astype(int)
    if case.driver.startswith("mrpt"):
        # It looks at the first azimuth of each packet.
        begins = np.flatnonzero(np.diff(azimuth[:, 0]) < 0) + 1
        index, is_point = index[:begins[-1], :, :rules.slots], is_point[:begins[-1], :, :rules.slots]
        return index[is_point]
    azimuth = np.broadcast_to(azimuth[..., None], index.shape)
    if case.driver == "pcl-vlp":
        first = azimuth[:, ::2 if case.is_dual else 1, 0]
        step = np.diff(first[:, :2], axis=1) % 36000 / 2
        later = azimuth + step[..., None] * (np.arange(32) >= 16)
        azimuth = np.where(later > 36000, later - 36000, later).astype(int)
    if case.is_dual and rules.pairs_shots:
        index, is_point, azimuth = (part.reshape(len(blocks), 6, 2, 32).swapaxes(2, 3)
                                    for part in (index, is_point, azimuth))
    begins = np.flatnonzero(np.diff(azimuth.ravel()) < 0) + 1
    return index.ravel()[:begins[-1]][is_point.ravel()[:begins[-1]]]


class Pulses:
    """What is known of the shots that points are made of (`order`): ranges in the room, and how far they may be off."""

    def __init__(self, fired, truth, order):
        self.order, self.fired = order, fired.of(order)
        walls, time_s = room.Room(room.SIZE_M), self.fired.time_us * 1e-6
        position, rotation = truth.pose(time_s)
        aim = room.rotate(rotation, room.mounted(self.fired.direction))
        start = position + room.rotate(rotation, room.mounted(self.fired.exit_point) + room.MOUNT_M)
        self.range_m, axis = walls.hit(start, aim)
        cosine = np.abs(aim[np.arange(len(aim)), axis])
        moved_m, turned_rad = truth.interpolation_error()
        aim_error = (moved_m + self.range_m * (turned_rad + 4 * 2.0**-23)) / cosine
        self.limit_m = hdl64e.STEP_M / 2 + aim_error + FLOAT_M
        self.flat_m = np.hypot(*self.fired.direction[:, :2].T) * self.range_m


def compare(case, rules, blocks, pulses, points):
    """Everything that is wrong with the points, and how far off they are."""
    failures, told = [], []

    def within(what, error, limit, unit=""):
        error, limit = np.broadcast_arrays(np.abs(error), limit)
        worst = np.argmax(error / np.maximum(limit, 1e-12))
        told.append(f"{what} {error[worst]:.3g} of {limit[worst]:.3g}{unit}")
        bad = int(np.count_nonzero(~(error <= limit)))
        if bad:
            failures.append(f"{what}: {bad} of {len(error)} beyond the limit")

    range_m, aside_m = along_and_aside_m(case, rules, pulses.fired, points)
    within("range", 1e3 * (range_m - pulses.range_m), 1e3 * pulses.limit_m, " mm")
    azimuth = np.radians((rules.azimuth_centideg + 0.01) / 100)
    within("beside the ray", 1e3 * aside_m, 1e3 * (pulses.flat_m * azimuth + FLOAT_M), " mm")
    within("intensity", points[:, 3] - blocks["shot"]["intensity"].ravel()[pulses.order], 0)
    return failures, told


def as_told(rules, points):
    """The driver's points in the sensor's frame."""
    return points[:, [1, 0, 2]] * [1, -1, 1] if rules.right_forward_up else points[:, :3]


def along_and_aside_m(case, rules, fired, points):
    """Distances of the points along and beside the rays of their shots `fired`, metres. What the driver leaves out is
    put in again."""
    place = as_told(rules, points)
    if rules.ignores:
        ignored_us = fired.in_block_us if rules.ignores == "block" else fired.in_sequence_us
        place = turned(place, np.radians(shots.ROTOR.centideg_a_us * ignored_us / 100))
    # That lasers leave the sensor at different heights no driver knows without a table.
    offset = place - fired.exit_point if case.is_hdl64e else place
    range_m = room.lengths(offset)
    return range_m, room.lengths(offset - range_m[:, None] * fired.direction)


class Wanted:
    """What a driver must make of split beams."""

    # Pulses that are compared: casting takes its time.
    PULSES = 4000

    def __init__(self, case, fired, truth, order, table):
        self.case, self.fired, self.order = case, fired.of(order), order
        # What the driver adds to each distance.
        self.more_m = table.distance[self.fired.laser] if table else 0.0
        self.optics = Optics(case.profile)
        # Both returns of a dual pair are of one pulse: the earlier block's.
        block, slot = np.divmod(order, 32)
        self.column = 1 - block % 2 if case.is_dual else np.zeros(len(order), int)
        self.pulse = (block - block % 2 if case.is_dual else block) * 32 + slot
        # Those that the driver reads before the last turn.
        read = np.arange(self.pulse.max() + 1)
        slots = read % 32 < DRIVERS[case.driver].slots
        read = read[slots & (read // 32 % (2 if case.is_dual else 1) == 0)]
        self.pulses = read[::max(1, len(read) // self.PULSES) | 1]
        some = fired.of(self.pulses)
        self.laser = some.laser
        world = split_beams.world_of(case.place, self.optics)
        self.echoes = split_beams.expected(world, self.optics, truth, some.time_us, some.exit_point, some.direction)

    def compare(self, rules, blocks, points):
        """Everything that is wrong with the points, and what is to be told."""
        range_m, aside = along_and_aside_m(self.case, rules, self.fired, points)
        limit = range_m * np.radians((rules.azimuth_centideg + 0.01) / 100) + FLOAT_M
        columns = 2 if self.case.is_dual else 1
        read = Read(*(np.full((len(self.pulses), columns), np.nan) for _ in range(2)))
        row = np.full(self.pulse.max() + 1, -1)
        row[self.pulses] = np.arange(len(self.pulses))
        # The later block's return is the strongest; of two equal ones only the other was told.
        for column in range(columns)[::-1]:
            some = np.flatnonzero((self.column == column) & (row[self.pulse] >= 0))
            for to in range(column + 1):
                read.range_m[row[self.pulse[some]], to] = range_m[some]
                read.intensity[row[self.pulse[some]], to] = points[some, 3]
        if self.case.is_hdl64e:
            # Its raw intensities mean something with its table only, which these drivers do not use for them.
            read.intensity = None
        step_m = hdl64e.STEP_M
        # No retro-reflectors are here.
        done = Comparison(self.optics, self.case.return_mode, self.laser, step_m).run(self.echoes, read)
        done.expect("points beside their rays", np.all(aside <= limit), f"{np.count_nonzero(aside > limit)}")
        same = points[:, 3] == blocks["shot"]["intensity"].ravel()[self.order]
        done.expect("intensities as sent", np.all(same), f"{np.count_nonzero(~same)} are not")
        sent_m = blocks["shot"]["distance"].ravel()[self.order] * step_m + self.more_m
        off = np.abs(range_m - sent_m) >= 5e-4
        done.expect("distances as sent", not np.any(off), f"{np.count_nonzero(off)} are not")
        return done.failures, done.told


def self_test(compare_points, points):
    """How many spoilt clouds go unnoticed."""
    third = len(points) // 3

    def spoilt(change):
        cloud = points.copy()
        change(cloud)
        return cloud

    def farther(cloud):
        cloud[third, :3] *= 1 + 0.003 / np.linalg.norm(cloud[third, :3])

    def brighter(cloud):
        cloud[third, 3] += 1

    def later(cloud):
        cloud[third:-1] = cloud[third + 1:]

    def mirrored(cloud):
        cloud[:, 0] *= -1

    return sum(not compare_points(spoilt(change)) for change in (farther, brighter, later, mirrored))


def turned(points, angle_rad):
    """Points turned about the sensor's axis, clockwise from above."""
    sin, cos = np.sin(angle_rad), np.cos(angle_rad)
    x, y, z = points.T
    return np.stack([x * cos + y * sin, y * cos - x * sin, z], -1)


if __name__ == "__main__":
    sys.exit(main())
