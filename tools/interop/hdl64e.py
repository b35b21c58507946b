"""What an HDL-64E in a closed room must send, worked out apart from Menura's own code.

Times come from the manuals' firing tables (S2: appendix G, S3: appendix; the S1 has none, its
profile says), geometry from the way drivers use a calibration table. Frames: World is
east-north-up, the sensor's frame is forward-left-up; azimuth runs clockwise from forward.
"""

import tomllib
from dataclasses import dataclass

import numpy as np
import yaml

PACKET_BYTES = 1206
BLOCK = np.dtype(
    [("flag", "<u2"), ("azimuth", "<u2"), ("shot", [("distance", "<u2"), ("intensity", "u1")], 32)]
)
UPPER, LOWER = 0xEEFF, 0xDDFF
STEP_M = 0.002
# Beyond this raw distance velodyne-decoder leaves the two-point correction alone.
FAR_POINT_M = 25.04
NEAR_POINT_X_M = 2.40
NEAR_POINT_Y_M = 1.93


def blocks_of(payloads):
    """Packets as an array of blocks, (packets, 12)."""
    data = np.frombuffer(b"".join(payloads), np.uint8).reshape(-1, PACKET_BYTES)
    return np.ascontiguousarray(data[:, :1200]).view(BLOCK).reshape(-1, 12)


def device_stamps_us(payloads):
    """Bytes 1200..1203 of each packet: microseconds past the hour (S2, S3)."""
    return np.array([int.from_bytes(p[1200:1204], "little") for p in payloads])


@dataclass
class Timing:
    """When what fires, microseconds after the first firing of the run."""

    # Of each block's slot 0, (packets, 12).
    block_us: np.ndarray
    # Of a slot after its block's slot 0, (32,).
    slot_us: np.ndarray
    # Of each packet's end, (packets,).
    end_us: np.ndarray

    def firing_us(self):
        """(packets, 12, 32)"""
        return self.block_us[:, :, None] + self.slot_us


def s2_s3_timing(packets, dual):
    """S2, and S3 with one return: six cycles of 48 us; S3 dual: three of 57.6 us."""
    cycle, group, sub = (57.6, 7.2, [0, 1.3, 2.5, 3.7]) if dual else (48.0, 6.0, [0, 1.26, 2.46, 3.66])
    blocks_a_cycle = 4 if dual else 2
    period = cycle * 12 / blocks_a_cycle
    slot = np.arange(32)
    start = period * np.arange(packets)
    in_packet = cycle * (np.arange(12) // blocks_a_cycle)
    return Timing(start[:, None] + in_packet, group * (slot // 4) + np.take(sub, slot % 4), start + period)


def s1_timing(azimuth_field, rotor, profile_file):
    """Blocks of the S1 start on a grid and skip a place now and then; which ones they took is read
    from the azimuths, whose half step of 0.01 degrees is far less than a place."""
    with open(profile_file, "rb") as file:
        timing = tomllib.load(file)["timing"]
    grid_us = round(timing["block_grid_us"] * 1000) / 1000
    steps = np.diff(azimuth_field.ravel().astype(int), prepend=0) % 36000
    turned = np.cumsum(steps) - round(rotor.start_centideg)
    place = np.round(turned / (rotor.centideg_a_us * grid_us))
    block_us = (place * grid_us).reshape(-1, 12)
    slot_us = np.array(timing["slot_offset_us"], float)
    return Timing(block_us, slot_us, block_us[:, -1] + grid_us), place, grid_us


@dataclass
class Rotor:
    """Turns evenly from its place at the first firing."""

    rate_rpm: float
    start_centideg: float

    @property
    def centideg_a_us(self):
        return self.rate_rpm * 6e-4

    def centideg(self, us):
        return self.start_centideg + self.centideg_a_us * us


class Calibration:
    """A table of 64 lasers in the ROS driver's YAML form, as arrays by laser id."""

    def __init__(self, text):
        table = yaml.load(text, Loader=yaml.CSafeLoader)
        lasers = sorted(table["lasers"], key=lambda laser: laser["laser_id"])
        if [laser["laser_id"] for laser in lasers] != list(range(64)):
            raise ValueError("the calibration does not hold the lasers 0 to 63")

        def column(key, default=None):
            return np.array([float(laser.get(key, default)) for laser in lasers])

        self.vertical = column("vert_correction")
        self.rotational = column("rot_correction")
        self.distance = column("dist_correction")
        self.distance_x = column("dist_correction_x")
        self.distance_y = column("dist_correction_y")
        self.up = column("vert_offset_correction")
        self.side = column("horiz_offset_correction", 0.0)
        self.two_point = (self.distance_x != 0) & (self.distance_y != 0)
        self.ring = np.argsort(np.argsort(self.vertical, kind="stable"))

    def ray(self, laser, rotor_rad):
        """Exit point and unit direction of a shot, sensor frame, (N, 3) each."""
        angle = rotor_rad - self.rotational[laser]
        sin, cos = np.sin(angle), np.cos(angle)
        flat, rise = np.cos(self.vertical[laser]), np.sin(self.vertical[laser])
        exit_point = np.stack([self.side[laser] * sin, self.side[laser] * cos, self.up[laser]], -1)
        return exit_point, np.stack([flat * cos, -flat * sin, rise], -1)

    def two_point_m(self, laser, rotor_rad, raw):
        """What a driver adds to the far-point distance along x and along y, metres."""
        angle = rotor_rad - self.rotational[laser]
        far = raw * STEP_M + self.distance[laser]
        flat = np.cos(self.vertical[laser])

        def extra(near_m, near_correction, along):
            slope = (self.distance[laser] - near_correction[laser]) / (FAR_POINT_M - near_m)
            return slope * (along - near_m) + near_correction[laser] - self.distance[laser]

        x = extra(NEAR_POINT_X_M, self.distance_x, np.abs(far * flat * np.sin(angle)))
        y = extra(NEAR_POINT_Y_M, self.distance_y, np.abs(far * flat * np.cos(angle)))
        used = self.two_point[laser]
        return np.where(used, x, 0.0), np.where(used, y, 0.0)
