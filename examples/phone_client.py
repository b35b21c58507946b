#!/usr/bin/env python3
"""Reads the sentences of a phone's compass, inclinometer and gyro (profile phone-imu).

    menura run examples/andabata.toml &
    python3 examples/phone_client.py /tmp/andabata-phone-imu
"""
import sys
from typing import NamedTuple, Optional

import serial


class Phone(NamedTuple):
    """Values of one sentence."""
    sequence: int         # counts sentences, modulo 65536
    time_s: float         # on the phone's clock
    compass_deg: float    # of the forward axis, clockwise from magnetic north
    roll_deg: float       # positive: right side down
    pitch_deg: float      # positive: nose up
    gyro_rad_s: tuple     # about forward, left and up


def parse(line: bytes) -> Optional[Phone]:
    """Parses a sentence such as $PMNR,PHONE,17,0.340,92.31,-0.54,1.20,0.00123,-0.00045,0.10230*54.

    None if the line is no such sentence or its checksum is wrong.
    """
    body, star, checksum = line.strip().removeprefix(b"$").partition(b"*")
    total = 0
    for byte in body:
        total ^= byte
    if not star or checksum != b"%02X" % total or not body.startswith(b"PMNR,PHONE,"):
        return None
    sequence, *numbers = body.split(b",")[2:]
    numbers = [float(number) for number in numbers]
    return Phone(int(sequence), *numbers[:4], tuple(numbers[4:]))


if __name__ == "__main__":
    with serial.Serial(sys.argv[1], 115200, timeout=2) as port:
        while line := port.readline():
            phone = parse(line)
            if phone:
                print(f"{phone.time_s:9.3f} s  compass {phone.compass_deg:6.2f}  "
                      f"roll {phone.roll_deg:6.2f}  pitch {phone.pitch_deg:6.2f}", flush=True)
