"""ROS 2 drivers for the sensors of examples/ros-bench.toml.

The drivers are unmodified; only addresses and serial ports name the emulated sensors.

    menura run examples/ros-bench.toml
    ros2 launch examples/ros2/menura_bench.launch.py imu:=false

Packages: velodyne_driver and velodyne_pointcloud, sick_scan_xd, nmea_navsat_driver, vectornav. ROS 2 has no driver
for the LMS 2xx; `rear-scanner` stays unread.
"""
import os

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node


def vlp16_calibration():
    """The calibration file of velodyne_pointcloud; a VLP-16 with factory values needs no other."""
    try:
        share = get_package_share_directory("velodyne_pointcloud")
    except PackageNotFoundError:
        return ""
    return os.path.join(share, "params", "VLP16db.yaml")


# Launch argument that enables a driver, and the driver's node.
DRIVERS = [
    ("lidar", dict(
        package="velodyne_driver", executable="velodyne_driver_node",
        # `device_ip` is Menura's source address; `link.udp.from` of a rig sets another one.
        parameters=[{"model": "VLP16", "device_ip": "127.0.0.1", "port": 2368, "rpm": 600.0,
                     "frame_id": "roof_lidar"}])),
    ("lidar", dict(
        package="velodyne_pointcloud", executable="velodyne_transform_node",
        parameters=[{"model": "VLP16", "calibration": vlp16_calibration(), "min_range": 0.4,
                     "max_range": 130.0, "fixed_frame": "", "target_frame": ""}])),
    ("front_scanner", dict(
        package="sick_scan_xd", executable="sick_generic_caller",
        parameters=[{"scanner_type": "sick_lms_1xx", "hostname": "127.0.0.1", "port": "2112",
                     "frame_id": "front_scanner"}])),
    ("gnss", dict(
        package="nmea_navsat_driver", executable="nmea_serial_driver",
        parameters=[{"port": "/tmp/menura/ros/gnss", "baud": 115200, "frame_id": "gnss"}])),
    ("imu", dict(
        package="vectornav", executable="vectornav",
        parameters=[{"port": "/tmp/menura/ros/imu", "baud": 115200, "frame_id": "imu"}])),
]


def generate_launch_description():
    switches = [DeclareLaunchArgument(name, default_value="true")
                for name in dict(DRIVERS)]
    nodes = [Node(output="screen", condition=IfCondition(LaunchConfiguration(name)), **driver)
             for name, driver in DRIVERS]
    return LaunchDescription(switches + nodes)
