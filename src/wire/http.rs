//! HTTP requests to a web interface and their answers, as data types without I/O.

use std::net::{IpAddr, Ipv4Addr};

/// A request of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequest {
    /// Method of the request; [`HttpMethod::Other`] if it is unknown.
    pub method: HttpMethod,
    /// Path as received, without the query.
    pub path: String,
    /// Query after the question mark, as received.
    pub query: String,
    /// Body of the request.
    pub body: Vec<u8>,
    /// The address of the client.
    pub from: IpAddr,
    /// Headers that determine whether the request is allowed.
    pub says: ClientSays,
}

/// Headers that determine whether a request is allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientSays {
    /// `Host`: server name that the client used.
    pub host: Option<String>,
    /// `Origin`: site of the requesting page, sent by browsers.
    pub origin: Option<String>,
    /// `Authorization`: credentials.
    pub authorization: Option<String>,
    /// `Content-Type` of the body.
    pub content_type: Option<String>,
}

impl Default for HttpRequest {
    /// A request from this computer without special headers.
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
    /// Media type of the body, such as `text/html`.
    pub content_type: &'static str,
    /// Body of the answer, in the media type `content_type`.
    pub body: Vec<u8>,
}

impl HttpResponse {
    /// A response with one line of text for users.
    pub fn text(status: u16, text: &str) -> Self {
        let body = format!("{text}\n").into_bytes();
        Self { status, content_type: "text/plain; charset=utf-8", body }
    }
}
