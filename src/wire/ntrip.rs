//! NTRIP, the protocol of casters for corrections: version 1 (RTCM 10410.0, a text protocol over TCP) and version 2
//! (RTCM 10410.1, HTTP/1.1 with chunks).
//!
//! The module is for both ends: a client writes a [`Request`], which a caster reads; the caster writes an [`Answer`],
//! which the client reads. [`MAX_HEAD`] limits the size of a received header.

use std::fmt::Write;

/// Largest size of a request, or of an answer without its data, bytes.
pub const MAX_HEAD: usize = 4096;
/// Longest line before a chunk, which contains the chunk's length and extensions, bytes.
const MAX_CHUNK_HEAD: usize = 64;
/// Longest chunk that is accepted, bytes.
const MAX_CHUNK: usize = 1 << 20;
const SERVER: &str = "NTRIP Menura";

/// Request of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Name of the stream (mount point); empty for the source table.
    pub mount_point: String,
    /// Whether the client uses version 2.
    pub is_version_2: bool,
    /// Value of the `Authorization` header; `None` if the request has none.
    pub authorization: Option<String>,
}

/// Reason why no header could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoHead {
    /// The header is incomplete.
    Incomplete,
    /// The bytes are not a valid header.
    Refused,
}

impl Request {
    /// Reads the bytes that a client has sent so far.
    ///
    /// # Errors
    /// The bytes are incomplete, or are not a client's request for corrections.
    pub fn parse(bytes: &[u8]) -> Result<Self, NoHead> {
        let head = head(bytes)?;
        let mut lines = head.split("\r\n");
        let mut first = lines.next().unwrap_or_default().split(' ');
        let (Some("GET"), Some(path), Some(version)) = (first.next(), first.next(), first.next())
        else {
            return Err(NoHead::Refused);
        };
        if !version.starts_with("HTTP/1.") || first.next().is_some() {
            return Err(NoHead::Refused);
        }
        let path = path.split('?').next().unwrap_or_default();
        let mut request = Self {
            mount_point: path.trim_start_matches('/').to_owned(),
            is_version_2: false,
            authorization: None,
        };
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            match name.trim().to_ascii_lowercase().as_str() {
                "ntrip-version" => request.is_version_2 = value.eq_ignore_ascii_case("ntrip/2.0"),
                "authorization" => request.authorization = Some(value.to_owned()),
                _ => {}
            }
        }
        Ok(request)
    }

    /// Bytes of a client's request; `host` is the value of the `Host` header.
    pub fn to_bytes(&self, host: &str) -> Vec<u8> {
        let mut text = format!("GET /{} HTTP/1.1\r\nHost: {host}\r\n", self.mount_point);
        if self.is_version_2 {
            text.push_str("Ntrip-Version: Ntrip/2.0\r\n");
        }
        let _ = write!(text, "User-Agent: {SERVER}\r\n");
        if let Some(authorization) = &self.authorization {
            let _ = write!(text, "Authorization: {authorization}\r\n");
        }
        text.push_str("Connection: close\r\n\r\n");
        text.into_bytes()
    }
}

/// Answer of a caster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Announces a stream; the data follows the answer.
    Stream {
        /// Whether the data is in chunks.
        is_chunked: bool,
    },
    /// The source table; no stream follows. [`Answer::parse`] leaves its text empty.
    Table(String),
    /// User or password is wrong or missing.
    Unauthorized,
    /// Unknown stream.
    NotFound,
    /// Any other answer. [`Answer::parse`] returns its status line, at most 80 characters. [`Answer::to_bytes`] writes
    /// an error 400 with this text as the reason.
    Other(String),
}

impl Answer {
    /// Reads the bytes that a caster has sent so far; also returns the number of bytes before the data.
    ///
    /// # Errors
    /// The bytes are incomplete, or are not a caster's answer.
    pub fn parse(bytes: &[u8]) -> Result<(Self, usize), NoHead> {
        // Casters of version 1 send the data after this line, with or without an empty line in between.
        const ICY: &[u8] = b"ICY 200 OK\r\n";
        if bytes.starts_with(ICY) {
            let rest = &bytes[ICY.len()..];
            let empty = if rest.starts_with(b"\r\n") { 2 } else { 0 };
            return Ok((Self::Stream { is_chunked: false }, ICY.len() + empty));
        }
        let head = head(bytes)?;
        let used = head.len() + 4;
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap_or_default();
        let has = |wanted: &str, part: &str| {
            lines.clone().filter_map(|line| line.split_once(':')).any(|(name, value)| {
                name.eq_ignore_ascii_case(wanted) && value.to_ascii_lowercase().contains(part)
            })
        };
        let answer = match status.split(' ').collect::<Vec<_>>()[..] {
            ["SOURCETABLE", "200", ..] => Self::Table(String::new()),
            [_, "200", ..] if has("content-type", "sourcetable") => Self::Table(String::new()),
            [http, "200", ..] if http.starts_with("HTTP/1.") => {
                Self::Stream { is_chunked: has("transfer-encoding", "chunked") }
            }
            [_, "401", ..] => Self::Unauthorized,
            [_, "404", ..] => Self::NotFound,
            _ => Self::Other(status.chars().take(80).collect()),
        };
        Ok((answer, used))
    }

    /// Bytes of the answer to `request`; for a stream, all bytes before the data.
    pub fn to_bytes(&self, request: &Request) -> Vec<u8> {
        let is_2 = request.is_version_2;
        let http = if is_2 { "HTTP/1.1" } else { "HTTP/1.0" };
        let version = if is_2 { "Ntrip-Version: Ntrip/2.0\r\n" } else { "" };
        let with = |status: &str, more: &str, body: &str| {
            format!(
                "{status}\r\n{version}Server: {SERVER}\r\n{more}Content-Length: {}\r\n\
                 Connection: close\r\n\r\n{body}",
                body.len()
            )
        };
        let text = match self {
            Self::Stream { .. } if !is_2 => "ICY 200 OK\r\n\r\n".to_owned(),
            Self::Stream { .. } => format!(
                "HTTP/1.1 200 OK\r\n{version}Server: {SERVER}\r\nCache-Control: no-store\r\n\
                 Pragma: no-cache\r\nContent-Type: gnss/data\r\nTransfer-Encoding: chunked\r\n\
                 Connection: close\r\n\r\n"
            ),
            Self::Table(table) if is_2 => {
                with("HTTP/1.1 200 OK", "Content-Type: gnss/sourcetable\r\n", table)
            }
            Self::Table(table) => with("SOURCETABLE 200 OK", "Content-Type: text/plain\r\n", table),
            Self::Unauthorized => {
                let realm = format!("WWW-Authenticate: Basic realm=\"{SERVER}\"\r\n");
                with(&format!("{http} 401 Unauthorized"), &realm, "")
            }
            Self::NotFound => with(&format!("{http} 404 Not Found"), "", ""),
            Self::Other(reason) => with(&format!("{http} 400 {reason}"), "", ""),
        };
        text.into_bytes()
    }
}

/// The text before the empty line that ends a header.
fn head(bytes: &[u8]) -> Result<&str, NoHead> {
    let window = &bytes[..bytes.len().min(MAX_HEAD)];
    match window.windows(4).position(|four| four == b"\r\n\r\n") {
        Some(end) => std::str::from_utf8(&window[..end]).map_err(|_| NoHead::Refused),
        None if bytes.len() < MAX_HEAD => Err(NoHead::Incomplete),
        None => Err(NoHead::Refused),
    }
}

/// Encodes `bytes` as one chunk of a body in the chunked transfer encoding.
pub fn chunk(bytes: &[u8]) -> Vec<u8> {
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend(bytes);
    chunk.extend(b"\r\n");
    chunk
}

/// Decodes the body of an answer in the chunked transfer encoding of HTTP/1.1.
#[derive(Clone, Debug, Default)]
pub struct Chunks {
    head: Vec<u8>,
    /// Number of bytes of the current chunk that have not arrived, including its CR LF.
    left: usize,
}

impl Chunks {
    /// Decodes `bytes`, the next part of the body, and appends the chunks' content to `data`.
    ///
    /// # Errors
    /// The last chunk has arrived, or bytes are invalid.
    pub fn take(&mut self, bytes: &[u8], data: &mut Vec<u8>) -> Result<(), NoHead> {
        let mut rest = bytes;
        while let Some((first, behind)) = rest.split_first() {
            if self.left > 2 {
                let count = rest.len().min(self.left - 2);
                data.extend(&rest[..count]);
                self.left -= count;
                rest = &rest[count..];
                continue;
            }
            rest = behind;
            if self.left > 0 {
                self.left -= 1;
                continue;
            }
            if *first != b'\n' {
                self.head.push(*first);
                if self.head.len() > MAX_CHUNK_HEAD {
                    return Err(NoHead::Refused);
                }
                continue;
            }
            let text = String::from_utf8_lossy(&self.head).into_owned();
            self.head.clear();
            let digits = text.split(';').next().unwrap_or_default().trim();
            match usize::from_str_radix(digits, 16) {
                Ok(length @ 1..=MAX_CHUNK) => self.left = length + 2,
                _ => return Err(NoHead::Refused),
            }
        }
        Ok(())
    }
}

/// Line of a stream in a source table.
#[derive(Clone, Debug, PartialEq)]
pub struct Source<'a> {
    /// Name of the stream (mount point).
    pub mount_point: &'a str,
    /// Approximate latitude of the base, degrees.
    pub latitude_deg: f64,
    /// Approximate longitude of the base, degrees.
    pub longitude_deg: f64,
    /// Whether a login is required.
    pub has_login: bool,
}

impl Source<'_> {
    /// A source table with only this stream.
    pub fn table(&self) -> String {
        let login = if self.has_login { 'B' } else { 'N' };
        format!(
            "STR;{name};{name};RTCM 3.3;;2;\
             GPS+GLO+GAL+BDS;Menura;;{:.2};{:.2};0;0;{SERVER};none;{login};N;;\r\n\
             ENDSOURCETABLE\r\n",
            self.latitude_deg,
            self.longitude_deg,
            name = self.mount_point,
        )
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Requests as sent by RTKLIB 2.4.3's `str2str` and `pygnssutils`.
    #[test]
    fn both_versions_are_read() {
        let old = b"GET /BASE HTTP/1.0\r\nUser-Agent: NTRIP RTKLIB/2.4.3\r\nAuthorization: Basic dTpw\r\n\r\n";
        let expected = Request {
            mount_point: "BASE".to_owned(),
            is_version_2: false,
            authorization: Some("Basic dTpw".to_owned()),
        };
        assert_eq!(Request::parse(old), Ok(expected.clone()));
        assert_eq!(Request::parse(&old[..old.len() - 1]), Err(NoHead::Incomplete));
        let new = b"GET / HTTP/1.1\r\nHost: a:2101\r\nNtrip-Version: Ntrip/2.0\r\nUser-Agent: NTRIP pygnssutils/1.1\r\nConnection: close\r\n\r\n";
        let request = Request::parse(new).unwrap();
        assert_eq!((request.mount_point.as_str(), request.is_version_2), ("", true));
        let back = Request { is_version_2: true, ..expected };
        assert_eq!(Request::parse(&back.to_bytes("localhost:2101")), Ok(back));
        for wrong in ["POST /BASE HTTP/1.1\r\n\r\n", "SOURCE secret /BASE\r\n\r\n", "GET /\r\n\r\n"]
        {
            assert_eq!(Request::parse(wrong.as_bytes()), Err(NoHead::Refused), "{wrong}");
        }
        assert_eq!(Request::parse(&[b'x'; MAX_HEAD]), Err(NoHead::Refused));
    }

    #[test]
    fn answers_are_read_as_they_are_written() {
        let mut request =
            Request { mount_point: "BASE".to_owned(), is_version_2: true, authorization: None };
        for is_version_2 in [true, false] {
            request.is_version_2 = is_version_2;
            let read = |answer: Answer| {
                let bytes = answer.to_bytes(&request);
                let (read, used) = Answer::parse(&bytes).unwrap();
                assert!(used <= bytes.len());
                read
            };
            let stream = Answer::Stream { is_chunked: is_version_2 };
            assert_eq!(read(stream.clone()), stream);
            assert_eq!(read(Answer::Unauthorized), Answer::Unauthorized);
            assert_eq!(read(Answer::NotFound), Answer::NotFound);
            assert_eq!(read(Answer::Table("x".to_owned())), Answer::Table(String::new()));
        }
        let (_, used) = Answer::parse(b"ICY 200 OK\r\n\xd3\x00\x13").unwrap();
        assert_eq!(used, 12, "some casters leave the empty line out");
    }

    proptest! {
        #[test]
        fn chunks_come_apart_however_they_arrive(
            parts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..300), 1..8),
            piece in 1_usize..40,
        ) {
            let sent: Vec<u8> = parts.iter().flat_map(|part| chunk(part)).collect();
            let (mut chunks, mut data) = (Chunks::default(), Vec::new());
            for piece in sent.chunks(piece) {
                chunks.take(piece, &mut data).unwrap();
            }
            prop_assert_eq!(data, parts.concat());
        }

        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _ = Request::parse(&bytes);
            if let Ok((_, used)) = Answer::parse(&bytes) {
                prop_assert!(used <= bytes.len());
            }
            let mut data = Vec::new();
            let _ = Chunks::default().take(&bytes, &mut data);
            prop_assert!(data.len() <= bytes.len());
        }
    }
}
