//! Tests with bytes of real units, which are decoded, encoded again and compared.

use std::fs::File;

use etherparse::{SlicedPacket, TransportSlice};
use menura::wire::cola::Dialect;
use menura::wire::cola::frame::{self, Cola};
use menura::wire::cola::scan_data::{ClockTime, ScanData};
use menura::wire::ethernet::{Content, FrameHeader, LinkType, UdpChecksum};
use menura::wire::framer::Framer;
use menura::wire::mip::{self, Mip};
use menura::wire::velodyne::position::{POSITION_PACKET_LEN, PositionPacket, PpsStatus};
use menura::wire::velodyne::{DATA_PACKET_LEN, DataPacket, Model, ReturnMode};
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::{Block, PcapNgReader};

use crate::common;

/// VLP-16 with a GPS receiver, 2016, from the test data of MRPT.
const VLP16: &str = "captures/velodyne/vlp16-with-position-packets.pcap";

/// TiM5xx, CoLa-B over TCP, from the tests of sick_scan_xd.
const TIM5XX: &str = "captures/sick/sick-scan-xd-test.pcapng";

fn frames(file: &str) -> Vec<Vec<u8>> {
    let mut reader = PcapReader::new(File::open(common::shared(file)).unwrap()).unwrap();
    let mut frames = Vec::new();
    while let Some(packet) = reader.next_packet() {
        frames.push(packet.unwrap().data.into_owned());
    }
    frames
}

#[test]
#[ignore = "needs reference data"]
fn vlp16_frames_and_payloads_survive() {
    let frames = frames(VLP16);
    let (mut data, mut position) = (0, 0);
    let mut again = Vec::new();
    for frame in &frames {
        let (header, payload) = FrameHeader::parse(frame).unwrap();
        again.clear();
        match payload.len() {
            DATA_PACKET_LEN => {
                let packet = DataPacket::parse(payload).unwrap();
                assert_eq!(packet.check(), []);
                assert_eq!(packet.model(), Some(Model::Vlp16));
                assert_eq!(ReturnMode::from_byte(packet.tail[4]), Some(ReturnMode::Strongest));
                let mut bytes = [0xa5; DATA_PACKET_LEN];
                packet.emit(&mut bytes);
                header.emit(&bytes, &mut again).unwrap();
                assert_eq!((header.ttl, header.dont_fragment), (255, true));
                assert!(!header.udp_checksum);
                data += 1;
            }
            POSITION_PACKET_LEN => {
                let packet = PositionPacket::parse(payload).unwrap();
                assert!(packet.nmea().unwrap().starts_with("$GPRMC,"));
                assert_eq!(packet.pps_status(), Some(PpsStatus::Locked));
                let mut bytes = [0xa5; POSITION_PACKET_LEN];
                packet.emit(&mut bytes);
                header.emit(&bytes, &mut again).unwrap();
                assert_eq!((header.ttl, header.dont_fragment), (64, false));
                let Ok(Content::Udp(datagram)) = Content::find(LinkType::ETHERNET, frame) else {
                    panic!("no datagram");
                };
                assert_eq!(datagram.udp_checksum, UdpChecksum::Good);
                position += 1;
            }
            other => panic!("a payload of {other} bytes"),
        }
        assert_eq!(&again, frame);
    }
    assert_eq!((data, position), (293, 57));
}

/// Packets of one unit are consistent: azimuths and timestamps advance.
#[test]
#[ignore = "needs reference data"]
fn vlp16_packets_follow_one_another() {
    let frames = frames(VLP16);
    let packets: Vec<DataPacket> = frames
        .iter()
        .filter(|frame| frame.len() == 1248)
        .map(|frame| DataPacket::parse(&frame[42..]).unwrap())
        .collect();
    assert_eq!(packets.len(), 293);
    for pair in packets.windows(2) {
        let step_us = pair[1].timestamp_us() - pair[0].timestamp_us();
        assert!((1327..=1328).contains(&step_us), "{step_us} us");
        let blocks = pair[0].blocks.iter().chain(&pair[1].blocks[..1]);
        let azimuths: Vec<u16> = blocks.map(|block| block.azimuth_centideg).collect();
        for step in azimuths.windows(2) {
            let step = (36_000 + i32::from(step[1]) - i32::from(step[0])) % 36_000;
            assert!((36..=44).contains(&step), "{step} centidegrees");
        }
    }
}

/// Bytes of a MicroStrain unit of the GQ7 family, from the test data of the maker's SDK.
#[test]
#[ignore = "needs reference data"]
fn mip_packets_survive() {
    let recorded = std::fs::read(common::shared("captures/imu/mip-sdk-test-data.mip")).unwrap();
    let mut framer = Framer::new(Mip);
    let mut again = Vec::new();
    let mut specific_force_g = Vec::new();
    for portion in recorded.chunks(1000) {
        for packet in framer.frames(portion) {
            packet.emit(&mut again);
            if packet.descriptor_set == mip::set::SENSOR_DATA {
                let fields = packet.fields.iter().filter(|field| field.descriptor == 4);
                let squared = |v: Vec<f32>| v.iter().map(|a| a * a).sum::<f32>();
                specific_force_g.extend(fields.map(|f| squared(f.f32s().unwrap()).sqrt()));
            }
        }
    }
    assert_eq!(again, recorded);
    // The unit was moved; at rest it measures 1 g.
    specific_force_g.sort_by(f32::total_cmp);
    let median = specific_force_g[specific_force_g.len() / 2];
    assert!((median - 1.0).abs() < 0.05, "{median} g of {}", specific_force_g.len());
}

/// Bytes that arrived over TCP from `port`, in the order of the sequence numbers.
fn tcp_stream(file: &str, port: u16) -> Vec<u8> {
    let mut reader = PcapNgReader::new(File::open(common::shared(file)).unwrap()).unwrap();
    let mut stream = Vec::new();
    let mut expected = None;
    while let Some(block) = reader.next_block() {
        let Block::EnhancedPacket(packet) = block.unwrap() else { continue };
        let Ok(sliced) = SlicedPacket::from_ethernet(&packet.data) else { continue };
        let Some(TransportSlice::Tcp(tcp)) = sliced.transport else { continue };
        if tcp.source_port() != port || tcp.payload().is_empty() {
            continue;
        }
        let number = tcp.sequence_number();
        assert!(expected.is_none_or(|expected| expected == number), "a segment is missing");
        expected = Some(number.wrapping_add(tcp.payload().len() as u32));
        stream.extend_from_slice(tcp.payload());
    }
    stream
}

#[test]
#[ignore = "needs reference data"]
fn tim5xx_scans_survive_in_cola_b_and_by_way_of_cola_a() {
    let stream = tcp_stream(TIM5XX, 2112);
    let (mut again, mut scans) = (Vec::new(), Vec::new());
    for telegram in Framer::new(Cola { max_content: 10_000 }).frames(&stream) {
        assert_eq!(telegram.dialect, Dialect::B);
        let scan = ScanData::parse(Dialect::B, &telegram.content).unwrap();
        again.extend(frame::emit(Dialect::B, &scan.emit(Dialect::B)));
        let text = scan.emit(Dialect::A);
        assert_eq!(ScanData::parse(Dialect::A, &text).as_ref(), Ok(&scan));
        scans.push(scan);
    }
    assert_eq!(again, stream);
    assert_eq!(scans.len(), 16);

    let first = &scans[0];
    assert!(first.is_streamed && first.rest.is_empty());
    assert_eq!((first.scan_frequency_centihz, first.measurement_frequency_hundred_hz), (1500, 162));
    let names: Vec<_> = first.channels_16.iter().map(|channel| &channel.name).collect();
    assert_eq!(names, [b"DIST1", b"RSSI1"]);
    let distances = first.channel(b"DIST1").unwrap();
    assert_eq!((distances.start_angle, distances.angular_step), (-450_000, 3333));
    assert_eq!((distances.values.len(), distances.scale_factor()), (811, 1.0));
    let time = first.trailer.as_ref().unwrap().time.unwrap();
    let known = ClockTime { year: 1970, month: 1, day: 1, minute: 50, second: 14, ..time };
    assert_eq!(time, known);
    for pair in scans.windows(2) {
        assert_eq!(pair[1].scan_counter, pair[0].scan_counter.wrapping_add(1));
        let period_us = pair[1].start_us - pair[0].start_us;
        assert!((66_000..67_500).contains(&period_us), "{period_us} us");
    }
}
