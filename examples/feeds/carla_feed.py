#!/usr/bin/env python3
"""Moves the robot of a rig as a vehicle of CARLA moves (docs/OTHER-SIMULATORS.md).

    menura run examples/feed.toml &
    python3 examples/feeds/carla_feed.py --role hero
"""
import argparse

import carla
from menura_feed import Feed, from_carla

parser = argparse.ArgumentParser()
parser.add_argument("--host", default="127.0.0.1")
parser.add_argument("--port", type=int, default=2000)
parser.add_argument("--role", default="hero", help="`role_name` of the vehicle")
parser.add_argument("--menura", default="127.0.0.1:7000", help="`listen` of the rig's feed")
options = parser.parse_args()

world = carla.Client(options.host, options.port).get_world()
vehicles = world.get_actors().filter("vehicle.*")
vehicle = next((v for v in vehicles if v.attributes.get("role_name") == options.role), None)
if vehicle is None:
    raise SystemExit(f"no vehicle has the role name {options.role}")
feed = Feed(options.menura)
while True:
    snapshot = world.wait_for_tick()
    actor = snapshot.find(vehicle.id)
    if actor is None:
        raise SystemExit("the vehicle is gone")
    place = actor.get_transform()
    pose = from_carla((place.location.x, place.location.y, place.location.z),
                      place.rotation.pitch, place.rotation.yaw, place.rotation.roll)
    feed.send(round(snapshot.timestamp.elapsed_seconds * 1e9), *pose)
