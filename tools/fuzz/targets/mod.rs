//! The table of fuzz targets. The including module defines the macro `targets!` first.

mod drive;
mod frames;
pub mod seeds;
mod sound;

/// The longest prefix of `bytes` that is valid UTF-8.
fn text(bytes: &[u8]) -> &str {
    bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid())
}

targets! {
    almanac
    base_device
    base_frames
    calibration
    cola
    drive_order
    ethernet_frame
    fault_request
    fdilink
    feed
    feed_counts
    fit_csv
    foxglove
    gige
    gnss_stream
    hdl64e_command
    hdl64e_status
    hesai
    hokuyo
    host_log
    imu_device
    joint_encoder
    kit_cloud
    livox
    mip
    ntrip
    ouster
    pcap_inspect
    phone
    profile
    ptp
    replay_times
    requirements
    rig
    robosense
    sbg_ecom
    scene_gltf
    scene_mavs
    scene_obj
    scene_ply
    scene_stl
    scip
    sick_lms1xx
    sick_lms2xx
    trajectory
    truth
    truth_file
    vectornav
    velodyne_data
    velodyne_gps
    velodyne_position
    velodyne_web
    xbus
}
