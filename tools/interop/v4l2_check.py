#!/usr/bin/env python3
"""`menura run --v4l2` in a virtual machine with Debian's kernel and v4l2loopback. v4l2-ctl and OpenCV read the video
device there; each image must be one of a recording of the same rig, in its order. A second run on the device is refused.

    apt-get download linux-image-6.1.0-48-amd64 v4l2loopback-dkms
    tools/interop/v4l2_check.py --menura target/release/menura --packages .

Needs qemu-system-x86, busybox-static, v4l-utils, make and linux-headers-amd64 (Debian). The packages of the kernel, whose
headers must be installed, and of the module are unpacked, not installed. The machine's root folder is this host's, read-only.
"""

import argparse
import gzip
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from gvsp_frames import frames

WIDTH, HEIGHT, FRAMES = 160, 120, 8

# The sun stands still, because a run and a recording begin at different times.
RIG = f"""
seed = 1
[world]
scene = "room"
[robot]
trajectory = {{ kind = "circle", radius_m = 1.0, speed_m_s = 0.5 }}
[engine]
late = "late"
[[device]]
name = "camera"
profile = "menura-gv231c"
mount = {{ translation_m = [0.0, 0.0, 1.2] }}
link = {{ udp = {{ to = "127.0.0.1:20203", from = "127.0.0.2:20202" }}, gvcp = "127.0.0.2:3956" }}
[device.settings]
frame_rate_hz = 2.0
pixel_format = "RGB8"
image_width = {WIDTH}
image_height = {HEIGHT}
sun_deg = [45.0, 200.0]
"""

# Modules of the kernel's package, in the order in which they are loaded.
MODULES = """
    drivers/virtio/virtio drivers/virtio/virtio_ring drivers/virtio/virtio_pci_legacy_dev
    drivers/virtio/virtio_pci_modern_dev drivers/virtio/virtio_pci net/9p/9pnet net/9p/9pnet_virtio fs/netfs/netfs
    fs/fscache/fscache fs/9p/9p drivers/media/mc/mc drivers/media/v4l2-core/videodev
""".split()

INIT = """#!/busybox sh
set -e
mount() { /busybox mount "$@"; }
mount -t proc p /proc
for module in /modules/*; do /busybox insmod $module; done
/busybox insmod /v4l2loopback.ko video_nr=9 exclusive_caps=1
share=trans=virtio,version=9p2000.L,msize=262144
mount -t 9p -o ro,cache=loose,$share root /host
mount -t devtmpfs d /host/dev
mount -t proc p /host/proc
mount -t sysfs s /host/sys
mount -t tmpfs t /host/run
/busybox mkdir /host/run/out
mount -t 9p -o $share out /host/run/out
/busybox ifconfig lo up
/busybox chroot /host /bin/bash /run/out/inside || /busybox true
/busybox poweroff -f
"""

INSIDE = """
export PATH=/usr/bin:/bin TMPDIR=/run XDG_RUNTIME_DIR=/run
cd /run/out
{menura} run rig.toml --v4l2 /dev/video9 > run.log 2>&1 &
run=$!
for _ in $(seq 60); do
    sleep 1
    v4l2-ctl -d /dev/video9 --get-fmt-video > /dev/null 2>&1 && break
done
{menura} run rig.toml --v4l2 /dev/video9 > second.log 2>&1
echo $? >> second.log
v4l2-ctl -d /dev/video9 --stream-mmap=3 --stream-count={frames} --stream-to=mapped.yuyv > v4l2-ctl.log 2>&1
{python} - > opencv.log 2>&1 <<'PYTHON'
import cv2
video = cv2.VideoCapture(9, cv2.CAP_V4L2)
video.set(cv2.CAP_PROP_CONVERT_RGB, 0)
with open("opencv.yuyv", "wb") as file:
    for _ in range({frames}):
        is_read, image = video.read()
        assert is_read
        file.write(image.tobytes())
PYTHON
kill -INT $run
wait $run
echo $? >> run.log
"""


def output(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def unpacked(packages, folder):
    """Unpacks the kernel and v4l2loopback; returns the folder with their files, and the kernel's release."""
    root = folder / "root"
    for package in packages.glob("*.deb"):
        output("dpkg", "-x", package, root)
    image = next(packages.glob("linux-image-*.deb")).name
    return root, image.removeprefix("linux-image-").split("_")[0]


def module_of(root, release):
    """Builds v4l2loopback for the kernel."""
    source = next((root / "usr/src").glob("v4l2loopback-*"))
    output("make", "-C", f"/usr/src/linux-headers-{release}", f"M={source}", "modules")
    return source / "v4l2loopback.ko"


def initial_files(folder, root, release):
    """Makes the archive with the files from which the machine starts."""
    files = folder / "initial"
    for name in ("modules", "proc", "host", "dev"):
        (files / name).mkdir(parents=True)
    shutil.copy(shutil.which("busybox"), files / "busybox")
    for number, module in enumerate(MODULES):
        path = root / "lib/modules" / release / "kernel" / f"{module}.ko"
        shutil.copy(path, files / "modules" / f"{number:02}.ko")
    shutil.copy(module_of(root, release), files / "v4l2loopback.ko")
    (files / "init").write_text(INIT)
    (files / "init").chmod(0o755)
    names = "\n".join(str(path.relative_to(files)) for path in sorted(files.rglob("*")))
    archive = subprocess.run(["busybox", "cpio", "-o", "-H", "newc"], cwd=files, input=names.encode(),
                             check=True, capture_output=True).stdout
    packed = folder / "initial.gz"
    packed.write_bytes(gzip.compress(archive, 1))
    return packed


def run_inside(packages, folder, out, menura):
    """Starts the machine and runs `INSIDE` in it; its files are in `out` afterwards."""
    root, release = unpacked(packages, folder)
    inside = INSIDE.format(menura=menura, python=sys.executable, frames=FRAMES)
    (out / "inside").write_text(inside)
    shares = [("root", "path=/,readonly=on"), ("out", f"path={out}")]
    command = ["qemu-system-x86_64", "-accel", "tcg", "-cpu", "max", "-smp", "2", "-m", "3G", "-nographic", "-no-reboot",
               "-net", "none", "-vga", "none", "-kernel", root / f"boot/vmlinuz-{release}",
               "-initrd", initial_files(folder, root, release), "-append", "console=ttyS0 panic=-1 quiet"]
    for name, where in shares:
        command += ["-fsdev", f"local,id={name},security_model=none,multidevs=remap,{where}",
                    "-device", f"virtio-9p-pci,fsdev={name},mount_tag={name}"]
    with (out / "console.log").open("wb") as console:
        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=console, stderr=console, timeout=900, check=True)


def yuyv(rgb):
    """Y, Cb, Y, Cr of an image by ITU-R BT.601 in whole numbers, as Microsoft's documentation of YUV has it."""
    rgb = rgb.astype(int)
    pairs = rgb.reshape(HEIGHT, -1, 2, 3).sum(2)
    made = np.empty((HEIGHT, WIDTH, 2), np.uint8)
    made[..., 0] = (rgb @ [66, 129, 25] + 128 >> 8) + 16
    made[:, 0::2, 1] = (pairs @ [-38, -74, 112] + 256 >> 9) + 128
    made[:, 1::2, 1] = (pairs @ [112, -94, -18] + 256 >> 9) + 128
    return made.tobytes()


def wrong_with(reader, path, recorded):
    """What is wrong with the images that a reader received."""
    size = 2 * WIDTH * HEIGHT
    data = path.read_bytes() if path.exists() else b""
    images = [data[at:at + size] for at in range(0, len(data), size)]
    if len(images) < FRAMES:
        return [f"{reader} read {len(images)} of {FRAMES} images"]
    unknown = sum(image not in recorded for image in images)
    if unknown:
        return [f"{unknown} of {len(images)} images that {reader} read are not in the recording"]
    numbers = [recorded.index(image) for image in images]
    print(f"{reader} read the images {numbers} of the recording")
    if numbers != sorted(numbers):
        return [f"{reader} read images out of order"]
    return [] if len(set(numbers)) > FRAMES // 2 else [f"{reader} read the same images again"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--menura", default="target/release/menura", type=Path)
    parser.add_argument("--packages", required=True, type=Path, help="folder with the packages of the kernel and the module")
    options = parser.parse_args()
    menura = options.menura.resolve()
    with tempfile.TemporaryDirectory() as scratch:
        folder, out = Path(scratch), Path(scratch) / "out"
        out.mkdir()
        (out / "rig.toml").write_text(RIG)
        run_inside(options.packages, folder, out, menura)
        output(menura, "record", out / "rig.toml", "--set", "device.camera.settings.streams_alone=true",
               "--duration", "900s", "--out", folder / "recording")
        recorded = [yuyv(frame.pixels) for frame in frames(folder / "recording/camera.pcap")]
        wrong = wrong_with("v4l2-ctl", out / "mapped.yuyv", recorded)
        wrong += wrong_with("OpenCV", out / "opencv.yuyv", recorded)
        second = out / "second.log"
        told = second.read_text() if second.exists() else ""
        if "accepts no images" not in told or told.split()[-1] != "2":
            wrong.append(f"a second run on the device was not refused: {told}")
        if wrong:
            for log in sorted(out.glob("*.log")):
                print(f"--- {log.name}\n{log.read_text(errors='replace')}")
    for line in wrong:
        print(line)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
