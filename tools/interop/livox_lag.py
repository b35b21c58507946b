"""The lag between a Livox's points and its inertial samples, from what its packets say.

The robot of examples/mid360.toml walks through a room, and turns to both sides on its way. Its path is fitted to the
points: cubic splines of east, north and yaw, so that all points of the four walls lie on them at the times of their
stamps. A coarse path starts the fit. The lag is the shift of the gyro's stamps with which its integral is most like the
yaw of the points. It must be zero within LIMIT_S. The same packets with stamps that are 3 ms off must not pass.
"""

import subprocess
import tomllib
from pathlib import Path

import numpy as np

import room
from captures import datagrams
from livox_sdk import MID360, kind_of, points_of, sample_of, times_ns

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "mid360.toml"
SECONDS = 16
LIMIT_S = 0.001
# How far from one another the splines' knots are: the path has no detail as short as that.
KNOT_S = 0.1
# One of this number of points is fitted: it has no factor in common with the number of lines.
EVERY = 17
# Points of floor and ceiling are left out, and those that are farther from every wall at first.
MARGIN_M = 0.15
NEAR_M = 0.3


def check(model, menura, folder, result):
    """The lag of the example's Mid-360, or of a HAP in its place."""
    text = EXAMPLE.read_text()
    if model is not MID360:
        # A HAP has no port of its own for commands.
        text = "".join(line for line in text.replace(MID360.profile, model.profile).splitlines(keepends=True)
                       if not line.startswith("sdk ="))
    rig = folder / "rig.toml"
    rig.write_text(text)
    out = folder / "out"
    done = subprocess.run([menura, "record", str(rig), "--duration", f"{SECONDS}s", "--out", str(out)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise subprocess.SubprocessError(f"menura record failed:\n{done.stdout}")
    rig = tomllib.loads(text)
    device = rig["device"][0]
    packets = [packet for _, packet in datagrams(out / f"{device['name']}.pcap")]
    points = [packet for packet in packets if len(packet) > 36 and kind_of(packet) == 1]
    samples = [packet for packet in packets if len(packet) == 60 and kind_of(packet) == 0]
    start_ns = times_ns(points).min()
    walk = Walk(model, points, start_ns, room.Truth(out / "truth.csv"), device["mount"]["translation_m"],
                 rig["world"]["parameters"]["size_m"])
    off_m = walk.fit()
    result.expect("points on the walls", off_m < 0.06, f"{off_m * 1000:.1f} mm rms")
    lag_s = walk.lag(samples, start_ns, 0.0)
    result.expect("points and inertial samples agree in time", abs(lag_s) < LIMIT_S, f"{lag_s * 1e6:.0f} us")
    # What this check is to notice.
    for wrong_s in (-0.003, 0.003):
        found_s = walk.lag(samples, start_ns, wrong_s)
        result.expect(f"samples with stamps {wrong_s * 1e3:+.0f} ms off are noticed",
                      abs(found_s) > LIMIT_S and abs(found_s - lag_s - wrong_s) < 2e-4, f"{found_s * 1e6:.0f} us")
    result.told.append(f"{len(points)} packets of points and {len(samples)} samples: samples are stamped "
                       f"{lag_s * 1e6:+.0f} us late; points {off_m * 1000:.1f} mm rms off the walls")


class Walk:
    """East, north and yaw over time as cubic splines, fitted to points of walls."""

    def __init__(self, model, packets, start_ns, truth, mount_m, size_m):
        first = (times_ns(packets) - start_ns) / 1e9
        after = model.group_ns(np.arange(96) // model.lines) / 1e9
        time_s = (first[:, None] + after[None, :]).ravel()[::EVERY]
        place = points_of(*packets)[0][::EVERY]
        up = place[:, 2] + mount_m[2]
        is_wall = np.any(place != 0, axis=1) & (up > MARGIN_M) & (up < size_m[2] - MARGIN_M)
        self.time_s, self.place = time_s[is_wall], place[is_wall] + mount_m
        self.half_m = np.array(size_m[:2]) / 2
        self.knots = int(np.ceil(time_s[-1] / KNOT_S)) + 3
        # A start that is some centimetres and degrees off: straight lines from every third knot to the next.
        coarse = (np.arange(self.knots) - 1) * KNOT_S
        position, turn = truth.pose(np.clip(coarse, 0, None))
        yaw = np.unwrap(2 * np.arctan2(turn[:, 2], turn[:, 3]), period=2 * np.pi)
        keep = np.arange(0, self.knots, 3)
        self.values = np.stack([np.interp(np.arange(self.knots), keep, column[keep])
                                for column in (position[:, 0], position[:, 1], yaw)])

    def basis(self, time_s):
        """Which four coefficients are at work at each time (N,), and how much (N, 4)."""
        at = np.clip(time_s / KNOT_S, 0, self.knots - 3 - 1e-9)
        first = np.floor(at).astype(int)
        u = at - first
        shares = np.stack([(1 - u)**3, 3 * u**3 - 6 * u**2 + 4, -3 * u**3 + 3 * u**2 + 3 * u + 1, u**3], -1) / 6
        return first, shares

    def at(self, first, shares):
        """East, north and yaw (3, N) by what `basis` gives."""
        return sum(self.values[:, first + place] * shares[:, place] for place in range(4))

    def fit(self):
        """Fits the path; how far points are off the walls then, metres rms."""
        first, shares = self.basis(self.time_s)
        # Points stand in the order of their times, so those of a span between knots are neighbours.
        spans = np.searchsorted(first, np.arange(self.knots - 2))
        for _ in range(6):
            east, north, yaw = self.at(first, shares)
            sin, cos = np.sin(yaw), np.cos(yaw)
            turned = np.stack([cos * self.place[:, 0] - sin * self.place[:, 1],
                               sin * self.place[:, 0] + cos * self.place[:, 1]])
            world = turned + [east, north]
            off = np.abs(world) - self.half_m[:, None]
            wall = np.argmin(np.abs(off), axis=0)
            row = np.arange(len(wall))
            side = np.sign(world[wall, row])
            off = off[wall, row]
            good = np.abs(off) < NEAR_M
            # How the distance from the wall grows with east, north and yaw.
            by_yaw = np.where(wall == 0, -turned[1], turned[0]) * side
            grows = np.stack([side * (wall == 0), side * (wall == 1), by_yaw], -1) * good[:, None]
            size = 3 * self.knots
            normal, wanted = np.zeros((size, size)), np.zeros(size)
            for span in range(self.knots - 3):
                part = slice(spans[span], spans[span + 1])
                if part.start == part.stop:
                    continue
                # The coefficients of east, then of north, then of yaw.
                own = (np.arange(3)[:, None] * self.knots + span + np.arange(4)[None, :]).ravel()
                lines = (grows[part, :, None] * shares[part, None, :]).reshape(-1, 12)
                normal[np.ix_(own, own)] += lines.T @ lines
                wanted[own] -= lines.T @ (off[part] * good[part])
            normal[np.diag_indices(size)] += 1e-6
            self.values += np.linalg.solve(normal, wanted).reshape(3, self.knots)
        return np.sqrt(np.mean(off[good]**2))

    def lag(self, samples, start_ns, shift_s):
        """By how much the gyro's stamps are late, seconds, if all are `shift_s` later than they are."""
        stamps = (times_ns(samples) - start_ns) / 1e9 + shift_s
        rate = np.array([sample_of(packet)[0][2] for packet in samples], float)
        turned = np.concatenate([[0.0], np.cumsum((rate[1:] + rate[:-1]) / 2 * np.diff(stamps))])
        # Both ends of the splines are fitted to few points.
        time_s = np.arange(1.0, min(stamps[-1], self.time_s[-1]) - 1.0, 0.01)
        yaw = self.at(*self.basis(time_s))[2]

        def off(lag_s):
            """What is left beside an offset and a drift of the gyro."""
            rest = yaw - np.interp(time_s + lag_s, stamps, turned)
            fitted = np.polyfit(time_s, rest, 1)
            return np.sum((rest - np.polyval(fitted, time_s))**2)

        low, high = -0.02, 0.02
        golden = (np.sqrt(5) - 1) / 2
        while high - low > 1e-7:
            one, other = high - golden * (high - low), low + golden * (high - low)
            low, high = (low, other) if off(one) < off(other) else (one, high)
        return (low + high) / 2
