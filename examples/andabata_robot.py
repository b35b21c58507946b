#!/usr/bin/env python3
"""A robot's program for examples/andabata.toml: it drives to goals across a field.

    pip install hokuyolx pyserial pynmeagps numpy scipy
    menura run examples/andabata.toml &
    python3 examples/andabata_robot.py --seconds 60

It reads real products with real drivers: a Hokuyo UTM-30LX-EW (hokuyolx), the GNSS receiver of a phone
(pynmeagps), and serial lines (pyserial). It commands a Kangaroo motor controller in text. Navigation is
that of the robot Andabata (Martinez et al. 2020, equations 7 to 12) with a simple classifier: a polar map
of traversable ground, three maps for each 3-D scan, steering by the compass at 50 Hz. Unlike the robot of
the paper, it remembers the ground of earlier scans and heads for a waypoint on the path around obstacles.
"""
import argparse
import json
import math
import multiprocessing
import queue
import socket
import threading
import time

import numpy as np
import serial
from hokuyolx import HokuyoLX
from hokuyolx.exceptions import HokuyoException
from pynmeagps import NMEAReader
from scipy.spatial import cKDTree

from andabata_memory import Memory, is_free, waypoint
from phone_client import parse as parse_phone

SPEED_M_S, GAIN, Y_ICR_M = 0.3, 1.0, 0.45
COUNTS_PER_M, HEAD_STEPS, SCANNER_HEIGHT_M = 5092.96, 96000, 0.73
SCAN_TURN_RAD = math.pi
CLASSIFY_S, MAP_S, DELAY_S = 1.23, 0.15, 0.95
SECTORS, RINGS = 32, 9
LIMITS_M = 10 * (1.0682 ** np.arange(1, RINGS + 2) - 1) / (1.0682 ** (RINGS + 1) - 1)
EMPTY, GREEN, RED, GREY = range(4)


def wrapped(angle):
    return (angle + np.pi) % (2 * np.pi) - np.pi


def classify(points):
    """Thins points to 0.1 m and classifies each by plane, slope and step of its five nearest neighbours.

    1 is traversable, 0 is not traversable, and -1 is unknown (too few neighbours within 0.5 m).
    """
    _, first = np.unique(np.floor(points / 0.1).astype(int), axis=0, return_index=True)
    points = points[np.sort(first)]
    distances, neighbours = cKDTree(points).query(points, k=6)
    near = points[np.minimum(neighbours, len(points) - 1)]
    off = near - near.mean(axis=1, keepdims=True)
    values, axes = np.linalg.eigh(np.einsum("nki,nkj->nij", off, off) / 6)
    residue = np.sqrt(np.maximum(values[:, 0], 0))
    upright = np.abs(axes[:, 2, 0])
    step = np.ptp(near[:, :, 2], axis=1)
    judged = (residue <= 0.06) & (upright >= 0.866) & (step <= 0.25)
    return points, np.where(distances[:, 5] <= 0.5, judged.astype(int), -1)


def polar_map(origin, points, judged):
    offset = points[:, :2] - origin
    ring = np.searchsorted(LIMITS_M, np.hypot(*offset.T), side="right") - 1
    sector = np.round(np.arctan2(offset[:, 1], offset[:, 0]) / (2 * np.pi) * SECTORS).astype(int) % SECTORS
    cells = np.zeros((SECTORS, RINGS), int)
    inside = (ring >= 0) & (ring < RINGS)
    for s, r in set(zip(sector[inside], ring[inside])):
        these = judged[(sector == s) & (ring == r)]
        bad, good = np.mean(these == 0), np.mean(these == 1)
        cells[s, r] = RED if bad >= 0.15 else GREEN if good > 0.85 else GREY
    return cells


def best_direction(cells, goal, heading, previous, free):
    """The direction with the lowest cost among those that `free` accepts, or None."""
    directions = wrapped(np.arange(SECTORS) * 2 * np.pi / SECTORS)
    green = np.array([sum(c == GREEN for c in row[:np.argmax(np.append(row, RED) == RED)]) for row in cells])
    left, right = np.roll(green, -1), np.roll(green, 1)
    ease = 1 + green + 0.3 * (left + right - np.abs(left - right))
    way = (np.abs(wrapped(directions - goal)) + 0.15 * np.abs(wrapped(directions - heading))
           + 0.15 * np.abs(wrapped(directions - previous)))
    cost = np.where([free(direction) for direction in directions], way / ease, np.inf)
    return directions[np.argmin(cost)] if np.isfinite(cost).any() else None


class Robot:
    def __init__(self, options):
        self.options, self.goals = options, list(options.goals)
        self.lock = threading.Lock()
        self.position = np.zeros(2)     # in the robot's own frame, with 0, 0 at the place of power-on
        self.offset = None              # from that frame to metres east and north of the rig's origin
        self.stances = []               # (time, x, y, roll, pitch, heading)
        self.head = []                  # (time, angle)
        self.scans = multiprocessing.Queue()
        self.target = None
        self.memory = Memory()
        self.counts = {"scans": 0, "points": 0, "maps": 0, "fixes": 0, "headings": 0, "plane_scans": 0}
        self.reached = []
        self.over = threading.Event()
        self.base = serial.Serial(options.base, 115200, timeout=0.2)
        self.base_lock = threading.Lock()

    def say(self, text):
        with self.base_lock:
            self.base.write(text.encode())

    def listen_to_compass(self):
        with serial.Serial(self.options.compass, 115200, timeout=1) as port:
            while not self.over.is_set():
                phone = parse_phone(port.readline())
                if not phone:
                    continue
                heading = wrapped(math.radians(90 - phone.compass_deg - self.options.declination))
                roll, pitch = math.radians(phone.roll_deg), -math.radians(phone.pitch_deg)
                with self.lock:
                    self.stances.append((time.time(), *self.position, roll, pitch, heading))
                    del self.stances[:-600]
                    self.counts["headings"] += 1
                self.steer(heading)

    def steer(self, heading):
        speed, turn = 0.0, 0.0
        if self.goals and self.target is not None:
            speed, turn = SPEED_M_S, GAIN * wrapped(self.target - heading)
        for channel, tread in ((1, speed - Y_ICR_M * turn), (2, speed + Y_ICR_M * turn)):
            self.say(f"{channel},s{round(tread * COUNTS_PER_M)}\r\n")

    def listen_to_receiver(self):
        earth_m = 6378137.0
        lat0, lon0 = map(math.radians, self.options.origin)
        with serial.Serial(self.options.receiver, 115200, timeout=2) as port:
            for _, message in NMEAReader(port):
                if self.over.is_set():
                    return
                if message is None or message.msgID != "GGA" or not message.quality:
                    continue
                east = (math.radians(message.lon) - lon0) * math.cos(lat0) * earth_m
                north = (math.radians(message.lat) - lat0) * earth_m * 0.99664719 ** 2
                with self.lock:
                    fix = np.array([east, north]) - self.position
                    self.offset = fix if self.offset is None else self.offset + 0.3 * (fix - self.offset)
                    self.counts["fixes"] += 1

    def listen_to_wheels(self):
        before = {}
        while not self.over.is_set():
            self.say("1,getp\r\n2,getp\r\n")
            for _ in range(2):
                channel, _, answer = self.base.readline().decode("ascii", "replace").strip().partition(",")
                if answer[:1] in ("P", "p") and answer[1:].lstrip("-").isdigit():
                    travel = int(answer[1:]) / COUNTS_PER_M
                    with self.lock:
                        if channel in before and self.stances:
                            heading = self.stances[-1][5]
                            step = 0.5 * (travel - before[channel])
                            self.position += step * np.array([math.cos(heading), math.sin(heading)])
                    before[channel] = travel
            time.sleep(0.1)

    def listen_to_head(self):
        link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        link.bind(("127.0.0.1", self.options.head))
        link.settimeout(1)
        offset = math.inf   # of the encoder's clock, if the fastest line had no delay
        while not self.over.is_set():
            for line in link.recv(2048).split(b"\r\n"):
                when, _, count = line.partition(b",")
                if when.isdigit():
                    offset = min(offset, time.time() - int(when) * 1e-3)
                    with self.lock:
                        self.head.append((int(when) * 1e-3 + offset, int(count) * 2 * math.pi / HEAD_STEPS))
                        del self.head[:-600]

    def levelled(self, began, distances):
        """The points of one plane scan, computed with the poses of head and robot at each step."""
        steps = np.arange(len(distances))
        times = began + steps * 25e-3 / 1440
        with self.lock:
            head, stances = np.array(self.head), np.array(self.stances)
        angle = np.interp(times, head[:, 0], head[:, 1])
        stances[:, 5] = np.unwrap(stances[:, 5])
        x, y, roll, pitch, heading = (np.interp(times, stances[:, 0], column) for column in stances[:, 1:].T)
        beta = (steps - 540) * 2 * math.pi / 1440
        range_m = distances * 1e-3
        # The scan plane is vertical and rotates with the head; beta is 0 for straight up.
        left, up = np.sin(beta) * range_m, np.cos(beta) * range_m
        forward, left = -np.sin(angle) * left, np.cos(angle) * left
        up = up + SCANNER_HEIGHT_M
        left, up = left * np.cos(roll) - up * np.sin(roll), left * np.sin(roll) + up * np.cos(roll)
        forward, up = forward * np.cos(pitch) + up * np.sin(pitch), up * np.cos(pitch) - forward * np.sin(pitch)
        east = forward * np.cos(heading) - left * np.sin(heading) + x
        north = forward * np.sin(heading) + left * np.cos(heading) + y
        seen = (distances >= 23) & (range_m <= 12)
        return np.stack([east, north, up], axis=1)[seen]

    def scan(self):
        scan, began, classified, next_map = [], None, None, None
        waiting = []
        while not self.over.is_set() and self.goals:
            try:
                waiting.append(self.scans.get(timeout=0.5))
            except queue.Empty:
                continue
            with self.lock:
                known = min(self.head[-1][0], self.stances[-1][0]) if self.head and self.stances else 0.0
                angle = self.head[-1][1] if self.head else 0.0
            # Only complete scans with known head angles and stances.
            while waiting and waiting[0][0] + 0.02 < known:
                scan.append(self.levelled(*waiting.pop(0)))
                self.counts["plane_scans"] += 1
            began = angle if began is None else began
            if scan and abs(angle - began) >= SCAN_TURN_RAD:
                points, scan, began = np.concatenate(scan), [], angle
                self.counts["scans"] += 1
                self.counts["points"] += len(points)
                classified = classify(points) if len(points) > 100 else None
                if classified is not None:
                    self.memory.add(time.time(), self.position.copy(), *classified)
                next_map = next_map or time.time() + CLASSIFY_S + MAP_S
            if classified is not None and next_map is not None and time.time() >= next_map:
                next_map += MAP_S + DELAY_S
                self.choose(*classified)

    def choose(self, points, judged):
        with self.lock:
            if self.offset is None or not self.stances:
                return
            here, heading = self.position.copy(), self.stances[-1][5]
            offset = self.offset.copy()
        while self.goals and np.hypot(*(self.goals[0] - here - offset)) <= 3:
            self.reached.append(self.goals.pop(0))
            print("goal reached:", *self.reached[-1], flush=True)
        if not self.goals:
            return
        goal = self.goals[0] - here - offset
        costs = self.memory.costs(time.time())
        point = waypoint(costs, here, here + goal)
        toward = goal if point is None else point - here
        toward = math.atan2(toward[1], toward[0])
        previous = heading if self.target is None else self.target
        direction = best_direction(polar_map(here, points, judged), toward, heading, previous,
                                   lambda direction: is_free(costs, here, direction))
        self.target = toward if direction is None else direction
        self.counts["maps"] += 1

    def run(self):
        self.say("1,start\r\n2,start\r\n")
        reader = multiprocessing.Process(target=read_scanner, args=(self.options.scanner, self.scans), daemon=True)
        reader.start()
        tasks = [self.listen_to_compass, self.listen_to_receiver, self.listen_to_wheels,
                 self.listen_to_head, self.scan]
        threads = [threading.Thread(target=task, daemon=True) for task in tasks]
        for thread in threads:
            thread.start()
        end = time.monotonic() + self.options.seconds
        while time.monotonic() < end and self.goals:
            time.sleep(0.2)
        self.over.set()
        reader.terminate()
        self.say("1,s0\r\n2,s0\r\n")
        time.sleep(0.5)
        where = [0.0, 0.0] if self.offset is None else (self.position + self.offset).tolist()
        print(json.dumps({**self.counts, "east_m": where[0], "north_m": where[1],
                          "driven_m": float(np.hypot(*self.position)), "goals": len(self.reached)}))


def read_scanner(port, scans):
    """Puts scans with their start times into the queue.

    It runs in its own process, because the driver loses its place in the stream when two scans arrive at once. The
    process then connects again.
    """
    offset = math.inf   # of the scanner's clock, if the fastest scan arrived at the end of its 18.75 ms
    while True:
        scanner = None
        try:
            scanner = HokuyoLX(addr=("127.0.0.1", port), tsync=False, convert_time=False)
            for distances, stamp_ms, _ in scanner.iter_dist():
                offset = min(offset, time.time() - 0.0198 - stamp_ms * 1e-3)
                scans.put((stamp_ms * 1e-3 + offset, np.asarray(distances, float)))
        except (HokuyoException, OSError, ValueError, IndexError) as fault:
            print("reconnecting to the scanner:", repr(fault), flush=True)
        finally:
            try:
                if scanner:
                    scanner.close()
            except (HokuyoException, OSError, ValueError, IndexError):
                pass    # the rest of the stream is no valid reply


def pair(text):
    return np.array([float(number) for number in text.split(",")])


if __name__ == "__main__":
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--seconds", type=float, default=900)
    ask.add_argument("--goals", type=pair, nargs="+", default=[pair("20,-14"), pair("-20,2"), pair("18,20")],
                     metavar="EAST,NORTH", help="metres from the rig's origin")
    ask.add_argument("--origin", type=float, nargs=2, default=(36.7157, -4.4778), help="degrees")
    ask.add_argument("--declination", type=float, default=-0.3, help="degrees, east is positive")
    ask.add_argument("--scanner", type=int, default=10940, help="TCP port")
    ask.add_argument("--head", type=int, default=10941, help="UDP port")
    ask.add_argument("--compass", default="/tmp/andabata-phone-imu")
    ask.add_argument("--receiver", default="/tmp/andabata-phone-gnss")
    ask.add_argument("--base", default="/tmp/andabata-base")
    Robot(ask.parse_args()).run()
