"""Reads captures."""

import struct


def datagrams(path):
    """Source port and payload of each UDP datagram of a capture."""
    return [found[1:] for found in timed_datagrams(path)]


def timed_datagrams(path):
    """Time (ns), source port and payload of each UDP datagram of a capture."""
    data = path.read_bytes()
    # Of the second part of times.
    unit_ns = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}.get(struct.unpack_from("<I", data)[0])
    if unit_ns is None:
        raise ValueError(f"{path.name} is no capture of pcap")
    at, found = 24, []
    while at < len(data):
        seconds, part, length = struct.unpack_from("<III", data, at)
        frame = data[at + 16:at + 16 + length]
        at += 16 + length
        udp = 14 + (frame[14] & 15) * 4
        if frame[12:14] == b"\x08\x00" and frame[23] == 17:
            found.append((seconds * 10**9 + part * unit_ns, struct.unpack_from(">H", frame, udp)[0], frame[udp + 8:]))
    return found
