//! Clocks, deadlines and workers: the real-time loop and the recorder.
