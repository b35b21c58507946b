#!/usr/bin/env python3
"""Compares every point that velodyne-decoder makes of Menura's HDL-64E traffic with the truth.

Menura records, and then sends live, a robot that drives a circle in the built-in scene `room`,
without noise. Every shot must come back from a known plane, so for each decoded point the laser,
the azimuth, the time and the range are known beforehand. Nothing may be missing, nothing extra.
Then the beginning of each recording is corrupted in several ways, and each corruption must be found.

Exit code 0 when all is well, 1 when a check fails, 2 when Menura itself did not run.
"""

import argparse
import copy
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import velodyne_decoder as vd

import hdl64e
import room
from hdl64e import FAR_POINT_M, LOWER, STEP_M, UPPER
from room import PROFILES, ROTATION_RATE_RPM
from traffic import START_UTC, Traffic

SETTINGS = room.NO_ERRORS + """\
start_azimuth_deg = 0.0
timestamp_marks = "first-firing"
lag_ms = 0.0
beam = { shape = "ray", max_range_m = 120.0, min_range_m = 0.9, sees = { reflectance = 0.0 } }
"""

ROTOR = hdl64e.Rotor(ROTATION_RATE_RPM, 0.0)
# Of a recording, for the corruptions; some tenths of a turn.
SELF_TEST_PACKETS = 120


@dataclass(frozen=True)
class Case:
    """One firmware in one return mode."""

    name: str
    profile: str
    model: vd.Model
    return_mode: str = "strongest"

    @property
    def s1(self):
        return self.model == vd.Model.HDL64E_S1

    @property
    def dual(self):
        return self.return_mode == "dual"

    @property
    def seconds(self):
        """Length of a run: a whole cycle of the calibration bytes takes 1.2 s, and 0.72 s with both returns. The S1
        has none: two turns, and a little."""
        return 0.25 if self.s1 else 0.75 if self.dual else 1.3

    @property
    def period_us(self):
        """From packet to packet."""
        return 1e6 / 2600 if self.s1 else (172.8 if self.dual else 288.0)


CASES = [
    Case("s1", "velodyne-hdl64e-s1", vd.Model.HDL64E_S1),
    Case("s2", "velodyne-hdl64e-s2", vd.Model.HDL64E_S2),
    Case("s3", "velodyne-hdl64e-s3", vd.Model.HDL64E_S3),
    Case("s3-dual", "velodyne-hdl64e-s3", vd.Model.HDL64E_S3, "dual"),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--menura", default="target/release/menura", help="the binary")
    parser.add_argument("--only", choices=[case.name for case in CASES], help="one case")
    arguments = parser.parse_args()

    cases = [case for case in CASES if arguments.only in (None, case.name)]
    failures = 0
    with tempfile.TemporaryDirectory(prefix="menura-interop-") as folder:
        for case in cases:
            try:
                bench = Bench(case, arguments.menura, Path(folder) / case.name)
            except (OSError, subprocess.SubprocessError) as error:
                print(f"{case.name}: {error}", file=sys.stderr)
                return 2
            failures += compare(bench) + self_test(bench.beginning(SELF_TEST_PACKETS))
    print("velodyne_check:", f"{failures} failed" if failures else "all compared, none failed")
    return 1 if failures else 0


class Bench:
    """What Menura wrote and sent for one case."""

    def __init__(self, case, menura, folder):
        self.case, self.seconds = case, case.seconds
        traffic = Traffic(menura, case.seconds, folder, lambda port: room.rig(
            case.profile, case.return_mode, port, SETTINGS))
        calibration = folder / "calibration.yaml"
        traffic.run("profiles", case.profile, "--calibration", calibration)
        self.calibration = calibration.read_text()
        self.truth = room.Truth(folder / "out" / "truth.csv")
        self.pcap, self.recorded, self.live = traffic.pcap, traffic.recorded, traffic.live
        self.stamps_us = np.array(traffic.stamps_us)
        self.table = hdl64e.Calibration(self.calibration)
        self.room = room.Room(room.SIZE_M)
        self.interpolation_error = self.truth.interpolation_error()
        self.known = {}

    def expected(self, laser, fired_us):
        """Of shots: exit point and direction (N, 3), sensor's frame, the normal of the plane that each meets (N, 3,
        outwards), robot's frame, the range (N,), and the cosine of incidence. Several comparisons share these."""
        key = laser.tobytes(), fired_us.tobytes()
        if key not in self.known:
            exit_point, direction = self.table.ray(laser, np.radians(ROTOR.centideg(fired_us) / 100))
            position, rotation = self.truth.pose(fired_us * 1e-6)
            aim = room.rotate(rotation, room.mounted(direction))
            start = position + room.rotate(rotation, room.mounted(exit_point) + room.MOUNT_M)
            range_m, axis = self.room.hit(start, aim)
            cosine = np.abs(aim[np.arange(len(aim)), axis])
            normal = room.rotate(rotation * [-1, -1, -1, 1], np.eye(3)[axis] * np.sign(aim))
            self.known[key] = exit_point, direction, normal, range_m, cosine
        return self.known[key]

    def beginning(self, packets):
        """The same, as if the run had ended after so many packets; nothing was sent of it."""
        part = copy.copy(self)
        part.seconds = packets * self.case.period_us * 1e-6
        part.recorded, part.live = self.recorded[:packets], None
        return part


def compare(bench):
    """Checks the recording with the unit's calibration file, the recording as read_pcap finds out
    by itself, and that the live traffic is the same; returns how many of these failed."""
    case, known = bench.case, bench.calibration
    failed = 0
    rows = decode(case, bench.recorded, known)
    failed += judge(bench, "record", Check(bench, bench.recorded, rows, known, bench.stamps_us))
    if not case.s1:
        rows, detected, model = decode_by_detection(bench.pcap)
        check = Check(bench, bench.recorded, rows, detected)
        check.expect("the model is found", model == case.model, f"{model}")
        failed += judge(bench, "record, detected", check)
    # The decoder makes the same of the same bytes.
    same = bench.live == bench.recorded
    print(f"{case.name} live: {len(bench.live)} packets, {'' if same else 'FAILED not '}the bytes of the recording")
    return failed + (not same)


def judge(bench, what, check):
    check.run()
    print(f"{bench.case.name} {what}: {check.packets} packets, {check.points} points; {check.worst()}")
    for line in check.failures:
        print(f"  FAILED {line}")
    return bool(check.failures)


def decode(case, payloads, calibration):
    """Rows of velodyne-decoder (x y z intensity time column ring type) with `time` made absolute."""
    config = vd.Config(model=case.model, calibration=vd.Calibration.from_string(calibration),
                       min_range=0, max_range=1000)
    decoder = vd.StreamDecoder(config)
    scans = [decoder.decode(START_UTC.timestamp(), payload)
             for payload in payloads if len(payload) == hdl64e.PACKET_BYTES]
    return join_scans([scan for scan in [*scans, decoder.finish()] if scan is not None])


def decode_by_detection(pcap):
    """The same by read_pcap, which takes model and calibration from the status bytes."""
    config = vd.Config(min_range=0, max_range=1000)
    rows = join_scans(list(vd.read_pcap(str(pcap), config)))
    return rows, config.calibration.to_string(), config.model


def join_scans(scans):
    parts = []
    for stamp, points in scans:
        rows = np.array(points, float).reshape(-1, 8)
        rows[:, 4] += stamp.device - START_UTC.timestamp()
        parts.append(rows)
    return np.concatenate(parts) if parts else np.zeros((0, 8))


class Check:
    """One comparison of decoded rows with the truth."""

    # What fits into a processor's cache takes a third of the time.
    CHUNK_PACKETS = 20

    def __init__(self, bench, payloads, rows, calibration, stamps_us=None):
        self.bench, self.case = bench, bench.case
        self.payloads, self.rows, self.stamps_us = payloads, rows, stamps_us
        self.true_table = bench.table
        self.used_table = bench.table if calibration == bench.calibration else hdl64e.Calibration(calibration)
        self.packets, self.points = len(payloads), len(rows)
        self.failures, self.extremes = [], {}

    def expect(self, what, holds, found=""):
        if not holds:
            self.failures.append(f"{what}: {found}" if found else what)
        return holds

    def within(self, what, unit, error, limit):
        """Every |error| is to be at most its limit."""
        error, limit = np.broadcast_arrays(np.abs(error), limit)
        if error.size == 0:
            return
        worst = np.nanargmax(error / np.maximum(limit, 1e-12))
        bad = int(np.count_nonzero(~(error <= limit)))
        before = self.extremes.get(what, (0, 0, 0, unit, 0))
        value, bound = float(error.ravel()[worst]), float(limit.ravel()[worst])
        if value / max(bound, 1e-12) >= before[2]:
            before = (value, bound, value / max(bound, 1e-12), unit, before[4])
        self.extremes[what] = (*before[:4], before[4] + bad)

    def worst(self):
        return ", ".join(f"{what} {value:.3g} of {limit:.3g} {unit}"
                         for what, (value, limit, _, unit, _) in self.extremes.items())

    def run(self):
        sizes = {len(payload) for payload in self.payloads}
        fit = sizes == {hdl64e.PACKET_BYTES}
        if self.expect("packets of 1206 bytes", fit, f"sizes {sorted(sizes)}"):
            self.check_packets()
            if self.check_count():
                for first in range(0, self.packets, self.CHUNK_PACKETS):
                    self.check_points(first, min(first + self.CHUNK_PACKETS, self.packets))
        for what, (value, limit, _, unit, bad) in self.extremes.items():
            self.expect(what, bad == 0, f"{bad} beyond the limit, worst {value:.4g} of {limit:.4g} {unit}")

    def check_packets(self):
        """Flags, azimuths, stamps and the number of packets."""
        case = self.case
        self.blocks = hdl64e.blocks_of(self.payloads)
        order = [UPPER, UPPER, UPPER, LOWER] if case.s1 else [UPPER, LOWER]
        self.expect("the order of upper and lower blocks",
                    np.all(self.blocks["flag"] == np.resize(order, 12)))
        azimuth = self.blocks["azimuth"].astype(int)
        self.expect("azimuths below 36000", np.all(azimuth < 36000))
        if case.s1:
            self.timing, place, grid_us = hdl64e.s1_timing(
                azimuth, ROTOR, PROFILES / f"{case.profile}.toml")
            steps = sorted(set(np.diff(place).astype(int).tolist()))
            self.expect("S1 blocks one or two places apart", set(steps) <= {1, 2}, f"{steps}")
            self.azimuth = s1_decoder_azimuth(azimuth)
            mean_us = place[-1] * grid_us / (len(place) - 1)
            self.expect("31 200 S1 blocks a second", abs(mean_us - 1e6 / 31200) < 0.05, f"{mean_us} us")
        else:
            self.timing = hdl64e.s2_s3_timing(self.packets, case.dual)
            self.within("device stamp", "us", hdl64e.device_stamps_us(self.payloads)
                        - np.floor(self.timing.block_us[:, 0] + 1e-6), 0.0)
        turned = ROTOR.centideg(self.timing.block_us)
        self.within("block azimuth", "0.01°", (azimuth - turned + 18000) % 36000 - 18000, 0.5 + 1e-6)
        if self.stamps_us is not None:
            self.within("capture stamp", "us", self.stamps_us - self.timing.end_us, 0.002)
        expected = self.bench.seconds * 1e6 / case.period_us
        self.expect("the number of packets", abs(self.packets - expected) <= 1.5,
                    f"{self.packets}, not {expected:.0f}")

    def check_count(self):
        """Every shot of every packet came back, and the decoder made one point of each."""
        distance = self.blocks["shot"]["distance"]
        lost = np.count_nonzero(distance == 0)
        self.expect("a return from every shot", lost == 0, f"{lost} of {distance.size} without")
        shots = 384 * self.packets
        if self.case.dual:
            # One surface: both returns are the same, and make one point.
            pairs = self.blocks["shot"].reshape(self.packets, 3, 2, 2, 32)
            self.expect("both returns the same", np.array_equal(pairs[:, :, 0], pairs[:, :, 1]))
            shots //= 2
        self.expect("a point of every shot", self.points == shots, f"{self.points}, not {shots}")
        over_s, end_s = self.timing.firing_us().max() * 1e-6, self.bench.truth.time[-1]
        told = self.expect("a pose for every shot", over_s <= end_s, f"at {over_s} s, truth ends at {end_s} s")
        return lost == 0 and self.points == shots and told

    def check_points(self, first, last):
        """Packets `first` to `last`: laser, time, place."""
        case, true, used = self.case, self.true_table, self.used_table
        # Blocks that make points: the first of two returns in dual mode.
        block = np.array([0, 1, 4, 5, 8, 9]) if case.dual else np.arange(12)
        shape = (last - first, len(block), 32)
        per_packet = shape[1] * 32
        rows = self.rows[first * per_packet:last * per_packet]
        bank = np.where(self.blocks["flag"][first:last][:, block] == UPPER, 0, 32)
        laser = (bank[:, :, None] + np.arange(32)).ravel()
        raw = self.blocks["shot"]["distance"][first:last][:, block].astype(float).ravel()
        fired_us = (self.timing.block_us[first:last, block, None] + self.timing.slot_us).ravel()
        rotor_centideg = ROTOR.centideg(fired_us)
        rotor = np.radians(rotor_centideg / 100)

        self.within("laser", "rings off", rows[:, 6] - used.ring[laser], 0.0)
        self.within("return type", "off", rows[:, 7] - (3 if case.dual else 1), 0.0)
        if not case.s1:
            decoded_us = rows[:, 4] * 1e6
            expected_us = self.decoder_times_us(first, last, block)
            # The stamp's whole microseconds, and a double's last bit at today's UTC.
            self.within("time", "us", decoded_us - expected_us, 0.5)

        exit_point, direction, normal, range_m, cosine = self.bench.expected(laser, fired_us)
        sine = np.sqrt(np.maximum(0, 1 - cosine**2))

        # What the decoded point may be off, for reasons that are not Menura's range.
        flat = np.cos(used.vertical[laser])
        extra_x, extra_y = used.two_point_m(laser, rotor, raw)
        near = raw * STEP_M < FAR_POINT_M
        apart = np.where(near, np.abs(extra_x - extra_y) / 2, 0) * flat
        table_range = sum(np.abs(getattr(true, name) - getattr(used, name))
                          for name in ("distance", "up", "side"))[laser] + np.maximum(
            np.abs(true.distance_x - used.distance_x), np.abs(true.distance_y - used.distance_y))[laser]
        table_angle = (np.abs(true.vertical - used.vertical) + np.abs(true.rotational - used.rotational))[laser]
        position_error, rotation_error = self.bench.interpolation_error
        # Single precision in the ray caster, a few last bits; and the truth's interpolation.
        aim_error = (position_error + range_m * (rotation_error + 4 * 2.0**-23)) / cosine
        # No raw distance decodes to what lies in the step at the far point.
        angle = rotor - used.rotational[laser]
        at_far_point = np.minimum(extra_x * np.sin(angle) ** 2 + extra_y * np.cos(angle) ** 2, 0)
        gap = np.where(np.abs(raw * STEP_M - FAR_POINT_M) <= STEP_M - at_far_point, -at_far_point, 0) / 2
        float_m = 2e-5

        offset = rows[:, :3] - exit_point
        decoded_m = room.lengths(offset)
        range_limit = STEP_M / 2 * 1.003 + table_range + aim_error + gap + float_m + apart**2 / (2 * range_m)
        self.within("range", "mm", (decoded_m - range_m) * 1e3, range_limit * 1e3)

        azimuth_limit = np.radians(self.azimuth_limit_centideg(first, last, rotor_centideg) / 100)
        aside = room.lengths(offset - decoded_m[:, None] * direction)
        aside_limit = range_m * (flat * azimuth_limit + table_angle) + apart + table_range + float_m
        self.within("beside the ray", "mm", aside * 1e3, aside_limit * 1e3)

        plane = np.einsum("ni,ni->n", normal, room.mounted(offset)) - range_m * cosine
        plane_limit = cosine * (range_limit + aside_limit**2 / (2 * range_m)) + sine * aside_limit
        self.within("off the plane", "mm", plane * 1e3, plane_limit * 1e3)

    def decoder_times_us(self, first, last, block):
        """Times as the decoder gives them: its table for the S3 knows dual return only."""
        s2 = self.case.model == vd.Model.HDL64E_S2
        cycle, group, sub = (48.0, 6.0, [0, 1.26, 2.46, 3.66]) if s2 else (57.6, 7.2, [0, 1.3, 2.5, 3.7])
        slot = np.arange(32)
        in_packet = (cycle * (block // (4 if self.case.dual else 2))[:, None]
                     + group * (slot // 4) + np.take(sub, slot % 4))
        stamps = np.floor(self.timing.block_us[first:last, 0] + 1e-6)
        return (stamps[:, None, None] + in_packet).ravel()

    def azimuth_limit_centideg(self, first, last, rotor_centideg):
        """How far the decoder's azimuth of a shot may be from the rotor's: half a step of the block's
        azimuth, half a step as the decoder rounds, and what it makes of the steps between blocks."""
        if not self.case.s1:
            cycles = 2 if self.case.dual else 5
            slope = self.timing.slot_us / ((57.6 if self.case.dual else 48.0) * cycles)
            # For the S3 the decoder knows the slots of dual return only: 3.7 of 57.6 us are not
            # 3.66 of 48 us.
            limit = 0.5 + 0.5 + slope + (3.66 - 3.7 * 48 / 57.6) * ROTOR.centideg_a_us
            return np.resize(limit, len(rotor_centideg))
        # The S1's bytes tell no times; the decoder guesses durations from azimuths.
        guess = self.azimuth[first:last].ravel()
        off = np.abs((guess - rotor_centideg + 18000) % 36000 - 18000)
        return off + 0.5 + 0.01


def s1_decoder_azimuth(azimuth):
    """Azimuths (packets, 12, 32) that velodyne-decoder 3.1 gives to an S1's shots: it takes steps of
    more than one and a half times the packet's smallest for blocks of double length, and spreads the
    32 shots evenly over a block."""
    before = np.concatenate([azimuth[:1, 0], azimuth[:-1, 11]])
    steps = np.diff(azimuth, axis=1, prepend=before[:, None]) % 36000
    double = np.zeros(azimuth.shape, bool)
    double[:, :11] = steps[:, 1:] > steps[:, 1:].min(axis=1, keepdims=True) * 3 // 2
    double[:, 11] = double[:, 5:11].sum(axis=1) == 1
    duration = 1.0 + double
    rate = np.mean(steps[:, 1:11] / duration[:, 1:11], axis=1)
    return azimuth[:, :, None] + (rate[:, None] * duration)[:, :, None] * (np.arange(32) / 32)


def self_test(bench):
    """The check must fail on each of these; returns how many it let pass."""

    def edit(packet, offset, change):
        def corrupt(payloads):
            data = bytearray(payloads[packet])
            value = int.from_bytes(data[offset:offset + 2], "little")
            data[offset:offset + 2] = change(value).to_bytes(2, "little")
            payloads[packet] = bytes(data)
        return corrupt

    last = len(bench.recorded) - 1
    corruptions = {
        "nothing": lambda payloads: None,
        "one distance two steps up": edit(70, 3 * 100 + 4 + 3 * 7, lambda d: d + 2),
        "one distance two steps down": edit(last, 11 * 100 + 4 + 3 * 31, lambda d: d - 2),
        "one azimuth two steps on": edit(90, 5 * 100 + 2, lambda a: (a + 2) % 36000),
        "one shot without a return": edit(30, 8 * 100 + 4, lambda d: 0),
        "upper and lower block exchanged": edit(40, 3 * 100, lambda flag: UPPER + LOWER - flag),
        "one packet lost": lambda payloads: payloads.pop(100),
        "one packet twice": lambda payloads: payloads.insert(100, payloads[100]),
    }
    if not bench.case.s1:
        corruptions["one stamp a microsecond late"] = edit(50, 1200, lambda low: low + 1)
    passed = 0
    for what, corrupt in corruptions.items():
        payloads = list(bench.recorded)
        corrupt(payloads)
        check = Check(bench, payloads, decode(bench.case, payloads, bench.calibration), bench.calibration)
        check.run()
        wrong = bool(check.failures) == (what == "nothing")
        passed += wrong
        verdict = check.failures[0] if check.failures else "nothing found"
        print(f"{bench.case.name} self-test, {what}: {'WRONG, ' if wrong else ''}{verdict}")
    return passed


if __name__ == "__main__":
    sys.exit(main())
