#!/usr/bin/env python3
"""Plots the positions of the robot and of all objects during a run:

    menura run examples/passing-cylinders.toml --truth udp:127.0.0.1:24900
    python3 truth_plot.py 24900                # needs matplotlib; --text prints instead
"""
import json
import socket
import sys

receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("127.0.0.1", int(sys.argv[1])))
paths = {}
while True:
    thing = json.loads(receiver.recv(65535))
    if "position_m" not in thing:
        continue  # a joint has no position
    paths.setdefault(thing["name"], []).append(thing["position_m"][:2])
    if "--text" in sys.argv:
        print(f'{thing["time_ns"] / 1e9:9.3f} {thing["name"]:20} {thing["position_m"]}', flush=True)
    elif len(paths["robot"]) % 20 == 0:
        import matplotlib.pyplot as plt
        plt.cla()
        for name, path in list(paths.items()):
            plt.plot(*zip(*path), label=name)
        plt.axis("equal"), plt.legend(), plt.pause(0.001)
