//! Tests with correct and faulty clients over real sockets. The clients write WebSocket frames as bytes, so that they
//! can write wrong ones.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use super::hub::MAX_CLIENTS;
use super::*;
use crate::wire::foxglove::ServerInfo;

fn hub() -> Arc<Hub> {
    Hub::new(&ServerInfo { name: "test".into(), session: "1".into(), metadata: Vec::new() })
}

fn channel(topic: &str) -> NewChannel {
    NewChannel {
        topic: topic.into(),
        encoding: "json",
        schema_name: "Test".into(),
        schema_encoding: "jsonschema",
        schema: r#"{"type":"object","properties":{}}"#.into(),
    }
}

fn with_server(hub: &Arc<Hub>, clients: impl FnOnce(SocketAddr)) {
    let server = FoxgloveServer::listen((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let over = AtomicBool::new(false);
    let admit: Admit = Arc::new(|says, query| match (&says.origin, query) {
        (Some(_), _) => Err((403, "no pages")),
        (None, "token=wrong") => Err((401, "a wrong token")),
        (None, _) => Ok(()),
    });
    std::thread::scope(|scope| {
        let serving = scope.spawn(|| server.serve(hub, admit, &over));
        clients(server.address());
        over.store(true, Ordering::Relaxed);
        serving.join().unwrap().unwrap();
    });
}

/// A client of the protocol.
struct Guest(TcpStream);

impl Guest {
    fn ask(address: SocketAddr, path: &str, more: &str) -> (TcpStream, String) {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{more}\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
            head.push(byte[0]);
        }
        (stream, String::from_utf8(head).unwrap())
    }

    fn come(address: SocketAddr) -> Self {
        let (stream, head) =
            Self::ask(address, "/", "Sec-WebSocket-Protocol: foxglove.websocket.v1\r\n");
        assert!(head.starts_with("HTTP/1.1 101"), "{head}");
        // The key and the answer are those of RFC 6455.
        assert!(head.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{head}");
        assert!(head.contains("sec-websocket-protocol: foxglove.websocket.v1"), "{head}");
        Self(stream)
    }

    /// Sends a frame with this first byte, masked with zeros; its header states `length` bytes.
    fn send(&mut self, first: u8, length: u64, payload: &[u8]) {
        let mut frame = vec![first, 0x80 | 127];
        frame.extend(length.to_be_bytes());
        frame.extend([0; 4]);
        frame.extend_from_slice(payload);
        // The server may already have closed the connection.
        let _ = self.0.write_all(&frame);
    }

    fn say(&mut self, message: &Value) {
        let text = message.to_string();
        self.send(0x81, text.len() as u64, text.as_bytes());
    }

    /// The next message: its opcode and its bytes; `None` when the server has closed the connection.
    fn hear(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut head = [0; 2];
        self.0.read_exact(&mut head).ok()?;
        let length = match head[1] {
            126 => {
                let mut length = [0; 2];
                self.0.read_exact(&mut length).ok()?;
                u64::from(u16::from_be_bytes(length))
            }
            127 => {
                let mut length = [0; 8];
                self.0.read_exact(&mut length).ok()?;
                u64::from_be_bytes(length)
            }
            length => length.into(),
        };
        let mut payload = vec![0; length as usize];
        self.0.read_exact(&mut payload).ok()?;
        Some((head[0] & 0x0f, payload))
    }

    fn text(&mut self) -> Value {
        let (code, bytes) = self.hear().expect("a message");
        assert_eq!(code, 1, "{bytes:?}");
        serde_json::from_slice(&bytes).unwrap()
    }
}

#[test]
fn a_client_gets_what_it_subscribes_to_and_no_more() {
    let hub = hub();
    let first = hub.add(channel("/a"));
    with_server(&hub, |address| {
        let mut guest = Guest::come(address);
        assert_eq!(guest.text()["op"], "serverInfo");
        let told = guest.text();
        assert_eq!(
            (&told["op"], &told["channels"][0]["topic"]),
            (&json!("advertise"), &json!("/a"))
        );
        let second = hub.add(channel("/b"));
        assert_eq!(guest.text()["channels"][0]["topic"], "/b");
        assert!(hub.is_visited() && !hub.is_wanted(first));
        guest.say(
            &json!({ "op": "subscribe", "subscriptions": [{ "id": 7, "channelId": second }] }),
        );
        // A wrong request is answered, which also shows that all earlier requests were handled.
        for (wrong, told) in [
            (
                json!({ "op": "subscribe", "subscriptions": [{ "id": 7, "channelId": first }] }),
                "already",
            ),
            (
                json!({ "op": "subscribe", "subscriptions": [{ "id": 8, "channelId": second }] }),
                "already",
            ),
            (
                json!({ "op": "subscribe", "subscriptions": [{ "id": 9, "channelId": 99 }] }),
                "no channel",
            ),
            (json!({ "op": "unsubscribe", "subscriptionIds": [5] }), "no subscription"),
            (json!({ "op": "setParameters" }), "not supported"),
            (json!(3), "not a JSON object"),
        ] {
            guest.say(&wrong);
            let status = guest.text();
            assert_eq!(status["op"], "status", "{status}");
            assert!(status["message"].as_str().unwrap().contains(told), "{status}");
        }
        hub.publish(first, 1, *b"nobody's");
        hub.publish(second, 0x0102, *b"wanted");
        let (code, bytes) = guest.hear().unwrap();
        assert_eq!((code, &bytes[..5]), (2, &[1, 7, 0, 0, 0][..]));
        assert_eq!(bytes[5..13], 0x0102_u64.to_le_bytes());
        assert_eq!(bytes[13..], *b"wanted");
        guest.say(&json!({ "op": "unsubscribe", "subscriptionIds": [7] }));
        guest.say(&json!({ "op": "time" }));
        assert_eq!(guest.text()["op"], "status");
        assert!(!hub.is_wanted(second));
        // A server that ends reports this to its clients.
        drop(guest);
    });
    assert!(!hub.is_visited());
}

#[test]
fn who_may_not_come_in_is_told_why() {
    with_server(&hub(), |address| {
        const OURS: &str = "Sec-WebSocket-Protocol: foxglove.websocket.v1\r\n";
        for (path, more, told) in [
            ("/", "", "400"),
            ("/", "Sec-WebSocket-Protocol: mqtt\r\n", "400"),
            ("/?token=wrong", OURS, "401"),
            ("/", &*format!("{OURS}Origin: http://evil.example\r\n"), "403"),
        ] {
            let (_, head) = Guest::ask(address, path, more);
            assert!(head.starts_with(&format!("HTTP/1.1 {told}")), "{told}: {head}");
        }
        let both = "Sec-WebSocket-Protocol: foxglove.websocket.v1, foxglove.sdk.v1\r\n";
        let (_, head) = Guest::ask(address, "/", both);
        assert!(head.contains("sec-websocket-protocol: foxglove.sdk.v1\r\n"), "{head}");
        let mut plain = TcpStream::connect(address).unwrap();
        plain.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut got = String::new();
        plain.read_to_string(&mut got).unwrap();
        assert!(got.starts_with("HTTP/1.1 426"), "{got}");
    });
}

#[test]
fn wrong_and_oversized_frames_end_their_own_conversation_only() {
    let hub = hub();
    let id = hub.add(channel("/a"));
    with_server(&hub, |address| {
        let mut good = Guest::come(address);
        good.text();
        good.text();
        good.say(&json!({ "op": "subscribe", "subscriptions": [{ "id": 1, "channelId": id }] }));
        let heard_all = |guest: &mut Guest| while guest.hear().is_some() {};
        // A frame that would fill the memory, a message in endless parts, reserved bits, and text that is not UTF-8.
        Guest::come(address).send(0x82, u64::MAX >> 1, b"x");
        let mut long = Guest::come(address);
        for part in 0..40 {
            long.send(if part == 0 { 0x02 } else { 0x00 }, 4096, &[0; 4096]);
        }
        heard_all(&mut long);
        for first in [0xf1, 0x83, 0x00] {
            let mut wrong = Guest::come(address);
            wrong.send(first, 1, b"x");
            heard_all(&mut wrong);
        }
        let mut no_text = Guest::come(address);
        no_text.send(0x81, 2, &[0xff, 0xfe]);
        heard_all(&mut no_text);
        // Wrong messages are answered each time, binary messages too.
        let mut noisy = Guest::come(address);
        noisy.text();
        noisy.text();
        for _ in 0..50 {
            noisy.send(0x82, 3, b"abc");
            assert_eq!(noisy.text()["op"], "status");
        }
        hub.publish(id, 5, *b"still here");
        let (_, bytes) = good.hear().unwrap();
        assert_eq!(bytes[13..], *b"still here");
    });
}

#[test]
fn there_is_room_for_so_many_and_again_when_one_leaves() {
    let hub = hub();
    with_server(&hub, |address| {
        let mut guests: Vec<_> = (0..MAX_CLIENTS).map(|_| Guest::come(address)).collect();
        const OURS: &str = "Sec-WebSocket-Protocol: foxglove.sdk.v1\r\n";
        assert!(Guest::ask(address, "/", OURS).1.starts_with("HTTP/1.1 503"));
        // Clients that connect without a request use little room and displace no admitted client.
        let knocking: Vec<_> = (0..40).map(|_| TcpStream::connect(address).unwrap()).collect();
        guests.pop();
        let has_room = (0..2000).any(|_| {
            std::thread::park_timeout(Duration::from_millis(10));
            Guest::ask(address, "/", OURS).1.starts_with("HTTP/1.1 101")
        });
        assert!(has_room, "no room for another");
        drop(knocking);
        for guest in &mut guests {
            assert_eq!(guest.text()["op"], "serverInfo");
        }
    });
}

#[test]
fn who_does_not_read_holds_up_nobody() {
    let hub = hub();
    let id = hub.add(channel("/cloud"));
    with_server(&hub, |address| {
        let mut guests = [Guest::come(address), Guest::come(address)];
        for guest in &mut guests {
            guest.text();
            guest.text();
            guest.say(
                &json!({ "op": "subscribe", "subscriptions": [{ "id": 1, "channelId": id }] }),
            );
            guest.say(
                &json!({ "op": "subscribe", "subscriptions": [{ "id": 1, "channelId": id }] }),
            );
            assert_eq!(guest.text()["op"], "status");
        }
        let [slow, quick] = &mut guests;
        // Ten times as many bytes as a client's queue holds; only one client reads them.
        let payload: Arc<[u8]> = vec![7; 1 << 20].into();
        for number in 0..160_u64 {
            hub.publish(id, number, Arc::clone(&payload));
            let (code, bytes) = quick.hear().unwrap();
            assert_eq!((code, &bytes[5..13]), (2, &number.to_le_bytes()[..]));
        }
        // The slow client misses data in the middle, receives a message about it, and receives the newest data.
        let (mut numbers, mut told) = (Vec::new(), false);
        while numbers.last() != Some(&159) {
            let (code, bytes) = slow.hear().unwrap();
            match code {
                1 => told |= String::from_utf8(bytes).unwrap().contains("were dropped"),
                _ => numbers.push(u64::from_le_bytes(bytes[5..13].try_into().unwrap())),
            }
        }
        assert!(told && numbers.len() < 160 && numbers.is_sorted(), "{numbers:?}");
    });
}

/// Code and text of the message that ends a connection, after all other messages.
fn farewell(guest: &mut Guest) -> (u16, String) {
    loop {
        let (code, bytes) = guest.hear().expect("a message before the connection ends");
        if code == 8 {
            let text = String::from_utf8(bytes[2..].to_vec()).unwrap();
            return (u16::from_be_bytes([bytes[0], bytes[1]]), text);
        }
    }
}

#[test]
fn a_conversation_ends_with_its_reason() {
    let hub = hub();
    let mut stays = None;
    with_server(&hub, |address| {
        let mut wrong = Guest::come(address);
        wrong.send(0x81, MAX_CLIENT_MESSAGE as u64 + 1, b"");
        let (code, text) = farewell(&mut wrong);
        assert_eq!((code, &*text), (1002, "this client sent a message that cannot be read"));
        let mut guest = Guest::come(address);
        guest.text();
        stays = Some(guest);
    });
    assert_eq!(farewell(&mut stays.unwrap()), (1001, "the run has ended".to_owned()));
}
