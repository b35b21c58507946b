//! Requests to a web interface and its answers, as values.

use std::net::{IpAddr, Ipv4Addr};

/// A request of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequest {
    /// The method.
    pub method: HttpMethod,
    /// Path as sent, without the query.
    pub path: String,
    /// The query after the question mark, as it was sent.
    pub query: String,
    /// The body.
    pub body: Vec<u8>,
    /// The address of the client.
    pub from: IpAddr,
    /// Headers that decide whether the request is allowed.
    pub says: ClientSays,
}

/// Headers that decide whether a request is allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientSays {
    /// `Host`: the server that the client wants to reach.
    pub host: Option<String>,
    /// `Origin`: site of the requesting page, from a browser.
    pub origin: Option<String>,
    /// `Authorization`.
    pub authorization: Option<String>,
    /// `Content-Type` of the body.
    pub content_type: Option<String>,
}

impl Default for HttpRequest {
    /// A request from this machine without special headers.
    fn default() -> Self {
        Self {
            method: HttpMethod::Get,
            path: String::new(),
            query: String::new(),
            body: Vec::new(),
            from: Ipv4Addr::LOCALHOST.into(),
            says: ClientSays::default(),
        }
    }
}

/// The method of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpMethod {
    /// GET.
    Get,
    /// POST.
    Post,
    /// PUT.
    Put,
    /// DELETE.
    Delete,
    /// Any other method.
    Other,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpResponse {
    /// Status code, 100..=599.
    pub status: u16,
    /// The media type of the body.
    pub content_type: &'static str,
    /// The body.
    pub body: Vec<u8>,
}

impl HttpResponse {
    /// A line of text, for people.
    pub fn text(status: u16, text: &str) -> Self {
        let body = format!("{text}\n").into_bytes();
        Self { status, content_type: "text/plain; charset=utf-8", body }
    }
}
