//! Seeds of the fuzz targets.

use menura::devices::families::catalogue;
use menura::devices::hdl64e::profile::Hdl64eProfile;

use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::path::Path;

use menura::config::rig::Rig;
use menura::links::pcap::PcapRecorder;
use menura::wire::cola::Dialect;
use menura::wire::cola::frame::emit;
use menura::wire::cola::scan_data::{ScanData, Trailer};
use menura::wire::drive_order::DriveOrder;
use menura::wire::ethernet::FrameHeader;
use menura::wire::feed::{MAGIC, PoseTwist, VERSION};
use menura::wire::truth::{FiringRecord, NONE, PacketRecord, PoseRecord, ReturnRecord, Way};
use menura::wire::velodyne::hdl64e_status::{
    LiveStatus, RollingStream, S1Status, StatusFormat, StatusTable,
};
use menura::wire::velodyne::position::{POSITION_PACKET_LEN, PositionPacket};
use menura::wire::velodyne::{Bank, DATA_PACKET_LEN, DataPacket};

/// Target, name of the seed, text: at least one for each text format.
const TEXTS: &[(&str, &str, &str)] = &[
    (
        "host_log",
        "cut-off",
        "{\"menura_host_log\": 1, \"rig\": \"\", \"seed\": 7, \"start_utc\": \"2026-06-01T12:00:00Z\"}\n{\"t_ns\": 1, \"device\": \"gnss\", \"bytes\": \"b562\"}\n{\"t_ns\": 2, \"dev",
    ),
    (
        "fault_request",
        "start",
        r#"{"start": {"device": "roof-lidar", "kind": "window-dirty", "transmission": 0.3, "from_deg": 350}}"#,
    ),
    // Three times of eight bytes: the second is an hour after the first, the third is earlier than the second.
    ("replay_times", "jumps", "\0\0\0\0\0\0\0\0\0\0\0\0E\u{3}\0\0\0\0\0\0\0\0\0\0"),
    (
        "foxglove",
        "subscribe",
        r#"{"op": "subscribe", "subscriptions": [{"id": 0, "channelId": 3}]}"#,
    ),
    ("foxglove", "unsubscribe", r#"{"op": "unsubscribe", "subscriptionIds": [0, 1]}"#),
    ("fault_request", "end", r#"{"end": "live-1"}"#),
    (
        "ntrip",
        "old",
        "GET /BASE HTTP/1.0\r\nUser-Agent: NTRIP x\r\nAuthorization: Basic dTpw\r\n\r\n",
    ),
    ("ntrip", "new", "GET / HTTP/1.1\r\nHost: x\r\nNtrip-Version: Ntrip/2.0\r\n\r\n"),
    (
        "ntrip",
        "answer",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    ),
    ("ntrip", "icy", "ICY 200 OK\r\n\r\n"),
    ("ntrip", "chunks", "a;x=1\r\n0123456789\r\n2\r\nab\r\n"),
    (
        "scene_obj",
        "triangle",
        "mtllib a.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nusemtl leaf\nf 1/1 2/1 -1/1\n",
    ),
    (
        "scene_gltf",
        "empty",
        r#"{"asset":{"version":"2.0"},"scenes":[{"nodes":[0]}],"nodes":[{"mesh":0}],"meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],"accessors":[{"bufferView":0,"componentType":5126,"count":3,"type":"VEC3","min":[0,0,0],"max":[1,1,0]}],"bufferViews":[{"buffer":0,"byteLength":36}],"buffers":[{"byteLength":36,"uri":"data:application/octet-stream;base64,AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAA"}]}"#,
    ),
    (
        "scene_ply",
        "ascii",
        "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n",
    ),
    (
        "scene_stl",
        "ascii",
        "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid a\n",
    ),
    (
        "scene_mavs",
        "one",
        r#"{"PathToMeshes":"./","Objects":[{"Mesh":"a.obj","Instances":[{"Position":[1,2,3],"YawPitchRoll":[1,0,0],"Scale":[1,2,1]}]},{"Mesh":"a.obj","Random":{"Number":3,"Polygon":[[0,0],[9,0],[9,9]],"Minimum Spacing":1}}]}"#,
    ),
    ("hdl64e_command", "commands", "\u{2}#HDLRPM0900$#HDLRETD$#HDLFOV090180$#HDLLPW3$#HDLRPN0300$"),
    (
        "velodyne_web",
        "session",
        "aGET /cgi/settings.json\nbPOST /cgi/setting rpm=300&returns=Dual&laser=off\n\u{7f}POST /cgi/setting/fov start=0&end=90\n!POST /cgi/setting/phaselock enabled=on&offset=27000\naPOST /cgi/setting/host addr=10.0.0.1&dport=1\naPOST /cgi/save data=submit\naPOST /cgi/reset reset_system\naGET /",
    ),
    (
        "hesai",
        "session",
        "\u{1}\u{47}\u{74}\u{5}\0\0\0\0\0\u{47}\u{74}\u{17}\0\0\0\0\u{2}\u{4}\u{30}\u{47}\u{74}\u{1e}\0\0\0\0\u{1}\u{2}\u{47}\u{74}\u{1c}\0\0\0\0\u{1}\u{1}\u{47}\u{74}\u{10}\0\0\0\0\0",
    ),
    (
        "almanac",
        "satellite",
        "*** Week 310 almanac for PRN-01 ***\nID: 01\nHealth: 000\nEccentricity: 0.5154132843E-002\nTime of Applicability(s): 589824.0000\nOrbital Inclination(rad): 0.9755654335\nRate of Right Ascen(r/s): -0.7954617056E-008\nSQRT(A)  (m 1/2): 5153.598145\nRight Ascen at Week(rad): 0.1543298602E+001\nArgument of Perigee(rad): 0.519078493\nMean Anom(rad): 0.2225453138E+001\nAf0(s): -0.2746582031E-003\nAf1(s/s): -0.1091393642E-010\nweek: 310\n",
    ),
    ("requirements", "list", "p99.9<100us,gnss:late=0,max<=2ms,drift<1us,mean>=-1ns"),
    ("gige", "take_control", "B\u{1}\0\u{2}\0\u{4}\u{1}\u{2}\0\0\n\0"),
    (
        "livox",
        "session",
        "\u{1}\u{1}\u{0}\u{0}\u{1}\u{1}\0\0\0\u{0}\0\u{1}\0\u{3}\u{2}\u{0}\u{1}\u{1}\0\0\0\u{1a}\0\u{1}\0\u{2}\u{7f}\u{2}\u{0}\u{2}\u{64}\0",
    ),
    (
        "livox",
        "session_of_sdk1",
        "\u{2}\u{1}\u{6}\u{3}\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\u{9}\0\u{b}\u{2}\0\u{1}\0\u{1}",
    ),
    (
        "robosense",
        "session",
        "\u{1}\u{2}\u{58}\u{0}\u{1}\u{0}\u{0}\u{7f}\u{0}\u{0}\u{1}\u{1}\u{2}\u{3}\u{4}\u{5}\u{6}\u{1a}\u{20}\u{1a}\u{20}\u{22}\u{23}\u{22}\u{23}\0\0\u{2e}\u{60}\u{11}\u{3}\u{a}\u{9}\u{2d}\u{1e}\0\u{64}\0\u{8}\0\u{5a}",
    ),
    (
        "ouster",
        "session",
        "aGET sensor/metadata\nbPOST sensor/config?reinit=False&persist=False {\"udp_dest\":\"@auto\"}\n\u{7f}POST sensor/config {\"lidar_mode\":\"512x20\",\"azimuth_window\":[90000,180000]}\n\u{7f}GET sensor/cmd/set_config_param?args=.+%7B%22operating_mode%22:%22STANDBY%22%7D\n\u{7f}GET sensor/cmd/reinitialize\naPUT user/data \"x\"\naDELETE sensor/config\naPOST system/restart",
    ),
    (
        "fit_csv",
        "still",
        "time_s,gyro_x_deg_s,gyro_y_deg_s,gyro_z_deg_s,accel_x_g,accel_y_g,accel_z_g\n0,1,0,0,0,0,1\n0.5,0,1,0,0,0,1\n1,0,0,1,0,0,1\n1.5,1,1,0,0,0,1\n",
    ),
    (
        "kit_cloud",
        "pcd",
        "FIELDS i x y z\nSIZE 1 4 4 4\nTYPE U F F F\nCOUNT 2 1 1 1\nWIDTH 1\nHEIGHT 1\nPOINTS 1\nDATA ascii\n7 7 1 2 3\n",
    ),
    ("kit_cloud", "text", "x,y,z\n1,2,3,9\n4;5;6\n"),
    ("trajectory", "tum", "\0# t x y z q\n0 0 0 0 0 0 0 1\n1 1 0 0 0 0 0 1\n"),
    ("trajectory", "csv", "\u{1}time_s,x_m,y_m,z_m,yaw_deg\n0,0,0,0,10\n1,1,0,0,12\n"),
    ("trajectory", "vprp", "\u{2}@Data\n0:0 0 0:1 0 0 0\n0.01:1 0 0:1 0 0 0\n@END\n"),
    (
        "trajectory",
        "gpx",
        "\u{3}<gpx><trk><trkseg><trkpt lat=\"33\" lon=\"-88\"><ele>90</ele><time>2026-01-01T00:00:00Z</time></trkpt><trkpt lat=\"33.001\" lon=\"-88\"/></trkseg></trk></gpx>",
    ),
];

/// Target, and one frame as text or as hexadecimal bytes.
const IMU_FRAMES: &[(&str, &str)] = &[
    ("fdilink", "FC F0 04 03 37 00 00 00 00 00 00 FD"),
    ("vectornav", "$VNWRG,75,1,20,33,578,4C,100,69D*5C\r\n"),
    ("xbus", "FA FF C0 08 40 20 00 32 80 20 00 32 F5"),
    ("mip", "75 65 0C 0D 0D 08 01 03 04 00 0A 05 00 0A 06 00 0A 39 7D"),
    (
        "sbg_ecom",
        "FF 5A 02 00 21 00 40 42 0F 00 A7 00 EA 07 0B 15 09 1B 19 00 00 00 00 98 EA ED 20 00 00 00 00 00 00 00 00 00 00 00 00 35 0B 33",
    ),
    ("phone", "$PMNR,PHONE,17,0.340,92.31,-0.54,1.20,0.00123,-0.00045,0.10230*54\r\n"),
];

/// Names of seeds, and PTP messages as hexadecimal bytes.
const PTP_MESSAGES: &[(&str, &str)] = &[
    (
        "announce",
        "0B 02 00 40 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 02 00 00 FF FE 00 00 0A 00 01 00 00 05 01 00 00 00 00 00 00 00 00 00 00 00 25 00 0A F8 FE FF FF 80 02 00 00 FF FE 00 00 0A 00 00 A0",
    ),
    (
        "sync",
        "00 02 00 2C 00 00 02 00 00 00 00 00 00 00 00 00 00 00 00 00 02 00 00 FF FE 00 00 0A 00 01 00 00 00 00 00 00 00 00 00 00 00 00 00 00",
    ),
    (
        "follow-up",
        "08 02 00 2C 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 02 00 00 FF FE 00 00 0A 00 01 00 00 02 00 00 00 6B 08 8F 3D 26 3B 3A 60",
    ),
    (
        "management",
        "0D 02 00 36 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 02 00 00 FF FE 00 00 0A 00 01 00 05 04 7F FF FF FF FF FF FF FF FF FF FF 01 00 00 00 00 01 00 02 20 04",
    ),
    (
        "unicast-request",
        "0C 02 00 36 00 00 04 00 00 00 00 00 00 00 00 00 00 00 00 00 02 00 00 FF FE 00 00 0B 00 01 00 01 05 7F FF FF FF FF FF FF FF FF FF FF 00 04 00 06 B0 01 00 00 00 3C",
    ),
    (
        "peer-request-of-802-1as",
        "12 02 00 36 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 02 00 00 FF FE 00 00 0A 00 01 00 07 05 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00",
    ),
];

/// Index in the list of the drive bases' profiles, name of the seed, and bytes from a host in hexadecimal.
const BASE_DIALOGUES: &[(u8, &str, &str)] = &[
    (0, "roboclaw", "80 25 00 00 05 DC FF FF FA 24 D7 E0 80 4E 80 10 80 5A 80 15 80 0E 0A B9 1F"),
    (
        1,
        "husky",
        "AA 0F F0 00 00 00 00 00 00 11 02 55 F4 01 F4 01 3F 92 AA 0D F2 00 00 00 00 00 00 00 48 55 00 00 7C 43",
    ),
    (2, "kangaroo", "80 20 02 31 00 22 44 80 24 05 31 20 02 68 0F 2B 76 80 23 03 31 20 01 46 39"),
    (3, "sabertooth", "80 00 3F 3F 80 05 1F 24 80 0E 02 10"),
    (4, "create", "80 83 91 00 C8 FF 9C 8E 64 94 03 2B 2C 23 07"),
];

/// Writes the seeds into `folder`, in one folder per target.
pub fn write(folder: &Path) -> io::Result<()> {
    let put = |target: &str, name: &str, bytes: &[u8]| {
        fs::create_dir_all(folder.join(target))?;
        fs::write(folder.join(target).join(name), bytes)
    };

    let data = data_packets();
    for (name, bytes) in &data {
        put("velodyne_data", name, bytes)?;
    }
    let position = position_packet()?;
    put("velodyne_position", "gprmc", &position)?;
    let heard = b"d$GPRMC,092725,A,4717.1140,N,00833.9159,E,000.0,000.0,211126,002.9,E*7C\r\n";
    put("velodyne_gps", "gprmc", heard)?;

    for (name, format) in [("s2", StatusFormat::S2), ("s3", StatusFormat::S3)] {
        let stream = RollingStream::emit(&StatusTable::new(format));
        put("hdl64e_status", name, stream.bytes())?;
        let pairs: Vec<u8> = (0..4160)
            .flat_map(|number| <[u8; 2]>::from(stream.status_pair(number, &LiveStatus::default())))
            .collect();
        put("hdl64e_status", &format!("{name}-pairs"), &pairs)?;
    }

    let pose = PoseTwist {
        magic: MAGIC,
        version: VERSION,
        sequence: 1,
        time_ns: 2,
        position_m: [3.0, 4.0, 5.0],
        orientation_xyzw: [0.0, 0.0, 0.6, 0.8],
        velocity_m_s: [1.0, 0.0, 0.0],
        angular_rate_rad_s: [0.0, 0.0, 0.1],
    };
    put("feed", "pose", &pose.encode())?;
    put("feed_counts", "jumps", &feed_steps())?;
    let twist = DriveOrder::Twist { forward_m_s: 0.5, turn_rad_s: -1.0 };
    put("drive_order", "twist", &twist.encode())?;
    put("drive_order", "reset", &DriveOrder::Reset.encode())?;
    put("truth", "packet", &truth())?;
    put("truth_file", "packet", &truth_file())?;
    for (target, name, text) in TEXTS {
        put(target, name, text.as_bytes())?;
    }
    put("rig", "default", Rig::default_text().as_bytes())?;
    let units = catalogue().profiles().iter().filter_map(|profile| profile.data::<Hdl64eProfile>());
    let tables = units.map(|unit| &unit.defaults.calibration);
    for table in tables.take(1) {
        let yaml = table.to_yaml();
        put("calibration", "shipped", yaml.as_bytes())?;
    }
    for (target, text) in IMU_FRAMES {
        let bytes: Vec<u8> = match text.strip_prefix('$') {
            Some(_) => text.bytes().collect(),
            None => text.split(' ').filter_map(|b| u8::from_str_radix(b, 16).ok()).collect(),
        };
        put(target, "golden", &bytes)?;
        put("imu_device", target, &[&[0], bytes.as_slice()].concat())?;
    }
    for (place, name, text) in BASE_DIALOGUES {
        let bytes: Vec<u8> =
            text.split(' ').filter_map(|b| u8::from_str_radix(b, 16).ok()).collect();
        put("base_frames", name, &bytes)?;
        put("base_device", name, &[&[*place], bytes.as_slice()].concat())?;
    }
    for (name, text) in PTP_MESSAGES {
        let bytes: Vec<u8> =
            text.split(' ').filter_map(|b| u8::from_str_radix(b, 16).ok()).collect();
        put("ptp", name, &bytes)?;
    }
    put("base_frames", "text", b"1,p2450 s200\r\n1,P12345\r\n")?;
    let told = b"\x021,start\r1,units 100 cm = 2048 lines\r1,p2450 s200\r1,getp\r2,start\r2,si-5\r";
    put("base_device", "kangaroo-text", told)?;
    put(
        "profile",
        "example-drive-base",
        include_bytes!("../../../firmware-profiles/example-drive-base.toml"),
    )?;
    let said = b"TC+9\rPS3D00000009600092\r12340,48213\r\nINDEX,12345,96000\r\nSC\r";
    put("joint_encoder", "commands", said)?;
    put("profile", "example-imu", include_bytes!("../../../firmware-profiles/example-imu.toml"))?;
    put("profile", "example", include_bytes!("../../../firmware-profiles/example.toml"))?;
    let velodyne = include_bytes!("../../../firmware-profiles/example-velodyne.toml");
    put("profile", "example-velodyne", velodyne)?;
    let example = include_bytes!("../../../firmware-profiles/example-sick-lms2xx.toml");
    put("profile", "example-sick-lms2xx", example)?;
    put(
        "sick_lms2xx",
        "installation",
        &pieces(&[b"\x20\x00SICK_LMS", b"\x77\0\0\0\0\x02\x06\x01"]),
    )?;
    put(
        "sick_lms2xx",
        "streams",
        &pieces(&[
            b"\x20\x24",
            b"\x20\x2a",
            b"\x20\x27\x01\0\xb5\0",
            b"\x20\x26\x02",
            b"\x20\x2b\x01\0\x01\0\xb5\0",
            b"\x20\x50\x01\0\xb5\0",
        ]),
    )?;
    put(
        "sick_lms2xx",
        "requests",
        &pieces(&[
            b"\x30\x01",
            b"\x36\x03",
            b"\x3f\x02\x01\0\x09\0",
            b"\x3b\x64\0\x19\0",
            b"\x66\x01",
            b"\x20\x48",
            b"\x10",
        ]),
    )?;
    put("profile", "example-gnss", include_bytes!("../../../firmware-profiles/example-gnss.toml"))?;
    let ack = [0xb5, 0x62, 0x05, 0x01, 0x02, 0x00, 0x06, 0x08, 0x16, 0x3f];
    let gga = b"$GNGGA,092725.00,4717.11399,N,00833.91590,E,1,12,0.64,499.6,M,48.0,M,,*4C\r\n";
    put("gnss_stream", "mixed", &[&ack[..], gga, &[0xd3, 0, 0]].concat())?;
    // RTCM message 1005 of station 2003, from the standard.
    let place = b"\xd3\0\x13\x3e\xd7\xd3\x02\x02\x98\x0e\xde\xef\x34\xb4\xbd\x62\xac\x09\x41\x98\x6f\x33\x36\x0b\x98";
    put("gnss_stream", "place", place)?;
    put("gnss_stream", "valget", b"\xb5\x62\x06\x8b\x08\0\0\0\0\0\x01\0\x21\x30\xeb\x07")?;
    let example = include_bytes!("../../../firmware-profiles/example-sick-lms1xx.toml");
    put("profile", "example-sick-lms1xx", example)?;
    let commands = [
        "sMN SetAccessMode 03 F4724744",
        "sMN mLMPsetscancfg +2500 +1 +2500 -450000 +2250000",
        "sWN LMDscandatacfg 03 00 1 1 0 01 00 1 1 1 1 +1",
        "sEN LMDscandata 1",
    ];
    let text: Vec<u8> =
        commands.iter().flat_map(|text| emit(Dialect::A, text.as_bytes())).collect();
    put("cola", "commands", &[&[7], text.as_slice()].concat())?;
    for dialect in [Dialect::A, Dialect::B] {
        let scan = ScanData { trailer: Some(Trailer::default()), ..ScanData::default() };
        let content = scan.emit(dialect);
        put("cola", &format!("scan-{dialect:?}"), &[&[9], content.as_slice()].concat())?;
    }
    for dialect in [0u8, 1] {
        // A host connects and sends telegrams, padded with zeros to the length in the head byte of the piece.
        let mut pieces = vec![dialect, 0];
        for text in commands {
            let length = (text.len().div_ceil(4) * 4).min(60);
            pieces.push(3 | (length as u8 / 4) << 4);
            pieces.extend(text.bytes().chain(std::iter::repeat(0)).take(length));
        }
        put("sick_lms1xx", &format!("start-up-{dialect}"), &pieces)?;
    }
    let example = include_bytes!("../../../firmware-profiles/example-hokuyo.toml");
    put("profile", "example-hokuyo", example)?;
    let message = b"MD0540054401000\n99b\n0N90W\n0?X0?Y0?Z0017D`4\n\nQT\n00P\n\n";
    put("scip", "messages", &[&[20], message.as_slice()].concat())?;
    put(
        "scip",
        "requests",
        b"\x07MD0000108001000;abc\nQT\r\nGD0000108001\n\x02000EAR00A012\x03%ST\n",
    )?;
    for device in [0u8, 1, 2] {
        // A host connects and sends lines, padded with empty lines to the length in the head byte of the piece.
        let mut pieces = vec![device, 0];
        for line in [
            "BM",
            "GD0100010101",
            "TM0",
            "TM1",
            "TM2",
            "ME0100010101102",
            "QT",
            "DB03",
            "MD0100010101000",
            "RB",
            "RB",
        ] {
            let length = ((line.len() + 1).div_ceil(4) * 4).min(60);
            pieces.push(1 | (length as u8 / 4) << 4);
            pieces.extend(line.bytes().chain(std::iter::repeat(b'\n')).take(length));
        }
        put("hokuyo", &format!("start-up-{device}"), &pieces)?;
    }
    let stl = [&[0; 80], [1, 0, 0, 0].as_slice(), &[0; 24], &1f32.to_le_bytes(), &[0; 22]].concat();
    put("scene_stl", "binary", &stl)?;

    let mut frame = Vec::new();
    header(2368).emit(&position, &mut frame).map_err(io::Error::other)?;
    put("ethernet_frame", "ethernet", &[&[0], frame.as_slice()].concat())?;
    put("ethernet_frame", "raw", &[&[1], &frame[14..]].concat())?;
    put("ethernet_frame", "null", &[&[2, 2, 0, 0, 0], &frame[14..]].concat())?;
    let cooked = [&[4], [0; 14].as_slice(), &[8, 0], &frame[14..]].concat();
    put("ethernet_frame", "cooked", &cooked)?;

    let pcap = folder.join("pcap_inspect");
    fs::create_dir_all(&pcap)?;
    let path = pcap.join("lidar.pcap");
    let mut recorder = PcapRecorder::create(&path, header(2368))?;
    for (number, (_, bytes)) in data.iter().enumerate() {
        recorder.write(288_000 * number as i128, bytes)?;
    }
    recorder.finish()?;
    let mut recorder = PcapRecorder::create(&pcap.join("position.pcap"), header(8308))?;
    recorder.write(0, &position)?;
    recorder.finish()?;
    fs::write(pcap.join("position.pcapng"), pcapng(&frame))
}

/// Pieces for the target `sick_lms2xx`, which adds the CRC to each telegram and lets 25 ms pass after it.
fn pieces(payloads: &[&[u8]]) -> Vec<u8> {
    let piece = |payload: &&[u8]| [&[0xc0 | payload.len() as u8], *payload].concat();
    payloads.iter().flat_map(piece).collect()
}

fn header(port: u16) -> FrameHeader {
    FrameHeader {
        source_mac: [0x60, 0x76, 0x88, 1, 2, 3],
        destination_mac: [0xff; 6],
        source_ip: Ipv4Addr::new(192, 168, 3, 43),
        destination_ip: Ipv4Addr::new(192, 168, 3, 255),
        source_port: port,
        destination_port: port,
        ttl: 255,
        dont_fragment: true,
        identification: 0,
        udp_checksum: false,
    }
}

fn data_packets() -> Vec<(&'static str, [u8; DATA_PACKET_LEN])> {
    let s1 = S1Status::Temperature { fraction: 0, degrees_c: 40 }.emit();
    [
        ("hdl64e-s1", [Bank::Upper, Bank::Upper, Bank::Upper, Bank::Lower], s1),
        (
            "hdl64e-s3",
            [Bank::Upper, Bank::Lower, Bank::Upper, Bank::Lower],
            DataPacket::tail_with(0, *b"W\0"),
        ),
        ("vlp16", [Bank::Upper; 4], DataPacket::tail_with(1, [0x37, 0x22])),
        (
            "vls128",
            [Bank::Upper, Bank::Lower, Bank::Third, Bank::Fourth],
            DataPacket::tail_with(2, [0x37, 0xa1]),
        ),
    ]
    .map(|(name, banks, tail)| {
        let mut packet = DataPacket { tail, ..DataPacket::default() };
        for (index, block) in packet.blocks.iter_mut().enumerate() {
            block.flag = banks[index % 4].flag();
            block.azimuth_centideg = 100 * index as u16;
            block.points[index].distance = 1000;
        }
        let mut bytes = [0; DATA_PACKET_LEN];
        packet.emit(&mut bytes);
        (name, bytes)
    })
    .to_vec()
}

fn position_packet() -> io::Result<[u8; POSITION_PACKET_LEN]> {
    let mut packet = PositionPacket { timestamp_us: 1, pps: 2, ..PositionPacket::default() };
    packet
        .set_nmea("$GPRMC,123519,A,4807.038,N,01131.000,E,022.4,084.4,230394,003.1,W*6A\r\n")
        .map_err(io::Error::other)?;
    let mut bytes = [0; POSITION_PACKET_LEN];
    packet.emit(&mut bytes);
    Ok(bytes)
}

fn truth() -> Vec<u8> {
    let one = ReturnRecord {
        reported_m: 10.5,
        true_m: 10.25,
        instance: 7,
        material: 3,
        label: 2,
        cos_incidence: 0x8000,
        share: 0xffff,
        object: NONE,
        why: 1,
        slots: 3,
    };
    let record = PacketRecord {
        way: Way::Datagram,
        port: 1,
        len: 1206,
        number: 5,
        due_ns: 1_000_000_007,
        sha256: [1, 2, 3, 4, 5, 6, 7, 8],
        poses: vec![PoseRecord {
            time_ns: 9,
            position_m: [1.0, 2.0, 3.0],
            orientation: [0.0, 0.0, 0.0, 1.0],
        }],
        firings: vec![FiringRecord {
            time_ns: 10,
            azimuth_rad: 1.5,
            elevation_rad: -0.25,
            first_return: 0,
            laser: 15,
            returns: 2,
        }],
        returns: vec![one, ReturnRecord { reported_m: 20.0, ..one }],
    };
    let mut bytes = Vec::new();
    record.emit(&mut bytes);
    bytes
}

/// A file with the ground truth of one packet. CRCs are 0 (no CRC), so that the reader accepts mutated files.
fn truth_file() -> Vec<u8> {
    let record = |opcode: u8, content: &[u8]| {
        [&[opcode][..], &(content.len() as u64).to_le_bytes(), content].concat()
    };
    let text = |text: &str| [&(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat();
    let header = [text(""), text("menura")].concat();
    let schema = [vec![1, 0], text("menura.Packet"), text("x-menura-packet"), vec![0; 4]].concat();
    let channel =
        [vec![1, 0, 1, 0], text("/devices/roof/packets"), text("x-menura-packet"), vec![0; 4]]
            .concat();
    let names = br#"{"labels":["wall"],"materials":[{"name":"brick"}],"objects":[]}"#;
    let attachment = [
        vec![0; 16],
        text("names.json"),
        text("application/json"),
        (names.len() as u64).to_le_bytes().to_vec(),
        names.to_vec(),
        vec![0; 4],
    ]
    .concat();
    // Channel 1; the sequence number and both times are 0.
    let message = record(5, &[vec![1, 0], vec![0; 20], truth()].concat());
    let len = (message.len() as u64).to_le_bytes().to_vec();
    let chunk = [vec![0; 16], len.clone(), vec![0; 4], text(""), len, message].concat();
    let magic = b"\x89MCAP0\r\n".to_vec();
    [
        magic.clone(),
        record(1, &header),
        record(3, &schema),
        record(4, &channel),
        record(9, &attachment),
        record(6, &chunk),
        record(15, &[0; 4]),
        record(2, &[0; 20]),
        magic,
    ]
    .concat()
}

/// Datagrams for the target `feed_counts`: two in order, one with a distant sequence number, one from another sender,
/// one of another version, one sent twice, and a restart after a pause.
fn feed_steps() -> Vec<u8> {
    let step = |flags: u8, wait_ms: u16, sequence: u64, time_ms: u64| {
        let time_ns = (1_000_000 * time_ms).to_le_bytes();
        [&[flags][..], &wait_ms.to_le_bytes(), &sequence.to_le_bytes(), &time_ns].concat()
    };
    [
        step(0, 0, 0, 0),
        step(0, 10, 1, 10),
        step(0, 10, u64::MAX, 20),
        step(1, 10, 2, 30),
        step(2, 10, 2, 40),
        step(0, 10, 5, 50),
        step(0, 10, 5, 50),
        step(0, 1000, 0, 0),
    ]
    .concat()
}

/// A pcapng file: a section, an interface with nanosecond timestamps, and one packet.
fn pcapng(frame: &[u8]) -> Vec<u8> {
    let block = |kind: u32, body: &[u8]| {
        let len = (12 + body.len() as u32).to_le_bytes();
        [&kind.to_le_bytes(), &len, body, &len].concat()
    };
    let section = [0x1a2b_3c4d_u32.to_le_bytes(), [1, 0, 0, 0], [0xff; 4], [0xff; 4]].concat();
    let interface = [1, 0, 0, 0, 0, 0, 4, 0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0];
    let len = (frame.len() as u32).to_le_bytes();
    let padding = vec![0; (4 - frame.len() % 4) % 4];
    let packet = [&[0; 12], len.as_slice(), &len, frame, &padding].concat();
    [block(0x0a0d_0d0a, &section), block(1, &interface), block(6, &packet)].concat()
}
