#!/usr/bin/env python3
"""What each point that velodyne-decoder decodes is of:

    menura record RIG.toml --duration 2s --out recording --truth
    python3 join_truth.py recording/lidar.pcap recording/truth.mcap /devices/lidar/packets
"""
import json
import sys

import numpy as np
import velodyne_decoder as vd
from mcap.reader import make_reader

if len(sys.argv) != 4:
    sys.exit(__doc__)
capture, truth, topic = sys.argv[1:]
FIRING = np.dtype([("time_ns", "<u8"), ("azimuth", "<f4"), ("elevation", "<f4"),
                   ("first", "<u4"), ("laser", "<u2"), ("returns", "u1"), ("pad", "u1")])
RETURN = np.dtype([("reported", "<f4"), ("true", "<f4"), ("instance", "<u4"), ("material", "<u2"),
                   ("label", "<u2"), ("cos", "<u2"), ("share", "<u2"), ("object", "<u2"),
                   ("why", "u1"), ("slots", "u1")])
times, elevations, returns = [], [], []
with open(truth, "rb") as file:
    reader = make_reader(file)
    names = next(json.loads(a.data) for a in reader.iter_attachments() if a.name == "names.json")
    for _, _, message in reader.iter_messages(topics=[topic]):
        poses, firings, count = np.frombuffer(message.data, "<u4", 3, 32)
        start_ns = message.log_time - int(np.frombuffer(message.data, "<u8", 1, 16)[0])
        fired = np.frombuffer(message.data, FIRING, firings, 48 + 64 * poses)
        seen = np.frombuffer(message.data, RETURN, count, 48 + 64 * poses + 24 * firings)
        each = np.repeat(np.arange(firings), fired["returns"])
        times.append((fired["time_ns"][each] + np.uint64(start_ns)) / 1e9)
        elevations.append(fired["elevation"][each])
        returns.append(seen)
times, elevations, returns = map(np.concatenate, (times, elevations, returns))
rings = np.searchsorted(np.unique(elevations.round(4)), elevations.round(4))
kept = ~np.isnan(returns["reported"])
times, rings, returns = times[kept], rings[kept], returns[kept]
found = total = 0
config = vd.Config(model=vd.Model.VLP16, timestamp_first_packet=True, min_range=0, max_range=1000)
for stamp, points in vd.read_pcap(capture, config, as_pcl_structs=True):
    for point in points:
        at = stamp.device + float(point["time"])
        near = slice(*np.searchsorted(times, [at - 60e-6, at + 60e-6]))
        own = returns[near][rings[near] == point["ring"]]
        total += 1
        if len(own):
            range_m = np.linalg.norm([point["x"], point["y"], point["z"]])
            best = own[np.argmin(abs(own["reported"] - range_m))]
            found += abs(best["reported"] - range_m) < 0.05
            if total % 10000 == 0:
                print(f'{range_m:7.3f} m is {names["labels"][best["label"]]}, truly {best["true"]:.3f} m')
print(f"{found} of {total} points found")
