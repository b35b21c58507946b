//! GigE Vision: any bytes are read or refused, and what is read is written again.

use menura::wire::gige::{Action, Command, Resend, gvsp, words};

pub fn run(bytes: &[u8]) {
    if let Ok(command) = Command::parse(bytes) {
        assert_eq!(command.to_bytes(), bytes);
        let _ = (Resend::parse(&command), Action::parse(&command));
        assert!(words(command.payload).count() <= command.payload.len() / 4);
    }
    if let Some((_, _, gvsp::Part::Payload(data))) = gvsp::parse(bytes) {
        assert!(data.len() < bytes.len());
    }
}
