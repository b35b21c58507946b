#!/usr/bin/env python3
"""Prints the label and the true range of points from velodyne-decoder:

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
    at = stamp.device + points["time"].astype(float)
    range_m = np.linalg.norm([points[axis] for axis in "xyz"], axis=0)
    # The match is the return of the same laser within 60 us whose range is nearest.
    best, off_m = np.zeros(len(points), int), np.full(len(points), np.inf)
    first, end = np.searchsorted(times, [at - 60e-6, at + 60e-6])
    for step in range(np.max(end - first)):
        near = np.minimum(first + step, end - 1)
        off = np.where(rings[near] == points["ring"], abs(returns["reported"][near] - range_m), np.inf)
        best, off_m = np.where(off < off_m, near, best), np.minimum(off, off_m)
    total += len(points)
    found += np.count_nonzero(off_m < 0.05)
    for point in range(0, len(points), 10000):
        own = returns[best[point]]
        print(f'{range_m[point]:7.3f} m is {names["labels"][own["label"]]}, truly {own["true"]:.3f} m')
print(f"{found} of {total} points found")
