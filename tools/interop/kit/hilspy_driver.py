"""hilspy as a driver under test: the datagrams of a Hesai in, turns as the kit's JSON out.

    menura test lidar --rig xt32 -- python3 hilspy_driver.py PORT CODEC

The library opens the port, decodes each packet, and has the same angles for all units of a model. Its points are forward,
left and up of the sensor, as the kit's.
"""
import json
import sys

import hilspy
import numpy as np


def main():
    port, codec = sys.argv[1:3]
    with hilspy.open(f"udp://127.0.0.1:{port}?listen", f"lidar:{codec}", frame="packet") as lidar:
        print(json.dumps({"event": "ready"}), flush=True)
        points, last = [], 0.0
        while True:
            message = lidar.recv(timeout=1)
            if message is None:
                continue
            fields = message.fields
            if len(fields["azimuth"]) == 0:
                # Nothing came back.
                continue
            azimuth = float(fields["azimuth"][0])
            if azimuth < last:
                stamp_s = float(fields["timestamp"])
                print(json.dumps({"event": "points", "stamp_s": stamp_s, "points": points}), flush=True)
                points = []
            last = azimuth
            place = np.stack([fields["x"], fields["y"], fields["z"]], -1).astype(float)
            # A part will do, and takes less time than all.
            seen = place[np.asarray(fields["distance"], float) > 0][::23]
            points += seen.round(3).tolist()


main()
