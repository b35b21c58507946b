"""velodyne-decoder as a driver under test: the datagrams of a Velodyne in, turns as the kit's JSON out.

    menura test lidar -- python3 velodyne_decoder_driver.py PORT SENSOR_ADDRESS
    menura test lidar --rig hdl64e -- python3 velodyne_decoder_driver.py PORT SENSOR_ADDRESS HDL64E_S3 CALIBRATION

The library decodes packets, and finds out what a VLP-16 is; the socket is ours, and listens to the sensor alone.
"""
import json
import socket
import sys
import time

import velodyne_decoder


def main():
    port, sensor = int(sys.argv[1]), sys.argv[2]
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    link.bind(("", port))
    about = {}
    if len(sys.argv) > 3:
        about = {"model": velodyne_decoder.Model[sys.argv[3]], "calibration": velodyne_decoder.Calibration.read(sys.argv[4])}
    decoder = velodyne_decoder.StreamDecoder(velodyne_decoder.Config(**about))
    print(json.dumps({"event": "ready"}), flush=True)
    while True:
        data, (source, _) = link.recvfrom(2048)
        if source != sensor:
            continue
        turn = decoder.decode(time.time(), data)
        if turn is None:
            continue
        stamp, cloud = turn
        # A part will do, and takes less time than all.
        points = [[round(float(c), 3) for c in list(point)[:3]] for point in cloud[::31]]
        stamp_s = getattr(stamp, "device", None)
        fields = {} if stamp_s is None else {"stamp_s": stamp_s}
        print(json.dumps({"event": "points", **fields, "points": points}), flush=True)


main()
