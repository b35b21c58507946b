//! Control of a run by other programs: a Unix socket, used by `menura fault`.
//!
//! A client sends a line of JSON ([`FaultRequest`]) and receives a line of JSON: `{"ok": …}` or
//! `{"error": "…"}`. The socket is in a folder that only its user can open.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::live_faults::{FaultControl, FaultRequest, LiveFault, MAX_REQUEST};
use crate::config::rig::Rig;
use crate::config::rig::fault_read::kinds_of;
use crate::devices::families::catalogue;

/// Longest delay until the end of a run, or a new client, is noticed.
const PATIENCE: Duration = Duration::from_millis(50);
/// Longest time for a client to send its request and to read the answer.
const CLIENT_PATIENCE: Duration = Duration::from_secs(1);
/// Longest time for a run to answer.
const ANSWER_PATIENCE: Duration = Duration::from_secs(5);

/// Status that a run reports.
#[derive(Debug, Serialize, Deserialize)]
pub struct Listing {
    /// Name of the rig.
    pub rig: String,
    /// Process ID of the run.
    pub pid: u32,
    /// Path of the fault log, if there is one.
    pub fault_log: Option<PathBuf>,
    /// Devices of the run, each with its kinds of faults.
    pub devices: Vec<DeviceKinds>,
    /// Faults that were started while the rig ran.
    pub faults: Vec<LiveFault>,
}

/// A device and the faults that it supports.
#[derive(Debug, Serialize, Deserialize)]
pub struct DeviceKinds {
    /// Name of the device in the rig.
    pub name: String,
    /// Firmware profile of the device.
    pub profile: String,
    /// Kinds of faults that the device supports.
    pub kinds: Vec<String>,
}

/// Answers the requests of a run's clients.
pub struct RunControl<'a> {
    rig: &'a Rig,
    control: Arc<FaultControl>,
    fault_log: Option<PathBuf>,
}

impl<'a> RunControl<'a> {
    /// Control of a run of `rig`, with the path of its fault log.
    pub fn new(rig: &'a Rig, control: &Arc<FaultControl>, fault_log: Option<&Path>) -> Self {
        Self { rig, control: Arc::clone(control), fault_log: fault_log.map(Path::to_owned) }
    }

    /// Executes `request`; returns the answer.
    pub fn answer(&self, request: &[u8]) -> Value {
        let done = FaultRequest::parse(request).and_then(|request| match request {
            FaultRequest::Start(keys) => {
                self.control.start(self.rig, keys, catalogue()).map(|fault| json!(fault))
            }
            FaultRequest::End(name) => self.control.end(&name).map(|fault| json!(fault)),
            FaultRequest::List => Ok(json!(self.listing())),
        });
        match done {
            Ok(value) => json!({ "ok": value }),
            Err(text) => json!({ "error": text.trim_end() }),
        }
    }

    /// Lists the devices of the run, and the faults that were started while it ran.
    pub fn listing(&self) -> Listing {
        let kinds = |device| kinds_of(device, catalogue()).into_iter().map(str::to_owned).collect();
        let devices = self.rig.devices.iter().map(|device| DeviceKinds {
            name: device.name.clone(),
            profile: device.profile.name.clone(),
            kinds: kinds(device),
        });
        Listing {
            rig: self.rig.name.clone(),
            pid: std::process::id(),
            fault_log: self.fault_log.clone(),
            devices: devices.collect(),
            faults: self.control.faults(),
        }
    }

    /// Answers the clients of `socket` until `over` is set.
    pub fn serve(&self, socket: &ControlSocket, over: &AtomicBool) {
        while !over.load(Ordering::Relaxed) {
            match socket.listener.accept() {
                Ok((client, _)) => {
                    if let Err(error) = self.serve_client(&client) {
                        tracing::debug!("a client of the run: {error}");
                    }
                }
                Err(_) => std::thread::park_timeout(PATIENCE),
            }
        }
    }

    fn serve_client(&self, mut client: &UnixStream) -> io::Result<()> {
        client.set_nonblocking(false)?;
        client.set_read_timeout(Some(CLIENT_PATIENCE))?;
        client.set_write_timeout(Some(CLIENT_PATIENCE))?;
        let mut line = Vec::new();
        BufReader::new(client.take(MAX_REQUEST as u64 + 2)).read_until(b'\n', &mut line)?;
        let mut answer = self.answer(line.trim_ascii()).to_string();
        answer.push('\n');
        client.write_all(answer.as_bytes())
    }
}

/// A Unix socket of this process; dropping it deletes its file.
pub struct ControlSocket {
    listener: UnixListener,
    path: PathBuf,
}

impl ControlSocket {
    /// Creates and opens the socket.
    ///
    /// # Errors
    /// The system refuses, or the folder belongs to another user or is open to others.
    pub fn open() -> io::Result<Self> {
        let folder = folder();
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let about = std::fs::symlink_metadata(&folder)?;
        let is_own = about.is_dir() && about.uid() == rustix::process::getuid().as_raw();
        if !is_own || about.mode() & 0o077 != 0 {
            let text = format!("{} is not a folder for this user alone", folder.display());
            return Err(io::Error::other(text));
        }
        let path = folder.join(format!("{}.sock", std::process::id()));
        // A file at this path is left from an earlier process with the same ID.
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, path })
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Folder of the sockets of this user's runs.
fn folder() -> PathBuf {
    match std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| Path::new(folder).is_absolute()) {
        Some(folder) => Path::new(&folder).join("menura"),
        None => std::env::temp_dir().join(format!("menura-{}", rustix::process::getuid().as_raw())),
    }
}

/// Sockets of this user's runs, each with the listing of its run; sockets without an answer are omitted.
pub fn runs() -> Vec<(PathBuf, Listing)> {
    let entries = std::fs::read_dir(folder()).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "sock"));
    paths.sort();
    let listed = paths.into_iter().filter_map(|path| {
        let listing = ask(&path, &json!("list")).ok()?.ok()?;
        Some((path, serde_json::from_value(listing).ok()?))
    });
    listed.collect()
}

/// Sends a request to the run at `path`; returns its answer, or the reason of a refusal.
///
/// # Errors
/// The run does not answer.
pub fn ask(path: &Path, request: &Value) -> io::Result<Result<Value, String>> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(ANSWER_PATIENCE))?;
    stream.set_write_timeout(Some(ANSWER_PATIENCE))?;
    stream.write_all(format!("{request}\n").as_bytes())?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let mut answer: Value = serde_json::from_str(&text)?;
    Ok(match answer.get_mut("ok") {
        Some(ok) => Ok(ok.take()),
        None => Err(answer["error"].as_str().unwrap_or("no answer").to_owned()),
    })
}
