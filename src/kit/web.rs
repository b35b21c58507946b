//! Changes a setting through the device's web interface.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Longest time for an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest part of an answer that is read, bytes.
const LONGEST_ANSWER: u64 = 64 << 10;
/// Longest part of an answer that is shown, characters.
const TOLD_CHARS: usize = 200;

/// Posts the form `body` to `path` of the web interface at `to`; returns the reason if the device refuses the form.
///
/// # Errors
/// The device does not answer, or answers with a status other than success (2xx) or refusal (4xx).
pub fn post(to: SocketAddr, path: &str, body: &str) -> Result<Option<String>, String> {
    let failed =
        |error: std::io::Error| format!("the web interface at {to} does not answer: {error}");
    let mut stream = TcpStream::connect_timeout(&to, PATIENCE).map_err(failed)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(failed)?;
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {to}\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).map_err(failed)?;
    let mut answer = Vec::new();
    stream.take(LONGEST_ANSWER).read_to_end(&mut answer).map_err(failed)?;
    let answer = String::from_utf8_lossy(&answer);
    let status: Option<u16> = answer.split(' ').nth(1).and_then(|word| word.parse().ok());
    let said = answer.split_once("\r\n\r\n").map_or("", |(_, said)| said.trim());
    let said: String = said.chars().take(TOLD_CHARS).collect();
    match status {
        Some(200..=299) => Ok(None),
        Some(status @ 400..=499) => {
            let text = format!("the web interface rejects `{body}` at {path}: {status} {said}");
            Ok(Some(text.trim_end().to_owned()))
        }
        Some(status) => Err(format!("the web interface at {to} answers {status} {said}")),
        None => Err(format!("the web interface at {to} does not answer by HTTP")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn answered(answer: &'static str) -> (Result<Option<String>, String>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        let device = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut heard = [0; 1000];
            let mut length = 0;
            while !heard[..length].ends_with(b"rpm=300") {
                length += stream.read(&mut heard[length..]).unwrap();
            }
            stream.write_all(answer.as_bytes()).unwrap();
            String::from_utf8_lossy(&heard[..length]).into_owned()
        });
        let result = post(to, "/cgi/setting", "rpm=300");
        (result, device.join().unwrap())
    }

    #[test]
    fn a_form_is_taken_or_refused() {
        let (taken, heard) = answered("HTTP/1.1 204 No Content\r\n\r\n");
        assert_eq!(taken, Ok(None));
        assert!(heard.starts_with("POST /cgi/setting HTTP/1.1\r\n"), "{heard}");
        assert!(heard.contains("Content-Length: 7\r\n"), "{heard}");
        let (refused, _) = answered("HTTP/1.1 404 Not Found\r\n\r\nthere is no /cgi/setting\n");
        let why =
            "the web interface rejects `rpm=300` at /cgi/setting: 404 there is no /cgi/setting";
        assert_eq!(refused, Ok(Some(why.into())));
        let (broken, _) = answered("what?");
        assert!(broken.unwrap_err().ends_with("does not answer by HTTP"));
    }
}
