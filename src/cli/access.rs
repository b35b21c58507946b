//! Access of observers to a run: by the live view and by Foxglove.
//!
//! By default the server listens on this machine only, and every local client has access. At any other address than
//! loopback, all requests except those for the page need a token. Requests from pages of other sites are refused: a
//! browser sends the site of the requesting page (`Origin`) and the host name of the request (`Host`), so a foreign
//! name that points here gives no access. Foxglove's pages may observe a run, see [`Access::check_socket`].

use std::net::{IpAddr, SocketAddr};

use crate::wire::http::{ClientSays, HttpMethod, HttpRequest};

/// Path of image streams, followed by a camera's name.
pub const VIDEO: &str = "/video/";
/// Length of a token, bytes.
const TOKEN_BYTES: usize = 16;

/// Rules that decide which clients have access.
#[derive(Clone, Debug)]
pub struct Access {
    token: Option<String>,
}

/// Refusal of a request: HTTP status and message.
pub type Refused = (u16, &'static str);

impl Access {
    /// Rules for a server at `address`: on the loopback interface every client has access; elsewhere, only clients with
    /// a random token.
    ///
    /// # Errors
    /// The system cannot provide random numbers.
    pub fn at(address: SocketAddr) -> std::io::Result<Self> {
        if address.ip().is_loopback() {
            return Ok(Self { token: None });
        }
        let mut bytes = [0; TOKEN_BYTES];
        std::io::Read::read_exact(&mut std::fs::File::open("/dev/urandom")?, &mut bytes)?;
        Ok(Self { token: Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect()) })
    }

    /// The token, if one is required.
    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Checks whether a Foxglove client has access, from the headers and the query of its request. Accepts pages from
    /// files, `localhost`, IP addresses and subdomains of `foxglove.dev`, because clients cannot change a run by
    /// Foxglove's protocol. If there is a token, the query must contain it; otherwise the `Host` header must be an IP
    /// address or `localhost`.
    ///
    /// # Errors
    /// The client has no access; the error gives the reason.
    pub fn check_socket(&self, says: &ClientSays, query: &str) -> Result<(), Refused> {
        let is_ours = |host: &str| is_address(host) || host.ends_with(".foxglove.dev");
        let origin = says.origin.as_deref().unwrap_or("file://");
        let is_known = match origin.split_once("://") {
            Some(("file", _)) => true,
            Some(("http" | "https", host)) => is_ours(host),
            _ => false,
        };
        if !is_known {
            return Err((403, "pages of other sites have no access"));
        }
        match &self.token {
            None if says.host.as_deref().is_some_and(is_address) => Ok(()),
            None => Err((403, "use an IP address of this machine, or localhost, in the URL")),
            Some(token) => match is_same(token, token_in(query).unwrap_or_default()) {
                true => Ok(()),
                false => Err((401, "the token is wrong: use the one that `menura run` printed")),
            },
        }
    }

    /// Checks whether `request` is permitted.
    ///
    /// # Errors
    /// The request is not permitted; the error gives the reason.
    pub fn check(&self, request: &HttpRequest) -> Result<(), Refused> {
        let ClientSays { host, origin, authorization, content_type } = &request.says;
        let Some(host) = host.as_deref().filter(|host| is_address(host)) else {
            return Err((403, "use an IP address of this machine, or localhost, in the URL"));
        };
        if origin.as_ref().is_some_and(|origin| *origin != format!("http://{host}")) {
            return Err((403, "pages of other sites have no access"));
        }
        if request.method == HttpMethod::Post && content_type.as_deref() != Some("application/json")
        {
            return Err((415, "allowed: application/json"));
        }
        let is_video = request.path.starts_with(VIDEO);
        let is_page =
            request.method == HttpMethod::Get && !request.path.starts_with("/api/") && !is_video;
        // A video player cannot send the token in a header, so it may be in the query.
        let given = authorization.as_deref().and_then(|text| text.strip_prefix("Bearer "));
        let given = given.or_else(|| token_in(&request.query).filter(|_| is_video));
        match &self.token {
            Some(token) if !is_page && !is_same(token, given.unwrap_or_default()) => {
                Err((401, "the token is wrong: use the one that `menura run` printed"))
            }
            _ => Ok(()),
        }
    }
}

fn token_in(query: &str) -> Option<&str> {
    query.split('&').find_map(|pair| pair.strip_prefix("token="))
}

/// Whether `host`, with or without a port, is an IP address or `localhost`.
fn is_address(host: &str) -> bool {
    let is_ip = |text: &str| text.parse::<IpAddr>().is_ok();
    let without_port = host.rsplit_once(':').map_or(host, |(name, _)| name);
    host.parse::<SocketAddr>().is_ok()
        || is_ip(host.trim_start_matches('[').trim_end_matches(']'))
        || without_port.eq_ignore_ascii_case("localhost")
        || host.eq_ignore_ascii_case("localhost")
}

/// Whether the texts are equal. The time of the comparison does not depend on the position of a difference.
fn is_same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(method: HttpMethod, path: &str, says: ClientSays) -> HttpRequest {
        HttpRequest { method, path: path.into(), says, ..HttpRequest::default() }
    }

    fn says(host: &str, origin: Option<&str>) -> ClientSays {
        ClientSays {
            host: Some(host.into()),
            origin: origin.map(str::to_owned),
            authorization: None,
            content_type: Some("application/json".into()),
        }
    }

    #[test]
    fn pages_of_other_sites_and_other_names_are_refused() {
        let access = Access::at("127.0.0.1:80".parse().unwrap()).unwrap();
        let post = |says| access.check(&asked(HttpMethod::Post, "/api/fault", says));
        for host in ["127.0.0.1:8642", "localhost:8642", "LOCALHOST", "[::1]:8642", "10.0.0.7"] {
            assert_eq!(post(says(host, None)), Ok(()), "{host}");
            assert_eq!(post(says(host, Some(&format!("http://{host}")))), Ok(()));
            for origin in
                ["http://evil.example", "null", "https://127.0.0.1:8642", "http://127.0.0.1:1"]
            {
                assert_eq!(post(says(host, Some(origin))).unwrap_err().0, 403, "{host} {origin}");
            }
        }
        for host in
            ["evil.example", "evil.example:8642", "localhost.evil.example", "", "127.0.0.1.evil"]
        {
            assert_eq!(post(says(host, None)).unwrap_err().0, 403, "{host}");
        }
        assert_eq!(post(ClientSays::default()).unwrap_err().0, 403);
        let form =
            ClientSays { content_type: Some("text/plain".into()), ..says("localhost", None) };
        assert_eq!(post(form).unwrap_err().0, 415);
    }

    #[test]
    fn beyond_this_machine_a_token_is_asked_for() {
        let access = Access::at("0.0.0.0:8642".parse().unwrap()).unwrap();
        let token = access.token().unwrap().to_owned();
        assert_eq!(token.len(), 32);
        assert_ne!(Access::at("0.0.0.0:8642".parse().unwrap()).unwrap().token(), Some(&*token));
        let ask = |path: &str, authorization: Option<String>| {
            let says = ClientSays { authorization, ..says("192.168.1.5:8642", None) };
            access.check(&asked(HttpMethod::Get, path, says)).map_err(|(status, _)| status)
        };
        assert_eq!(ask("/", None), Ok(()));
        assert_eq!(ask("/api/status", None), Err(401));
        assert_eq!(ask("/api/status", Some("Bearer ".into())), Err(401));
        assert_eq!(ask("/api/status", Some(format!("Bearer {}", &token[1..]))), Err(401));
        assert_eq!(ask("/api/status", Some(format!("Bearer {token}"))), Ok(()));
        let ask_with = |path: &str, query: String| {
            let request = asked(HttpMethod::Get, path, says("192.168.1.5:8642", None));
            access.check(&HttpRequest { query, ..request }).map_err(|(status, _)| status)
        };
        assert_eq!(ask("/video/front", None), Err(401));
        assert_eq!(ask_with("/video/front", format!("token={}", &token[1..])), Err(401));
        assert_eq!(ask_with("/video/front", format!("token={token}")), Ok(()));
        // The token in a query must not give access to other requests, such as starting a fault.
        assert_eq!(ask_with("/api/status", format!("token={token}")), Err(401));
    }

    #[test]
    fn foxgloves_page_may_look_on_and_others_may_not() {
        let access = Access::at("127.0.0.1:8765".parse().unwrap()).unwrap();
        let ask = |host: &str, origin: Option<&str>| access.check_socket(&says(host, origin), "");
        for origin in [
            None,
            Some("file://"),
            Some("https://app.foxglove.dev"),
            Some("http://localhost:8080"),
            Some("http://192.168.1.4:8080"),
        ] {
            assert_eq!(ask("localhost:8765", origin), Ok(()), "{origin:?}");
        }
        for origin in [
            "https://evil.example",
            "null",
            "https://foxglove.dev.evil.example",
            "https://evilfoxglove.dev",
        ] {
            assert_eq!(ask("localhost:8765", Some(origin)).unwrap_err().0, 403, "{origin}");
        }
        assert_eq!(ask("evil.example", None).unwrap_err().0, 403);
        let access = Access::at("0.0.0.0:8765".parse().unwrap()).unwrap();
        let token = access.token().unwrap();
        let says = says("robot.local:8765", None);
        assert_eq!(access.check_socket(&says, &format!("a=b&token={token}")), Ok(()));
        assert_eq!(access.check_socket(&says, "token=").unwrap_err().0, 401);
        assert_eq!(access.check_socket(&says, "").unwrap_err().0, 401);
    }
}
