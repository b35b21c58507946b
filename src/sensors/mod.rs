//! Physics: truth in, measurement out.
