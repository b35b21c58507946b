//! Products: measurements and commands in, bytes out. No I/O; time is an argument.
