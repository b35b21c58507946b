#!/usr/bin/env python3
"""Real clients talk to emulated IMUs over pseudo-terminals.

- VectorNav VN-100: the PyPI package vectornav-vn200 (registers, errors, pausing the output).
- MicroStrain 3DM-GX5-25: pymscl, the maker's own library (identity, message format, streams; then what
  the maker's AHRS example does: gyro bias, sensor-to-vehicle rotation, heading source,
  auto-initialisation, reset of the filter).

The units make no errors; the robot drives a circle of known radius and speed, so that every
number read has a known value. The other units' conversations are tests/dialogues/imu.

What is measured with this machine's clock is measured again while the machine gives this process no
processor.
"""

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time

from receiving import Judged, Watch, repeated, stop_process

LATITUDE_DEG = 33.4712
ALTITUDE_M = 92.0
RADIUS_M = 4.0
SPEED_M_S = 1.0
TURN_RAD_S = SPEED_M_S / RADIUS_M
STANDARD_GRAVITY = 9.80665

RIG = """
seed = 3
start_utc = 2026-06-01T12:00:00Z
origin = {{ latitude_deg = {latitude}, longitude_deg = -88.7933, altitude_m = {altitude} }}
[world]
scene = "room"
[robot]
trajectory = {{ kind = "circle", radius_m = {radius}, speed_m_s = {speed} }}
[[device]]
name = "vn100"
profile = "vectornav-vn100"
link = {{ pty = "{folder}/vn100" }}
settings = {{ errors = "none" }}
[[device]]
name = "gx5"
profile = "microstrain-3dmgx5"
link = {{ pty = "{folder}/gx5" }}
settings = {{ errors = "none" }}
"""


def gravity():
    """Somigliana's formula with the height's first order, m/s²."""
    s2 = math.sin(math.radians(LATITUDE_DEG)) ** 2
    on_ellipsoid = 9.7803253359 * (1 + 0.00193185265241 * s2) / math.sqrt(1 - 0.00669437999014 * s2)
    return on_ellipsoid - 3.086e-6 * ALTITUDE_M


# Forward, right, down: the centre of the circle is to the left, down is up for a specific force.
FORCE = [0.0, -SPEED_M_S * TURN_RAD_S, -gravity()]
RATE = [0.0, 0.0, -TURN_RAD_S]

faults = []


def is_within(found, wanted, limit):
    pairs = zip(found, wanted) if isinstance(wanted, (list, tuple)) else [(found, wanted)]
    return all(abs(a - b) <= limit if limit else a == b for a, b in pairs)


def check_timed(what, measure, wanted, limit):
    """Checks what `measure()` finds, which depends on when this process runs."""
    def attempt():
        with Watch() as watch:
            found = measure()
        return Judged(found, is_within(found, wanted, limit), watch.excuse())

    check(what, repeated(what, attempt), wanted, limit)


def check(what, found, wanted, limit=0.0):
    good = is_within(found, wanted, limit)
    print(f"  {'ok ' if good else 'BAD'} {what}: {found}")
    if not good:
        faults.append(f"{what}: {found}, wanted {wanted} within {limit}")


def vectornav(path):
    from vectornav import VN200, VN200Error

    print("VN-100 and vectornav-vn200")
    with VN200(path) as unit:
        check("model", unit._read_register(1), ["VN-100T-CR"])
        readings = []

        def take_s():
            start = time.monotonic()
            readings.extend(unit._read_register(27) for _ in range(20))
            return time.monotonic() - start

        check_timed("20 answers took, s", take_s, 0.5, 0.5)
        values = [float(text) for text in readings[-1]]
        check("specific force", values[6:9], FORCE, 0.0015)
        check("angular rate", values[9:12], RATE, 2e-6)
        check("level", values[1:3], [0.0, 0.0], 0.001)

        def turn_deg_s():
            yaw, at = float(unit._read_register(8)[0]), time.monotonic()
            time.sleep(2.0)
            turned = (float(unit._read_register(8)[0]) - yaw + 540.0) % 360.0 - 180.0
            return turned / (time.monotonic() - at)

        # Outputs come every 25 ms, the host is late by some.
        check_timed("turn, deg/s", turn_deg_s, -math.degrees(TURN_RAD_S), 0.6)
        try:
            unit._read_register(99)
            check("an unknown register", "answered", "refused")
        except VN200Error as error:
            check("an unknown register", error.code, 8)


def open_unit(path):
    """The unit at a pseudo-terminal. Its answers may be late beside other checks, which says nothing about its protocol."""
    import mscl

    unit = mscl.InertialNode(mscl.Connection.Serial(path, 115200))
    unit.timeout(3000)
    return unit


def mscl_check(path):
    import mscl

    print("3DM-GX5-25 and MSCL")
    unit = open_unit(path)
    check("ping", unit.ping(), True)
    identity = [unit.modelName(), unit.modelNumber(), unit.serialNumber(), str(unit.firmwareVersion())]
    check("identity", identity, ["3DM-GX5-25", "6253-4220", "6253.00001", "1.1.26"])
    unit.setToIdle()
    wanted = mscl.MipChannels()
    for field in [
        mscl.MipTypes.CH_FIELD_SENSOR_SCALED_ACCEL_VEC,
        mscl.MipTypes.CH_FIELD_SENSOR_SCALED_GYRO_VEC,
        mscl.MipTypes.CH_FIELD_SENSOR_DELTA_THETA_VEC,
    ]:
        wanted.append(mscl.MipChannel(field, mscl.SampleRate.Hertz(50)))
    ahrs = mscl.MipTypes.CLASS_AHRS_IMU
    unit.setActiveChannelFields(ahrs, wanted)
    active = [c.sampleRate().prettyStr() for c in unit.getActiveChannelFields(ahrs)]
    check("active fields", active, ["50Hz"] * 3)
    unit.enableDataStream(ahrs)
    unit.enableDataStream(mscl.MipTypes.CLASS_ESTFILTER, False)
    unit.resume()
    packets = []

    def count_in_3_s():
        packets.clear()
        unit.getDataPackets(0)
        start = time.monotonic()
        while time.monotonic() - start < 3.0:
            packets.extend(p for p in unit.getDataPackets(100) if p.descriptorSet() == 0x80)
        return len(packets)

    check_timed("packets in 3 s", count_in_3_s, 150, 8)
    values = {point.channelName(): point.as_float() for point in packets[-1].data()}
    force = [values[f"scaledAccel{axis}"] * STANDARD_GRAVITY for axis in "XYZ"]
    check("specific force", force, FORCE, 1e-4)
    check("angular rate", [values[f"scaledGyro{axis}"] for axis in "XYZ"], RATE, 1e-6)
    turned = [values[f"deltaTheta{axis}"] for axis in "XYZ"]
    check("angle in 20 ms", turned, [x * 0.02 for x in RATE], 1e-6)


def ahrs_example(path):
    """The calls of the maker's AHRS example for the 5 series, and what they change."""
    import mscl

    print("3DM-GX5-25 and MSCL, the AHRS example")
    unit = open_unit(path)
    unit.setToIdle()
    unit.loadFactoryDefaultSettings()
    unit.setToIdle()
    start = time.monotonic()
    bias = unit.captureGyroBias(2000)
    check("capture took, s", time.monotonic() - start, 2.1, 0.5)
    # The robot turns evenly, so that its rate is what a unit at rest would take for bias.
    found = [bias.x(), bias.y(), bias.z()]
    check("captured bias", found, RATE, 1e-5)
    stored = unit.getGyroBias()
    check("stored bias", [stored.x(), stored.y(), stored.z()], found, 1e-9)
    filter_class = mscl.MipTypes.CLASS_ESTFILTER
    check("base rate of the filter", unit.getDataRateBase(filter_class), 500)
    wanted = mscl.MipChannels()
    for field in [
        mscl.MipTypes.CH_FIELD_ESTFILTER_FILTER_STATUS,
        mscl.MipTypes.CH_FIELD_ESTFILTER_ESTIMATED_ORIENT_EULER,
    ]:
        wanted.append(mscl.MipChannel(field, mscl.SampleRate.Hertz(50)))
    unit.setActiveChannelFields(filter_class, wanted)
    sensor_class = mscl.MipTypes.CLASS_AHRS_IMU
    wanted = mscl.MipChannels()
    for field in [
        mscl.MipTypes.CH_FIELD_SENSOR_SCALED_ACCEL_VEC,
        mscl.MipTypes.CH_FIELD_SENSOR_SCALED_GYRO_VEC,
    ]:
        wanted.append(mscl.MipChannel(field, mscl.SampleRate.Hertz(50)))
    unit.setActiveChannelFields(sensor_class, wanted)
    # The vehicle's forward is the sensor's right.
    quarter = math.pi / 2
    unit.setSensorToVehicleRotation_eulerAngles(mscl.EulerAngles(0.0, 0.0, quarter))
    angles = unit.getSensorToVehicleRotation_eulerAngles()
    check("rotation", [angles.roll(), angles.pitch(), angles.yaw()], [0.0, 0.0, quarter], 1e-6)
    source = mscl.HeadingUpdateOptions()
    source.useInternalMagnetometer = True
    unit.setHeadingUpdateControl(source)
    check("heading source", unit.getHeadingUpdateControl().useInternalMagnetometer, True)
    unit.setAutoInitialization(True)
    check("automatic start", unit.getAutoInitialization(), True)
    unit.resetFilter()
    unit.enableDataStream(sensor_class)
    unit.enableDataStream(filter_class)
    unit.resume()
    unit.getDataPackets(0)
    start = time.monotonic()
    states, values = [], {}
    while time.monotonic() - start < 3.0:
        for packet in unit.getDataPackets(100):
            for point in packet.data():
                if point.channelName() == "estFilterState":
                    states.append(point.as_uint16())
                elif packet.descriptorSet() == 0x80:
                    values[point.channelName()] = point.as_float()
    check("the filter initialises, then runs", [states[0], states[-1]], [1, 2])
    force = [values[f"scaledAccel{axis}"] * STANDARD_GRAVITY for axis in "XYZ"]
    check("specific force of the vehicle", force, [FORCE[1], -FORCE[0], FORCE[2]], 1e-4)
    check("rate without bias", [values[f"scaledGyro{axis}"] for axis in "XYZ"], [0.0] * 3, 1e-5)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--menura", default="target/release/menura", help="the binary")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rig = os.path.join(folder, "rig.toml")
        with open(rig, "w") as file:
            file.write(
                RIG.format(
                    latitude=LATITUDE_DEG,
                    altitude=ALTITUDE_M,
                    radius=RADIUS_M,
                    speed=SPEED_M_S,
                    folder=folder,
                )
            )
        run = subprocess.Popen(
            [arguments.menura, "run", rig, "--duration", "120s"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            paths = [os.path.join(folder, name) for name in ["vn100", "gx5"]]
            deadline = time.monotonic() + 30.0
            while not all(os.path.exists(path) for path in paths):
                if time.monotonic() > deadline or run.poll() is not None:
                    sys.exit("the units did not come up")
                time.sleep(0.05)
            vectornav(paths[0])
            mscl_check(paths[1])
            ahrs_example(paths[1])
        finally:
            stop_process(run)
    if faults:
        sys.exit("\n".join(faults))
    print("all as expected")


if __name__ == "__main__":
    main()
