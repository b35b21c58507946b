"""Memory of the ground for andabata_robot.py, and the path around remembered obstacles.

Positions are in the robot's own frame, metres. The robot of the paper has no such memory: it steers by its latest scan.
"""
import heapq
import math

import numpy as np
from scipy import ndimage

CELL_M, SIDE = 0.25, 480                # 60 m in each direction from the place of power-on
KEPT_S, FARTHER_M = 300, 1.0            # lifetime of a cell; until its end, no scan from farther away replaces it
NEAR_CELLS = 3                          # from the robot's centre to closed cells
OPEN, NEAR_CLOSED, CLOSED = 100, 1000, 10000
STEP_CELLS, STEP_M, STEP_SLOPE = 6, 0.25, 0.5
OVERHEAD_M = 1.2                        # above the lowest point nearby; the robot, 0.81 m high, passes under it
AHEAD_M, NEAR_GOAL_M, LEAVES_WITHIN_M = 2.0, 2.5, 1.0


def cell_of(place):
    return tuple((np.floor(np.asarray(place) / CELL_M).astype(int) + SIDE // 2).tolist())


def middle(cell):
    return (np.asarray(cell) - SIDE // 2 + 0.5) * CELL_M


def steps(height):
    """Cells of steep steps up or down, with the cells between both ends; `height` is NaN in unseen cells.

    The near wall of a ditch is never in view, so only such a step reveals it.
    """
    closed = np.zeros(height.shape, bool)
    for along in np.array([(1, 0), (0, 1), (1, 1), (1, -1)]):
        looking = np.isfinite(height)
        for far in range(1, STEP_CELLS + 1):
            there = np.roll(height, -far * along, axis=(0, 1))
            rise = np.abs(there - height)
            is_step = looking & (rise > STEP_M) & (rise > STEP_SLOPE * CELL_M * far * np.hypot(*along))
            if is_step.any():
                for part in range(far + 1):
                    closed |= np.roll(is_step, part * along, axis=(0, 1))
            looking &= np.isnan(there)
    return closed


def is_overhead(cells, points):
    """True for points far above the lowest point in their cell and its eight neighbours, such as tree crowns."""
    lowest = np.full((SIDE, SIDE), np.inf)
    np.minimum.at(lowest, tuple(cells.T), points[:, 2])
    return points[:, 2] > ndimage.minimum_filter(lowest, 3)[tuple(cells.T)] + OVERHEAD_M


class Memory:
    def __init__(self):
        self.seen_at = np.full((SIDE, SIDE), -np.inf)
        self.seen_from = np.full((SIDE, SIDE), np.inf)
        self.closed = np.zeros((SIDE, SIDE), bool)

    def add(self, now, here, points, judged):
        """Adds a scan from the position `here`: its points, and the class 1, 0 or -1 of each point (see `classify`)."""
        cells = np.floor(points[:, :2] / CELL_M).astype(int) + SIDE // 2
        inside = (cells >= 0).all(axis=1) & (cells < SIDE).all(axis=1)
        cells, points, judged = cells[inside], points[inside], judged[inside]
        use = (judged >= 0) & ~is_overhead(cells, points)
        where = tuple(cells[use].T)
        counts, height = np.zeros((2, SIDE, SIDE), int), np.full((SIDE, SIDE), np.inf)
        np.add.at(counts, (judged[use], *where), 1)
        np.minimum.at(height, where, points[use, 2])
        bad, good = counts
        obstacle = bad >= 0.15 * (bad + good)
        is_step = steps(np.where(bad + good > 0, height, np.nan))
        x, y = np.where(is_step | (bad + good >= 2))
        distance = np.hypot(*(middle(np.stack([x, y], axis=1)) - here).T)
        better = (distance <= self.seen_from[x, y] + FARTHER_M) | (self.seen_at[x, y] + KEPT_S < now)
        x, y, distance = x[better], y[better], distance[better]
        self.seen_at[x, y], self.seen_from[x, y] = now, distance
        self.closed[x, y] = (is_step | obstacle)[x, y]

    def costs(self, now):
        """The cost of a step over each cell; an unseen cell costs the same as an open cell."""
        closed = self.closed & (self.seen_at + KEPT_S >= now)
        distance = ndimage.distance_transform_edt(~closed) if closed.any() else np.full(closed.shape, np.inf)
        return np.select([closed, distance <= NEAR_CELLS], [CLOSED, NEAR_CLOSED], OPEN)


def is_free(costs, here, direction):
    """Whether the next 2 m are clear of closed cells and their surroundings.

    In the first metre, only closed cells block: a robot that is too near to one can leave.
    """
    ahead = np.arange(1, round(2 * AHEAD_M / CELL_M) + 1) * 0.5 * CELL_M
    cells = [cell_of(here + step * np.array([math.cos(direction), math.sin(direction)])) for step in ahead]
    return all(costs[cell] < (CLOSED if step < LEAVES_WITHIN_M else NEAR_CLOSED)
               for step, cell in zip(ahead, cells) if 0 <= min(cell) and max(cell) < SIDE)


def waypoint(costs, here, goal):
    """The first point at least 2 m ahead on the cheapest path to the goal (A*).

    None if the goal is within 2.5 m or outside the map.
    """
    start, end = cell_of(here), cell_of(goal)
    if not all(0 <= value < SIDE for value in start + end):
        return None

    def least(cell):
        short, long = sorted((abs(end[0] - cell[0]), abs(end[1] - cell[1])))
        return OPEN * (long - short) + OPEN * 141 // 100 * short

    steps = [(dx, dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1) if dx or dy]
    known, origin = {start: 0}, {start: None}
    queue = [(least(start), start)]
    done = set()
    while queue:
        cell = heapq.heappop(queue)[1]
        if math.hypot(cell[0] - end[0], cell[1] - end[1]) <= NEAR_GOAL_M / CELL_M:
            break
        if cell in done:
            continue
        done.add(cell)
        for dx, dy in steps:
            to = cell[0] + dx, cell[1] + dy
            if not (0 <= to[0] < SIDE and 0 <= to[1] < SIDE):
                continue
            cost = known[cell] + int(costs[to]) * (141 if dx and dy else 100) // 100
            if cost < known.get(to, math.inf):
                known[to], origin[to] = cost, cell
                heapq.heappush(queue, (cost + least(to), to))
    if cell == start:
        return None
    way = []
    while cell is not None:
        way.append(cell)
        cell = origin[cell]
    far = (place for place in map(middle, reversed(way)) if np.hypot(*(place - here)) >= AHEAD_M)
    return next(far, middle(way[0]))
