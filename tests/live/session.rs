//! Tests of runs that another program starts, observes and stops.

use std::time::Duration;

use menura::engine::{RunError, RunOptions, RunSession, SpawnedRun};

use crate::common;

const RIG: &str = r#"
world = { scene = "room" }
robot = { trajectory = { kind = "still" } }

[[device]]
name = "lidar"
profile = "velodyne-vlp16-3.0"
link = { udp = { to = "127.0.0.1:PORT" } }
"#;

fn spawn(options: RunOptions) -> Result<SpawnedRun, RunError> {
    let text = RIG.replace("PORT", &common::free_port().to_string());
    RunSession::spawn(common::rig(&text, &[]), options)
}

#[test]
fn outputs_are_whole_when_a_run_has_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| Some(folder.path().join(name));
    let options = RunOptions {
        fault_log: path("faults.csv"),
        host_log: path("hosts.jsonl"),
        truth: path("truth.mcap"),
        keeps_timing: true,
        ..RunOptions::default()
    };
    let run = spawn(options).unwrap();
    let request = br#"{"start": {"device": "lidar", "kind": "packet-loss", "probability": 1.0}}"#;
    let answer = run.control().answer(request);
    assert!(answer.get("ok").is_some(), "{answer}");
    assert_eq!(run.control().listing().faults.len(), 1);
    let outcome = run.stop();
    assert_eq!(outcome.failures, [""; 0]);
    assert!(outcome.truth.is_some_and(|truth| truth.written.is_ok()));
    assert_eq!(outcome.timing.map(|timing| timing.len()), Some(1));
    for name in ["faults.csv", "hosts.jsonl", "truth.mcap"] {
        assert!(folder.path().join(name).exists(), "{name}");
    }
}

#[test]
fn a_run_that_cannot_start_says_why() {
    let missing = Some("/no/such/folder/faults.csv".into());
    let error = spawn(RunOptions { fault_log: missing, ..RunOptions::default() }).err().unwrap();
    assert!(error.to_string().starts_with("cannot write the fault log /no/such"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let feed_log = Some(folder.path().join("feed.csv"));
    let error = spawn(RunOptions { feed_log, ..RunOptions::default() }).err().unwrap();
    assert!(error.to_string().ends_with("no robot or object of this rig has a feed"), "{error}");
}

#[test]
fn a_run_that_is_dropped_ends() {
    let run = spawn(RunOptions::default()).unwrap();
    let (tell, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        drop(run);
        tell.send(())
    });
    assert_eq!(ended.recv_timeout(Duration::from_secs(30)), Ok(()));
}
