//! Requests to a web interface and what it answers, as values.

use std::net::{IpAddr, Ipv4Addr};

/// What a client wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequest {
    /// How.
    pub method: HttpMethod,
    /// Of what: the path without a query, as it was sent.
    pub path: String,
    /// What stands after the path's question mark, as it was sent.
    pub query: String,
    /// What came with it.
    pub body: Vec<u8>,
    /// Who wants it.
    pub from: IpAddr,
    /// What the client says of itself.
    pub says: ClientSays,
}

/// Headers by which it is decided whether a client may do what it wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientSays {
    /// `Host`: whom it believes to speak to.
    pub host: Option<String>,
    /// `Origin`: the site of the page that asks, if a browser asks for a page.
    pub origin: Option<String>,
    /// `Authorization`.
    pub authorization: Option<String>,
    /// `Content-Type` of the body.
    pub content_type: Option<String>,
}

impl Default for HttpRequest {
    /// A client on the same machine that wants nothing in particular.
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

/// How a client wants something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpMethod {
    /// To have it.
    Get,
    /// To change it.
    Post,
    /// To put something in its place.
    Put,
    /// To have it no more.
    Delete,
    /// Something else.
    Other,
}

/// What a client gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpResponse {
    /// Status code, 100..=599.
    pub status: u16,
    /// What the body is.
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
