//! A server for Foxglove's WebSocket protocol ([`crate::wire::foxglove`]).
//!
//! [`Hub`] has the channels and accepts messages from any thread; it never waits for a client. Each client has a
//! bounded queue ([`outbox`]); if the client reads too slowly, the oldest data is dropped.

mod client;
mod hub;
mod outbox;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{ConnectInfo, Request};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use tokio::time::{sleep, timeout};

use client::Client;
pub use hub::{Hub, NewChannel};

use super::http::{self, is_set};
use super::visitors::{self, CONNECTION_LIFE, Caller, LimitedListener};
use crate::wire::foxglove::{MAX_CLIENT_MESSAGE, SUBPROTOCOLS};
use crate::wire::http::ClientSays;

/// Largest number of unsent bytes in a WebSocket: the size of its queue plus one message.
const MAX_WRITE_BUFFER: usize = 32 << 20;
/// Longest time for clients to receive the message that the run is over.
const FAREWELL: Duration = Duration::from_millis(300);

/// Decides whether to admit a client, by its headers and the query of the requested URL. A refusal has an HTTP status
/// code and a reason.
pub type Admit = Arc<dyn Fn(&ClientSays, &str) -> Result<(), (u16, &'static str)> + Send + Sync>;

/// A Foxglove server with a listening port.
#[derive(Debug)]
pub struct FoxgloveServer {
    listener: std::net::TcpListener,
    address: SocketAddr,
}

impl FoxgloveServer {
    /// Listens at `address`; clients wait until [`FoxgloveServer::serve`] is called.
    ///
    /// # Errors
    /// The port is unavailable; the error has the reason and the system's error kind.
    pub fn listen(address: SocketAddr) -> io::Result<Self> {
        let (listener, address) = visitors::listen(address, "Foxglove")?;
        Ok(Self { listener, address })
    }

    /// Address at which the server listens. If port 0 was requested, the system has chosen the port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// On this thread, serves the clients that `admit` accepts, until `over` is set.
    ///
    /// # Errors
    /// The system refuses resources that the server needs.
    pub fn serve(&self, hub: &Arc<Hub>, admit: Admit, over: &AtomicBool) -> io::Result<()> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        runtime.block_on(async {
            let listener = LimitedListener::new(&self.listener, CONNECTION_LIFE)?;
            let router = {
                let hub = Arc::clone(hub);
                Router::new().fallback(
                    move |ConnectInfo(caller): ConnectInfo<Caller>,
                          upgrade: Result<WebSocketUpgrade, _>,
                          request: Request| {
                        let upgrade = upgrade.map_err(|refused: UpgradeRefused| refused);
                        let response = open(&hub, &admit, &caller, upgrade, &request);
                        async move { response }
                    },
                )
            };
            let service = router.into_make_service_with_connect_info::<Caller>();
            tokio::select! {
                ended = async { axum::serve(listener, service).await } => ended?,
                () = is_set(over) => {}
            }
            hub.close();
            let gone = async {
                while hub.is_visited() {
                    sleep(FAREWELL / 30).await;
                }
            };
            // Clients that take longer are disconnected.
            let _ = timeout(FAREWELL, gone).await;
            Ok(())
        })
    }
}

type UpgradeRefused = axum::extract::ws::rejection::WebSocketUpgradeRejection;

/// Answers a client that connects.
fn open(
    hub: &Arc<Hub>,
    admit: &Admit,
    caller: &Caller,
    upgrade: Result<WebSocketUpgrade, UpgradeRefused>,
    request: &Request,
) -> Response {
    let refused = |status: u16, why: &'static str| {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::FORBIDDEN);
        (status, format!("{why}\n")).into_response()
    };
    let says = http::says(request.headers());
    if let Err((status, why)) = admit(&says, request.uri().query().unwrap_or_default()) {
        return refused(status, why);
    }
    let mut upgrade = match upgrade {
        Ok(upgrade) => upgrade,
        Err(_) => {
            return refused(426, "this port accepts only WebSocket connections, for Foxglove");
        }
    };
    let asked: Vec<_> = upgrade.requested_protocols().cloned().collect();
    let known = SUBPROTOCOLS.map(HeaderValue::from_static);
    let Some(protocol) = known.into_iter().find(|known| asked.contains(known)) else {
        return refused(
            400,
            "allowed values of Sec-WebSocket-Protocol: foxglove.sdk.v1, foxglove.websocket.v1",
        );
    };
    let Some(client) = Client::let_in(hub) else {
        return refused(503, "there are too many clients");
    };
    upgrade.set_selected_protocol(protocol);
    caller.stays();
    upgrade
        .max_message_size(MAX_CLIENT_MESSAGE)
        .max_frame_size(MAX_CLIENT_MESSAGE)
        .max_write_buffer_size(MAX_WRITE_BUFFER)
        .on_upgrade(move |socket| client.converse(socket))
}

#[cfg(test)]
mod tests;
