//! Foxglove's WebSocket protocol: JSON text about server and channels, binary messages for data.
//!
//! <https://github.com/foxglove/ws-protocol/blob/main/docs/spec.md>. Newer programs request the same protocol as
//! `foxglove.sdk.v1`. [`cloud`] and [`image`] define the messages in Protocol Buffers.

pub mod cloud;
pub mod image;

use serde_json::{Map, Value, json};

/// Names of the protocol, the preferred one first.
pub const SUBPROTOCOLS: [&str; 2] = ["foxglove.sdk.v1", "foxglove.websocket.v1"];
/// Longest accepted message of a client, bytes.
pub const MAX_CLIENT_MESSAGE: usize = 64 << 10;
/// Largest accepted number of subscriptions in a client's message.
pub const MAX_SUBSCRIPTIONS: usize = 1024;
/// Length of a data message before its payload, bytes.
pub const DATA_HEAD_LEN: usize = 13;

/// Code of a data message of a server.
const MESSAGE_DATA: u8 = 1;

/// Content of the message with which a server introduces itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerInfo {
    /// Name of the server for users.
    pub name: String,
    /// Id of the server's session, new at each start of the server.
    pub session: String,
    /// Further metadata, by name.
    pub metadata: Vec<(String, String)>,
}

impl ServerInfo {
    /// The message as text.
    pub fn emit(&self) -> String {
        let pairs = self.metadata.iter().map(|(name, text)| (name.clone(), json!(text)));
        json!({
            "op": "serverInfo",
            "name": self.name,
            "capabilities": [],
            "sessionId": self.session,
            "metadata": pairs.collect::<Map<_, _>>(),
        })
        .to_string()
    }
}

/// A stream of messages that clients may subscribe to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Number of the channel at this server.
    pub id: u32,
    /// Name of the channel.
    pub topic: String,
    /// Encoding of the messages: `json` or `protobuf`.
    pub encoding: &'static str,
    /// Name of the messages' schema.
    pub schema_name: String,
    /// Encoding of the schema: `jsonschema`, or `protobuf` for base64 of a `FileDescriptorSet`.
    pub schema_encoding: &'static str,
    /// The schema in the encoding `schema_encoding`.
    pub schema: String,
}

/// Message that advertises these channels.
pub fn advertise<'c>(channels: impl IntoIterator<Item = &'c Channel>) -> String {
    let told = channels.into_iter().map(|channel| {
        json!({
            "id": channel.id,
            "topic": channel.topic,
            "encoding": channel.encoding,
            "schemaName": channel.schema_name,
            "schemaEncoding": channel.schema_encoding,
            "schema": channel.schema,
        })
    });
    json!({ "op": "advertise", "channels": told.collect::<Vec<_>>() }).to_string()
}

/// Severity of a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Information.
    Info = 0,
    /// An action was not carried out.
    Warning = 1,
    /// An action failed.
    Error = 2,
}

/// A status message for users.
pub fn status(level: Level, text: &str) -> String {
    json!({ "op": "status", "level": level as u8, "message": text }).to_string()
}

/// Header of a data message for a subscription; `log_time_ns` is POSIX time.
pub fn data_head(subscription: u32, log_time_ns: u64) -> [u8; DATA_HEAD_LEN] {
    let mut head = [0; DATA_HEAD_LEN];
    head[0] = MESSAGE_DATA;
    head[1..5].copy_from_slice(&subscription.to_le_bytes());
    head[5..].copy_from_slice(&log_time_ns.to_le_bytes());
    head
}

/// A client's request for the messages of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// Id of the subscription, chosen by the client.
    pub id: u32,
    /// Id of the channel.
    pub channel: u32,
}

/// Message of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientMessage {
    /// The client subscribes to channels.
    Subscribe(Vec<Subscription>),
    /// The client ends the subscriptions with these ids.
    Unsubscribe(Vec<u32>),
    /// Any other request, with its `op`.
    Other(String),
}

/// Reason for rejecting a client's message; the client receives this text as a status.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClientFault {
    /// The text is not a JSON object with an `op`.
    #[error("not a JSON object with `op`")]
    NoObject,
    /// The named field of the request is missing or has the wrong type.
    #[error("`{0}` is missing or has the wrong type")]
    Wrong(&'static str),
    /// The message contains more than [`MAX_SUBSCRIPTIONS`] subscriptions.
    #[error("at most {MAX_SUBSCRIPTIONS} subscriptions in a message")]
    TooMany,
}

impl ClientMessage {
    /// Reads a client's text.
    ///
    /// # Errors
    /// Reason for rejecting the request.
    pub fn parse(text: &str) -> Result<Self, ClientFault> {
        let message: Value = serde_json::from_str(text).map_err(|_| ClientFault::NoObject)?;
        let op = message.get("op").and_then(Value::as_str).ok_or(ClientFault::NoObject)?;
        let list = |name: &'static str| {
            let list = message.get(name).and_then(Value::as_array);
            let list = list.ok_or(ClientFault::Wrong(name))?;
            if list.len() > MAX_SUBSCRIPTIONS { Err(ClientFault::TooMany) } else { Ok(list) }
        };
        let number = |value: Option<&Value>, name| {
            let number = value.and_then(Value::as_u64).and_then(|value| u32::try_from(value).ok());
            number.ok_or(ClientFault::Wrong(name))
        };
        match op {
            "subscribe" => {
                let of = |wish: &Value| {
                    Ok(Subscription {
                        id: number(wish.get("id"), "id")?,
                        channel: number(wish.get("channelId"), "channelId")?,
                    })
                };
                let wishes: Result<_, _> = list("subscriptions")?.iter().map(of).collect();
                Ok(Self::Subscribe(wishes?))
            }
            "unsubscribe" => {
                let ids = list("subscriptionIds")?.iter();
                let ids: Result<_, _> = ids.map(|id| number(Some(id), "subscriptionIds")).collect();
                Ok(Self::Unsubscribe(ids?))
            }
            other => Ok(Self::Other(other.to_owned())),
        }
    }

    /// The message as text.
    pub fn emit(&self) -> String {
        match self {
            Self::Subscribe(wishes) => {
                let of = |wish: &Subscription| json!({ "id": wish.id, "channelId": wish.channel });
                let wishes: Vec<_> = wishes.iter().map(of).collect();
                json!({ "op": "subscribe", "subscriptions": wishes }).to_string()
            }
            Self::Unsubscribe(ids) => {
                json!({ "op": "unsubscribe", "subscriptionIds": ids }).to_string()
            }
            Self::Other(op) => json!({ "op": op }).to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_clients_are_those_of_the_specification() {
        let text = r#"{"op": "subscribe", "subscriptions": [{"id": 0, "channelId": 3}, {"id": 1, "channelId": 5}]}"#;
        let told = ClientMessage::parse(text).unwrap();
        let wishes = [Subscription { id: 0, channel: 3 }, Subscription { id: 1, channel: 5 }];
        assert_eq!(told, ClientMessage::Subscribe(wishes.to_vec()));
        let text = r#"{"op": "unsubscribe", "subscriptionIds": [0, 1]}"#;
        assert_eq!(ClientMessage::parse(text), Ok(ClientMessage::Unsubscribe(vec![0, 1])));
        let other = ClientMessage::parse(r#"{"op": "getParameters", "parameterNames": []}"#);
        assert_eq!(other, Ok(ClientMessage::Other("getParameters".into())));
        for wish in [told, ClientMessage::Unsubscribe(vec![7])] {
            assert_eq!(ClientMessage::parse(&wish.emit()), Ok(wish));
        }
    }

    #[test]
    fn what_is_wrong_or_too_much_is_told() {
        for (text, fault) in [
            ("", ClientFault::NoObject),
            ("[]", ClientFault::NoObject),
            ("{}", ClientFault::NoObject),
            (r#"{"op": 1}"#, ClientFault::NoObject),
            (r#"{"op": "subscribe"}"#, ClientFault::Wrong("subscriptions")),
            (r#"{"op": "subscribe", "subscriptions": [{}]}"#, ClientFault::Wrong("id")),
            (
                r#"{"op": "subscribe", "subscriptions": [{"id": 1, "channelId": -1}]}"#,
                ClientFault::Wrong("channelId"),
            ),
            (
                r#"{"op": "unsubscribe", "subscriptionIds": [4294967296]}"#,
                ClientFault::Wrong("subscriptionIds"),
            ),
        ] {
            assert_eq!(ClientMessage::parse(text), Err(fault), "{text}");
        }
        let many = ClientMessage::Unsubscribe(vec![0; MAX_SUBSCRIPTIONS + 1]).emit();
        assert_eq!(ClientMessage::parse(&many), Err(ClientFault::TooMany));
        // Nested as deeply as the length of a message allows.
        let deep = "[".repeat(MAX_CLIENT_MESSAGE);
        assert_eq!(ClientMessage::parse(&deep), Err(ClientFault::NoObject));
    }

    #[test]
    fn a_data_message_is_code_subscription_and_time() {
        let head = data_head(0x0403_0201, 0x0c0b_0a09_0807_0605);
        assert_eq!(head, std::array::from_fn::<u8, 13, _>(|i| if i == 0 { 1 } else { i as u8 }));
    }
}
