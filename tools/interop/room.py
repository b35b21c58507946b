"""The bench of the Velodyne checks: a robot that drives a circle in a closed room, and what its sensor
sees there, apart from Menura's own code.

Frames: World is east-north-up, the sensor's is forward-left-up.
"""

import ctypes
import datetime
import subprocess
from pathlib import Path

import numpy as np

PROFILES = Path(__file__).resolve().parents[2] / "firmware-profiles"
DEVICE = "lidar"
START_UTC = datetime.datetime(2026, 6, 1, 12, tzinfo=datetime.UTC)
SIZE_M = (60.0, 44.0, 8.0)
MOUNT_M = (0.3, -0.2, 1.9)
MOUNT_YAW_DEG = 20.0
ROTATION_RATE_RPM = 600

# Arrays come and go: keep their memory, which costs more to get from the kernel (mallopt of glibc: M_TRIM_THRESHOLD and
# M_MMAP_THRESHOLD, bytes).
for parameter in -1, -3:
    ctypes.CDLL(None).mallopt(parameter, 1 << 25)

# The part of a rig before its devices.
SCENE = """\
seed = 1
start_utc = {start_utc}
origin = {{ latitude_deg = 33.4712, longitude_deg = -88.7933, altitude_m = 92.0 }}

[world]
{world}

[robot]
trajectory = {{ kind = "circle", {circle}, speed_m_s = 4.0 }}

[engine]
truth_rate_hz = 1000.0

"""
RIG = SCENE + """\
[[device]]
name = "{device}"
profile = "{profile}"
mount = {{ translation_m = {mount}, roll_pitch_yaw_deg = [0.0, 0.0, {yaw}] }}
link = {{ udp = {{ {link} }} }}

[device.settings]
rotation_rate_rpm = {rpm}
return_mode = "{return_mode}"
{clock}
{settings}
"""


# A rig has one device at least.
ALONE = """\
[[device]]
name = "imu"
profile = "phone-imu"
link = { tcp = "127.0.0.1:0" }
"""

# The room, where the robot goes in it, and a sensor without errors.
WORLD = f'scene = "room"\nparameters = {{ size_m = {list(SIZE_M)} }}'
CIRCLE = "center_m = [1.0, -2.0, 0.0], radius_m = 5.0"
NO_ERRORS = 'errors = "none"\n'


def rig(profile, return_mode, port, settings, source=None, world=WORLD, circle=CIRCLE):
    """The rig's text: the lidar sends to `port` of the loopback, from the address `source` (any
    when left out); `settings` are further lines of the device's settings. `world` and `circle` are for
    other places than the room."""
    link = f'to = "127.0.0.1:{port}"' + (f', from = "{source}"' if source else "")
    return RIG.format(
        start_utc=START_UTC.strftime("%Y-%m-%dT%H:%M:%SZ"), world=world, circle=circle, device=DEVICE,
        profile=profile, mount=list(MOUNT_M), yaw=MOUNT_YAW_DEG, link=link, rpm=ROTATION_RATE_RPM,
        return_mode=return_mode, settings=settings,
        # The S1 tells no time. The clocks of the others count from power-up unless they are set.
        clock="" if profile == "velodyne-hdl64e-s1" else 'clock = { reference = "utc" }')


def mounted(vectors):
    """Vectors (N, 3) of the sensor's frame in the robot's."""
    sin, cos = np.sin(np.radians(MOUNT_YAW_DEG)), np.cos(np.radians(MOUNT_YAW_DEG))
    # A product of matrices would have several threads wait busily.
    return np.einsum("ij,nj->ni", [[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]], vectors)


def in_world(truth, time_s, points):
    """Points (N, 3) of the sensor's frame, each at its own time (N,), carried into the world."""
    position, rotation = truth.pose(time_s)
    return position + rotate(rotation, mounted(points) + MOUNT_M)


def to_walls(truth, time_s, exit_point, direction):
    """Ranges (N,) at which beams of the sensor's frame meet the walls of the room. They leave it at `exit_point`, (N, 3) or
    (3,), along the unit vectors `direction` (N, 3)."""
    walls, exit_point = Room(SIZE_M), np.broadcast_to(exit_point, direction.shape)
    range_m = np.empty(len(time_s))
    # Pieces that fit into a processor's cache.
    for first in range(0, len(time_s), 4096):
        some = slice(first, first + 4096)
        position, rotation = truth.pose(time_s[some])
        start = position + rotate(rotation, mounted(exit_point[some]) + MOUNT_M)
        range_m[some] = walls.hit(start, rotate(rotation, mounted(direction[some])))[0]
    return range_m


def truth_of(menura, rig, seconds):
    """The truth of the first `seconds` of a rig's file. The motion is the same whatever is on the robot: without its lidar
    no rays are cast."""
    alone, out = rig.with_name("alone.toml"), rig.with_name("truth")
    alone.write_text(rig.read_text().partition("[[device]]")[0] + ALONE)
    done = subprocess.run([menura, "record", "--force", str(alone), "--duration", f"{seconds}s", "--out", str(out)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise subprocess.SubprocessError(f"menura record failed:\n{done.stdout}")
    return Truth(out / "truth.csv")


class Truth:
    """The robot's pose over time, from `truth.csv`."""

    def __init__(self, file):
        with open(file, newline="") as text:
            columns = text.readline().strip().split(",")
            names = ["time_s", "x_m", "y_m", "z_m", "qx", "qy", "qz", "qw"]
            table = np.loadtxt(text, delimiter=",", usecols=[columns.index(name) for name in names], ndmin=2)
        self.time, self.position, self.rotation = table[:, 0], table[:, 1:4], table[:, 4:8]
        # The double cover: the shorter way from row to row.
        turns = np.sign(np.sum(self.rotation[1:] * self.rotation[:-1], axis=1))
        self.rotation[1:] *= np.cumprod(np.where(turns == 0, 1, turns))[:, None]

        # From each row to the next: metres, an arc in radians, and the unit vector at right angles to its start.
        self.way = np.diff(self.position, axis=0)
        along = np.sum(self.rotation[1:] * self.rotation[:-1], axis=1, keepdims=True)
        aside = self.rotation[1:] - along * self.rotation[:-1]
        sine = np.linalg.norm(aside, axis=1, keepdims=True)
        self.arc = np.arctan2(sine, along)
        self.aside = aside / np.maximum(sine, 1e-300)

    def pose(self, time_s):
        """Positions (N, 3) and unit quaternions (N, 4; x y z w): straight lines, great arcs."""
        row = np.clip(np.searchsorted(self.time, time_s, side="right") - 1, 0, len(self.time) - 2)
        share = ((time_s - self.time[row]) / np.diff(self.time)[row])[:, None]
        angle = self.arc[row] * share
        return (self.position.take(row, 0) + self.way.take(row, 0) * share,
                self.rotation.take(row, 0) * np.cos(angle) + self.aside.take(row, 0) * np.sin(angle))

    def interpolation_error(self):
        """The most that `pose` may be off between rows, metres and radians: a line misses a curve
        by an eighth of the second difference, an arc a turn likewise; and the file's last digit."""
        second = np.linalg.norm(np.diff(self.position, 2, axis=0), axis=1).max(initial=0)
        steps = quaternion_product(self.rotation[1:], self.rotation[:-1] * [-1, -1, -1, 1])
        # Of a small turn, the vector part is half of the angle.
        turn = 2 * np.linalg.norm(np.diff(steps[:, :3], axis=0), axis=1).max(initial=0)
        return second / 8 + 1e-6, turn / 8 + 1e-8


def quaternion_product(a, b):
    """Hamilton's, x y z w."""
    av, bv, aw, bw = a[:, :3], b[:, :3], a[:, 3:], b[:, 3:]
    vector = aw * bv + bw * av + np.cross(av, bv)
    return np.concatenate([vector, aw * bw - np.sum(av * bv, axis=1, keepdims=True)], axis=1)


def rotate(rotation, vector):
    """Turns vectors (N, 3) by unit quaternions (N, 4)."""
    # In columns, several times as fast as NumPy's cross products.
    (x, y, z, w), (a, b, c) = np.ascontiguousarray(rotation.T), np.ascontiguousarray(vector.T)
    p, q, r = 2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)
    return np.stack([a + w * p + y * r - z * q, b + w * q + z * p - x * r, c + w * r + x * q - y * p], -1)


def lengths(vectors):
    """Lengths of vectors (N, 3)."""
    return np.sqrt(np.einsum("ij,ij->i", vectors, vectors))


class Room:
    """Walls at x = ±Lx/2 and y = ±Ly/2, floor at z = 0, ceiling at z = Lz; seen from inside."""

    def __init__(self, size_m):
        x, y, z = size_m
        self.low = np.array([-x / 2, -y / 2, 0.0])
        self.high = np.array([x / 2, y / 2, z])

    def hit(self, origin, direction):
        """Range along the rays (N,), and the axis (0..2) of the plane each one ends on."""
        with np.errstate(divide="ignore"):
            goal = np.where(direction > 0, self.high, self.low)
            reach = np.where(direction == 0, np.inf, (goal - origin) / direction)
        axis = np.argmin(reach, axis=1)
        return reach[np.arange(len(reach)), axis], axis

    def off_the_walls(self, points):
        """How far points (N, 3) lie from the nearest plane."""
        x, y, z = np.abs(np.abs(points - (self.low + self.high) / 2) - (self.high - self.low) / 2).T
        return np.minimum(np.minimum(x, y), z)
