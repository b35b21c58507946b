"""Menura's traffic of one rig: as recorded, and as it arrives over UDP."""

import subprocess

from captures import timed_datagrams
from receiving import Listener, judge_datagrams, repeated
from room import START_UTC

DATA_BYTES = 1206


class Traffic:
    """What Menura wrote (`pcap`, `recorded`, with capture times in `stamps_us`) and what the receiver
    made of what it sent (`live`).

    `rig_for` makes the rig's text for the receiver's UDP port; its one device is named `lidar`. What this
    machine has lost is sent again: `judge(live, recorded, losses)` gives a `receiving.Judged`.
    """

    def __init__(self, menura, seconds, folder, rig_for, receiver=None, judge=judge_datagrams):
        folder.mkdir(parents=True)
        self.menura = menura
        receiver = receiver or Listener()
        rig = folder / "rig.toml"
        rig.write_text(rig_for(receiver.port))
        duration = f"{seconds}s"
        self.run("record", "--force", rig, "--duration", duration, "--out", folder / "out")
        self.pcap = folder / "out" / "lidar.pcap"
        # Position packets stand in the same file.
        data = [(time_ns, payload) for time_ns, _, payload in timed_datagrams(self.pcap) if len(payload) == DATA_BYTES]
        self.recorded = [payload for _, payload in data]
        self.stamps_us = [(time_ns - int(START_UTC.timestamp()) * 10**9) / 1000 for time_ns, _ in data]

        def attempt():
            live = receiver.hear(lambda: self.run("run", rig, "--duration", duration))
            return judge(live, self.recorded, receiver.losses)

        try:
            self.live = repeated(f"receiver of {folder.name}", attempt)
        finally:
            receiver.close()

    def run(self, *words):
        done = subprocess.run([self.menura, *map(str, words)], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=300)
        if done.returncode != 0:
            raise subprocess.SubprocessError(f"menura {words[0]} failed:\n{done.stdout}")
