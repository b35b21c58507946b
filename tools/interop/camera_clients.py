"""Reads a camera of Menura's by three clients that are independent of Aravis, for camera_check.py.

- `genicam`: GenApi of the GenICam standard (EMVA's binding) reads the camera's description, and every feature by it.
- `viva-genicam`: finds the camera, controls it, streams with chunks, sends an action.
- `pygigevision`: controls the camera by registers and streams.

`harvesters` is not run: it needs a GenTL producer, and no public one speaks GigE Vision.
"""

import socket
import struct
import sys
import time

import numpy
import viva_genicam
from genicam.genapi import AbstractPort, EAccessMode, EInterfaceType, NodeMap
from pyGigEVision import GVCPClient, GVSPReceiver

ADDRESS, HOST = "127.0.0.1", "127.0.0.1"
WIDTH, HEIGHT = 160, 120
MONO8 = 0x01080001
faults = []


def check(what, is_so, found=""):
    print(f"{'ok    ' if is_so else 'FAILED'} {what}{'' if is_so else f': {found}'}", flush=True)
    if not is_so:
        faults.append(what)


class Port(AbstractPort):
    """Registers of the camera by READMEM and WRITEMEM."""

    def __init__(self):
        super().__init__()
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.settimeout(2.0)
        self.number = 0

    def ask(self, code, payload):
        self.number = self.number % 0xffff + 1
        command = struct.pack(">BBHHH", 0x42, 1, code, len(payload), self.number) + payload
        for _ in range(5):
            self.socket.sendto(command, (ADDRESS, 3956))
            answer = self.socket.recv(2048)
            while answer[2:4] == b"\x00\x89":
                answer = self.socket.recv(2048)
            status, _, _, number = struct.unpack(">HHHH", answer[:8])
            if number == self.number:
                if status:
                    raise OSError(f"status {status:#06x}")
                return answer[8:]
        raise OSError("no answer")

    def read(self, address, buffer):
        length = buffer if isinstance(buffer, int) else len(buffer)
        data = b""
        while len(data) < length:
            part = min(512, -(-(length - len(data)) // 4) * 4)
            data += self.ask(0x84, struct.pack(">IHH", address + len(data), 0, part))[4:]
        return data[:length]

    def write(self, address, buffer):
        self.ask(0x86, struct.pack(">I", address) + bytes(buffer))

    def get_access_mode(self):
        return EAccessMode.RW

    def open(self):
        pass

    def close(self):
        pass

    def is_open(self):
        return True


def genapi():
    port = Port()
    _, address, length = bytes(port.read(0x200, 512)).split(b"\0")[0].decode().removeprefix("Local:").split(";")
    description = bytes(port.read(int(address, 16), int(length, 16))).decode()
    nodes = NodeMap()
    nodes.load_xml_from_string(description)
    nodes.connect(port, "Device")
    port.ask(0x82, struct.pack(">II", 0x0a00, 2))
    unread, count = [], 0
    values = (EInterfaceType.intfIInteger, EInterfaceType.intfIFloat, EInterfaceType.intfIBoolean,
              EInterfaceType.intfIEnumeration, EInterfaceType.intfIString)
    for name in [node.node.name for node in nodes.nodes]:
        node = nodes.get_node(name)
        if node.node.principal_interface_type not in values or node.node.get_access_mode() not in (EAccessMode.RO, EAccessMode.RW):
            continue
        try:
            node.to_string()
            count += 1
        except Exception as error:
            unread.append(f"{name}: {error}")
    check(f"GenApi reads all of {count} values", not unread and count > 100, unread[:5])
    nodes.get_node("ExposureTime").value = 4321.0
    check("GenApi sets the exposure", nodes.get_node("ExposureTime").value == 4321.0)
    nodes.get_node("Width").value = WIDTH
    check("GenApi sets the width, and the payload follows",
          nodes.get_node("PayloadSize").value == WIDTH * nodes.get_node("Height").value)
    nodes.get_node("ChunkSelector").value = "Gain"
    nodes.get_node("ChunkEnable").value = True
    nodes.get_node("ChunkSelector").value = "ExposureTime"
    is_other = not nodes.get_node("ChunkEnable").value
    nodes.get_node("ChunkSelector").value = "Gain"
    check("a selector selects", is_other and nodes.get_node("ChunkEnable").value)
    nodes.get_node("TLParamsLocked").value = 1
    mode = nodes.get_node("Width").node.get_access_mode()
    check("TLParamsLocked locks the width", mode == EAccessMode.RO, mode)
    nodes.get_node("TLParamsLocked").value = 0
    nodes.get_node("UserSetSelector").value = "Default"
    nodes.get_node("UserSetLoad").execute()
    port.ask(0x82, struct.pack(">II", 0x0a00, 0))


def viva():
    found = viva_genicam.discover(timeout_ms=1500, iface=HOST, all=True)
    ours = [camera for camera in found if camera.ip == ADDRESS]
    check("viva-genicam finds the camera", bool(ours), found)
    if not ours:
        return
    with viva_genicam.connect_gige(ours[0]) as camera:
        check("its description has no node that is skipped", not camera.skipped(), camera.skipped()[:5])
        check("its model", camera.get("DeviceModelName") == "GV231C")
        camera.set_roi(viva_genicam.Roi(0, 0, WIDTH, HEIGHT))
        camera.set_enum("PixelFormat", "Mono8")
        camera.set_enum("TestPattern", "GreyHorizontalRamp")
        camera.set_exposure_time(2500.0)
        check("its exposure", camera.exposure_time() == 2500.0, camera.exposure_time())
        camera.configure_chunks(["FrameID", "ExposureTime"])
        ramp = numpy.tile(numpy.arange(WIDTH, dtype=numpy.uint8), (HEIGHT, 1))
        with camera.stream(iface=HOST) as frames:
            # A busy machine may lose packets.
            whole = 0
            for _ in range(12):
                frame = frames.next_frame(timeout_ms=5000)
                if not frame.is_complete:
                    continue
                whole += 1
                check("its frame is the ramp", (frame.to_numpy()[:, 1:-1] == ramp[:, 1:-1]).all())
                chunks = camera.chunk_features(frame)
                check("its chunks", chunks.get("ChunkExposureTime", "").startswith("2500")
                      and chunks.get("ChunkFrameID") == str(frame.block_id), chunks)
                if whole == 3:
                    break
            check("three of its frames are whole", whole == 3, whole)
        camera.configure_chunks(["FrameID", "ExposureTime"], active=False)
        camera.set_integer("ActionDeviceKey", 7)
        camera.set_integer("ActionGroupKey", 8)
        camera.set_integer("ActionGroupMask", 1)
        camera.enable_trigger("FrameStart", "Action1")
        with camera.stream(iface=HOST) as frames:
            summary = viva_genicam.send_action(7, 8, 1, destination=ADDRESS, timeout_ms=500)
            check("the camera acknowledges an action", summary.acks == 1, summary)
            check("an action brings a frame", frames.next_frame(timeout_ms=5000) is not None)
            summary = viva_genicam.send_action(7, 9, 1, destination=ADDRESS, timeout_ms=500)
            check("an action of another group is not meant", summary.acks == 0, summary)
            camera.execute("TimestampLatch")
            later = camera.get_integer("TimestampLatchValue") + 2_000_000_000
            summary = viva_genicam.send_action(7, 8, 1, scheduled_time=later, destination=ADDRESS, timeout_ms=300)
            frame = frames.next_frame(timeout_ms=5000)
            check("a scheduled action brings a frame then", frame is not None and 0 <= frame.ts_dev - later < 1_000_000,
                  frame and frame.ts_dev - later)
        camera.disable_trigger("FrameStart")
        camera.load_user_set("Default")


def pygigevision():
    receiver = GVSPReceiver(local_ip=HOST, packet_size=1500 - 28, camera_ip=ADDRESS)
    receiver.start()
    with GVCPClient(ADDRESS, local_ip=HOST) as client:
        for address, value in ((0x10000, WIDTH), (0x10004, HEIGHT), (0x10020, MONO8), (0x10030, 1),
                               (0xd18, struct.unpack(">I", socket.inet_aton(HOST))[0]), (0xd04, 1500),
                               (0xd00, receiver.port), (0x10108, 1)):
            client.write_reg(address, value)
        check("pygigevision reads the width", client.read_reg(0x10000) == WIDTH)
        blocks = []
        ends = time.monotonic() + 20
        while len(blocks) < 3 and time.monotonic() < ends:
            found = receiver.get_frame_with_info(timeout=5.0)
            if found is None or not found[1]["complete"]:
                continue
            frame, info = found
            blocks.append(info["block_id"])
            row = numpy.arange(WIDTH, dtype=numpy.uint8)
            check("its frame is the ramp", frame.shape == (HEIGHT, WIDTH) and (frame[:, 1:-1] == row[1:-1]).all(), frame.shape)
        check("three frames, their block ids rise", len(blocks) == 3 and blocks == sorted(set(blocks)), blocks)
        client.write_reg(0x1010c, 1)
    receiver.stop()
    receiver.close()


def main():
    for part in (genapi, viva, pygigevision):
        try:
            part()
        except Exception as error:
            check(part.__name__, False, f"{type(error).__name__}: {error}")
    sys.exit(1 if faults else 0)


main()
