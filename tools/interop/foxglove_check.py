#!/usr/bin/env python3
"""Looks at a running rig by Foxglove's WebSocket protocol, with a client of it from PyPI (robo-ws-bridge).

The client subscribes to everything. Clouds, decoded by Foxglove's own definitions (foxglove-schemas-protobuf) and by the
description that the channel brings, must lie on the room's walls in the world, where the tree of frames puts them; poses,
positions and what the inertial unit says must be those of the truth that the same run wrote as MCAP. Images of a camera must be
JPEG of its size, with the lens and the frame of the rig. Every schema, live
and in the file, must be one that Foxglove's own reader takes, and every message must fit it. Clients that read nothing,
speak nonsense or come from a page of another site must neither hold up the others nor take memory.

Exit code 0 when all is well, 1 when a check fails, 2 when Menura itself did not run.
"""

import argparse
import asyncio
import atexit
import base64
import bisect
import collections
import io
import json
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import jsonschema
import numpy as np
import websocket
from PIL import Image
from foxglove_schemas_protobuf.CompressedImage_pb2 import CompressedImage
from foxglove_schemas_protobuf.PointCloud_pb2 import PointCloud
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from mcap.reader import make_reader
from robo_ws_bridge import WebSocketBridgeClient

import room
from receiving import starts

SIZE_M = (16.0, 12.0, 5.0)
RIG = """\
seed = 5
start_utc = 2026-05-01T12:00:00Z
[world]
scene = "room"
parameters = { size_m = [16.0, 12.0, 5.0] }
[robot]
trajectory = { kind = "circle", radius_m = 2.0, speed_m_s = 1.5 }
[[joint]]
name = "mast"
translation_m = [0.0, 0.0, 0.5]
motion = { kind = "constant-rate", rate_deg_s = 40.0 }
[[device]]
name = "lidar"
profile = "velodyne-vlp16-3.0"
mount = { translation_m = [0.2, 0.1, 1.0], roll_pitch_yaw_deg = [0.0, 0.0, 20.0] }
link = { udp = { to = "127.0.0.1:9" } }
settings = { beam = { shape = "ray" } }
[[device]]
name = "turning"
profile = "velodyne-vlp16-3.0"
mount = { parent = "mast", translation_m = [0.1, 0.0, 0.5], roll_pitch_yaw_deg = [0.0, 30.0, 0.0] }
link = { udp = { to = "127.0.0.1:9" } }
settings = { beam = { shape = "ray" } }
[[device]]
name = "gnss"
profile = "ublox-zed-f9p-hpg1.32"
# Above the room's ceiling.
mount = { translation_m = [0.0, 0.0, 8.0] }
link = { pty = "GNSS" }
settings = { rate_hz = 5.0, baud_rate = 460800, acquisition = { time_constant_s = 0.1 } }
[[device]]
name = "imu"
profile = "wheeltec-n100"
link = { pty = "IMU" }
[[device]]
name = "camera"
profile = "menura-gv231c"
mount = { translation_m = [0.3, 0.0, 1.0], roll_pitch_yaw_deg = [0.0, 10.0, 0.0] }
link = { udp = { to = "127.0.0.1:9", from = "127.0.0.8:20202" }, gvcp = "127.0.0.8:3956" }
settings = { image_width = 320, image_height = 240, frame_rate_hz = 5.0, hfov_deg = 80.0, streams_alone = true, distortion = [-0.1, 0.01, 0.001, -0.001, 0.0], sun_deg = [45.0, 200.0] }
"""
# The receiver's first fixes may be more than 3 m off. RIG lets its HDOP fall fast.
SETTLING_S = 2
# What is told of such a rig.
TOPICS = {
    "/tf": "foxglove.FrameTransforms", "/robot/pose": "foxglove.PoseInFrame", "/robot/path": "foxglove.PosesInFrame",
    "/log": "foxglove.Log", "/devices/lidar/points": "foxglove.PointCloud",
    "/devices/turning/points": "foxglove.PointCloud", "/devices/gnss/fix": "foxglove.LocationFix",
    "/devices/imu/imu": "menura.Imu", "/devices/camera/image": "foxglove.CompressedImage",
    "/devices/camera/calibration": "foxglove.CameraCalibration",
    **{f"/devices/{name}/status": "menura.DeviceStatus" for name in ("lidar", "turning", "gnss", "imu", "camera")},
}


def expect(truth, text):
    print(("ok    " if truth else "WRONG ") + text)
    if not truth:
        sys.exit(1)


def is_read_by_foxglove(schema):
    """Whether Foxglove's reader of JSON schemas (parseJsonSchema of its MCAP support) takes `schema`."""
    if schema.get("type") != "object" or "properties" not in schema:
        return False
    for field in schema["properties"].values():
        kind = field.get("type")
        if kind == "array":
            item = field.get("items", {})
            if item.get("type") == "object":
                if not is_read_by_foxglove(item):
                    return False
            elif item.get("type") not in ("boolean", "string", "number", "integer"):
                return False
        elif kind == "object":
            if not is_read_by_foxglove(field):
                return False
        elif kind not in ("boolean", "string", "number", "integer"):
            return False
    return True


class Run:
    """A rig that runs with Foxglove and its truth."""

    def __init__(self, menura, folder, *more):
        rig = RIG.replace("GNSS", str(folder / "gnss")).replace("IMU", str(folder / "imu"))
        (folder / "rig.toml").write_text(rig)
        self.truth, self.report = folder / "truth.mcap", folder / "report.json"
        self.process = subprocess.Popen(
            [menura, "run", folder / "rig.toml", "--truth", self.truth, "--report", self.report, *more],
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        # A check that fails ends the run as well.
        atexit.register(self.process.kill)
        self.url = starts(self.process, r"Foxglove: (ws://\S+)")[1]

    def resident_mb(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1000

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        _, text = self.process.communicate(timeout=60)
        return self.process.returncode, text


class Ear:
    """A client that subscribes to everything and keeps it."""

    def __init__(self, url, protocol):
        self.client = WebSocketBridgeClient(url, subprotocol=protocol, max_message_size=1 << 26)
        self.channels, self.messages, self.statuses = {}, collections.defaultdict(list), []
        self.client.on_advertised_channel(self.advertised)
        self.client.on_message(self.message)
        self.client.on_status(lambda level, text, _id: self.statuses.append((level, text)))

    async def advertised(self, channel):
        self.channels[channel["topic"]] = channel
        await self.client.subscribe(channel["topic"])

    def message(self, channel, log_time, data):
        self.messages[channel["topic"]].append((log_time, bytes(data)))

    async def hear(self, seconds, until=lambda: False):
        for _ in range(int(seconds / 0.05)):
            if until():
                return
            await asyncio.sleep(0.05)


def nonsense(url, ws_key="x"):
    """Clients that ought to have no effect: silent ones that subscribe to all, and ones that speak wrongly."""
    kept = []
    for number in range(3):
        silent = websocket.create_connection(url, subprotocols=["foxglove.sdk.v1"], timeout=10)
        wishes = [{"id": i, "channelId": i} for i in range(20)]
        silent.send(json.dumps({"op": "subscribe", "subscriptions": wishes}))
        kept.append(silent)
    wrong = websocket.create_connection(url, subprotocols=["foxglove.sdk.v1"], timeout=10)
    for text in ("", "{", "[" * 60_000, '{"op": "subscribe", "subscriptions": 3}', '{"op": "advertise"}'):
        wrong.send(text)
    wrong.send_binary(b"\x01" + bytes(1000))
    wrong.send_binary(bytes(70_000))
    kept.append(wrong)
    return kept


def refused(url, **how):
    try:
        websocket.create_connection(url, timeout=10, **how).close()
    except websocket.WebSocketBadStatusException as error:
        return error.status_code
    return None


async def live(run):
    """What a client hears, what another one hears beside clients that ought to have no effect, and more."""
    ear = Ear(run.url, "foxglove.websocket.v1")
    await asyncio.wait_for(ear.client.connect(), 60)
    await ear.hear(60, lambda: all(len(ear.messages[topic]) > 2 for topic in TOPICS if topic != "/log"))
    await ear.hear(120, lambda: len(ear.messages["/devices/gnss/fix"]) > 20)
    before_mb = run.resident_mb()
    bad = await asyncio.to_thread(nonsense, run.url)
    other = Ear(run.url, "foxglove.sdk.v1")
    await asyncio.wait_for(other.client.connect(), 60)
    await other.hear(5)
    await other.hear(60, lambda: len(other.messages["/devices/lidar/points"]) > 10)
    after_mb = run.resident_mb()
    await ear.client.unsubscribe("/devices/lidar/points")
    await ear.hear(1)
    count = len(ear.messages["/devices/lidar/points"])
    others = len(other.messages["/devices/lidar/points"])
    await other.hear(60, lambda: len(other.messages["/devices/lidar/points"]) >= others + 10)
    still = len(ear.messages["/devices/lidar/points"]) - count
    others = len(other.messages["/devices/lidar/points"]) - others
    for client in bad:
        client.close()
    for client in (ear, other):
        await asyncio.wait_for(client.client.disconnect(), 60)
    return ear, other, after_mb - before_mb, still, others


def check_schemas(ear):
    channels = {topic: channel["schemaName"] for topic, channel in ear.channels.items()}
    expect(channels == TOPICS, f"{len(channels)} channels")
    for topic, channel in ear.channels.items():
        if channel["encoding"] != "json":
            continue
        schema = json.loads(channel["schema"])
        expect(is_read_by_foxglove(schema), f"Foxglove reads the schema of {topic}")
        kind = jsonschema.validators.validator_for(schema)
        kind.check_schema(schema)
        validator = kind(schema)
        for _, data in ear.messages[topic]:
            value = json.loads(data)
            validator.validate(value)
            assert set(value) <= set(schema["properties"]), (topic, set(value) - set(schema["properties"]))


class Frames:
    """The tree of frames over time."""

    def __init__(self, messages):
        self.found = collections.defaultdict(list)
        for log_time, data in messages:
            for one in json.loads(data)["transforms"]:
                where = [one["translation"][axis] for axis in "xyz"]
                turn = [one["rotation"][axis] for axis in "xyzw"]
                self.found[one["child_frame_id"]].append((log_time, one["parent_frame_id"], where, turn))

    def spans(self, at):
        return all(rows[0][0] <= at <= rows[-1][0] for rows in self.found.values())

    def world_from(self, frame, at, points):
        while frame != "world":
            rows = self.found[frame]
            after = max(1, bisect.bisect_left(rows, at, key=lambda row: row[0]))
            (t0, parent, a, qa), (t1, _, b, qb) = rows[after - 1], rows[after]
            share = (at - t0) / (t1 - t0)
            # Frames turn by less than a degree from one message to the next.
            turn = np.array(qa) * (1 - share) + np.array(qb) * np.copysign(share, np.dot(qa, qb))
            points = room.rotate(turn[None] / np.linalg.norm(turn), points)
            points += np.array(a) * (1 - share) + np.array(b) * share
            frame = parent
        return points


def own_class(channel):
    """The class of a channel's messages by the description that the channel brings."""
    described = descriptor_pb2.FileDescriptorSet.FromString(base64.b64decode(channel["schema"]))
    pool = descriptor_pool.DescriptorPool()
    for file in described.file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(channel["schemaName"]))


def check_clouds(ear, topic):
    own = own_class(ear.channels[topic])
    frames, checked, points, off_m = Frames(ear.messages["/tf"]), 0, 0, []
    for log_time, data in ear.messages[topic]:
        cloud, again = PointCloud.FromString(data), own.FromString(data)
        assert cloud.SerializeToString() == data and again.SerializeToString() == data
        assert cloud.timestamp.seconds * 10**9 + cloud.timestamp.nanos == log_time
        kinds = {1: "u1", 3: "<u2", 7: "<f4"}
        layout = np.dtype({"names": [f.name for f in cloud.fields], "formats": [kinds[f.type] for f in cloud.fields],
                           "offsets": [f.offset for f in cloud.fields], "itemsize": cloud.point_stride})
        read = np.frombuffer(cloud.data, layout)
        # As text, a cloud's points would take most of this check's time.
        cloud.data = again.data = b""
        assert str(cloud) == str(again)
        assert read["laser"].max() < 16 and read["intensity"].max() > 0
        points += len(read)
        if not frames.spans(log_time):
            continue
        place = frames.world_from(cloud.frame_id, log_time, np.stack([read[a].astype(float) for a in "xyz"], 1))
        # Floor and ceiling are at 0 and at the room's height.
        half = np.array(SIZE_M) / 2
        wall = np.min(abs(abs(place[:, :2]) - half[:2]), axis=1)
        off_m.append(np.minimum.reduce([wall, abs(place[:, 2]), abs(place[:, 2] - SIZE_M[2])]))
        checked += 1
    off_m = np.concatenate(off_m)
    expect(checked > 10 and points > 100_000, f"{topic}: {checked} clouds, {points} points")
    expect(np.percentile(off_m, 99) < 0.12 and off_m.max() < 0.5,
           f"{topic}: from walls, floor and ceiling {np.percentile(off_m, 99):.3f} m (99 %), {off_m.max():.3f} m at most")


def check_camera(ear):
    channel = ear.channels["/devices/camera/image"]
    own = own_class(channel)
    frames, sizes, times = Frames(ear.messages["/tf"]), set(), []
    for log_time, data in ear.messages["/devices/camera/image"]:
        image, again = CompressedImage.FromString(data), own.FromString(data)
        assert image.SerializeToString() == data and str(image) == str(again)
        assert image.timestamp.seconds * 10**9 + image.timestamp.nanos == log_time and image.format == "jpeg"
        picture = Image.open(io.BytesIO(image.data))
        sizes.add(picture.size)
        assert np.asarray(picture).std() > 5
        times.append(log_time)
    expect(len(times) > 2 and times == sorted(set(times)) and sizes == {(320, 240)}, f"{len(times)} images of {sizes}")
    calibration = json.loads(ear.messages["/devices/camera/calibration"][-1][1])
    fx = 1920 / 2 / np.tan(np.radians(40))
    wanted = [fx, 0, 959.5, 0, fx, 599.5, 0, 0, 1]
    expect(np.allclose(calibration["K"], wanted) and calibration["distortion_model"] == "plumb_bob"
           and calibration["D"] == [-0.1, 0.01, 0.001, -0.001, 0.0], "the calibration is the rig's")
    at = next(at for at, _ in ear.messages["/devices/camera/image"] if frames.spans(at))
    axes = frames.world_from(calibration["frame_id"], at, np.vstack([np.zeros(3), np.eye(3)]))
    right, down, ahead = axes[1:] - axes[0]
    body = frames.world_from("device/camera", at, np.vstack([np.zeros(3), np.eye(3)]))
    forward, left, up = body[1:] - body[0]
    expect(np.allclose([right, down, ahead], [-left, -up, forward]), "its frame looks ahead, as images do")


def truth_of(path):
    """Messages of the truth by their topics, with their times; its schemas must be such as Foxglove reads."""
    messages = collections.defaultdict(list)
    with open(path, "rb") as file:
        reader = make_reader(file)
        for schema, channel, message in reader.iter_messages():
            if channel.message_encoding == "json":
                messages[channel.topic].append((message.log_time, json.loads(message.data)))
        for schema in reader.get_summary().schemas.values():
            if schema.encoding == "jsonschema":
                expect(is_read_by_foxglove(json.loads(schema.data)), f"Foxglove reads {schema.name} of the MCAP")
    return messages


def between(rows, at, value):
    """`value` of the truth at an instant; None outside it, and where a busy machine left some of it out."""
    after = bisect.bisect_left(rows, at, key=lambda row: row[0])
    if not 0 < after < len(rows):
        return None
    (t0, a), (t1, b) = rows[after - 1], rows[after]
    period = min(rows[i + 1][0] - rows[i][0] for i in range(min(len(rows) - 1, 20)))
    if t1 - t0 > 1.5 * period:
        return None
    share = (at - t0) / (t1 - t0)
    return value(a) * (1 - share) + value(b) * share


def check_against_truth(ear, truth):
    place = lambda m: np.array([m["pose"]["position"][axis] for axis in "xyz"])
    off_m = [np.linalg.norm(place(json.loads(data)) - there) for at, data in ear.messages["/robot/pose"]
             if (there := between(truth["/robot/pose"], at, place)) is not None]
    expect(len(off_m) > 50 and max(off_m) < 0.002, f"{len(off_m)} poses, {1e3 * max(off_m):.2f} mm from the truth at most")
    path = json.loads(ear.messages["/robot/path"][-1][1])["poses"]
    radius = [np.hypot(p["position"]["x"], p["position"]["y"]) for p in path]
    expect(len(path) > 20 and max(radius) - min(radius) < 4.01, f"a path of {len(path)} poses")

    where = lambda m: np.array([m["latitude"], m["longitude"]])
    off_m, first_m, rows = [], [], truth["/devices/gnss/fix"]
    for at, data in ear.messages["/devices/gnss/fix"]:
        fix = json.loads(data)
        if (there := between(rows, at, where)) is not None:
            north, east = (where(fix) - there) * 111_111.0
            is_settled = at > rows[0][0] + SETTLING_S * 10**9
            (off_m if is_settled else first_m).append(np.hypot(north, east * np.cos(np.radians(fix["latitude"]))))
    # A fix is sent some time after its epoch, in which the robot moves on.
    expect(len(off_m) > 10 and max(off_m) < 3, f"{len(off_m)} fixes, {max(off_m):.2f} m from the truth at most")
    expect(max(first_m, default=0) < 10, f"{len(first_m)} first ones, {max(first_m, default=0):.2f} m at most")

    force = lambda m: np.array(m["specific_force_m_s2"])
    off = []
    for at, data in ear.messages["/devices/imu/imu"]:
        told = json.loads(data)
        if "linear_acceleration" in told and (there := between(truth["/devices/imu/imu"], at, force)) is not None:
            off.append(np.linalg.norm([told["linear_acceleration"][a] for a in "xyz"] - there))
    expect(len(off) > 100 and np.median(off) < 0.5, f"{len(off)} accelerations, {np.median(off):.3f} m/s² from the truth (median)")

    status = json.loads(ear.messages["/devices/lidar/status"][-1][1])
    share = status["rate_hz"] / status["nominal_rate_hz"]
    expect(0 < share < 1.2 and status["points"] > 0, f"status: {100 * share:.1f} % of the lidar's rate")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--menura", default="target/release/menura")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        run = Run(arguments.menura, Path(name), "--foxglove", "127.0.0.1:0")
        ours = {"subprotocols": ["foxglove.sdk.v1"]}
        for text, told, how in (
                ("a page of another site", 403, {"origin": "http://evil.example", **ours}),
                ("another name of this machine", 403, {"host": "evil.example", **ours}),
                ("another protocol", 400, {"subprotocols": ["mqtt"]})):
            expect(refused(run.url, **how) == told, f"{text} is refused")
        expect(refused(run.url, origin="https://app.foxglove.dev", **ours) is None, "Foxglove's own page is not")

        ear, other, grown_mb, still, others = asyncio.run(live(run))
        expect(still == 0 < others, f"who unsubscribes hears no more; another one hears {others} clouds on")
        expect(grown_mb < 150, f"clients that read nothing take {grown_mb:.0f} MB")
        times = [at for at, _ in other.messages["/devices/lidar/points"]]
        expect(len(times) > 10 and times == sorted(times), f"beside them, another one hears {len(times)} clouds")
        expect(not other.statuses, f"and misses nothing {other.statuses[:3]}")
        code, text = run.stop()
        expect(code == 0, f"the run ends well {text if code else ''}")
        check_schemas(ear)
        for topic in ("/devices/lidar/points", "/devices/turning/points"):
            check_clouds(ear, topic)
        check_camera(ear)
        check_against_truth(ear, truth_of(run.truth))

    with tempfile.TemporaryDirectory() as name:
        run = Run(arguments.menura, Path(name), "--foxglove", "0.0.0.0:0")
        url = run.url.replace("0.0.0.0", "127.0.0.1")
        address, token = url.split("?")
        expect(re.fullmatch(r"token=\w{32}", token) is not None, "for others, a token is asked for")
        expect(refused(address, **ours) == 401, "who does not know it is refused")
        expect(refused(url, **ours) is None, "who knows it is not")
        expect(run.stop()[0] == 0, "the run ends well")


if __name__ == "__main__":
    main()
