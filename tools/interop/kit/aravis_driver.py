"""Aravis as a driver under test: a GigE Vision camera in, images as the kit's JSON out.

    menura test camera -- /usr/bin/python3 aravis_driver.py {sensor_ip}

Needs Debian's gir1.2-aravis-0.8 and python3-gi. Aravis asks for missing packets and counts lost images. The loop around it
does what Aravis leaves to programs: it looks for the camera again when that has no control any more or sends nothing.
"""
import json
import sys
import time

import gi

gi.require_version("Aravis", "0.8")
from gi.repository import Aravis, GLib  # noqa: E402

SILENT_S = 4.0
BUFFERS = 12


def tell(**event):
    print(json.dumps(event), flush=True)


def stream_from(address, lost_before):
    """Reports images until the camera is lost; how many have been lost so far."""
    camera = Aravis.Camera.new(address)
    camera.gv_set_stream_options(Aravis.GvStreamOption.PACKET_SOCKET_DISABLED)
    stream = camera.create_stream(None, None)
    for _ in range(BUFFERS):
        stream.push_buffer(Aravis.Buffer.new_allocate(camera.get_payload()))
    has_control = [True]
    device = camera.get_device()
    device.connect("control-lost", lambda *_: has_control.__setitem__(0, False))
    is_triggered = device.get_string_feature_value("TriggerMode") == "On"
    camera.start_acquisition()
    lost, latest = lost_before, time.monotonic()
    while has_control[0] and (is_triggered or time.monotonic() - latest < SILENT_S):
        buffer = stream.timeout_pop_buffer(200_000)
        if buffer is None:
            continue
        latest = time.monotonic()
        if buffer.get_status() == Aravis.BufferStatus.SUCCESS:
            data = buffer.get_data()
            lost = lost_before + stream.get_info_uint64_by_name("n_missing_frames")
            tell(event="frame", id=buffer.get_frame_id(), stamp_s=buffer.get_timestamp() / 1e9,
                 mean=round(sum(data) / len(data), 3), lost=lost)
        stream.push_buffer(buffer)
    tell(event="message", text="the camera is lost")
    return lost


def main():
    lost = 0
    tell(event="ready")
    while True:
        try:
            lost = stream_from(sys.argv[1], lost)
        except GLib.Error as error:
            tell(event="message", text=str(error))
            time.sleep(0.3)


main()
