//! NTRIP: any bytes are parsed as a request, an answer and chunks without a panic. Decoded chunks are never longer than
//! the input.

use menura::wire::ntrip::{Answer, Chunks, Request, chunk};

pub fn run(bytes: &[u8]) {
    if let Ok(request) = Request::parse(bytes) {
        for answer in [Answer::NotFound, Answer::Unauthorized, Answer::Stream { is_chunked: true }]
        {
            assert!(Answer::parse(&answer.to_bytes(&request)).is_ok());
        }
    }
    if let Ok((_, used)) = Answer::parse(bytes) {
        assert!(used <= bytes.len());
    }
    let mut data = Vec::new();
    let _ = Chunks::default().take(bytes, &mut data);
    assert!(data.len() <= bytes.len());
    if !bytes.is_empty() {
        let mut back = Vec::new();
        assert!(Chunks::default().take(&chunk(bytes), &mut back).is_ok());
        assert_eq!(back, bytes);
    }
}
