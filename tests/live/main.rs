//! Tests that run Menura in real time. `tools/test` runs one module after another; modules that wait most of their time
//! run in parallel to the others.

#[path = "../common/mod.rs"]
mod common;

mod bench;
mod camera;
mod closed_loop;
mod cola_record;
mod endings;
mod feed;
mod gnss_moving;
mod kit;
mod live_faults;
mod live_host;
mod onlookers;
mod overload;
mod ranks;
mod recordings;
mod repeat;
mod responses;
mod scip_record;
mod session;
mod timing;
mod truth_live;
mod velodyne_clock;
mod web;
