#!/usr/bin/env python3
"""Checks the examples that are not rigs: launch files, the CI example, the senders of other simulators, the plugin for
Wireshark.

    target/venv/bin/python tools/interop/examples_check.py --menura target/release/menura
"""
import argparse
import ast
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib
import xml.etree.ElementTree

import yaml

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES / "feeds"))
import menura_feed  # noqa: E402  (its folder is the example's)

BENCH = tomllib.loads((EXAMPLES / "ros-bench.toml").read_text(encoding="utf-8"))


def addresses_of_bench():
    """The serial ports and the network ports at which the bench's sensors are."""
    serial, ports = set(), set()
    for device in BENCH["device"]:
        link = device["link"]
        if isinstance(link, str):
            kind, where = link.split(":", 1)
            serial.add(where) if kind == "pty" else ports.add(where.rsplit(":", 1)[1])
        elif "udp" in link:
            ports.add(link["udp"]["to"].rsplit(":", 1)[1])
        else:
            ports.update(address.rsplit(":", 1)[1] for address in link["tcp"])
    return serial, ports


def check_addresses(file, values):
    """Every serial port and network port that a launch file names is one of the bench's."""
    serial, ports = addresses_of_bench()
    named = [value for value in values if value.startswith("/tmp/menura")]
    assert named and set(named) <= serial, f"{file}: {named} are not all links of the bench"
    numbers = [value for value in values if re.fullmatch(r"2\d{3}", value)]
    assert numbers and set(numbers) <= ports, f"{file}: {numbers} are not all ports of the bench"


def check_ros1():
    file = EXAMPLES / "ros1/menura_bench.launch"
    root = xml.etree.ElementTree.parse(file).getroot()
    assert root.tag == "launch", file
    declared = {arg.get("name") for arg in root.findall("arg")}
    used = set(re.findall(r"\$\(arg (\w+)\)", file.read_text(encoding="utf-8")))
    assert used == declared, f"{file}: declared {declared}, used {used}"
    for node in root.iter("node"):
        assert all(node.get(key) for key in ("name", "pkg", "type")), f"{file}: {node.attrib}"
    check_addresses(file, [tag.get("value") for tag in root.iter() if tag.get("value")])


def check_ros2():
    file = EXAMPLES / "ros2/menura_bench.launch.py"
    tree = ast.parse(file.read_text(encoding="utf-8"), str(file))
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert "generate_launch_description" in functions, file
    check_addresses(file, [str(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant)])


def near(a, b):
    return all(math.isclose(x, y, abs_tol=1e-9) for x, y in zip(a, b, strict=True))


def turned(orientation, vector):
    """A body's vector in world coordinates."""
    product = menura_feed.multiply(orientation, (*vector, 0.0))
    return menura_feed.multiply(product, menura_feed.conjugate(orientation))[:3]


def check_feeds():
    """Unreal: y to the right; pitch lifts the nose, yaw turns right, roll lowers the right side."""
    position, orientation = menura_feed.from_carla((1.0, 2.0, 3.0), 0.0, 90.0, 0.0)
    assert near(position, (1.0, -2.0, 3.0)) and near(turned(orientation, (1.0, 0.0, 0.0)), (0.0, -1.0, 0.0))
    half, root = 0.5, math.sqrt(0.75)
    _, orientation = menura_feed.from_carla((0.0, 0.0, 0.0), 30.0, 0.0, 0.0)
    assert near(turned(orientation, (1.0, 0.0, 0.0)), (root, 0.0, half))
    _, orientation = menura_feed.from_carla((0.0, 0.0, 0.0), 0.0, 0.0, 30.0)
    assert near(turned(orientation, (0.0, -1.0, 0.0)), (0.0, -root, -half))
    # All three at once, against Unreal's own matrix (FRotationMatrix, first row: where the nose points).
    pitch, yaw = math.radians(20.0), math.radians(-50.0)
    nose = (math.cos(pitch) * math.cos(yaw), math.cos(pitch) * math.sin(yaw), math.sin(pitch))
    _, orientation = menura_feed.from_carla((0.0, 0.0, 0.0), 20.0, -50.0, 70.0)
    assert near(turned(orientation, (1.0, 0.0, 0.0)), (nose[0], -nose[1], nose[2]))
    # A circle of 5 m at 2 m/s: its twist is 2 m/s ahead and 0.4 rad/s to the left.
    def pose(seconds):
        angle = 0.4 * seconds
        orientation = menura_feed.from_roll_pitch_yaw(0.0, 0.0, angle + math.pi / 2)
        return round(seconds * 1e9), (5.0 * math.cos(angle), 5.0 * math.sin(angle), 0.0), orientation
    velocity, rate = menura_feed.twist(pose(10.0), pose(10.001))
    assert math.dist(velocity, (2.0, 0.0, 0.0)) < 1e-3, velocity
    assert math.dist(rate, (0.0, 0.0, 0.4)) < 1e-6, rate
    for script in ("carla_feed.py", "gazebo_feed.py", "isaac_feed.py"):
        path = EXAMPLES / "feeds" / script
        ast.parse(path.read_text(encoding="utf-8"), str(path))


def check_ci(menura):
    """The test passes with the sensor as it is, and fails where there is none."""
    workflow = yaml.safe_load((EXAMPLES / "ci/github-actions.yml").read_text(encoding="utf-8"))
    steps = [step.get("run", "") for job in workflow["jobs"].values() for step in job["steps"]]
    assert any("examples/ci/driver_test.py" in step for step in steps), steps
    test = [sys.executable, str(EXAMPLES / "ci/driver_test.py"), "--menura"]
    good = subprocess.run([*test, menura], capture_output=True, text=True, timeout=120)
    assert good.returncode == 0, good.stdout + good.stderr
    assert "10 rotations, whole and in place" in good.stdout, good.stdout
    none = subprocess.run([*test, "false"], capture_output=True, text=True, timeout=120)
    assert none.returncode != 0, none.stdout


def check_wireshark(menura):
    plugin = f"lua_script:{EXAMPLES / 'wireshark/menura.lua'}"
    with tempfile.TemporaryDirectory() as folder:
        rig = EXAMPLES / "ros-bench.toml"
        subprocess.run([menura, "record", "--force", rig, "--duration", "1100ms", "--out", folder], check=True,
                       capture_output=True)
        shown = subprocess.run(
            ["tshark", "-r", f"{folder}/roof-lidar.pcap", "-X", plugin, "-T", "fields", "-e", "frame.len",
             "-e", "velodyne.azimuth_deg", "-e", "velodyne.returns", "-e", "velodyne.mode", "-e", "velodyne.product",
             "-e", "velodyne_position.time_s"],
            check=True, capture_output=True, text=True).stdout.splitlines()
    data = [line.split("\t") for line in shown if line.startswith("1248\t")]
    positions = [line.split("\t") for line in shown if line.startswith("554\t")]
    assert len(data) > 700 and len(positions) > 50, (len(data), len(positions))
    for _, azimuth, returns, mode, product, _ in data:
        assert 0.0 <= float(azimuth) < 360.0 and 0 <= int(returns) <= 384, (azimuth, returns)
        assert (mode, product) == ("0x37", "0x22"), (mode, product)
    assert any(int(row[2]) > 0 for row in data)
    assert all(0.0 <= float(row[5]) < 3600.0 for row in positions)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--menura", required=True)
    menura = str(pathlib.Path(parser.parse_args().menura).resolve())
    for name, check in [("ROS 1 launch file", check_ros1), ("ROS 2 launch file", check_ros2),
                        ("senders of poses", check_feeds), ("CI example", lambda: check_ci(menura)),
                        ("Wireshark plugin", lambda: check_wireshark(menura))]:
        check()
        print(f"{name}: ok")


if __name__ == "__main__":
    main()
