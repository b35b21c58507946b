//! Menura emulates a robot's sensors on the wire: a simulated robot drives through a 3-D world,
//! lidar pulses are ray-traced through it, and the bytes the real products would send leave by
//! the network and serial ports, on time.
//!
//! # The map
//!
//! | module | holds | may import |
//! |---|---|---|
//! | [`time`], [`frames`] | instants and poses | nothing |
//! | [`wire`] | byte formats: value to bytes and back, stateless | `time` |
//! | [`links`] | where bytes go: sockets and recordings | `time`, `wire` |
//! | [`config`] | rigs and firmware profiles, read and checked | all above |
//! | [`world`] | scenes, the robot's motion, the ray caster | all above |
//! | [`sensors`] | physics: truth in, measurement out | all above |
//! | [`devices`] | products: measurement and commands in, bytes out; no I/O, time is an argument | all above |
//! | [`timing`] | statistics of lateness: percentiles, worst cases, drift | `time` |
//! | [`engine`] | clocks, deadlines, workers: the real-time loop and the recorder | all above |
//! | [`plot`] | axes, lines and points as SVG and PNG | nothing |
//! | [`analysis`] | streams read back, live and recorded: gaps, steps, clouds, figures | all above |
//! | [`validation`] | experiments that compare the simulation with publications and exact solutions | all above |
//! | [`kit`] | the driver test kit: tests drivers with the faults and behaviours of real sensors | all above |
//! | [`cli`] | one file per command | all |
//!
//! # Words
//!
//! A *sensor* is physics, a *device* is a product. A *pulse* is one laser shot, a bundle of rays
//! that share an origin; a *firing* is a pulse with its time and laser; a *return* is what the
//! receiver makes of the pulse's echoes. A *profile* is a product's firmware as data, a *rig* is a
//! bench: world, robot and devices.
//!
//! # Frames and units
//!
//! World is east-north-up, body is forward-left-up; see [`frames`]. SI units and radians inside,
//! other units only in TOML and in [`wire`], where names carry them (`azimuth_centideg`).
//!
//! # A rig in a program of your own
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
//! A program needs these. The other public items serve Menura's own tests and tools, and may change:
//!
//! | to | use |
//! |---|---|
//! | read a rig | [`config::rig::Rig`], [`devices::families::catalogue`] |
//! | run, record, measure | [`engine`], whose crate lists the types |
//! | read and write bytes of a product | [`wire`] |
//! | run experiments | [`validation::Run`] and the types that implement it |
//!
//! # A first packet
//!
//! A worker and a device, once and by hand:
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
