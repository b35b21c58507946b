//! Where bytes go: sockets, and recordings of what would have left.
