"""basicmicro as a driver under test: a RoboClaw's counters as the kit's JSON.

    menura test all --rig roboclaw -- python3 basicmicro_driver.py TTY

The maker's library asks and checks; its port is opened anew after an error, as it does not do so itself.
"""
import json
import sys
import time

from basicmicro import Basicmicro


def main():
    print(json.dumps({"event": "ready"}), flush=True)
    while True:
        unit = Basicmicro(sys.argv[1], 38400, timeout=0.2)
        try:
            unit.Open()
            while True:
                is_told, left, right = unit.GetEncoders(0x80)
                if is_told:
                    print(json.dumps({"event": "base", "left_counts": left, "right_counts": right}), flush=True)
                else:
                    print("no answer", flush=True)
                    break
                time.sleep(0.02)
        except Exception as error:
            print(f"again, after {type(error).__name__}: {error}", flush=True)
        finally:
            try:
                unit.close()
            except Exception as error:
                print(f"closing: {error}", flush=True)
        time.sleep(0.2)


main()
