"""Sends poses of another simulator to the feed of a rig (docs/FEED.md).

    feed = Feed("127.0.0.1:7000")
    feed.send(time_ns, position_m, orientation_xyzw)

Frames: the world is east, north, up; the body is forward, left, up. Velocity and angular rate are computed from
the poses, so the simulator does not have to supply them.
"""
import math
import socket
import struct


class Feed:
    """A sender of poses. `time_ns` is the time on the simulator's clock, from any origin; it must not stand still."""

    def __init__(self, address="127.0.0.1:7000"):
        host, port = address.rsplit(":", 1)
        self.address = (host, int(port))
        self.link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sequence = 0
        self.before = None

    def send(self, time_ns, position_m, orientation_xyzw):
        """Sends one pose: position east, north, up in metres, and the unit quaternion world from body."""
        velocity, rate = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        if self.before and time_ns > self.before[0]:
            velocity, rate = twist(self.before, (time_ns, position_m, orientation_xyzw))
        self.before = (time_ns, position_m, orientation_xyzw)
        self.link.sendto(
            struct.pack("<4sIQQ13d", b"MNFD", 1, self.sequence, time_ns, *position_m, *orientation_xyzw, *velocity, *rate),
            self.address)
        self.sequence += 1


def multiply(a, b):
    """The product of two quaternions x, y, z, w."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
            aw * bw - ax * bx - ay * by - az * bz)


def conjugate(q):
    """The inverse of a unit quaternion."""
    return (-q[0], -q[1], -q[2], q[3])


def twist(before, after):
    """Velocity and angular rate between two poses, both in the body frame: m/s and rad/s."""
    seconds = (after[0] - before[0]) * 1e-9
    moved = tuple((b - a) / seconds for a, b in zip(before[1], after[1]))
    velocity = multiply(multiply(conjugate(after[2]), (*moved, 0.0)), after[2])[:3]
    x, y, z, w = multiply(conjugate(before[2]), after[2])
    if w < 0.0:  # the same rotation, by the smaller angle
        x, y, z, w = -x, -y, -z, -w
    sine = math.sqrt(x * x + y * y + z * z)
    scale = 2.0 * math.atan2(sine, w) / sine / seconds if sine > 1e-12 else 2.0 / seconds
    return velocity, (x * scale, y * scale, z * scale)


def from_roll_pitch_yaw(roll, pitch, yaw):
    """The quaternion of angles in radians: yaw about up first, then pitch (nose down), then roll."""
    half = (roll / 2, pitch / 2, yaw / 2)
    about_x = (math.sin(half[0]), 0.0, 0.0, math.cos(half[0]))
    about_y = (0.0, math.sin(half[1]), 0.0, math.cos(half[1]))
    about_z = (0.0, 0.0, math.sin(half[2]), math.cos(half[2]))
    return multiply(multiply(about_z, about_y), about_x)


def from_carla(location_m, pitch_deg, yaw_deg, roll_deg):
    """Position and orientation of an Unreal transform: x forward, y right, z up, left-handed.

    Mirroring y turns it into a right-handed frame with y to the left. Unreal's pitch raises the nose, its yaw turns to
    the right and its roll lowers the right side; only the roll has the same sign here.
    """
    x, y, z = location_m
    angles = (math.radians(roll_deg), -math.radians(pitch_deg), -math.radians(yaw_deg))
    return (x, -y, z), from_roll_pitch_yaw(*angles)
