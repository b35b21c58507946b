//! What a run lets others do to it: a Unix socket, by which `menura fault` speaks.
//!
//! A client sends a line of JSON ([`FaultRequest`]) and gets a line of JSON: `{"ok": …}` or
//! `{"error": "…"}`. The socket lies in a folder that only its user may enter.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::live_faults::{FaultDesk, FaultRequest, LiveFault, MAX_REQUEST};
use crate::config::rig::Rig;
use crate::config::rig::fault_read::kinds_of;
use crate::devices::families::catalogue;

/// How long the end of a run, or a new client, may go unnoticed.
const PATIENCE: Duration = Duration::from_millis(50);
/// How long a client may take to say what it wants, and to hear the answer.
const CLIENT_PATIENCE: Duration = Duration::from_secs(1);
/// How long a run may take to answer.
const ANSWER_PATIENCE: Duration = Duration::from_secs(5);

/// Status that a run reports.
#[derive(Debug, Serialize, Deserialize)]
pub struct Listing {
    /// The rig's name.
    pub rig: String,
    /// The process.
    pub pid: u32,
    /// The file of the fault log, if there is one.
    pub fault_log: Option<PathBuf>,
    /// Its devices.
    pub devices: Vec<DeviceKinds>,
    /// The faults that it was told.
    pub faults: Vec<LiveFault>,
}

/// A device, and the faults that it can have.
#[derive(Debug, Serialize, Deserialize)]
pub struct DeviceKinds {
    /// Its name in the rig.
    pub name: String,
    /// Its firmware profile.
    pub profile: String,
    /// The kinds of faults.
    pub kinds: Vec<String>,
}

/// Answers what clients of a run ask for.
pub struct RunControl<'a> {
    rig: &'a Rig,
    desk: Arc<FaultDesk>,
    fault_log: Option<PathBuf>,
}

impl<'a> RunControl<'a> {
    /// Control of a run of `rig`, whose fault log is this file.
    pub fn new(rig: &'a Rig, desk: &Arc<FaultDesk>, fault_log: Option<&Path>) -> Self {
        Self { rig, desk: Arc::clone(desk), fault_log: fault_log.map(Path::to_owned) }
    }

    /// Does what `request` asks for; the answer.
    pub fn answer(&self, request: &[u8]) -> Value {
        let done = FaultRequest::parse(request).and_then(|request| match request {
            FaultRequest::Start(keys) => {
                self.desk.start(self.rig, keys, catalogue()).map(|fault| json!(fault))
            }
            FaultRequest::End(name) => self.desk.end(&name).map(|fault| json!(fault)),
            FaultRequest::List => Ok(json!(self.listing())),
        });
        match done {
            Ok(value) => json!({ "ok": value }),
            Err(text) => json!({ "error": text.trim_end() }),
        }
    }

    /// Lists devices, faults and controls.
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
            faults: self.desk.faults(),
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

/// A Unix socket of this process; its file goes with it.
pub struct ControlSocket {
    listener: UnixListener,
    path: PathBuf,
}

impl ControlSocket {
    /// Opens it.
    ///
    /// # Errors
    /// The system refuses, or the folder belongs to somebody else.
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
        // Of an earlier process with this number.
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

/// Where the sockets of this user's runs are.
fn folder() -> PathBuf {
    match std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| Path::new(folder).is_absolute()) {
        Some(folder) => Path::new(&folder).join("menura"),
        None => std::env::temp_dir().join(format!("menura-{}", rustix::process::getuid().as_raw())),
    }
}

/// The sockets of this user's runs, with what each says of itself; what nobody answers at is left out.
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

/// Asks the run at `path` for something: what it says, or why it does not do it.
///
/// # Errors
/// Nobody answers.
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
