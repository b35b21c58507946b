//! GigE Vision commands and stream packets: any bytes are parsed or rejected, and each parsed command is encoded to the
//! same bytes.

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
