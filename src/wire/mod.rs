//! Byte formats: a value to bytes and back.
//!
//! Every format here keeps one promise: stateless, `emit` writes every byte it owns, `parse`
//! refuses what it cannot represent, and `emit(parse(bytes)) == bytes` for all it accepts.
