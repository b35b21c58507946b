"""The built-in scenes `rods` and `meadow-wall`, worked out from their parameters apart from Menura's own code.

Frames: World is east-north-up, metres. Rods, posts and stems are prisms of 16 sides and wires of 6, with their
edges on the cylinder. Vertices of meshes are single precision, as in Menura; places are double.
"""

import math

import numpy as np

from rays import Grid, Triangles, World

# Parameters that a check leaves alone, as `menura scenes` prints them.
RODS = {
    "sides": 4, "rods": 60, "diameter_m": 0.03, "middle_diameter_m": 0.0, "spacing_m": 0.2, "height_m": 5.0,
    "row_distance_m": 6.0, "wall_behind_m": 3.0, "wall_width_m": 0.0, "rod_reflectance": 0.5,
    "wall_reflectance": 0.5,
}
MEADOW_WALL = {
    "grass_blades": 60000, "fence_distance_m": 8.0, "fence_height_m": 2.0, "post_spacing_m": 2.0,
    "post_diameter_m": 0.1, "wire_spacing_m": 0.15, "wire_diameter_m": 0.004, "wall_behind_m": 4.0,
    "wall_height_m": 6.0,
}
# Of the materials at 905 nm.
SOIL, GRASS, WOOD, STEEL, CONCRETE = 0.30, 0.50, 0.55, 0.50, 0.35
CLEAR_RADIUS_M = 4.0


def rods(margin_m, **changed):
    """The scene `rods` for pulses whose rays are at most `margin_m` from their middle."""
    p = {**RODS, **changed}
    out_m = p["row_distance_m"] + p["wall_behind_m"]
    width_m = p["wall_width_m"] or 2 * out_m
    large = [floor(max(out_m, width_m / 2), p["wall_reflectance"])]
    large += [wall(side, out_m, width_m, p["height_m"], p["wall_reflectance"]) for side in range(p["sides"])]
    thin = prism(16, p["diameter_m"], p["height_m"])
    thick = prism(16, p["middle_diameter_m"] or p["diameter_m"], p["height_m"])
    parts = []
    for side in range(p["sides"]):
        for rod in range(p["rods"]):
            across_m = (rod - (p["rods"] - 1) / 2) * p["spacing_m"]
            mesh = thick if rod == p["rods"] // 2 else thin
            parts.append(mesh + [*on_side(side, p["row_distance_m"], across_m), 0.0])
    row = of(np.concatenate(parts), p["rod_reflectance"])
    # Upright: one layer of cells is enough.
    return World(Triangles.joined(large), [Grid(row, (0.1, 0.1, p["height_m"] + 1), margin_m, are_closed=True)])


def meadow_wall(margin_m, seed, **changed):
    """The scene `meadow-wall`, likewise."""
    p = {**MEADOW_WALL, **changed}
    half_m = p["fence_distance_m"] + p["wall_behind_m"]
    large = [floor(half_m, SOIL)]
    large += [wall(side, half_m, 2 * half_m, p["wall_height_m"], CONCRETE) for side in range(4)]
    posts = upright(p, p["post_spacing_m"], prism(16, p["post_diameter_m"], p["fence_height_m"]))
    wires = upright(p, p["wire_spacing_m"], prism(6, p["wire_diameter_m"], p["fence_height_m"]))
    level = prism(6, p["wire_diameter_m"], 2 * p["fence_distance_m"])
    levels = parts_of(p["fence_height_m"], p["wire_spacing_m"])
    out_m = p["fence_distance_m"]
    for k in range(1, levels + 1):
        z = p["fence_height_m"] * k / levels
        along_y = level[..., [1, 2, 0]]
        along_x = level[..., [2, 0, 1]]
        wires += [along_y + [out_m, -out_m, z], along_x + [-out_m, out_m, z],
                  along_y + [-out_m, -out_m, z], along_x + [-out_m, -out_m, z]]
    fence = Triangles.joined([of(np.concatenate(posts), WOOD), of(np.concatenate(wires), STEEL)])
    grids = [Grid(fence, (0.16, 0.16, 0.16), margin_m, are_closed=True)]
    clumps = -(-p["grass_blades"] // 100)
    if clumps:
        blades = of(grass(seed, clumps, half_m), GRASS)
        grids.append(Grid(blades, (0.1, 0.1, 0.1), margin_m))
    return World(Triangles.joined(large), grids)


# Plates that stand upright across x or y: material, axis, place, middle and half of their width, height.
SIGNS = [
    ("retro_sheeting_type_iii", 0, 5.0, 0.0, 1.0, 4.0),
    ("retro_sheeting_type_i", 0, 5.0, -4.0, 1.0, 4.0),
    ("retro_sheeting_type_iii", 0, -50.0, 0.0, 10.0, 8.0),
    ("concrete", 1, 10.0, 0.0, 20.0, 8.0),
    ("snow", 1, -10.0, 0.0, 20.0, 8.0),
]
# Reflectance, and gain over white: pi times the least coefficients of ASTM D4956 at 0.2 degrees, -4 degrees.
SHEETING = {"retro_sheeting_type_i": (0.3, 220.0), "retro_sheeting_type_iii": (0.3, 785.0),
            "concrete": (CONCRETE, 0.0), "snow": (0.85, 0.0)}


def signs():
    """Plates of retro-reflecting sheeting and of dull things."""
    large = []
    for material, axis, at, middle, half, height in SIGNS:
        large.append(quad(sign_corners(axis, at, middle, half, height), *SHEETING[material]))
    return World(Triangles.joined(large), [])


def sign_corners(axis, at, middle, half, height):
    across = [(middle - half, 0), (middle + half, 0), (middle + half, height), (middle - half, height)]
    return [(at, y, z) if axis == 0 else (y, at, z) for y, z in across]


def signs_obj():
    """The same as a Wavefront OBJ whose materials are known by their names."""
    lines = []
    for number, (material, *where) in enumerate(SIGNS):
        lines += [f"v {x} {y} {z}" for x, y, z in sign_corners(*where)]
        lines += [f"usemtl {material}", "f " + " ".join(str(4 * number + corner) for corner in (1, 2, 3, 4))]
    return "\n".join(lines) + "\n"


def of(corners, reflectance, gain=0.0):
    # The product keeps reflectances in single precision.
    return Triangles(corners, *(np.full(len(corners), float(np.float32(value))) for value in (reflectance, gain)))


def on_side(side, out_m, across_m):
    return [(out_m, across_m), (-across_m, out_m), (-out_m, -across_m), (across_m, -out_m)][side]


def floor(half_m, reflectance):
    return quad([(x * half_m, y * half_m, 0) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))], reflectance)


def wall(side, out_m, width_m, height_m, reflectance):
    corners = [(1, 0), (-1, 0), (-1, 1), (1, 1)]
    return quad([(*on_side(side, out_m, across * width_m / 2), up * height_m) for across, up in corners],
                reflectance)


def quad(corners, reflectance, gain=0.0):
    a, b, c, d = np.float32(corners).astype(float)
    return of(np.array([[a, b, c], [a, c, d]]), reflectance, gain)


def prism(sides, diameter_m, length_m):
    """The triangles (t, 3, 3) of a prism from z = 0 upwards."""
    turn = np.arange(sides) / sides * 2 * np.pi
    ring = np.stack([np.cos(turn), np.sin(turn)], -1) * diameter_m / 2
    low = np.float32(np.column_stack([ring, np.zeros(sides)])).astype(float)
    high = np.float32(np.column_stack([ring, np.full(sides, length_m)])).astype(float)
    triangles = []
    for k in range(sides):
        n = (k + 1) % sides
        triangles += [(low[k], low[n], high[n]), (low[k], high[n], high[k])]
    for k in range(1, sides - 1):
        triangles += [(low[0], low[k + 1], low[k]), (high[0], high[k], high[k + 1])]
    return np.array(triangles)


def parts_of(length_m, spacing_m):
    """Into how many parts of at most `spacing_m` a length is divided."""
    return max(1, math.ceil(length_m / spacing_m - 1e-9))


def upright(p, spacing_m, mesh):
    """A mesh evenly along the four sides of the fence, a corner of which belongs to one side."""
    out_m = p["fence_distance_m"]
    count = parts_of(2 * out_m, spacing_m)
    return [mesh + [*on_side(side, out_m, 2 * out_m * k / count - out_m), 0.0]
            for side in range(4) for k in range(count)]


class Stream:
    """SplitMix64 (Steele, Lea and Flood 2014), seeded for item `index` of `kind` as Menura does, with doubles of
    53 bits."""

    MASK = 2**64 - 1

    def __init__(self, seed, kind=None, index=None):
        self.state = seed
        if kind is not None:
            of_thing = Stream(self.bits() ^ kind).bits() ^ index
            self.state = Stream(of_thing).bits()

    def bits(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & self.MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & self.MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & self.MASK
        return z ^ (z >> 31)

    def uniform(self, low, high):
        return low + (high - low) * (self.bits() >> 11) * 2.0**-53


def clump(seed):
    """The triangles (800, 3, 3) of a clump of 100 blades, four quadrangles each: they bend outward from an
    upright root, and get thinner."""
    triangles = []
    for blade in range(100):
        rng = Stream(seed, 0, blade)
        radius = 0.40 * rng.uniform(0, 1)
        turn = rng.uniform(0, math.tau)
        middle = np.array([radius * math.cos(turn), radius * math.sin(turn), -0.04])
        length = rng.uniform(0.25, 0.50)
        half_width = rng.uniform(0.002, 0.0045)
        turn = rng.uniform(0, math.tau)
        outward = np.array([math.cos(turn), math.sin(turn), 0.0])
        sideways = np.array([-math.sin(turn), math.cos(turn), 0.0])
        lean, curl = rng.uniform(0.02, 0.35), rng.uniform(0.2, 1.5)
        left, right = [], []
        for ring in range(5):
            half = half_width * max(1 - (ring / 4) ** 2, 0.06)
            left.append(np.float32(middle - sideways * half).astype(float))
            right.append(np.float32(middle + sideways * half).astype(float))
            bend = lean + curl * (ring / 4 + 0.5 / 4)
            middle = middle + (outward * math.sin(bend) + [0, 0, math.cos(bend)]) * (length / 4)
        for k in range(4):
            triangles += [(left[k], right[k], right[k + 1]), (left[k], right[k + 1], left[k + 1])]
    return np.array(triangles)


def grass(seed, clumps, half_m):
    """The triangles of all clumps."""
    mesh = clump(Stream(seed, 1, 0).bits())
    reach = float(np.sqrt(np.float32(np.max(np.sum(np.float32(mesh[..., :2]) ** 2, axis=-1)))))
    parts = []
    for index in range(clumps):
        rng = Stream(seed, 2, index)
        scale = rng.uniform(0.8, 1.2)
        turn = rng.uniform(0, math.tau)
        sin, cos = math.sin(turn) * scale, math.cos(turn) * scale
        inside = half_m - reach * scale
        while True:
            foot = np.array([rng.uniform(-inside, inside), rng.uniform(-inside, inside), 0.0])
            if np.hypot(*foot[:2]) >= CLEAR_RADIUS_M + reach * scale:
                break
        x, y, z = mesh[..., 0], mesh[..., 1], mesh[..., 2]
        parts.append(np.stack([x * cos - y * sin, x * sin + y * cos, z * scale], -1) + foot)
    return np.concatenate(parts)
