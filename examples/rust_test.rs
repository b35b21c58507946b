//! A test in Rust against an emulated sensor: it starts a rig, receives packets, and checks the figures of the run.
//!
//! Run it with `cargo test --example rust_test`. In your own package, add `menura` to `[dev-dependencies]` and put such
//! a test in `tests/`.

use std::error::Error;
use std::net::UdpSocket;
use std::path::Path;
use std::time::Duration;

use menura::config::rig::Rig;
use menura::devices::families::catalogue;
use menura::engine::{RunOptions, RunSession};

const RIG: &str = r#"
world = { scene = "room" }
robot = { trajectory = { kind = "still" } }

[[device]]
name = "lidar"
profile = "velodyne-vlp16-3.0"
link = { udp = { to = "ADDRESS" } }
"#;

fn receive_packets_of_a_lidar() -> Result<(), Box<dyn Error>> {
    // In a real test, your driver listens here.
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.set_read_timeout(Some(Duration::from_secs(5)))?;

    let text = RIG.replace("ADDRESS", &socket.local_addr()?.to_string());
    let rig = Rig::parse("lidar.toml", &text, Path::new("."), &[], catalogue())?;
    let run = RunSession::spawn(rig, RunOptions::default())?;
    for _ in 0..100 {
        let mut packet = [0; 2048];
        assert_eq!(socket.recv(&mut packet)?, 1206);
        assert_eq!(packet[..2], [0xff, 0xee]);
    }
    let outcome = run.stop();

    let lidar = &outcome.figures[0];
    assert!(lidar.packets >= 100 && lidar.dropped == 0, "{lidar:?}");
    Ok(())
}

#[test]
fn a_driver_gets_packets() -> Result<(), Box<dyn Error>> {
    receive_packets_of_a_lidar()
}

fn main() -> Result<(), Box<dyn Error>> {
    receive_packets_of_a_lidar()
}
