//! UBX messages and corrections that receivers can send, with their ids.

use crate::wire::ubx::{MessageId, Payload, mon, mon_more, nav, nav_more, rxm};

/// UBX messages and corrections that Menura's receivers can send, in the order of an epoch.
pub const UBX_OUTPUTS: [(&str, MessageId); 83] = [
    ("NAV-PVT", nav::NavPvt::ID),
    ("NAV-SOL", nav::NavSol::ID),
    ("NAV-POSECEF", nav::NavPosecef::ID),
    ("NAV-POSLLH", nav::NavPosllh::ID),
    ("NAV-HPPOSECEF", nav::NavHpposecef::ID),
    ("NAV-HPPOSLLH", nav::NavHpposllh::ID),
    ("NAV-STATUS", nav::NavStatus::ID),
    ("NAV-DOP", nav::NavDop::ID),
    ("NAV-VELECEF", nav::NavVelecef::ID),
    ("NAV-VELNED", nav::NavVelned::ID),
    ("NAV-TIMEGPS", nav::NavTimegps::ID),
    ("NAV-TIMEGLO", nav_more::NavTimeglo::ID),
    ("NAV-TIMEBDS", nav_more::NavTimebds::ID),
    ("NAV-TIMEGAL", nav_more::NavTimegal::ID),
    ("NAV-TIMEQZSS", nav_more::NavTimeqzss::ID),
    ("NAV-TIMEUTC", nav::NavTimeutc::ID),
    ("NAV-CLOCK", nav::NavClock::ID),
    ("NAV-TIMELS", nav::NavTimels::ID),
    ("NAV-SVINFO", nav::NavSvinfo::ID),
    ("NAV-SAT", nav::NavSat::ID),
    ("NAV-ORB", nav_more::NavOrb::ID),
    ("NAV-SBAS", nav_more::NavSbas::ID),
    ("NAV-SLAS", nav_more::NavSlas::ID),
    ("NAV-DGPS", nav_more::NavDgps::ID),
    ("NAV-AOPSTATUS", nav_more::NavAopstatus::ID),
    ("NAV-ODO", nav_more::NavOdo::ID),
    ("NAV-GEOFENCE", nav_more::NavGeofence::ID),
    ("NAV-PL", nav_more::NavPl::ID),
    ("NAV-COV", nav::NavCov::ID),
    ("NAV-RELPOSNED", nav::NavRelposned::ID),
    ("NAV-SIG", nav::NavSig::ID),
    ("NAV-SVIN", nav::NavSvin::ID),
    ("RXM-RAWX", rxm::RxmRawx::ID),
    ("RXM-SFRBX", rxm::RxmSfrbx::ID),
    ("MON-HW", mon::MonHw::ID),
    ("MON-HW2", mon_more::MonHw2::ID),
    ("MON-HW3", mon_more::MonHw3::ID),
    ("MON-IO", mon_more::MonIo::ID),
    ("MON-MSGPP", mon_more::MonMsgpp::ID),
    ("MON-RXBUF", mon_more::MonRxbuf::ID),
    ("MON-TXBUF", mon_more::MonTxbuf::ID),
    ("MON-RXR", mon_more::MonRxr::ID),
    ("MON-SYS", mon_more::MonSys::ID),
    ("MON-RF", mon::MonRf::ID),
    ("MON-COMMS", mon::MonComms::ID),
    ("SEC-SIG", mon_more::SecSig::ID),
    ("TIM-TP", mon::TimTp::ID),
    ("NAV-EOE", nav::NavEoe::ID),
    ("NAV2-CLOCK", secondary(nav::NavClock::ID)),
    ("NAV2-COV", secondary(nav::NavCov::ID)),
    ("NAV2-DOP", secondary(nav::NavDop::ID)),
    ("NAV2-ODO", secondary(nav_more::NavOdo::ID)),
    ("NAV2-POSECEF", secondary(nav::NavPosecef::ID)),
    ("NAV2-POSLLH", secondary(nav::NavPosllh::ID)),
    ("NAV2-PVT", secondary(nav::NavPvt::ID)),
    ("NAV2-SAT", secondary(nav::NavSat::ID)),
    ("NAV2-SBAS", secondary(nav_more::NavSbas::ID)),
    ("NAV2-SIG", secondary(nav::NavSig::ID)),
    ("NAV2-SLAS", secondary(nav_more::NavSlas::ID)),
    ("NAV2-STATUS", secondary(nav::NavStatus::ID)),
    ("NAV2-SVIN", secondary(nav::NavSvin::ID)),
    ("NAV2-TIMEBDS", secondary(nav_more::NavTimebds::ID)),
    ("NAV2-TIMEGAL", secondary(nav_more::NavTimegal::ID)),
    ("NAV2-TIMEGLO", secondary(nav_more::NavTimeglo::ID)),
    ("NAV2-TIMEGPS", secondary(nav::NavTimegps::ID)),
    ("NAV2-TIMELS", secondary(nav::NavTimels::ID)),
    ("NAV2-TIMEUTC", secondary(nav::NavTimeutc::ID)),
    ("NAV2-TIMEQZSS", secondary(nav_more::NavTimeqzss::ID)),
    ("NAV2-VELECEF", secondary(nav::NavVelecef::ID)),
    ("NAV2-VELNED", secondary(nav::NavVelned::ID)),
    ("NAV2-EOE", secondary(nav::NavEoe::ID)),
    ("RTCM-1005", corrections(0x05)),
    ("RTCM-1074", corrections(0x4a)),
    ("RTCM-1077", corrections(0x4d)),
    ("RTCM-1084", corrections(0x54)),
    ("RTCM-1087", corrections(0x57)),
    ("RTCM-1094", corrections(0x5e)),
    ("RTCM-1097", corrections(0x61)),
    ("RTCM-1124", corrections(0x7c)),
    ("RTCM-1127", corrections(0x7f)),
    ("RTCM-1230", corrections(0xe6)),
    ("RTCM-4072", corrections(0xfe)),
    ("RTCM-4072.1", corrections(0xfd)),
];

/// Id of the message of the secondary output (NAV2) that corresponds to `id`, a message of the primary output.
const fn secondary(id: MessageId) -> MessageId {
    MessageId::new(NAV2, id.id)
}

/// Id that stands for an RTCM message in CFG-MSG.
const fn corrections(id: u8) -> MessageId {
    MessageId::new(RTCM, id)
}

/// The message class that stands for RTCM messages in CFG-MSG.
pub const RTCM: u8 = 0xf5;
/// The message class of the secondary output.
pub const NAV2: u8 = 0x29;
