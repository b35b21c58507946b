//! Tests whose result does not depend on the load of the machine.

#[path = "../common/mod.rs"]
mod common;

mod bad_rigs;
mod bombs;
mod captures;
mod captures_gnss;
mod cli;
mod cola_dialogues;
mod device_faults;
mod dialogues_bases;
mod dialogues_gnss;
mod dialogues_imu;
mod dual_returns;
mod embree;
mod faults;
mod fit;
mod fuzz_corpus;
mod gnss_sky;
mod golden;
mod gpu;
mod hesai;
mod inspect;
mod joints;
mod lag;
mod moving;
mod ouster;
mod profiles;
mod rates;
mod raycast;
mod rigs;
mod robosense;
mod scenes;
mod schema;
mod scip_dialogues;
mod sick_dialogues;
mod sick_record;
mod statistics;
mod surfaces;
mod trajectory;
mod truth;
mod twin;
mod validate;
mod weather;
