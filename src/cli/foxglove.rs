//! `menura run --foxglove`: serves a run to Foxglove.
//!
//! Clouds, positions and IMU data are decoded from sent bytes ([`subscribers`]). Poses, frames and statistics come from
//! the run itself ([`reporter`]). Messages are created only if a client has subscribed to them.

mod reporter;
mod subscribers;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use self::reporter::Reporter;
use self::subscribers::Subscribers;
use super::access::Access;
use super::watch::pictures::LivePictures;
use super::{CliError, console};
use crate::engine::run::RealTimeRun;
use crate::engine::truth::kinds::Kind;
use crate::links::foxglove::{FoxgloveServer, Hub, NewChannel};
use crate::time::{Epoch, SimTime};
use crate::wire::foxglove::ServerInfo;

/// An open port for Foxglove.
pub struct FoxglovePort {
    server: FoxgloveServer,
    access: Access,
}

impl FoxglovePort {
    /// Listens at `address`, and prints how to connect.
    ///
    /// # Errors
    /// The port is not available.
    pub fn open(address: SocketAddr) -> Result<Self, CliError> {
        let wrong = |error: std::io::Error| CliError::Input(format!("error: --foxglove: {error}"));
        let server = FoxgloveServer::listen(address).map_err(wrong)?;
        let access = Access::at(address).map_err(wrong)?;
        let reach = server.address();
        match access.token() {
            None => console::say(format_args!("Foxglove: ws://{reach}/")),
            Some(token) => console::say(format_args!("Foxglove: ws://{reach}/?token={token}")),
        }
        Ok(Self { server, access })
    }
}

/// A run with a server for Foxglove.
pub struct Foxglove<'a> {
    port: &'a FoxglovePort,
    run: &'a RealTimeRun<'a>,
    hub: Arc<Hub>,
}

impl<'a> Foxglove<'a> {
    /// Creates the server of `run` for the clients of `port`; [`Self::serve`] runs it.
    pub fn new(port: &'a FoxglovePort, run: &'a RealTimeRun<'a>) -> Self {
        let rig = run.rig();
        let metadata = [
            ("menura", env!("CARGO_PKG_VERSION").to_owned()),
            ("rig", rig.name.clone()),
            ("seed", rig.seed.to_string()),
            ("scene", run.world().summary.scene.clone()),
        ];
        let info = ServerInfo {
            name: format!("menura: {}", rig.name),
            session: run.host_start().to_string(),
            metadata: metadata.map(|(name, text)| (name.to_owned(), text)).to_vec(),
        };
        Self { port, run, hub: Hub::new(&info) }
    }

    /// Returns the part of the server that passes decoded device data to subscribed clients; images come from
    /// `pictures`.
    pub fn subscribers<'b>(&'b self, pictures: &'b LivePictures<'b>) -> Subscribers<'b> {
        Subscribers::new(self.run, pictures, Topics::new(&self.hub, self.run.epoch()))
    }

    /// Serves clients until `over` is set.
    pub fn serve(&self, over: &AtomicBool) {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let topics = Topics::new(&self.hub, self.run.epoch());
                Reporter::new(self.run, topics).report(|| over.load(Ordering::Relaxed));
            });
            let access = self.port.access.clone();
            let admit = move |says: &_, query: &str| access.check_socket(says, query);
            if let Err(error) = self.port.server.serve(&self.hub, Arc::new(admit), over) {
                tracing::warn!("the Foxglove server has stopped: {error}");
            }
        });
    }
}

/// Channels by topic; each channel is advertised when it is first used.
struct Topics<'a> {
    hub: &'a Hub,
    epoch: Epoch,
    known: BTreeMap<String, u32>,
}

impl<'a> Topics<'a> {
    fn new(hub: &'a Hub, epoch: Epoch) -> Self {
        Self { hub, epoch, known: BTreeMap::new() }
    }

    /// Id of the channel of a topic; the first call for a topic creates its channel.
    fn channel(&mut self, topic: &str, new: impl FnOnce(String) -> NewChannel) -> u32 {
        if let Some(&known) = self.known.get(topic) {
            return known;
        }
        let id = self.hub.add(new(topic.to_owned()));
        self.known.insert(topic.to_owned(), id);
        id
    }

    /// Id of the channel of a topic with JSON messages; the first call for a topic creates its channel.
    fn json(&mut self, topic: &str, kind: &Kind) -> u32 {
        self.channel(topic, |topic| NewChannel {
            topic,
            encoding: "json",
            schema_name: kind.name.to_owned(),
            schema_encoding: "jsonschema",
            schema: kind.schema().to_string(),
        })
    }

    /// Publishes the JSON value that `value` returns on `topic`. Without a subscriber, `value` is not called.
    fn tell(&mut self, topic: &str, kind: &Kind, at: SimTime, value: impl FnOnce() -> Value) {
        let channel = self.json(topic, kind);
        if self.hub.is_wanted(channel) {
            let text = value().to_string().into_bytes();
            self.hub.publish(channel, self.unix_ns(at), text);
        }
    }

    fn unix_ns(&self, at: SimTime) -> u64 {
        u64::try_from(self.epoch.unix_ns(at)).unwrap_or_default()
    }
}
