"""pynmeagps as a driver under test: the sentences of a receiver in, fixes as the kit's JSON out.

    menura test gnss -- python3 pynmeagps_driver.py TTY

The library finds sentences and checks them; the serial port is pyserial's, opened anew when it goes.
"""
import datetime
import json
import sys
import time

import serial
from pynmeagps import NMEAReader


def tell(message):
    if message.msgID != "RMC" or message.status != "A":
        return
    moment = datetime.datetime.combine(message.date, message.time, datetime.timezone.utc)
    print(json.dumps({
        "event": "fix", "lat_deg": message.lat, "lon_deg": message.lon, "stamp_s": moment.timestamp(),
    }), flush=True)


def main():
    while True:
        try:
            with serial.Serial(sys.argv[1], 38400, timeout=1.0) as port:
                reader = NMEAReader(port)
                while True:
                    # One sentence at a time, as its own iterator ends when the port is silent.
                    _, message = reader.read()
                    if message is not None:
                        tell(message)
        except serial.SerialException:
            time.sleep(0.2)


main()
