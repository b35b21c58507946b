//! Menura emulates a robot's sensors on the wire. A simulated robot drives through a 3-D world, and the sensors'
//! physics is computed there, for example by ray-tracing lidar pulses. Menura then sends the bytes of the real
//! products over network and serial ports, on time.
//!
//! # Modules
//!
//! | module | content | may import |
//! |---|---|---|
//! | [`time`], [`frames`] | instants and poses | nothing |
//! | [`wire`] | byte formats: conversion of values to bytes and back, without state | `time` |
//! | [`links`] | destinations of bytes: sockets and recordings | `time`, `wire` |
//! | [`config`] | rigs and firmware profiles: reads and checks them | all above |
//! | [`world`] | scenes, the robot's motion, the ray caster | all above |
//! | [`sensors`] | physics: converts ground truth to measurements | all above |
//! | [`devices`] | products: convert measurements and commands to bytes; no I/O, time is an argument | all above |
//! | [`timing`] | statistics of lateness: percentiles, worst cases, drift | `time` |
//! | [`engine`] | clocks, deadlines, workers: the real-time loop, which handles late packets, and the recorder | all above |
//! | [`plot`] | axes, lines and points as SVG and PNG | nothing |
//! | [`analysis`] | analysis of live and recorded streams: gaps, time steps, point clouds, statistics | all above |
//! | [`validation`] | experiments that compare the simulation with publications and exact solutions | all above |
//! | [`kit`] | the driver test kit: tests drivers with the faults and behaviours of real sensors | all above |
//! | [`cli`] | one file per command | all |
//!
//! `docs/ARCHITECTURE.md` follows a packet and a command through these modules, and gives reasons.
//!
//! # Terms
//!
//! A *sensor* is the physics of a measurement, a *device* is an emulated product. A *pulse* is one laser shot, a bundle
//! of rays that share an origin. A *firing* is a pulse with its time and laser. A *return* is an echo of a pulse that
//! the detector reports. A *profile* is a product's firmware as data. A *rig* is a test bench: world, robot and
//! devices.
//!
//! # Frames and units
//!
//! World is east-north-up, body is forward-left-up; see [`frames`]. The code uses SI units and radians. Other units
//! occur mostly in TOML and in [`wire`]; names then contain the unit (`azimuth_centideg`).
//!
//! # Run a rig in your own program
//!
//! [`engine::RunSession`] is `menura run` without its printing. `examples/rust_test.rs` receives packets
//! in a test. In short:
//!
//! ```no_run
//! use menura::config::rig::Rig;
//! use menura::devices::families::catalogue;
//! use menura::engine::{RunOptions, RunSession};
//!
//! let rig = Rig::load("rig.toml".as_ref(), &[], catalogue())?;
//! let run = RunSession::spawn(rig, RunOptions::default())?;
//! // The driver under test receives packets now.
//! let outcome = run.stop();
//! assert_eq!(outcome.figures[0].dropped, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Use these items. Other public items are for Menura's own tests and tools, and may change:
//!
//! | to | use |
//! |---|---|
//! | read a rig | [`config::rig::Rig`], [`devices::families::catalogue`] |
//! | run, record, measure | [`engine`], whose crate lists the types |
//! | read and write bytes of a product | [`wire`] |
//! | run experiments | [`validation::Run`] and the types that implement it |
//!
//! # Make one packet
//!
//! This example does the work of a device and of a worker for one packet, without the engine:
//!
//! ```
//! use menura::config::{rig::Rig, toml::overrides::Override};
//! use menura::devices::Output;
//! use menura::devices::families::catalogue;
//! use menura::engine::{LiveWorld, build_devices};
//! use menura::sensors::lidar::Scratch;
//! use menura::time::{Epoch, SimTime};
//!
//! let room: Override = "world.scene=room".parse()?;
//! let rig = Rig::default_rig(&[room], catalogue()).map_err(|faults| faults.to_string())?;
//! let world = LiveWorld::load(&rig)?;
//! let epoch = Epoch::new("2026-06-01T12:00:00Z".parse()?);
//!
//! let mut lidar = build_devices(&rig, epoch).remove(0);
//! let request = lidar.device.poll_request(SimTime(1)).ok_or("nothing to measure")?;
//! let surroundings = world.surroundings(&rig.devices[0].body_from_sensor);
//! let measurement = lidar.sensor.measure(request, &surroundings, &mut Scratch::default());
//! lidar.device.handle_measurement(&measurement);
//! let packet = lidar.device.poll_transmit().ok_or("no packet")?;
//!
//! let Output::Datagram { bytes, .. } = packet.output else { return Err("no datagram".into()) };
//! assert_eq!(bytes.len(), 1206);
//! assert_eq!(bytes[..2], [0xff, 0xee]); // an upper block
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[macro_use]
pub extern crate menura_wire as wire;

pub use menura_config as config;
pub use menura_devices as devices;
pub use menura_engine::{analysis, engine, links, plot, timing};
pub use menura_validation::validation;
pub use menura_world::{sensors, world};
pub use wire::{frames, time};

pub mod cli;
pub mod kit;
