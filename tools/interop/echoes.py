"""What a receiver makes of the light of a pulse, worked out from a profile's numbers and docs/PHYSICS.md, apart
from Menura's own code.

A pulse has `k` rays. Light of a ray that meets a surface comes back with the signal `share * reflectance * cosine /
range**2`. The receiver sees the sum of squared-sine pulses `signal * cos(pi (x - range) / 2 w)**2`; echoes are its
maxima. Here that sum is sampled; Menura computes its maxima in closed form.
"""

import math
import tomllib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

PROFILES = Path(__file__).resolve().parents[2] / "firmware-profiles"
# Of two maxima that are one echo, the sum between does not fall below this share of the lower one.
VALLEY = 0.8
# Places nearer than this count as if they were here.
NEAREST_M = 0.1


class Optics:
    """Beam, receiver and errors of a product, from its profile."""

    def __init__(self, profile):
        with open(PROFILES / f"{profile}.toml", "rb") as file:
            table = tomllib.load(file)
        beam, noise = table["beam"], table["noise"]
        self.offsets, self.shares = spot(beam)
        self.width_m = beam["signal_cutoff_m"]
        self.min_range_m, self.max_range_m = beam["min_range_m"], beam["max_range_m"]
        self.threshold = beam["sees"]["reflectance"] / beam["sees"]["at_m"] ** 2
        if beam.get("echoes", "waveform") != "waveform":
            raise ValueError(f"{profile} forms echoes in another way")
        reach = math.hypot(*np.abs(self.offsets).max(axis=0))
        self.exit_m = beam.get("exit_width_m", beam.get("exit_width_mm", 0.0) / 1000)
        # How far behind the window the rays would meet.
        self.apex_m = self.exit_m / (2 * half_axes(beam)[0]) if self.exit_m else 0.0
        self.reach_a_m = reach
        self.noise = noise

    def margin_m(self, range_m):
        """The most that a ray is away from its pulse's middle within `range_m`."""
        return self.reach_a_m * (range_m + self.apex_m) + 1e-4

    def rays(self, origin, direction, left, up):
        """Origin (n, 3) where the rays of each pulse meet, and their unit directions (n, k, 3), from the beams'
        exits and unit vectors (n, 3)."""
        across = self.offsets[None, :, :1] * left[:, None] + self.offsets[None, :, 1:] * up[:, None]
        rays = direction[:, None] + across
        return origin - self.apex_m * direction, rays / np.linalg.norm(rays, axis=-1, keepdims=True)

    def range_std_m(self, signal):
        """Standard deviation of ranges with this signal, but for what a laser or a scan has in common."""
        weak = self.noise.get("weak_range_std_m", 0.0)
        power = self.noise.get("weak_range_power", 1.0)
        return np.sqrt(self.noise["range_std_m"] ** 2 + weak**2 * (self.threshold / signal) ** power)

    def shift_m(self, signal):
        """By how much ranges with this signal are long on average."""
        weakness = self.threshold / signal
        shift = self.noise.get("walk_m", 0.0) * np.sqrt(weakness)
        saturation = self.noise.get("saturation", 0.0)
        if saturation:
            over = np.minimum(weakness * saturation, 1.0)
            shift = shift - self.noise.get("saturation_shift_m", 0.0) * (1 - over)
        return shift

    def common_std_m(self):
        """Standard deviation of what the ranges of a laser, or of a scan, have in common."""
        return math.hypot(self.noise.get("laser_range_std_m", 0.0), self.noise.get("scan_range_std_m", 0.0))

    def certainty(self, signal):
        """How many standard deviations of the receiver's noise a signal is above the threshold, or below."""
        return (signal / self.threshold - 1) * self.noise.get("signal_to_noise", math.inf)


def half_axes(beam):
    divergence = beam["divergence_mrad"]
    across, along = divergence if isinstance(divergence, list) else (divergence, divergence)
    return math.tan(across / 2000), math.tan(along / 2000)


def spot(beam):
    """Offsets (9, 2) of a pulse's rays at 1 m, left and up, the middle first, and their shares of its energy."""
    if beam.get("rays", 9) != 9 or beam.get("spot", "even") != "even":
        raise ValueError("only the usual spot of nine rays is known here")
    cross = [(1, 0), (-1, 0), (0, 1), (0, -1)]
    corners = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
    if beam["shape"] == "rectangular":
        # Gauss's rule of three points on each side.
        reach = math.sqrt(3 / 5)
        places = [(0, 0), *((reach * x, reach * y) for x, y in cross + corners)]
        shares = [64] + 4 * [40] + 4 * [25]
    else:
        # Abramowitz and Stegun 25.4.61, exact over a disc to the fifth degree.
        places = [(0, 0), *cross, *((x / 2, y / 2) for x, y in corners)]
        shares = [4] + 4 * [1] + 4 * [4]
    return np.array(places) * half_axes(beam), np.array(shares) / sum(shares)


@dataclass
class Echoes:
    """The echoes of `n` pulses, near to far: (n, e), with infinite ranges and no signal where there are fewer."""

    range_m: np.ndarray
    signal: np.ndarray

    @property
    def reflectance(self):
        """Of a surface that would send back as much if the whole pulse met it squarely."""
        with np.errstate(invalid="ignore"):
            return np.where(self.signal > 0, self.signal * np.where(self.signal > 0, self.range_m, 0.0) ** 2, 0.0)

    def kept(self, keep):
        """Those for which `keep` (n, e) holds."""
        range_m = np.where(keep, self.range_m, np.inf)
        order = np.argsort(range_m, axis=1, kind="stable")
        take = np.take_along_axis
        return Echoes(take(range_m, order, 1), take(np.where(keep, self.signal, 0.0), order, 1))

    @property
    def count(self):
        return np.count_nonzero(self.signal > 0, axis=1)

    def at(self, place):
        """(range, signal) of one echo of each pulse; `place` (n,)."""
        row = np.arange(len(place))
        return self.range_m[row, place], self.signal[row, place]

    def strongest(self):
        return np.argmax(self.signal, axis=1)

    def last(self):
        return np.maximum(self.count - 1, 0)

    def strongest_beside_the_last(self):
        """The strongest, or the second strongest if that is the last: what a dual return has beside the last."""
        best, last = self.strongest(), self.last()
        others = self.signal.copy()
        others[np.arange(len(last)), last] = 0.0
        return np.where((best == last) & (self.count > 1), np.argmax(others, axis=1), best)


def echoes_of(optics, hits):
    """The echoes of pulses with these hits, however weak, before what the receiver's gate leaves out."""
    found = np.isfinite(hits.range_m)
    range_m = np.where(found, hits.range_m - optics.apex_m, np.inf)
    with np.errstate(invalid="ignore"):
        signal = np.where(found, optics.shares * hits.facing / np.maximum(range_m, NEAREST_M) ** 2, 0.0)
    count = len(range_m)
    # Sums are sampled in classes of pulses with as much between their nearest and farthest light.
    near = np.where(found, range_m, np.inf).min(axis=1)
    span = np.where(found, range_m, -np.inf).max(axis=1) - near
    lists = [[] for _ in range(count)]
    low = -1.0
    for high in (0.005, 0.05, 0.5, 2.0, 6.0, 20.0, 100.0):
        some = np.flatnonzero((span > low) & (span <= high))
        low = high
        for start in range(0, len(some), 250):
            sampled(optics.width_m, range_m, signal, near, high, some[start:start + 250], lists)
    most = max((len(one) for one in lists), default=0) or 1
    table = np.full((count, most, 2), [np.inf, 0.0])
    for pulse, one in enumerate(lists):
        if one:
            table[pulse, :len(one)] = one
    return Echoes(table[..., 0], table[..., 1])


def sampled(width_m, range_m, signal, near, span_m, pulses, lists):
    """Puts the echoes of `pulses` into `lists`."""
    step = min(0.005, span_m / 40)
    offset = np.arange(-2 * step, span_m + 3 * step, step)
    # A ray's wave is half of `signal * (1 + cos(turn (x - at)))` within the width. The cosine of a difference is a sum of
    # products, so that three sums over rays, which change where a wave begins and ends, make the whole.
    turn = np.pi / width_m
    at = np.where(signal[pulses] > 0, range_m[pulses] - near[pulses, None], 0.0)
    half = signal[pulses] / 2
    sums = np.zeros((3, len(pulses), len(offset) + 1))
    row = np.broadcast_to(np.arange(len(pulses))[:, None], at.shape)
    for edge, sign in (-width_m, 1), (width_m, -1):
        place = np.clip(np.ceil((at + edge - offset[0]) / step), 0, len(offset)).astype(int)
        for one, size in zip(sums, (half, half * np.cos(turn * at), half * np.sin(turn * at))):
            np.add.at(one, (row, place), sign * size)
    flat, cosine, sine = np.cumsum(sums[..., :-1], axis=2)
    total = flat + cosine * np.cos(turn * offset) + sine * np.sin(turn * offset)
    # What rounding leaves where there is no wave.
    total[total < 1e-12 * flat.max(axis=1, keepdims=True)] = 0.0
    if span_m <= 0.5 * width_m:
        # Whatever overlaps by more than half has one maximum.
        place, height = vertex(total, np.arange(len(pulses)), np.argmax(total, axis=1))
        for pulse, x, y in zip(pulses, near[pulses] + offset[0] + place * step, height):
            lists[pulse].append((x, y))
        return
    is_top = np.zeros(total.shape, bool)
    is_top[:, 1:-1] = (total[:, 1:-1] > total[:, :-2]) & (total[:, 1:-1] >= total[:, 2:])
    rows, tops = np.nonzero(is_top)
    places, heights = vertex(total, rows, tops)
    group = []
    for row, top, place, height in zip(rows, tops, places, heights):
        if group:
            last_row, last_top, _, last_height = group[-1]
            if last_row != row or total[row, last_top:top].min() < VALLEY * min(last_height, height):
                lists[pulses[last_row]].append(joined(group))
                group = []
        group.append((row, top, near[pulses[row]] + offset[0] + place * step, height))
    if group:
        lists[pulses[group[-1][0]]].append(joined(group))


def vertex(total, row, top):
    """Place, in samples, and height of the parabola through the samples at and beside a maximum."""
    left, middle, right = total[row, top - 1], total[row, top], total[row, top + 1]
    move = 0.5 * (left - right) / (left - 2 * middle + right)
    return top + move, middle - 0.25 * (left - right) * move


def joined(group):
    """Maxima that are one echo: their mean range by height, and the highest."""
    ranges, heights = [one[2] for one in group], [one[3] for one in group]
    return sum(r * h for r, h in zip(ranges, heights)) / sum(heights), max(heights)
