"""A rig whose receiver sets the clocks of Velodynes: what the checks of that have in common."""

START_UTC = "2026-06-01T12:59:51.7Z"
START_S = 1_780_318_791.7                 # the same, POSIX time
LATITUDE_DEG, LONGITUDE_DEG = 47.285, 8.565


def rig(*units):
    """The text of a rig with a receiver named "gps" and these units, each of them (name, profile, the
    inside of its link's `udp`, the inside of its settings)."""
    return HEAD + "".join(UNIT.format(name=name, profile=profile, udp=udp, settings=settings)
                          for name, profile, udp, settings in units)


def is_elsewhere(latitude_deg, longitude_deg):
    """Whether a place is not the rig's, whose robot goes round in a small circle."""
    return abs(latitude_deg - LATITUDE_DEG) > 1e-3 or abs(longitude_deg - LONGITUDE_DEG) > 1e-3


HEAD = f"""\
start_utc = {START_UTC}
origin = {{ latitude_deg = {LATITUDE_DEG}, longitude_deg = {LONGITUDE_DEG}, altitude_m = 450.0 }}

[world]
scene = "courtyard"
parameters = {{ grass_blades = 0, trees = 0 }}

[robot]
trajectory = {{ kind = "circle", radius_m = 3.0, speed_m_s = 1.0 }}

[[device]]
name = "gps"
profile = "garmin-18x-lvc"
mount = {{ translation_m = [0.0, 0.0, 2.0] }}
link = {{ tcp = "127.0.0.1:0" }}
settings = {{ baud_rate = 9600, sentences = ["RMC"], acquisition = {{ startup_s = 0.0 }}, pulse = {{ after_fix_s = 1.0 }} }}
"""

UNIT = """
[[device]]
name = "{name}"
profile = "{profile}"
mount = {{ translation_m = [0.0, 0.0, 1.0] }}
link = {{ udp = {{ {udp} }} }}
gps_cable = "gps"
settings = {{ {settings} }}
"""
