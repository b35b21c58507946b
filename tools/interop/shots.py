"""When a Velodyne fires which laser where, worked out from its profile's tables apart from Menura's
own code. Arrays are (packets, 12 blocks, 32 slots); frames as in room.py."""

import tomllib
from dataclasses import dataclass

import numpy as np

import hdl64e
import room

ROTOR = hdl64e.Rotor(room.ROTATION_RATE_RPM, 0.0)


@dataclass
class Shots:
    """Each shot of some packets."""

    # Microseconds after the first firing of the run; and after that of the shot's block, and of its
    # firing sequence (what they are the same for is a model whose blocks hold one).
    time_us: np.ndarray
    in_block_us: np.ndarray
    in_sequence_us: np.ndarray
    # Where the beam leaves the sensor, and its unit direction; (packets, 12, 32, 3).
    exit_point: np.ndarray
    direction: np.ndarray
    # Which laser fired.
    laser: np.ndarray

    def of(self, which):
        """Some of them, one after another: indices into (packets, 12, 32), flattened."""
        return Shots(*(part.reshape(-1, *part.shape[3:])[which] for part in vars(self).values()))


def of_fixed_optics(profile, packets, dual):
    """A model whose optics are the same in every unit: 16, 32 or 128 lasers. Of the last, the four blocks that
    fill up a packet of dual return hold no shots, whatever stands here."""
    with open(room.PROFILES / f"{profile}.toml", "rb") as file:
        lasers = tomllib.load(file)["lasers"]
    table = np.array(sorted(lasers["rows"]), float)
    count, cycle_us = len(table), lasers["sequence_us"]
    copies, quarters, a_block = (2 if dual else 1), max(1, count // 32), max(1, 32 // count)
    block, slot = np.arange(12)[:, None] // copies, np.arange(32)[None, :]
    sequence = block // quarters * a_block + slot // count
    laser = (block % quarters * 32 + slot) % count
    _, elevation, azimuth_offset, up_mm, fired_us = table[laser].transpose(2, 0, 1)
    sequences = 12 // (copies * quarters) * a_block
    start_us = np.arange(packets)[:, None, None] * cycle_us * sequences
    time_us = start_us + sequence * cycle_us + fired_us
    azimuth = np.radians((ROTOR.centideg(time_us) / 100) + azimuth_offset)
    elevation = np.broadcast_to(np.radians(elevation), time_us.shape)
    flat = np.cos(elevation)
    direction = np.stack([flat * np.cos(azimuth), -flat * np.sin(azimuth), np.sin(elevation)], -1)
    exit_point = np.zeros((*time_us.shape, 3))
    exit_point[..., 2] = up_mm / 1000
    in_sequence_us = np.broadcast_to(fired_us, time_us.shape)
    in_block_us = in_sequence_us + slot // count * cycle_us
    return Shots(time_us, in_block_us, in_sequence_us, exit_point, direction,
                 np.broadcast_to(laser, time_us.shape))


def of_hdl64e(profile, blocks, dual, calibration):
    """An HDL-64E that sent these blocks, with this table."""
    if profile.endswith("s1"):
        timing, _, _ = hdl64e.s1_timing(blocks["azimuth"], ROTOR, room.PROFILES / f"{profile}.toml")
    else:
        timing = hdl64e.s2_s3_timing(len(blocks), dual)
    time_us = timing.firing_us()
    in_block_us = np.broadcast_to(timing.slot_us, time_us.shape)
    bank = np.where(blocks["flag"] == hdl64e.UPPER, 0, 32)
    laser = (bank[:, :, None] + np.arange(32)).ravel()
    exit_point, direction = calibration.ray(laser, np.radians(ROTOR.centideg(time_us) / 100).ravel())
    shape = (*time_us.shape, 3)
    return Shots(time_us, in_block_us, in_block_us, exit_point.reshape(shape), direction.reshape(shape),
                 laser.reshape(time_us.shape))
