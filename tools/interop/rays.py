"""Casts the rays of pulses into triangles, apart from Menura's own code: a grid of cells, the cells that the
middle of a pulse passes, and Moeller and Trumbore's test of every ray of the pulse with what is in them.

Arrays: `n` pulses of `k` rays; metres, World.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass
class Triangles:
    """Corners (t, 3, 3), the diffuse reflectance of each (t,), and of retro-reflectors the gain over white (t,)."""

    corners: np.ndarray
    reflectance: np.ndarray
    gain: np.ndarray

    @staticmethod
    def joined(parts):
        return Triangles(*(np.concatenate([vars(part)[name] for part in parts])
                           for name in ("corners", "reflectance", "gain")))

    def some(self, which):
        return Triangles(self.corners[which], self.reflectance[which], self.gain[which])


class Hits:
    """The nearest triangle of each ray: `range_m`, infinite without, and `facing`: reflectance times cosine of
    incidence, and what is retro-reflected. Both (n, k)."""

    def __init__(self, shape):
        self.range_m, self.facing = np.full(shape, np.inf), np.zeros(shape)

    def take(self, pulse, range_m, facing):
        """Keeps what is nearer; `pulse` (m,) may hold a pulse several times, `range_m` and `facing` (m, k)."""
        order = np.argsort(pulse, kind="stable")
        pulse, range_m, facing = pulse[order], range_m[order], facing[order]
        first = np.flatnonzero(np.diff(pulse, prepend=-1))
        if len(first) == 0:
            return
        nearest = np.minimum.reduceat(range_m, first, axis=0)
        group = np.repeat(np.arange(len(first)), np.diff(first, append=len(pulse)))
        # Of equal ranges any: the surfaces then meet in an edge.
        best = np.maximum.reduceat(np.where(range_m == nearest[group], facing, -1.0), first, axis=0)
        pulse = pulse[first]
        nearer = nearest < self.range_m[pulse]
        self.range_m[pulse] = np.where(nearer, nearest, self.range_m[pulse])
        self.facing[pulse] = np.where(nearer, best, self.facing[pulse])


def test(triangles, origin, directions):
    """Ranges and facing (m, k) of rays `directions` (m, k, 3) from `origin` (m, 3), each row with a triangle of
    its own."""
    base = triangles.corners[:, 0]
    one, two = triangles.corners[:, 1] - base, triangles.corners[:, 2] - base
    normal = np.cross(one, two)
    from_base = origin - base
    turned = np.cross(from_base, one)
    # The triple products of Moeller and Trumbore; what does not depend on the ray is outside of the sum.
    slope = -np.einsum("mkc,mc->mk", directions, normal)
    across = np.cross(two, from_base)
    with np.errstate(divide="ignore", invalid="ignore"):
        u = np.einsum("mkc,mc->mk", directions, across) / slope
        v = np.einsum("mkc,mc->mk", directions, turned) / slope
        range_m = np.sum(from_base * normal, axis=1)[:, None] / slope
        inside = (u >= 0) & (v >= 0) & (u + v <= 1) & (range_m > 0)
        cosine = np.abs(slope) / np.linalg.norm(normal, axis=1)[:, None]
        facing = cosine * triangles.reflectance[:, None]
    if triangles.gain.any():
        # Sheeting works in full to 30 degrees of incidence and ends at 60.
        incidence_deg = np.degrees(np.arccos(np.minimum(cosine, 1.0)))
        facing = facing + triangles.gain[:, None] * np.clip((60 - incidence_deg) / 30, 0, 1)
    return np.where(inside, range_m, np.inf), np.where(inside, facing, 0.0)


class Grid:
    """Triangles in boxes of `cell_m` (3,); rays may be up to `margin_m` away from their pulse's middle. Of closed bodies, whose
    triangles are counter-clockwise from outside, only what faces a pulse is tested."""

    CHUNK = 40_000

    def __init__(self, triangles, cell_m, margin_m, are_closed=False):
        self.triangles, self.cell_m, self.are_closed = triangles, np.asarray(cell_m, float), are_closed
        low = triangles.corners.min(axis=1) - margin_m
        high = triangles.corners.max(axis=1) + margin_m
        self.low = low.min(axis=0)
        first = np.floor((low - self.low) / self.cell_m).astype(int)
        last = np.floor((high - self.low) / self.cell_m).astype(int)
        self.shape = last.max(axis=0) + 1
        self.boxes = first, last

    @cached_property
    def cells(self):
        """The triangles, cell by cell, and where among them each cell begins."""
        # Made when the first pulse enters the grid: a scanner's plane lies above the whole of a meadow.
        first, last = self.boxes
        size = last - first + 1
        count = size.prod(axis=1)
        triangle = np.repeat(np.arange(len(count)), count)
        place = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        # The same order as that of a ravelled index.
        strides = np.array([self.shape[1] * self.shape[2], self.shape[2], 1])
        cell = (first @ strides)[triangle]
        for axis in range(3):
            place, step = np.divmod(place, size[triangle, axis])
            cell += step * strides[axis]
        # Numbers are sorted sooner than indices are.
        cell *= len(count)
        cell += triangle
        cell.sort()
        cell, triangle = np.divmod(cell, len(count))
        return triangle, np.searchsorted(cell, np.arange(self.shape.prod() + 1))

    def cast(self, origin, directions, hits, length_m):
        """Adds what the rays `directions` (n, k, 3) from `origin` (n, 3) hit to `hits`; nothing farther than
        `length_m` (n,) is looked for."""
        visits = list(self.visits(origin, directions[:, 0], length_m))
        if not visits:
            return
        pulse = np.concatenate([visit[0] for visit in visits])
        cell = np.concatenate([visit[1] for visit in visits])
        content, begin = self.cells
        count = begin[cell + 1] - begin[cell]
        place = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        triangle = content[np.repeat(begin[cell], count) + place]
        pair = np.sort(np.repeat(pulse, count) * len(self.triangles.corners) + triangle)
        pair = pair[np.diff(pair, prepend=-1) > 0]
        pulse, triangle = np.divmod(pair, len(self.triangles.corners))
        if self.are_closed:
            base, one, two = self.triangles.corners.transpose(1, 0, 2)
            normal = np.cross(one - base, two - base)
            height = np.einsum("mc,mc->m", normal[triangle], origin[pulse]) - np.sum(normal * base, axis=1)[triangle]
            pulse, triangle = pulse[height > 0], triangle[height > 0]
        for start in range(0, len(pulse), self.CHUNK):
            some = slice(start, start + self.CHUNK)
            range_m, facing = test(self.triangles.some(triangle[some]), origin[pulse[some]], directions[pulse[some]])
            hits.take(pulse[some], range_m, facing)

    def visits(self, origin, direction, length_m):
        """(pulses, cells): the cells with something in them that each line passes, step by step."""
        with np.errstate(divide="ignore", invalid="ignore"):
            inverse = 1 / direction
            to_low = (self.low - origin) * inverse
            to_high = (self.low + self.shape * self.cell_m - origin) * inverse
        enters = np.maximum(np.nanmax(np.minimum(to_low, to_high), axis=1), 0.0)
        leaves = np.minimum(np.nanmin(np.maximum(to_low, to_high), axis=1), length_m)
        pulse = np.flatnonzero(enters < leaves)
        if len(pulse) == 0:
            return
        at = (origin + direction * enters[:, None] - self.low)[pulse] / self.cell_m
        cell = np.clip(np.floor(at).astype(int), 0, self.shape - 1)
        step = np.where(direction[pulse] >= 0, 1, -1)
        edge = (cell + (step > 0)) * self.cell_m + self.low
        with np.errstate(divide="ignore", invalid="ignore"):
            next_m = np.where(direction[pulse] == 0, np.inf, (edge - origin[pulse]) * inverse[pulse])
            stride_m = np.abs(self.cell_m * inverse[pulse])
        leaves = leaves[pulse]
        _, begin = self.cells
        while len(pulse):
            index = np.ravel_multi_index(tuple(cell.T), self.shape)
            full = begin[index + 1] > begin[index]
            if full.any():
                yield pulse[full], index[full]
            axis = np.argmin(next_m, axis=1)
            row = np.arange(len(pulse))
            goes_on = next_m[row, axis] <= leaves
            cell[row, axis] += step[row, axis]
            next_m[row, axis] += stride_m[row, axis]
            goes_on &= (cell[row, axis] >= 0) & (cell[row, axis] < self.shape[axis])
            if not goes_on.all():
                pulse, cell, step = pulse[goes_on], cell[goes_on], step[goes_on]
                next_m, stride_m, leaves = next_m[goes_on], stride_m[goes_on], leaves[goes_on]


class World:
    """Large triangles, which every ray is tested with, and grids of small ones."""

    def __init__(self, large, grids):
        self.large, self.grids = large, grids

    def cast(self, origin, directions):
        """What the rays `directions` (n, k, 3; the first is the pulse's middle) from `origin` (n, 3) hit."""
        hits = Hits(directions.shape[:2])
        # No ray is this far from the middle of its pulse, of unit length as it is.
        spread = np.abs(directions - directions[:, :1]).sum(axis=2).max()
        for index in range(len(self.large.corners)):
            triangle = self.large.some([index])
            base, one, two = triangle.corners[0]
            normal = np.cross(one - base, two - base)
            # Pulses that come nearer to its plane.
            along = directions[:, 0] @ normal * np.sign((base - origin) @ normal)
            pulse = np.flatnonzero(along > -spread * np.linalg.norm(normal))
            range_m, facing = test(triangle, origin[pulse], directions[pulse])
            nearer = range_m < hits.range_m[pulse]
            hits.range_m[pulse] = np.where(nearer, range_m, hits.range_m[pulse])
            hits.facing[pulse] = np.where(nearer, facing, hits.facing[pulse])
        for grid in self.grids:
            grid.cast(origin, directions, hits, hits.range_m.max(axis=1))
        return hits
