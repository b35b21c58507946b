"""Moves the robot of a rig as a prim of Isaac Sim moves (docs/OTHER-SIMULATORS.md).

Call `start` once from the script editor or a standalone program, with the stage loaded:

    import isaac_feed
    subscription = isaac_feed.start("/World/my_robot")

It sends a pose after every physics step until `subscription` is dropped. The stage must be in metres with z up.
"""
import omni.physx
import omni.timeline
from isaacsim.core.prims import SingleXFormPrim
from menura_feed import Feed


def start(prim_path, menura="127.0.0.1:7000"):
    """Starts to send the pose of `prim_path` to the feed at the address `menura`."""
    feed = Feed(menura)
    prim = SingleXFormPrim(prim_path)
    timeline = omni.timeline.get_timeline_interface()

    def on_step(_seconds):
        position, (w, x, y, z) = prim.get_world_pose()
        time_ns = round(timeline.get_current_time() * 1e9)
        feed.send(time_ns, tuple(map(float, position)), (float(x), float(y), float(z), float(w)))

    return omni.physx.get_physx_interface().subscribe_physics_step_events(on_step)
