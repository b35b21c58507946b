#!/usr/bin/python3
"""Reads cameras of Menura's by Aravis, for camera_check.py.

Runs with Debian's Python, which alone has the bindings (python3-gi, gir1.2-aravis-0.8). The argument names the part:
`cases`, `scene FILE`, `loss`. Exit code 1 when something is wrong.
"""

import json
import struct
import sys
import time

import gi

gi.require_version("Aravis", "0.8")
from gi.repository import Aravis, GLib  # noqa: E402

WIDTH, HEIGHT, WAIT_US = 160, 120, 5_000_000
# Bits of a pixel, and how the ramp's brightness of 8 bits stands in them.
FORMATS = {"Mono8": (8, 0), "BayerRG8": (8, 0), "RGB8": (24, 0), "Mono16": (16, 8), "Mono12": (16, 4), "BayerRG12p": (12, 4)}
faults = []


def check(what, is_so, found=""):
    print(f"{'ok    ' if is_so else 'FAILED'} {what}{'' if is_so else f': {found}'}", flush=True)
    if not is_so:
        faults.append(what)


def refuses(what, act, status):
    try:
        act()
        check(what, False, "it is accepted")
    except GLib.Error as error:
        check(what, status in str(error), str(error))


def row_of(name):
    _, shift = FORMATS[name]
    if name == "RGB8":
        return b"".join(bytes([column] * 3) for column in range(WIDTH))
    if name == "BayerRG12p":
        pairs = ((2 * pair << shift) | (2 * pair + 1 << shift) << 12 for pair in range(WIDTH // 2))
        return b"".join(pair.to_bytes(3, "little") for pair in pairs)
    size = FORMATS[name][0] // 8
    return b"".join((column << shift).to_bytes(size, "little") for column in range(WIDTH))


def is_ramp(name, data):
    row, size = row_of(name), len(row_of(name))
    # Colours at the left and right edge are means of fewer pixels of the mosaic.
    edge = 0 if name.startswith("Bayer") else FORMATS[name][0] // 8
    rows = [data[start:start + size] for start in range(0, len(data), size)]
    return len(rows) == HEIGHT and all(one[edge:size - edge] == row[edge:size - edge] for one in rows)


def stream_of(camera, buffers=12):
    stream = camera.create_stream(None, None)
    for _ in range(buffers):
        stream.push_buffer(Aravis.Buffer.new_allocate(camera.get_payload()))
    return stream


def images(stream, count):
    """Up to `count` whole images."""
    whole = 0
    ends = time.monotonic() + 60
    while whole < count and time.monotonic() < ends:
        buffer = stream.timeout_pop_buffer(WAIT_US)
        if buffer is None:
            return
        if buffer.get_status() == Aravis.BufferStatus.SUCCESS:
            whole += 1
            yield buffer
        stream.push_buffer(buffer)


def taken(camera, count):
    stream = stream_of(camera)
    camera.start_acquisition()
    found = [(buffer.get_data(), buffer.get_timestamp(), buffer.get_frame_id()) for buffer in images(stream, count)]
    camera.stop_acquisition()
    return found


def formats(camera, device):
    device.set_string_feature_value("TestPattern", "GreyHorizontalRamp")
    for name, (bits, _) in FORMATS.items():
        camera.set_pixel_format_from_string(name)
        payload = camera.get_payload()
        check(f"{name}: payload", payload == WIDTH * HEIGHT * bits // 8, payload)
        found = taken(camera, 3)
        check(f"{name}: three images as the pattern says", len(found) == 3 and all(is_ramp(name, data) for data, *_ in found),
              len(found))
    camera.set_pixel_format_from_string("Mono8")


def triggers(camera, device):
    camera.set_trigger("Software")
    stream = stream_of(camera)
    camera.start_acquisition()
    brought = 0
    for _ in range(5):
        camera.software_trigger()
        brought += len(list(images(stream, 1)))
    check("five software triggers bring five images", brought == 5, brought)
    check("no image without a trigger", stream.timeout_pop_buffer(500_000) is None)
    camera.stop_acquisition()
    camera.clear_triggers()
    check("triggers are off again", device.get_string_feature_value("TriggerMode") == "Off")


def chunks(camera, device):
    parser = camera.create_chunk_parser()
    camera.set_chunks("FrameID,Timestamp,ExposureTime,Gain")
    device.set_float_feature_value("ExposureTime", 1234.0)
    device.set_float_feature_value("Gain", 3.0)
    stream = stream_of(camera)
    camera.start_acquisition()
    count = 0
    for buffer in images(stream, 3):
        count += 1
        found = (parser.get_integer_value(buffer, "ChunkFrameID"), parser.get_integer_value(buffer, "ChunkTimestamp"),
                 parser.get_float_value(buffer, "ChunkExposureTime"), parser.get_float_value(buffer, "ChunkGain"))
        wanted = (buffer.get_frame_id(), buffer.get_timestamp(), 1234.0, 3.0)
        check("chunks agree with the leader and the features", found == wanted, (found, wanted))
        image = buffer.get_image_data()[:WIDTH * HEIGHT]
        check("the image is before its chunks", is_ramp("Mono8", image))
    check("three images with chunks", count == 3, count)
    camera.stop_acquisition()
    camera.set_chunk_mode(False)
    check("the payload is the image alone again", camera.get_payload() == WIDTH * HEIGHT)


def cases():
    """What arv-test tests, and more."""
    camera = Aravis.Camera.new("Menura-0001")
    device = camera.get_device()
    check("sensor size", tuple(camera.get_sensor_size()) == (1920, 1200), tuple(camera.get_sensor_size()))
    camera.set_region(0, 0, WIDTH, HEIGHT)
    region = camera.get_region()
    check("region", tuple(region) == (0, 0, WIDTH, HEIGHT), tuple(region))
    limits(camera, "the whole sensor", 1920, 1200)
    for value in (1.0, 12.5):
        camera.set_gain(value)
        check(f"gain {value}", camera.get_gain() == value, camera.get_gain())
    for value in (100.0, 5000.0):
        camera.set_exposure_time(value)
        check(f"exposure {value}", camera.get_exposure_time() == value, camera.get_exposure_time())
    camera.set_gain(0.0)
    formats(camera, device)
    for rate_hz in (10.0, 5.0):
        camera.set_frame_rate(rate_hz)
        found = taken(camera, 6)
        # On a busy machine, frames are left out: ids count them.
        gaps = [(later[1] - earlier[1]) / (later[2] - earlier[2]) for earlier, later in zip(found, found[1:])]
        check(f"{rate_hz} Hz: stamps are that far apart", gaps.count(round(1e9 / rate_hz)) >= 4, gaps)
    camera.set_acquisition_mode(Aravis.AcquisitionMode.SINGLE_FRAME)
    stream = stream_of(camera)
    camera.start_acquisition()
    first, second = stream.timeout_pop_buffer(WAIT_US), stream.timeout_pop_buffer(500_000)
    check("a single frame, and no second", first is not None and second is None)
    camera.stop_acquisition()
    camera.set_acquisition_mode(Aravis.AcquisitionMode.CONTINUOUS)
    triggers(camera, device)
    chunks(camera, device)
    device.set_string_feature_value("GevGVSPExtendedIDMode", "On")
    found = taken(camera, 3)
    check("64-bit ids: images as the pattern says", len(found) == 3 and all(is_ramp("Mono8", data) for data, *_ in found))
    device.set_string_feature_value("GevGVSPExtendedIDMode", "Off")
    # A stream closes the channel when it goes, so that the old one must go before the new one comes.
    stream = None
    stream = stream_of(camera)
    camera.start_acquisition()
    refuses("the width does not change while images come", lambda: device.set_integer_feature_value("Width", 320), "busy")
    for exposure_us in (500.0, 2000.0, 8000.0):
        device.set_float_feature_value("ExposureTime", exposure_us)
        check(f"images go on with an exposure of {exposure_us} us", len(list(images(stream, 2))) == 2)
    camera.stop_acquisition()
    binning(camera, device)
    user_sets(camera, device)
    lines(device)
    refuses("a second host does not control", lambda: Aravis.Camera.new("Menura-0001").set_region(0, 0, 64, 64), "access")


def limits(camera, what, width, height):
    """Sizes and offsets limit each other."""
    camera.set_region(0, 0, WIDTH, HEIGHT)
    found = [tuple(camera.get_x_offset_bounds()), tuple(camera.get_y_offset_bounds())]
    check(f"{what}: the largest offsets follow the size", found == [(0, width - WIDTH), (0, height - HEIGHT)], found)
    camera.set_region(width - WIDTH, height - HEIGHT, WIDTH, HEIGHT)
    found = tuple(camera.get_region())
    check(f"{what}: the image is in the corner", found == (width - WIDTH, height - HEIGHT, WIDTH, HEIGHT), found)
    found = [camera.get_width_bounds()[1], camera.get_height_bounds()[1]]
    check(f"{what}: the largest size follows the offsets", found == [WIDTH, HEIGHT], found)
    camera.set_region(0, 0, WIDTH, HEIGHT)


def binning(camera, device):
    camera.set_binning(2, 2)
    largest = [device.get_integer_feature_value(name) for name in ("WidthMax", "HeightMax", "Width", "Height")]
    check("binning halves the image", largest == [960, 600, 960, 600], largest)
    limits(camera, "binning", 960, 600)
    camera.set_binning(1, 1)
    camera.set_region(0, 0, WIDTH, HEIGHT)


def user_sets(camera, device):
    device.set_string_feature_value("UserSetSelector", "UserSet1")
    device.set_float_feature_value("ExposureTime", 777.0)
    device.execute_command("UserSetSave")
    device.set_float_feature_value("ExposureTime", 100.0)
    device.execute_command("UserSetLoad")
    exposure_us = device.get_float_feature_value("ExposureTime")
    check("a user set keeps the exposure", exposure_us == 777.0, exposure_us)
    device.set_string_feature_value("UserSetSelector", "Default")
    device.execute_command("UserSetLoad")
    camera.set_region(0, 0, WIDTH, HEIGHT)


def lines(device):
    for name, mode in (("Line1", "Input"), ("Line2", "Output")):
        device.set_string_feature_value("LineSelector", name)
        found = device.get_string_feature_value("LineMode")
        check(f"{name} is an {mode.lower()}", found == mode, found)
    before = device.get_boolean_feature_value("LineStatus")
    device.set_boolean_feature_value("LineInverter", True)
    check("an inverted line has the other level", device.get_boolean_feature_value("LineStatus") != before)
    device.set_boolean_feature_value("LineInverter", False)


def scene(file):
    """Writes images of the world with their stamps, as many as the file has room for: 8 bytes and the image each."""
    camera = Aravis.Camera.new("Menura-0003")
    stream = stream_of(camera)
    camera.start_acquisition()
    with open(file, "wb") as out:
        for buffer in images(stream, 8):
            out.write(struct.pack(">QI", buffer.get_timestamp(), len(buffer.get_data())) + bytes(buffer.get_data()))
    camera.stop_acquisition()


def loss():
    lossy = Aravis.Camera.new("Menura-0002")
    lossy.set_region(0, 0, WIDTH, HEIGHT)
    lossy.get_device().set_string_feature_value("TestPattern", "GreyHorizontalRamp")
    lossy.gv_set_packet_size(576)
    stream = stream_of(lossy, 30)
    lossy.start_acquisition()
    statuses = []
    while len(statuses) < 30:
        buffer = stream.timeout_pop_buffer(WAIT_US)
        if buffer is None:
            break
        statuses.append((buffer.get_status(), buffer.get_data()))
    lossy.stop_acquisition()
    whole = [data for status, data in statuses if status == Aravis.BufferStatus.SUCCESS]
    resent = stream.get_info_uint64_by_name("n_resent_packets")
    print(f"       {len(whole)} of {len(statuses)} images are whole, {resent} packets were sent again")
    # One of twenty packets is lost, and an image has 36: without resending, one image of six would be whole.
    check("images are whole because packets are sent again", len(whole) >= 24 and resent > 0)
    check("they are as the pattern says", all(is_ramp("Mono8", data) for data in whole))


def main():
    {"cases": cases, "scene": lambda: scene(sys.argv[2]), "loss": loss}[sys.argv[1]]()
    print(json.dumps({"faults": faults}))
    sys.exit(1 if faults else 0)


main()
