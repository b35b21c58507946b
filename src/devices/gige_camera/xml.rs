//! GenICam description of a camera, from the table of features and [`DIRECT`].

use std::fmt::Write as _;

use super::control::LOCKED;
use super::features::{Access, Chunk, Feature, Features, Kind, at, selector_of};
use super::profile::CameraProfile;

const DEVICE: &str = "DeviceControl";
const TRANSPORT: &str = "TransportLayerControl";
const ACTIONS: &str = "ActionControl";
/// Element of features that clients cannot write during acquisition.
const LOCK: &str = "<pIsLocked>TLParamsLocked</pIsLocked>";

/// String registers: name, address, length in bytes, access.
const TEXTS: [(&str, u32, u32, &str); 6] = [
    ("DeviceVendorName", 0x48, 32, "RO"),
    ("DeviceModelName", 0x68, 32, "RO"),
    ("DeviceVersion", 0x88, 32, "RO"),
    ("DeviceManufacturerInfo", 0xa8, 48, "RO"),
    ("DeviceSerialNumber", 0xd8, 16, "RO"),
    ("DeviceUserID", 0xe8, 16, "RW"),
];

/// A feature that is a bootstrap register or a part of one.
struct Direct {
    name: &'static str,
    category: &'static str,
    address: u32,
    /// Length of the register, bytes.
    len: u32,
    /// First and last bit of the feature in the register, counted from the most significant bit as in GenICam; `None`:
    /// the feature is the whole register.
    bits: Option<(u8, u8)>,
    access: &'static str,
    kind: DirectKind,
}

enum DirectKind {
    /// Minimum, maximum, increment; `None`: any register content.
    Integer(Option<(u32, u32, u32)>),
    Switch,
    Choice(&'static [(&'static str, u32)]),
    /// Value that executes the command.
    Command(u32),
    Signed,
}

const OFF_ON: &[(&str, u32)] = &[("Off", 0), ("On", 1)];
const PTP_STATES: &[(&str, u32)] = &[
    ("Initializing", 1),
    ("Faulty", 2),
    ("Disabled", 3),
    ("Listening", 4),
    ("PreMaster", 5),
    ("Master", 6),
    ("Passive", 7),
    ("Uncalibrated", 8),
    ("Slave", 9),
];

const fn direct(
    name: &'static str,
    category: &'static str,
    (address, len): (u32, u32),
    access: &'static str,
    kind: DirectKind,
) -> Direct {
    Direct { name, category, address, len, bits: None, access, kind }
}

const fn part(bits: (u8, u8), of: Direct) -> Direct {
    Direct { bits: Some(bits), ..of }
}

/// GenICam features of bootstrap registers; a feature that clients know by an old and a new name has an entry for each
/// name.
const DIRECT: &[Direct] = {
    use DirectKind::{Choice, Command, Integer, Signed, Switch};
    const WHOLE: DirectKind = Integer(None);
    &[
        part(
            (16, 31),
            direct("GevSCPSPacketSize", TRANSPORT, (0xd04, 4), "RW", Integer(Some((220, 9000, 4)))),
        ),
        part((0, 0), direct("GevSCPSFireTestPacket", TRANSPORT, (0xd04, 4), "RW", Command(1))),
        part((1, 1), direct("GevSCPSDoNotFragment", TRANSPORT, (0xd04, 4), "RW", Switch)),
        direct("GevSCPD", TRANSPORT, (0xd08, 4), "RW", Integer(Some((0, 10_000_000, 1)))),
        part((16, 31), direct("GevSCPHostPort", TRANSPORT, (0xd00, 4), "RW", WHOLE)),
        direct("GevSCDA", TRANSPORT, (0xd18, 4), "RW", WHOLE),
        direct("GevSCSP", TRANSPORT, (0xd1c, 4), "RO", WHOLE),
        part((1, 1), direct("GevGVSPExtendedIDMode", TRANSPORT, (0x960, 4), "RW", Choice(OFF_ON))),
        direct(
            "GevHeartbeatTimeout",
            TRANSPORT,
            (0x938, 4),
            "RW",
            Integer(Some((500, 0x7fff_ffff, 1))),
        ),
        direct("GevMACAddress", TRANSPORT, (0x8, 8), "RO", WHOLE),
        direct("GevCurrentIPAddress", TRANSPORT, (0x24, 4), "RO", WHOLE),
        direct("GevCurrentSubnetMask", TRANSPORT, (0x34, 4), "RO", WHOLE),
        direct("GevCurrentDefaultGateway", TRANSPORT, (0x44, 4), "RO", WHOLE),
        part((29, 29), direct("GevCurrentIPConfigurationLLA", TRANSPORT, (0x14, 4), "RO", Switch)),
        part((30, 30), direct("GevCurrentIPConfigurationDHCP", TRANSPORT, (0x14, 4), "RO", Switch)),
        part(
            (31, 31),
            direct("GevCurrentIPConfigurationPersistentIP", TRANSPORT, (0x14, 4), "RW", Switch),
        ),
        direct("GevPersistentIPAddress", TRANSPORT, (0x64c, 4), "RW", WHOLE),
        direct("GevPersistentSubnetMask", TRANSPORT, (0x65c, 4), "RW", WHOLE),
        direct("GevPersistentDefaultGateway", TRANSPORT, (0x66c, 4), "RW", WHOLE),
        direct("GevLinkSpeed", TRANSPORT, (0x670, 4), "RO", WHOLE),
        direct("GevTimestampTickFrequency", TRANSPORT, (0x93c, 8), "RO", WHOLE),
        direct("GevTimestampControlLatch", TRANSPORT, (0x944, 4), "WO", Command(2)),
        direct("GevTimestampControlReset", TRANSPORT, (0x944, 4), "WO", Command(1)),
        direct("GevTimestampValue", TRANSPORT, (0x948, 8), "RO", WHOLE),
        direct("TimestampLatch", DEVICE, (0x944, 4), "WO", Command(2)),
        direct("TimestampReset", DEVICE, (0x944, 4), "WO", Command(1)),
        direct("TimestampLatchValue", DEVICE, (0x948, 8), "RO", WHOLE),
        part((12, 12), direct("PtpEnable", TRANSPORT, (0x954, 4), "RW", Switch)),
        direct("PtpDataSetLatch", TRANSPORT, (at::PTP_LATCH, 4), "WO", Command(1)),
        direct("PtpStatus", TRANSPORT, (at::PTP_STATUS, 4), "RO", Choice(PTP_STATES)),
        direct("PtpOffsetFromMaster", TRANSPORT, (at::PTP_OFFSET, 8), "RO", Signed),
        part((12, 12), direct("GevIEEE1588", TRANSPORT, (0x954, 4), "RW", Switch)),
        direct("GevIEEE1588Status", TRANSPORT, (0x96c, 4), "RO", Choice(PTP_STATES)),
        direct("GevIEEE1588DataSetLatch", TRANSPORT, (at::PTP_LATCH, 4), "WO", Command(1)),
        direct(
            "GevIEEE1588StatusLatched",
            TRANSPORT,
            (at::PTP_STATUS, 4),
            "RO",
            Choice(PTP_STATES),
        ),
        direct("GevIEEE1588OffsetFromMaster", TRANSPORT, (at::PTP_OFFSET, 8), "RO", Signed),
        direct("ActionDeviceKey", ACTIONS, (0x90c, 4), "WO", WHOLE),
        direct("ActionGroupKey", ACTIONS, (0x9800, 4), "RW", WHOLE),
        direct("ActionGroupMask", ACTIONS, (0x9804, 4), "RW", WHOLE),
        part(
            (28, 28),
            direct("ActionUnconditionalMode", ACTIONS, (0x954, 4), "RW", Choice(OFF_ON)),
        ),
        direct("ActionQueueSize", ACTIONS, (0x970, 4), "RO", WHOLE),
    ]
};

/// Chunk values: the chunk, the XML tag of its value's node, and the unit as XML.
const CHUNKS: [(Chunk, &str, &str); 4] = [
    (Chunk::FrameId, "Integer", ""),
    (Chunk::Timestamp, "Integer", ""),
    (Chunk::Exposure, "Float", "<Unit>us</Unit>"),
    (Chunk::Gain, "Float", "<Unit>dB</Unit>"),
];
const CHUNK_CATEGORY: &str = "ChunkDataControl";

impl Features {
    /// The GenICam description as XML.
    pub fn xml(&self, profile: &CameraProfile) -> String {
        let identity = &profile.identity;
        let [vendor, model] = [&identity.vendor, &identity.model_name]
            .map(|text| text.replace(['&', '<', '>', '"'], "_"));
        let minor = identity.schema_minor;
        let mut xml = format!(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<RegisterDescription ModelName=\"{}\" VendorName=\"{vendor}\" ToolTip=\"{model}\" StandardNameSpace=\"GEV\" SchemaMajorVersion=\"1\" SchemaMinorVersion=\"{minor}\" SchemaSubMinorVersion=\"0\" MajorVersion=\"1\" MinorVersion=\"0\" SubMinorVersion=\"0\" ProductGuid=\"6d656e75-7261-4000-8000-000000000001\" VersionGuid=\"6d656e75-7261-4000-8000-000000000002\" xmlns=\"http://www.genicam.org/GenApi/Version_1_{minor}\">\n",
            model.replace(' ', "_"),
        );
        let chunk_names = CHUNKS.map(|(chunk, ..)| format!("Chunk{}", chunk.word()));
        let of_table = self.0.values().map(|feature| (feature.category, feature.name));
        let of_registers = DIRECT.iter().map(|direct| (direct.category, direct.name));
        let of_texts = TEXTS.iter().map(|(name, ..)| (DEVICE, *name));
        let of_chunks = chunk_names.iter().map(|name| (CHUNK_CATEGORY, name.as_str()));
        let mut categories: Vec<(&str, Vec<&str>)> = Vec::new();
        for (category, name) in of_table.chain(of_registers).chain(of_texts).chain(of_chunks) {
            match categories.iter_mut().find(|(known, _)| *known == category) {
                Some((_, names)) => names.push(name),
                None => categories.push((category, vec![name])),
            }
        }
        // Writing to a string cannot fail.
        let mut category = |name: &str, names: &[&str]| {
            let _ = writeln!(xml, "<Category Name=\"{name}\">");
            names.iter().for_each(|name| _ = writeln!(xml, "<pFeature>{name}</pFeature>"));
            let _ = writeln!(xml, "</Category>");
        };
        category("Root", &categories.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        categories.iter().for_each(|(name, names)| category(name, names));
        self.0.values().for_each(|feature| self.feature(feature, &mut xml));
        DIRECT.iter().for_each(|direct| direct.node(&mut xml));
        for (name, address, len, access) in TEXTS {
            let _ = writeln!(
                xml,
                "<StringReg Name=\"{name}\"><Address>{address:#x}</Address><Length>{len}</Length><AccessMode>{access}</AccessMode><pPort>Device</pPort></StringReg>"
            );
        }
        for ((chunk, tag, unit), name) in CHUNKS.iter().zip(&chunk_names) {
            let register = Register { len: 8, port: &format!("{name}Port"), ..Register::new(name) };
            let _ =
                writeln!(xml, "<{tag} Name=\"{name}\"><pValue>{name}Reg</pValue>{unit}</{tag}>");
            register.node(*tag == "Float", &mut xml);
            let _ = writeln!(
                xml,
                "<Port Name=\"{name}Port\"><ChunkID>{:x}</ChunkID></Port>",
                chunk.id()
            );
        }
        xml.push_str("<Port Name=\"Device\"/>\n</RegisterDescription>\n");
        xml
    }

    fn feature(&self, feature: &Feature, xml: &mut String) {
        let Feature { name, address, .. } = feature;
        let access = match feature.access {
            Access::Read => "RO",
            Access::Write | Access::Idle if feature.kind == Kind::Command => "WO",
            Access::Write | Access::Idle => "RW",
        };
        let lock = if feature.access == Access::Idle { LOCK } else { "" };
        let value = format!("{lock}<pValue>{name}Reg</pValue>");
        let _ = match &feature.kind {
            Kind::Integer(least, greatest, step, registers) => {
                let names = registers.map(|both| both.map(|address| self.0[&address].name));
                let most = match names {
                    Some([all, other]) => {
                        // The formula uses registers, because features would refer to each other in a circle.
                        let _ = writeln!(
                            xml,
                            "<IntSwissKnife Name=\"{name}Most\"><pVariable Name=\"ALL\">{all}Reg</pVariable><pVariable Name=\"OTHER\">{other}Reg</pVariable><Formula>ALL-OTHER</Formula></IntSwissKnife>"
                        );
                        format!("<pMax>{name}Most</pMax>")
                    }
                    None => format!("<Max>{greatest}</Max>"),
                };
                writeln!(
                    xml,
                    "<Integer Name=\"{name}\">{value}<Min>{least}</Min>{most}<Inc>{step}</Inc></Integer>"
                )
            }
            Kind::Float(least, greatest, unit) => {
                let unit = match *unit {
                    "" => String::new(),
                    unit => format!("<Unit>{unit}</Unit>"),
                };
                writeln!(
                    xml,
                    "<Float Name=\"{name}\">{value}<Min>{least}</Min><Max>{greatest}</Max>{unit}</Float>"
                )
            }
            // Clients expect a choice of numbers as an integer.
            Kind::Choice(words) if words.iter().all(|(word, _)| word.parse::<u32>().is_ok()) => {
                let most = words.last().map_or(1, |(_, number)| *number);
                writeln!(
                    xml,
                    "<Integer Name=\"{name}\">{value}<Min>1</Min><Max>{most}</Max><Inc>1</Inc></Integer>"
                )
            }
            Kind::Choice(words) => {
                let selected: String = self
                    .0
                    .values()
                    .filter(|other| selector_of(other.address) == Some(*address))
                    .map(|other| format!("<pSelected>{}</pSelected>", other.name))
                    .collect();
                let entries = entries(words);
                writeln!(
                    xml,
                    "<Enumeration Name=\"{name}\">{lock}{entries}<pValue>{name}Reg</pValue>{selected}</Enumeration>"
                )
            }
            Kind::Switch => writeln!(
                xml,
                "<Boolean Name=\"{name}\">{value}<OnValue>1</OnValue><OffValue>0</OffValue></Boolean>"
            ),
            Kind::Command => {
                writeln!(
                    xml,
                    "<Command Name=\"{name}\">{value}<CommandValue>1</CommandValue></Command>"
                )
            }
        };
        let register =
            Register { address: *address, len: feature.len(), access, ..Register::new(name) };
        register.node(matches!(feature.kind, Kind::Float(..)), xml);
    }
}

fn entries(words: &[(&str, u32)]) -> String {
    let entry = |(word, number): &(&str, u32)| {
        format!("<EnumEntry Name=\"{word}\"><Value>{number}</Value></EnumEntry>")
    };
    words.iter().map(entry).collect()
}

impl Direct {
    fn node(&self, xml: &mut String) {
        let name = self.name;
        let lock = if LOCKED.contains(&self.address) { LOCK } else { "" };
        let value = format!("{lock}<pValue>{name}Reg</pValue>");
        let _ = match self.kind {
            DirectKind::Integer(limits) => {
                let limits = limits.map_or_else(String::new, |(least, most, step)| {
                    format!("<Min>{least}</Min><Max>{most}</Max><Inc>{step}</Inc>")
                });
                writeln!(xml, "<Integer Name=\"{name}\">{value}{limits}</Integer>")
            }
            DirectKind::Signed => writeln!(xml, "<Integer Name=\"{name}\">{value}</Integer>"),
            DirectKind::Switch => writeln!(
                xml,
                "<Boolean Name=\"{name}\">{value}<OnValue>1</OnValue><OffValue>0</OffValue></Boolean>"
            ),
            DirectKind::Choice(words) => writeln!(
                xml,
                "<Enumeration Name=\"{name}\">{}{value}</Enumeration>",
                entries(words)
            ),
            DirectKind::Command(number) => writeln!(
                xml,
                "<Command Name=\"{name}\">{value}<CommandValue>{number}</CommandValue></Command>"
            ),
        };
        let register = Register {
            address: self.address,
            len: self.len,
            access: self.access,
            bits: self.bits,
            is_signed: matches!(self.kind, DirectKind::Signed),
            ..Register::new(name)
        };
        register.node(false, xml);
    }
}

/// XML node that describes the register of a feature.
struct Register<'a> {
    name: &'a str,
    address: u32,
    len: u32,
    access: &'a str,
    bits: Option<(u8, u8)>,
    is_signed: bool,
    port: &'a str,
}

impl<'a> Register<'a> {
    fn new(name: &'a str) -> Self {
        Self {
            name,
            address: 0,
            len: 4,
            access: "RO",
            bits: None,
            is_signed: false,
            port: "Device",
        }
    }

    fn node(&self, is_float: bool, xml: &mut String) {
        let Self { name, address, len, access, port, .. } = self;
        let (tag, bits) = match self.bits {
            _ if is_float => ("FloatReg", String::new()),
            None => ("IntReg", String::new()),
            Some((bit, same)) if bit == same => ("MaskedIntReg", format!("<Bit>{bit}</Bit>")),
            Some((highest, lowest)) => {
                ("MaskedIntReg", format!("<LSB>{lowest}</LSB><MSB>{highest}</MSB>"))
            }
        };
        let sign = match (is_float, self.is_signed) {
            (true, _) => "",
            (false, true) => "<Sign>Signed</Sign>",
            (false, false) => "<Sign>Unsigned</Sign>",
        };
        let _ = writeln!(
            xml,
            "<{tag} Name=\"{name}Reg\"><Address>{address:#x}</Address><Length>{len}</Length><AccessMode>{access}</AccessMode><pPort>{port}</pPort><Cachable>NoCache</Cachable>{bits}{sign}<Endianess>BigEndian</Endianess></{tag}>"
        );
    }
}
