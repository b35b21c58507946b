#!/usr/bin/env python3
"""Reads Menura's truth and exports with the tools of PyPI: mcap, velodyne-decoder, laspy, pypcd4, plyfile, NumPy.

A recording of a moving VLP-16 in a room is joined with its truth by examples/join_truth.py, which must find all points
that velodyne-decoder decodes; exports in all formats are read back and compared with `menura join`; points in the world's
frame lie on the room's walls. A lidar of each other family is recorded and exported in all formats, with and without labels.

Exit code 0 when all is well, 1 when a check fails.
"""

import argparse
import atexit
import json
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import laspy
import numpy as np
from mcap.reader import make_reader
from plyfile import PlyData
from pypcd4 import PointCloud

# Longest time that the live run may take.
PATIENCE_S = 120
RIG = """\
seed = 5
start_utc = 2026-05-01T12:00:00Z
[world]
scene = "room"
parameters = { size_m = [16.0, 12.0, 5.0] }
[world.labels]
"floor" = "ground"
"wall*" = "building"
[[world.object]]
name = "walker"
body = "person"
trajectory = { kind = "line", start_m = [-2.0, 2.5, 0.0], speed_m_s = 1.0 }
[robot]
trajectory = { kind = "circle", radius_m = 2.0, speed_m_s = 1.5 }
[[device]]
name = "lidar"
profile = "velodyne-vlp16-3.0"
mount = { translation_m = [0.2, 0.1, 1.0], roll_pitch_yaw_deg = [0.0, 0.0, 20.0] }
link = { udp = { to = "127.0.0.1:2368" } }
"""


# A lidar of each family: profile, link, settings, seconds.
TCP, PTY = '{ tcp = "127.0.0.1:2369" }', '{ pty = "truth-check" }'
UDP = '{ udp = { to = "127.0.0.1:2368" } }'
FAMILIES = [
    ("velodyne-vls128-5.1", UDP, 'return_mode = "dual"', 0.02),
    ("velodyne-hdl64e-s3", UDP, "", 0.05),
    ("ouster-os1-32-3.1", UDP, "", 0.1),
    ("hesai-pandar40p", UDP, 'return_mode = "last-strongest"', 0.05),
    ("livox-mid360", UDP, "", 0.05),
    ("robosense-helios", UDP, 'return_mode = "dual"', 0.05),
    ("robosense-m1", UDP, "", 0.02),
    ("sick-lms291-s14", PTY, 'baud_rate = 500000, power_on_mode = "continuous"', 0.5),
    ("sick-lms511", TCP, 'power_on_stream = "cola-b"', 0.5),
    ("hokuyo-utm30lx-ew", TCP, 'power_on_stream = "NE"', 0.5),
]


def read_cloud(path):
    """Positions of an exported cloud, and labels if it has them, by a reader that is not Menura's."""
    if path.suffix == ".npz":
        read = np.load(path)
        names = read.files
    elif path.suffix == ".pcd":
        cloud = PointCloud.from_path(path)
        names = cloud.fields
        read = {name: cloud.numpy((name,))[:, 0] for name in names}
    elif path.suffix == ".ply":
        read = PlyData.read(path)["vertex"]
        names = [part.name for part in read.properties]
    else:
        cloud = laspy.read(path)
        classes = np.asarray(cloud.classification).astype(int)
        # Unlabelled, and labels from 64 on.
        label = np.where(classes == 1, 0, classes - 64)
        return cloud.xyz, label if np.any(classes > 1) else None
    return np.stack([read[a] for a in "xyz"], 1), np.asarray(read["label"]) if "label" in names else None


def check_families(run, folder):
    """All families, formats, with labels and without."""
    for profile, link, settings, seconds in FAMILIES:
        out = folder / profile
        out.mkdir()
        head, device = RIG.split("[[device]]")
        rig = head + f"""[[device]]
name = "lidar"
profile = "{profile}"
mount = {{ translation_m = [0.2, 0.1, 1.0] }}
link = {link}
settings = {{ {settings} }}
"""
        (out / "rig.toml").write_text(rig)
        run("record", "--force", out / "rig.toml", "--duration", f"{seconds}s", "--out", out, "--truth")
        recording = next(file for file in (out / "lidar.pcap", out / "lidar.bin") if file.exists())
        run("join", recording, out / "truth.mcap", "--profile", profile, "--out", out / "joined.npz")
        joined = np.load(out / "joined.npz")
        x = np.stack([joined[a] for a in "xyz"], 1)
        for form in "npz", "pcd", "ply", "las":
            cloud = out / f"cloud.{form}"
            words = ["export", recording, "--profile", profile, "--to", form, "--out", cloud]
            run(*words)
            plain, none = read_cloud(cloud)
            run(*words, "--truth", out / "truth.mcap")
            told, label = read_cloud(cloud)
            same = len(x) == len(plain) == len(told) and np.allclose(plain, x, atol=1e-4)
            expect(same and np.allclose(told, x, atol=1e-4) and none is None
                   and np.array_equal(label, joined["label"]) and len(set(label)) > 1,
                   f"{profile} as {form}: {len(x)} points, with labels and without")


def expect(truth, text):
    print(("ok    " if truth else "WRONG ") + text)
    if not truth:
        sys.exit(1)


def check_live(menura, examples, folder):
    """Runs live, with poses as datagrams to the reader of the examples and the truth as a file, until Ctrl-C."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_port:
        any_port.bind(("127.0.0.1", 0))
        port = any_port.getsockname()[1]
    reader = subprocess.Popen([sys.executable, examples / "truth_plot.py", str(port), "--text"],
                              stdout=subprocess.PIPE, text=True)
    atexit.register(reader.kill)
    truth = folder / "live.mcap"
    run = subprocess.Popen([menura, "run", folder / "rig.toml", "--truth", truth, "--truth", f"udp:127.0.0.1:{port}"],
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    atexit.register(run.kill)
    watchdog = threading.Timer(PATIENCE_S, reader.kill)
    watchdog.start()
    rows = [reader.stdout.readline().split(maxsplit=2) for _ in range(300)]
    watchdog.cancel()
    run.send_signal(signal.SIGINT)
    said = run.communicate(timeout=PATIENCE_S)[1]
    reader.kill()
    reader.communicate()
    expect(run.returncode == 0, f"a run with truth ends well by Ctrl-C {said if run.returncode else ''}")
    with open(truth, "rb") as file:
        mcap = make_reader(file)
        poses = {m.log_time: json.loads(m.data)["pose"]["position"]
                 for _, _, m in mcap.iter_messages(topics=["/robot/pose"])}
        start = min(poses)
        expect(mcap.get_summary().statistics.message_count > 100, "its MCAP file is whole, with an index")
    robot = [(float(time_s), json.loads(place)) for time_s, name, place in rows if name == "robot"]
    walker = [row for row in rows if row[1] == "object/walker"]
    expect(len(robot) > 100 and len(walker) > 100, f"truth_plot.py reads {len(robot)} poses of the robot")
    times = np.array(sorted(poses))
    path = np.array([[poses[at][axis] for axis in "xyz"] for at in times])
    off_m = [np.linalg.norm([np.interp(time_s, (times - start) / 1e9, path[:, axis]) - place[axis] for axis in range(3)])
             for time_s, place in robot if time_s < (times[-1] - start) / 1e9]
    expect(len(off_m) > 50 and max(off_m) < 0.01, f"they are those of the file, to {1e3 * max(off_m):.1f} mm")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--menura", default="target/release/menura")
    arguments = parser.parse_args()
    examples = Path(__file__).resolve().parents[2] / "examples"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "rig.toml").write_text(RIG)
        run = lambda *words: subprocess.run(
            [arguments.menura, *map(str, words)], check=True, capture_output=True, text=True)
        run("record", "--force", folder / "rig.toml", "--duration", "0.3s", "--out", folder, "--truth")
        capture, truth = folder / "lidar.pcap", folder / "truth.mcap"

        with open(truth, "rb") as file:
            reader = make_reader(file)
            summary = reader.get_summary()
            topics = {channel.topic for channel in summary.channels.values()}
            names = next(json.loads(a.data) for a in reader.iter_attachments() if a.name == "names.json")
            poses = [json.loads(m.data) for _, _, m in reader.iter_messages(topics=["/robot/pose"])]
            times = [m.log_time for _, _, m in reader.iter_messages()]
        expect({"/tf", "/robot/pose", "/robot/motion", "/objects/walker", "/devices/lidar/packets"} <= topics,
               f"mcap reads {summary.statistics.message_count} messages of {len(topics)} topics")
        expect(times == sorted(times), "messages are in the order of time")
        radius = [np.hypot(p["pose"]["position"]["x"], p["pose"]["position"]["y"]) for p in poses]
        expect(len(poses) > 27 and max(radius) < 4.1, f"{len(poses)} poses of the robot")
        expect(names["labels"] == ["unlabelled", "ground", "building", "person"], f"labels {names['labels']}")

        joined = subprocess.run(
            [sys.executable, examples / "join_truth.py", capture, truth, "/devices/lidar/packets"],
            check=True, capture_output=True, text=True).stdout.splitlines()[-1].split()
        expect(joined[0] == joined[2] and int(joined[0]) > 75_000,
               f"velodyne-decoder: {joined[0]} of {joined[2]} points found")

        run("join", capture, truth, "--out", folder / "joined.npz")
        table = np.load(folder / "joined.npz")
        count = len(table["x"])
        expect(list(table["label_names"]) == names["labels"], f"npz of join: {count} points")
        # At an edge, echoes of two surfaces within a pulse's length are one.
        error_m = abs(table["range_m"] - table["true_range_m"])[table["why"] == 0]
        most_m = np.percentile(error_m, 99.9)
        expect(most_m < 0.06 and error_m.max() < 1.0,
               f"ranges of nearest surfaces are off by {most_m:.3f} m (99.9 %), {error_m.max():.3f} m at most")
        walker = table["label"] == 3
        expect(walker.sum() > 100 and np.all(table["object"][walker] == 0), f"{walker.sum()} points are the walker's")

        check_live(arguments.menura, examples, folder)
        check_families(run, folder)

        for frame in "sensor", "world":
            arrays = {}
            for form in "npz", "pcd", "ply", "las":
                out = folder / f"cloud.{form}"
                run("export", capture, "--to", form, "--out", out, "--truth", truth, "--frame", frame)
                x, label = read_cloud(out)
                arrays[form] = x, label
                expect(len(x) == count and np.allclose(x, arrays["npz"][0], atol=1e-4)
                       and np.array_equal(label, arrays["npz"][1]), f"{form} in the frame of the {frame}")
            if frame == "world":
                x, label = arrays["npz"]
                wall = label == 2
                off = np.minimum.reduce([abs(abs(x[:, 0]) - 8), abs(abs(x[:, 1]) - 6), abs(x[:, 2] - 5)])
                expect(np.percentile(off[wall], 99) < 0.15 and np.percentile(abs(x[label == 1, 2]), 99) < 0.15,
                       "points of walls and floor lie there in the world")


if __name__ == "__main__":
    main()
