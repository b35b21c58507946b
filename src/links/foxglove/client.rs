//! The connection of one client.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket};
use tokio::time::timeout;

use super::FAREWELL;
use super::hub::Hub;
use super::outbox::{Ending, Item, Outbox};
use crate::wire::foxglove::{Level, status};

/// Time without progress after which a client is disconnected.
const PATIENCE: Duration = Duration::from_secs(10);

/// A connected client; dropping this disconnects it.
pub(super) struct Client {
    number: u64,
    outbox: Arc<Outbox>,
    hub: Arc<Hub>,
}

impl Drop for Client {
    fn drop(&mut self) {
        self.hub.let_out(self.number);
    }
}

impl Client {
    /// Admits a client; `None` if `hub` has no room or is closed.
    pub(super) fn let_in(hub: &Arc<Hub>) -> Option<Self> {
        let (number, outbox) = hub.let_in()?;
        Some(Self { number, outbox, hub: Arc::clone(hub) })
    }

    /// Sends queued items and handles the client's messages until one side ends the connection.
    pub(super) async fn converse(self, mut socket: WebSocket) {
        loop {
            tokio::select! {
                item = self.outbox.next() => {
                    let is_end = matches!(item, Item::Close(_));
                    let sent = timeout(PATIENCE, socket.send(item.into_message())).await;
                    if is_end || !matches!(sent, Ok(Ok(()))) {
                        return;
                    }
                }
                heard = socket.recv() => match heard {
                    Some(Ok(Message::Text(text))) => self.hub.hear(self.number, text.as_str()),
                    Some(Ok(Message::Binary(_))) => {
                        let text = "this server accepts no binary messages from clients";
                        self.outbox.put(Item::Text(status(Level::Warning, text).into()));
                    }
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                    Some(Err(_)) => {
                        // If the connection has broken off, this fails at once.
                        let end = socket.send(Ending::WrongMessage.message());
                        let _ = timeout(FAREWELL, end).await;
                        return;
                    }
                    Some(Ok(Message::Close(_))) | None => return,
                },
            }
        }
    }
}
