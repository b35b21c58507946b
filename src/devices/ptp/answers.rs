//! Answers of a slave to management messages, for example from `pmc`.

use super::{DelayMechanism, PortState, PtpSlave};
use crate::wire::ptp::management::{
    ANY_PORT, CurrentDataSet, DefaultDataSet, Management, ParentDataSet, PortDataSet,
    TimePropertiesDataSet, TimeStatus, action, error, id,
};
use crate::wire::ptp::{Body, ClockQuality, Message, PortIdentity};
use crate::wire::record::Record as _;

/// Clock quality of a slave-only clock: IEEE 1588-2019, table 4.
const SLAVE_ONLY: ClockQuality = ClockQuality { class: 255, accuracy: 0xfe, variance: 0xffff };
const PRIORITY: u8 = 128;
/// Time source of a clock without a master: an oscillator.
const OWN_TIME: u8 = 0xa0;

impl PtpSlave {
    /// Answer to a management message; `None` if the message gets no answer.
    pub(super) fn answer_management(
        &self,
        message: &Message,
        asked: &Management,
    ) -> Option<Message> {
        let data_set = |wanted| self.data_set(wanted);
        answer(self.port, self.settings.domain, message, asked, data_set)
    }

    fn data_set(&self, wanted: u16) -> Option<Vec<u8>> {
        Some(match wanted {
            id::DEFAULT => self.default_data_set().to_bytes(),
            id::CURRENT => self.current_data_set().to_bytes(),
            id::PARENT => self.parent_data_set().to_bytes(),
            id::TIME_PROPERTIES => self.time_properties().to_bytes(),
            id::PORT => self.port_data_set().to_bytes(),
            id::TIME_STATUS => self.time_status().to_bytes(),
            _ => return None,
        })
    }

    /// Default data set: identity and properties of the slave's own clock.
    pub fn default_data_set(&self) -> DefaultDataSet {
        DefaultDataSet {
            flags: 2,
            reserved: 0,
            ports: 1,
            priority_1: PRIORITY,
            quality: SLAVE_ONLY,
            priority_2: PRIORITY,
            identity: self.port.clock,
            domain: self.settings.domain,
            reserved_2: 0,
        }
    }

    /// Current data set: number of steps from the grandmaster, offset from the master, and mean path delay.
    pub fn current_data_set(&self) -> CurrentDataSet {
        let steps = |parent: &super::Master| parent.announce.steps_removed.saturating_add(1);
        CurrentDataSet {
            steps_removed: self.parent.as_ref().map_or(0, steps),
            offset_from_master: self.offset_ns().saturating_mul(1 << 16),
            mean_path_delay: self.path_delay_ns().saturating_mul(1 << 16),
        }
    }

    /// Parent data set: the present or last master; before the first master, the slave itself.
    pub fn parent_data_set(&self) -> ParentDataSet {
        let own = (PRIORITY, SLAVE_ONLY, PRIORITY, self.port.clock);
        let (priority_1, quality, priority_2, grandmaster) =
            self.parent.as_ref().map_or(own, |parent| {
                let announce = &parent.announce;
                let (quality, grandmaster) = (announce.quality, announce.grandmaster);
                (announce.priority_1, quality, announce.priority_2, grandmaster)
            });
        let own_port = PortIdentity { port: 0, ..self.port };
        ParentDataSet {
            parent: self.parent.as_ref().map_or(own_port, |parent| parent.source),
            has_statistics: 0,
            reserved: 0,
            variance: 0xffff,
            phase_change_rate: i32::MAX,
            priority_1,
            quality,
            priority_2,
            grandmaster,
        }
    }

    /// Time properties data set: UTC offset, flags of the time scale, and time source, as announced by the master; without
    /// a master, those of the slave's own clock.
    pub fn time_properties(&self) -> TimePropertiesDataSet {
        match &self.parent {
            None => TimePropertiesDataSet {
                utc_offset_s: crate::wire::ptp::UTC_OFFSET_S,
                flags: 0,
                time_source: OWN_TIME,
            },
            Some(parent) => TimePropertiesDataSet {
                utc_offset_s: parent.announce.utc_offset_s,
                flags: parent.flags as u8,
                time_source: parent.announce.time_source,
            },
        }
    }

    /// Port data set: settings and state of the port.
    pub fn port_data_set(&self) -> PortDataSet {
        let is_peer = self.settings.delay == DelayMechanism::PeerToPeer;
        let delay = self.path_delay_ns().saturating_mul(1 << 16);
        PortDataSet {
            identity: self.port,
            state: self.state() as u8,
            log_min_delay_interval: self.log_delay,
            peer_mean_path_delay: if is_peer { delay } else { 0 },
            log_announce_interval: self.settings.log_announce,
            announce_receipt_timeout: self.settings.announce_timeout,
            log_sync_interval: self.log_sync,
            delay_mechanism: if is_peer { 2 } else { 1 },
            log_min_pdelay_interval: self.settings.log_delay,
            version: crate::wire::ptp::VERSION,
        }
    }

    /// Time status, a data set that only linuxptp defines.
    pub fn time_status(&self) -> TimeStatus {
        let ingress_ns = self.synchronised.map_or(0, |at| self.clock.shows_ns(at));
        let has_master = matches!(self.state(), PortState::Uncalibrated | PortState::Slave);
        TimeStatus {
            master_offset_ns: self.offset_ns(),
            ingress_time_ns: super::limited(ingress_ns),
            cumulative_scaled_rate_offset: 0,
            scaled_last_gm_phase_change: 0,
            gm_time_base: 0,
            last_gm_phase_change: [0; 12],
            gm_present: has_master.into(),
            gm_identity: self.parent_data_set().grandmaster,
        }
    }
}

/// Answer of the clock with the port `own` to a management message; `None` if the message gets no answer. `data_set`
/// returns the content of the data set with an id.
pub(super) fn answer(
    own: PortIdentity,
    domain: u8,
    message: &Message,
    asked: &Management,
    data_set: impl Fn(u16) -> Option<Vec<u8>>,
) -> Option<Message> {
    let PortIdentity { clock, port } = asked.target;
    let is_named = clock == own.clock;
    let is_meant =
        (is_named || clock == ANY_PORT.clock) && (port == own.port || port == ANY_PORT.port);
    if !is_meant || asked.is_error {
        return None;
    }
    let found = match asked.action & 0x0f {
        action::GET => data_set(asked.id).ok_or(error::NO_SUCH_ID),
        action::SET | action::COMMAND => Err(error::NOT_SETABLE),
        _ => return None,
    };
    // A request to all clocks is never answered with an error.
    if found.is_err() && !is_named {
        return None;
    }
    let hops = asked.starting_hops.saturating_sub(asked.hops);
    let answer = Management {
        target: message.source,
        starting_hops: hops,
        hops,
        action: match asked.action & 0x0f {
            action::COMMAND => action::ACKNOWLEDGE,
            _ => action::RESPONSE,
        },
        reserved: 0,
        is_error: found.is_err(),
        id: found.as_ref().map_or_else(|error| *error, |_| asked.id),
        // An error message has the id of the requested data set and four reserved bytes.
        data: found.unwrap_or_else(|_| [&asked.id.to_be_bytes()[..], &[0; 4]].concat()),
    };
    let answer = Message::new(domain, own, message.sequence, Body::Management(answer));
    Some(Message { sdo: message.sdo, ..answer })
}
