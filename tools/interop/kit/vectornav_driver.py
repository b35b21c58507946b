"""vectornav-vn200 as a driver under test: a VN-100 in, samples as the kit's JSON out.

    menura test imu -- python3 vectornav_driver.py TTY

The library asks for registers; register 27 holds angles, field, force and rate. It is asked 20 times a second, and the
port is opened anew after an error.
"""
import json
import sys
import time

from vectornav import VN200, VN200Error


def main():
    while True:
        try:
            with VN200(sys.argv[1]) as unit:
                while True:
                    try:
                        values = [float(text) for text in unit._read_register(27)]
                    except ValueError as error:
                        # The library hands broken answers over.
                        print(error, flush=True)
                        continue
                    sample = {"force_m_s2": values[6:9], "rate_rad_s": values[9:12]}
                    print(json.dumps({"event": "imu", **sample}), flush=True)
                    time.sleep(0.05)
        except (VN200Error, OSError) as error:
            print(f"again, after {type(error).__name__}: {error}", flush=True)
            time.sleep(0.2)


main()
