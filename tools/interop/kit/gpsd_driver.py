"""gpsd as a driver under test: what it reports as JSON goes to the kit as it is; gpsd.toml beside says what it means.

    menura test gnss --adapter gpsd.toml -- python3 gpsd_driver.py TTY

gpsd opens a device when somebody watches; it is given the line once it is there.
"""
import os
import pathlib
import socket
import subprocess
import sys
import time


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main():
    line, port = sys.argv[1], free_port()
    # It gives up its rights after the start and must still reach the line.
    if os.geteuid() == 0:
        os.chmod(pathlib.Path(line).parent, 0o755)
        os.chmod(os.path.realpath(line), 0o666)
    daemon = subprocess.Popen(["gpsd", "-N", "-n", "-S", str(port), line])
    while True:
        try:
            client = socket.create_connection(("127.0.0.1", port), 1)
            break
        except OSError:
            if daemon.poll() is not None:
                sys.exit("gpsd has ended")
            time.sleep(0.05)
    client.settimeout(None)
    client.sendall(b'?WATCH={"enable":true,"json":true};\n')
    with client.makefile("rb") as reports:
        for report in reports:
            sys.stdout.buffer.write(report)
            sys.stdout.buffer.flush()
    sys.exit("gpsd has hung up")


main()
