//! A real unit's stream and an emulated one's, as figures that can be held against each other.

pub(crate) mod figures;
pub(crate) mod position;
