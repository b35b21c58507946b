//! Stimuli and responses: a small robot responds, and the reported figures agree with its
//! behaviour.

use std::io::Write;
use std::net::{TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use menura::config::rig::Rig;
use menura::engine::responses::ResponseFigures;
use menura::engine::run::RealTimeRun;
use menura::wire::velodyne::DataPacket;

use crate::common;

/// A rig in which a box stands 4 m ahead from 0.2 s to 0.5 s of every second. The lidar's datagrams are lost from 0.7 s
/// to 0.8 s after the start of the run.
fn rig(to: u16, [udp, tcp]: [u16; 2]) -> Rig {
    let text = format!(
        r#"
[world]
scene = "room"
parameters = {{ size_m = [40.0, 40.0, 5.0] }}
[[world.object]]
name = "child"
body = "box"
size_m = [0.5, 0.5, 2.0]
trajectory = {{ kind = "still", position_m = [4.0, 0.0, 0.0] }}
[[stimulus]]
name = "child-appears"
object = "child"
start_s = 0.2
duration_s = 0.3
period_s = 1.0
[[stimulus]]
name = "silence"
fault = "gap"
[[response]]
name = "stop"
stimulus = "child-appears"
udp = "127.0.0.1:{udp}"
text = "STOP"
[[response]]
name = "stop-by-tcp"
stimulus = "child-appears"
tcp = "127.0.0.1:{tcp}"
hex = "aa 55"
[[response]]
name = "never"
stimulus = "silence"
udp = "127.0.0.1:0"
regex = "l[o]st"
timeout_s = 0.2
[[fault]]
name = "gap"
device = "lidar"
kind = "link-down"
start_s = 0.7
duration_s = 0.1
[robot]
trajectory = {{ kind = "still" }}
[[device]]
name = "lidar"
profile = "velodyne-vlp16-3.0"
mount = {{ translation_m = [0.0, 0.0, 1.0] }}
link = {{ udp = {{ to = "127.0.0.1:{to}" }} }}
settings = {{ beam = {{ shape = "ray" }} }}
"#
    );
    common::rig(&text, &[])
}

/// Whether an object is ahead; `None` if the packet has no firing in this direction.
fn is_blocked(packet: &[u8]) -> Option<bool> {
    let packet = DataPacket::parse(packet).ok()?;
    let mut ahead = packet
        .blocks
        .iter()
        .filter(|block| !(200..=35_800).contains(&block.azimuth_centideg))
        .peekable();
    ahead.peek()?;
    // Laser 1 has an elevation of one degree.
    Some(ahead.any(|block| (1..3000).contains(&block.points[1].distance)))
}

#[test]
fn a_robot_that_answers_is_timed() {
    let receiver = common::roomy_socket();
    receiver.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let ports = [common::free_port(), common::free_port()];
    let rig = rig(receiver.local_addr().unwrap().port(), ports);
    let world = common::world(&rig);
    let run = RealTimeRun::new(&rig, &world).unwrap_or_else(|e| panic!("{e}"));
    let is_over = AtomicBool::new(false);
    let seen = std::thread::scope(|scope| {
        let robot = scope.spawn(|| {
            let answer = UdpSocket::bind("127.0.0.1:0").unwrap();
            let mut wire = TcpStream::connect(("127.0.0.1", ports[1])).unwrap();
            let (mut was_blocked, mut seen) = (false, 0);
            let mut packet = [0; 2000];
            while !is_over.load(Ordering::Relaxed) {
                let Ok(count) = receiver.recv(&mut packet) else { continue };
                let Some(blocked) = is_blocked(&packet[..count]) else { continue };
                if blocked && !was_blocked {
                    seen += 1;
                    answer.send_to(b"please STOP now", ("127.0.0.1", ports[0])).unwrap();
                    wire.write_all(&[1, 0xaa]).unwrap();
                    wire.write_all(&[0x55, 2]).unwrap();
                }
                was_blocked = blocked;
            }
            seen
        });
        run.run(Some(Duration::from_millis(2600)), &AtomicBool::new(false), |_| {});
        is_over.store(true, Ordering::Relaxed);
        robot.join().unwrap()
    });
    assert_eq!(seen, 3, "the box is there three times");
    let figures = run.responses();
    let of = |name: &str| -> &ResponseFigures {
        figures.iter().find(|response| response.name == name).unwrap()
    };
    for name in ["stop", "stop-by-tcp"] {
        let response = of(name);
        assert_eq!((response.stimuli, response.answered), (3, 3), "{response:?}");
        assert_eq!((response.timeouts, response.unexpected), (0, 0), "{response:?}");
        let latency = response.latency_us.unwrap();
        assert!(latency.max > 0.0 && latency.max < 1e6, "{latency:?}");
    }
    let never = of("never");
    assert_eq!((never.stimuli, never.answered, never.timeouts), (1, 0, 1), "{never:?}");
}

/// A GNSS receiver has a fix at once and loses all satellites after 1.5 s; the robot reads its sentences and reports
/// the loss.
#[test]
fn a_lost_sky_is_a_stimulus() {
    let [udp, tcp] = [common::free_port(), common::free_port()];
    let text = format!(
        r#"
[world]
scene = "courtyard"
parameters = {{ grass_blades = 0, trees = 0 }}
[robot]
trajectory = {{ kind = "still" }}
[[device]]
name = "gps"
profile = "garmin-18x-lvc"
mount = {{ translation_m = [0.0, 0.0, 1.5] }}
link = {{ tcp = "127.0.0.1:{tcp}" }}
settings = {{ baud_rate = 38400, acquisition = {{ startup_s = 0.0, filtered = false }} }}
[[fault]]
name = "tunnel"
device = "gps"
kind = "gnss-outage"
start_s = 1.5
duration_s = 2.0
[[stimulus]]
name = "gps-lost"
fault = "tunnel"
[[response]]
name = "dead-reckoning"
stimulus = "gps-lost"
udp = "127.0.0.1:{udp}"
text = "LOST"
timeout_s = 2.0
"#
    );
    let (rig, world) = common::load(&text);
    let run = RealTimeRun::new(&rig, &world).unwrap_or_else(|e| panic!("{e}"));
    let figures = std::thread::scope(|scope| {
        scope.spawn(|| {
            let wire = TcpStream::connect(("127.0.0.1", tcp)).unwrap();
            let answer = UdpSocket::bind("127.0.0.1:0").unwrap();
            let lines = std::io::BufRead::lines(std::io::BufReader::new(wire));
            let mut had_fix = false;
            for line in lines.map_while(Result::ok).filter(|line| line.starts_with("$GPGGA")) {
                let has_fix = line.split(',').nth(6) == Some("1");
                if had_fix && !has_fix {
                    answer.send_to(b"LOST", ("127.0.0.1", udp)).unwrap();
                }
                had_fix = has_fix;
            }
        });
        run.run(Some(Duration::from_millis(4500)), &AtomicBool::new(false), |_| {});
        let figures = run.responses();
        drop(run); // closes the connection
        figures
    });
    let response = &figures[0];
    assert_eq!((response.stimuli, response.answered), (1, 1), "{response:?}");
    assert_eq!((response.timeouts, response.unexpected), (0, 0), "{response:?}");
}
