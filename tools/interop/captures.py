"""Reads captures."""

import struct


def datagrams(path):
    """Source port and payload of each UDP datagram of a capture."""
    data = path.read_bytes()
    if struct.unpack_from("<I", data)[0] not in (0xA1B2C3D4, 0xA1B23C4D):
        raise ValueError(f"{path.name} is no capture of pcap")
    at, found = 24, []
    while at < len(data):
        length, = struct.unpack_from("<I", data, at + 8)
        frame = data[at + 16:at + 16 + length]
        at += 16 + length
        udp = 14 + (frame[14] & 15) * 4
        if frame[12:14] == b"\x08\x00" and frame[23] == 17:
            found.append((struct.unpack_from(">H", frame, udp)[0], frame[udp + 8:]))
    return found
