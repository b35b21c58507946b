"""Frames of a GigE Vision stream in a recording, apart from Menura's own code."""

import struct
from dataclasses import dataclass

import dpkt
import numpy as np

MONO8, MONO12, MONO16, BAYER8, BAYER12P, RGB8 = (
    0x01080001, 0x01100005, 0x01100007, 0x01080009, 0x010C0059, 0x02180014,
)


@dataclass
class Frame:
    """An image as its packets have it: counts of 8 to 16 bits."""

    block: int
    stamp: int
    pixels: np.ndarray


def frames(path):
    """The whole frames of a recording, in their order."""
    found, open_frames = [], {}
    with path.open("rb") as file:
        for _, raw in dpkt.pcap.Reader(file):
            datagram = dpkt.ethernet.Ethernet(raw).data.data.data
            _, block, word = struct.unpack(">HHI", datagram[:8])
            kind, number, data = word >> 24, word & 0xFFFFFF, datagram[8:]
            if kind == 1:
                stamp, code, width, height = struct.unpack(">4xQIII", data[:24])
                open_frames[block] = (stamp, code, width, height, {})
            elif kind == 3 and block in open_frames:
                open_frames[block][4][number] = data
            elif kind == 2 and block in open_frames:
                stamp, code, width, height, parts = open_frames.pop(block)
                image = b"".join(parts[number] for number in sorted(parts))
                if len(parts) == number - 1:
                    found.append(Frame(block, stamp, pixels(image, code, width, height)))
    return found


def pixels(image, code, width, height):
    """The counts of an image; colours are the last axis."""
    if code in (MONO8, BAYER8):
        return np.frombuffer(image, np.uint8).reshape(height, width)
    if code == RGB8:
        return np.frombuffer(image, np.uint8).reshape(height, width, 3)
    if code in (MONO12, MONO16):
        return np.frombuffer(image, "<u2").reshape(height, width)
    if code == BAYER12P:
        triples = np.frombuffer(image, np.uint8).reshape(-1, 3).astype(np.uint16)
        low = triples[:, 0] | (triples[:, 1] & 15) << 8
        high = triples[:, 1] >> 4 | triples[:, 2] << 4
        return np.stack([low, high], axis=1).reshape(height, width)
    raise ValueError(f"pixel format {code:#x}")


def mean_of(all_frames):
    """The mean of frames that show the same."""
    return np.mean([frame.pixels.astype(float) for frame in all_frames], axis=0)
