"""ouster-sdk as a driver under test: the datagrams of an Ouster in, turns as the kit's JSON out.

    menura test lidar --rig os1 -- python3 ouster_driver.py PORT SENSOR_ADDRESS WEB

The library is given the sensor's own metadata and each datagram, and makes turns and points of them; the socket is
ours, and listens to the sensor alone. A datagram that is no lidar packet of this sensor is dropped. The metadata are
fetched again when the sensor comes back.
"""
import json
import socket
import sys
import time
import urllib.request

import numpy as np
from ouster.sdk import core


def metadata(web):
    while True:
        try:
            with urllib.request.urlopen(f"http://{web}/api/v1/sensor/metadata", timeout=1) as answer:
                return core.SensorInfo(answer.read().decode())
        except (OSError, RuntimeError):
            time.sleep(0.2)


def turns(link, sensor, info):
    """Turns of the sensor, until nothing comes for a second."""
    batcher, frame, layout = core.FrameBatcher(info), core.LidarFrame(info), core.PacketFormat(info)
    while True:
        try:
            data, (source, _) = link.recvfrom(65536)
        except socket.timeout:
            return
        if source != sensor or len(data) != layout.lidar_packet_size:
            continue
        packet = core.LidarPacket(layout)
        packet.buf[:] = np.frombuffer(data, np.uint8)
        packet.host_timestamp = time.time_ns()
        if packet.validate(info) != core.PacketValidationFailure.NONE:
            continue
        if batcher(packet, frame):
            yield frame


def main():
    port, sensor, web = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    link.bind(("", port))
    link.settimeout(1.0)
    print(json.dumps({"event": "ready"}), flush=True)
    while True:
        info = metadata(web)
        table = core.XYZLut(info)
        for frame in turns(link, sensor, info):
            ranges = frame.field(core.ChanField.RANGE)
            # A part will do, and takes less time than all.
            points = table(frame)[ranges > 0][::97]
            stamps = frame.timestamp[frame.timestamp > 0]
            fields = {"stamp_s": float(stamps[-1]) / 1e9} if len(stamps) else {}
            print(json.dumps({"event": "points", **fields, "points": points.round(3).tolist()}), flush=True)


main()
