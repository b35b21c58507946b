//! MON and SEC messages about ports, processor, radio and chip.

use serde::Serialize;

use super::{MessageId, Payload};
use crate::record::record;

message! {
    /// Satellite systems of the receiver. Bits of a set of systems: 0 GPS, 1 GLONASS, 2 BeiDou, 3 Galileo.
    MonGnss 0x0a 0x28 8 {
        /// Version of the message, 0.
        version: u8,
        /// Set of satellite systems that the receiver supports.
        supported: u8,
        /// Set of satellite systems that are enabled at the factory.
        factory: u8,
        /// Set of satellite systems that are enabled now.
        enabled: u8,
        /// Largest number of systems that can be enabled at a time.
        simultaneous: u8,
        /// Reserved.
        reserved1: [u8; 3],
    }
    /// State of the radio, generation 8.
    MonHw2 0x0a 0x0b 28 {
        /// Offset of the signal's I component: -128 largest negative, 127 largest positive.
        offset_i: i8,
        /// Magnitude of the signal's I component: 0 no signal, 255 largest.
        magnitude_i: u8,
        /// Offset of the signal's Q component: -128 largest negative, 127 largest positive.
        offset_q: i8,
        /// Magnitude of the signal's Q component: 0 no signal, 255 largest.
        magnitude_q: u8,
        /// Source of the configuration: 114 ROM, 111 OTP, 112 pins, 102 flash.
        config_source: u8,
        /// Reserved.
        reserved1: [u8; 3],
        /// Low-level configuration.
        low_level: u32,
        /// Reserved.
        reserved2: [u8; 8],
        /// Result of the power-on self-test.
        post_status: u32,
        /// Reserved.
        reserved3: [u8; 4],
    }
    /// Received messages, counted by port (I2C, UART1, UART2, USB, SPI, reserved) and by protocol (eight).
    MonMsgpp 0x0a 0x06 120 {
        /// Numbers of messages received, by port and protocol.
        messages: [[u16; 8]; 6],
        /// Numbers of bytes that did not belong to a message, by port.
        skipped: [u32; 6],
    }
    /// Receive buffers of the ports.
    MonRxbuf 0x0a 0x07 24 {
        /// Number of waiting bytes, by port.
        pending: [u16; 6],
        /// Current usage, percent, by port.
        usage_percent: [u8; 6],
        /// Highest usage, percent, by port.
        peak_percent: [u8; 6],
    }
    /// Transmit buffers of the ports.
    MonTxbuf 0x0a 0x08 28 {
        /// Number of waiting bytes, by port.
        pending: [u16; 6],
        /// Current usage, percent, by port.
        usage_percent: [u8; 6],
        /// Highest usage, percent, by port.
        peak_percent: [u8; 6],
        /// Current usage of all ports, percent.
        total_percent: u8,
        /// Highest usage of all ports, percent.
        total_peak_percent: u8,
        /// Errors: bits 0-5 buffer limit of port 0 to 5 reached, 6 memory allocation failed, 7 transmit buffer full.
        errors: u8,
        /// Reserved.
        reserved1: u8,
    }
    /// Whether the receiver is awake.
    MonRxr 0x0a 0x21 1 {
        /// Flags: bit 0 is 1 while the receiver is awake.
        flags: u8,
    }
    /// Load of processor and memory.
    MonSys 0x0a 0x39 24 {
        /// Version of the message, 1.
        version: u8,
        /// Kind of start: 1 cold start, 2 watchdog, 3 hardware reset, 4 hardware backup, 5 software backup, 6
        /// software reset.
        boot: u8,
        /// Current load of the processor, percent.
        cpu_percent: u8,
        /// Highest load of the processor, percent.
        cpu_peak_percent: u8,
        /// Current usage of memory, percent.
        memory_percent: u8,
        /// Highest usage of memory, percent.
        memory_peak_percent: u8,
        /// Current load of input and output, percent.
        io_percent: u8,
        /// Highest load of input and output, percent.
        io_peak_percent: u8,
        /// Time since the start.
        runtime_s: u32,
        /// Numbers of text messages: notices, warnings, errors.
        texts: [u16; 3],
        /// Temperature of the chip.
        temperature_c: i8,
        /// Reserved.
        reserved1: [u8; 5],
    }
    /// Acknowledges an aiding message, or rejects it.
    MgaAck 0x13 0x60 8 {
        /// Result: 0 the aiding message was not used, 1 it was accepted.
        kind: u8,
        /// Version of the message, 0.
        version: u8,
        /// Reason: 0 accepted, 2 unknown version, 3 wrong size, 6 unknown kind.
        code: u8,
        /// Id of the aiding message.
        id: u8,
        /// First bytes of the aiding message's payload.
        head: [u8; 4],
    }
}

record! {
    /// Bytes and errors of one port.
    #[derive(Copy, Default, Serialize)]
    PortErrors: Le 20 {
        /// Number of bytes received.
        rx_bytes: u32,
        /// Number of bytes sent.
        tx_bytes: u32,
        /// Parity errors in the last 100 ms.
        parity: u16,
        /// Framing errors in the last 100 ms.
        framing: u16,
        /// Overruns in the last 100 ms.
        overrun: u16,
        /// Breaks in the last 100 ms.
        breaks: u16,
        /// 1 while the port's receiver is busy.
        rx_busy: u8,
        /// 1 while the port's transmitter is busy.
        tx_busy: u8,
        /// Reserved.
        reserved1: [u8; 2],
    }
    /// Patches of the firmware.
    #[derive(Default, Serialize)]
    MonPatch: Le {
        /// Version of the message, 1.
        version: u16,
        /// Number of patches.
        count: u16,
        /// State, number, address and data of each patch.
        patches: Vec<[u32; 4]>,
    }
    /// State of the pins, generation 9.
    #[derive(Default, Serialize)]
    MonHw3: Le {
        /// Version of the message, 0.
        version: u8,
        /// Number of pins.
        count: u8,
        /// Flags: bit 0 clock calibrated, 1 safe boot, 2 no crystal.
        flags: u8,
        /// Version of the hardware, text padded with zero bytes.
        hardware: [u8; 10],
        /// Reserved.
        reserved1: [u8; 9],
        /// One block for each pin.
        pins: Vec<[u8; 6]>,
    }
    /// Unique number of the chip: five bytes before generation 10, six bytes from then on.
    #[derive(Default, Serialize)]
    SecUniqid: Le {
        /// Version of the message, 1.
        version: u8,
        /// Reserved.
        reserved1: [u8; 3],
        /// Unique number of the chip.
        id: Vec<u8>,
    }
    /// State of the detection of jamming and spoofing.
    #[derive(Default, Serialize)]
    SecSig: Le {
        /// Version of the message, 1 or 2.
        version: u8,
        /// Version 1: reserved. Version 2: flags (bit 0 jamming detection enabled, 1-2 state, 3 spoofing detection
        /// enabled, 4-6 state; states as in version 1), reserved, number of blocks that follow.
        head: [u8; 3],
        /// Version 1: in the first byte, bit 0 jamming detection enabled, bits 1-2 state (1 none, 2 warning, 3
        /// critical); in the fifth byte, bit 0 spoofing detection enabled, bits 1-3 state (1 none, 2 indicated). Version
        /// 2: blocks of four bytes, bits 0-23 centre frequency in kHz, 24 jammed.
        states: Vec<u8>,
    }
    /// Bytes and errors of the ports.
    #[derive(Default, Serialize)]
    MonIo: Le {
        /// Ports in the order I2C, UART1, UART2, USB, SPI, reserved.
        ports: Vec<PortErrors>,
    }
}

impl Payload for MonIo {
    const ID: MessageId = MessageId::new(0x0a, 0x02);
}

impl Payload for MonPatch {
    const ID: MessageId = MessageId::new(0x0a, 0x27);
}

impl Payload for MonHw3 {
    const ID: MessageId = MessageId::new(0x0a, 0x37);
}

impl Payload for SecUniqid {
    const ID: MessageId = MessageId::new(0x27, 0x03);
}

impl Payload for SecSig {
    const ID: MessageId = MessageId::new(0x27, 0x09);
}
