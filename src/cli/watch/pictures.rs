//! Camera images as JPEG, encoded once for all observers, at a rate that the machine can sustain.
//!
//! A thread of the lowest priority encodes the newest image of each camera that an observer requests; images in between
//! are skipped. After each pass, the thread pauses for as long as the pass took, so it uses at most half a processor.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jpeg_encoder::{ColorType, Encoder};
use tokio::sync::mpsc;

use super::{Audience, REST, Seen, What};
use crate::config::rig::DeviceId;
use crate::devices::decoder::picture::{Picture, Pixels};
use crate::devices::families::is_camera;
use crate::engine::os;
use crate::engine::run::RealTimeRun;
use crate::sensors::camera::lens::Lens;
use crate::time::SimTime;
use crate::timing::clock::Stopwatch;

/// Time without a request after which a camera's images are no longer encoded, unless one of its streams is open.
const PATIENCE: Duration = Duration::from_secs(3);
/// Shortest time between two encodings of a camera's images.
const SHORTEST_PERIOD: Duration = Duration::from_millis(66);
/// Largest number of simultaneous streams.
pub const MOST_STREAMS: usize = 8;
/// Number of successive images that a client may leave unread before its stream is closed.
const MOST_REFUSED: u32 = 300;
/// JPEG quality, 1 to 100: high enough to keep fine lines sharp.
const QUALITY: u8 = 85;
/// Media type of a stream, with the boundary between its images.
pub const MULTIPART: &str = "multipart/x-mixed-replace; boundary=menura-frame";
/// Text of the boundary between the images of a stream.
pub const BOUNDARY: &str = "menura-frame";

/// A camera image as a JPEG file.
#[derive(Debug)]
pub struct Jpeg {
    /// Number of the image among the encoded images of all cameras, from 1.
    pub number: u64,
    /// Due time of the image.
    pub due: SimTime,
    /// Lens of the camera, in pixels of the image, if known.
    pub lens: Option<Lens>,
    /// Bytes of the file.
    pub bytes: Vec<u8>,
}

/// Images of a run's cameras.
pub struct LivePictures<'a> {
    run: &'a RealTimeRun<'a>,
    devices: Vec<CameraImages>,
    streams: Arc<Streams>,
}

/// Images of one camera.
#[derive(Default)]
struct CameraImages {
    /// Time of the last request, nanoseconds since the start of the run; 0 for never.
    asked_ns: AtomicU64,
    waiting: Mutex<Option<(SimTime, Picture, Option<Lens>)>>,
    newest: Mutex<Option<Arc<Jpeg>>>,
}

/// Clients, each of which receives the encoded images of one camera. A client that reads too slowly misses some images.
#[derive(Debug, Default)]
pub struct Streams {
    clients: Mutex<Vec<Client>>,
}

#[derive(Debug)]
struct Client {
    device: DeviceId,
    images: mpsc::Sender<Vec<u8>>,
    refused: u32,
}

impl Streams {
    /// Opens a stream of a device's encoded images, each with its header lines; `None` if [`MOST_STREAMS`] streams are
    /// open.
    pub fn open(&self, device: DeviceId) -> Option<mpsc::Receiver<Vec<u8>>> {
        let mut clients = self.clients.lock().expect("no holder panics");
        clients.retain(|client| !client.images.is_closed());
        if clients.len() >= MOST_STREAMS {
            return None;
        }
        // A client that is slower than the images misses some of them.
        let (images, stream) = mpsc::channel(1);
        clients.push(Client { device, images, refused: 0 });
        Some(stream)
    }

    fn is_watched(&self, device: DeviceId) -> bool {
        let mut clients = self.clients.lock().expect("no holder panics");
        clients.retain(|client| !client.images.is_closed());
        clients.iter().any(|client| client.device == device)
    }

    fn send(&self, device: DeviceId, jpeg: &Jpeg) {
        let mut clients = self.clients.lock().expect("no holder panics");
        clients.retain_mut(|client| {
            if client.device == device {
                let is_full = client.images.try_send(part(&jpeg.bytes)).is_err();
                client.refused = if is_full { client.refused + 1 } else { 0 };
            }
            client.refused < MOST_REFUSED
        });
    }
}

/// An image as a part of a `multipart/x-mixed-replace` body. The boundary after it shows the client that the image is
/// complete.
fn part(jpeg: &[u8]) -> Vec<u8> {
    let head = format!("Content-Type: image/jpeg\r\nContent-Length: {}\r\n\r\n", jpeg.len());
    let mut bytes = head.into_bytes();
    bytes.extend(jpeg);
    bytes.extend(format!("\r\n--{BOUNDARY}\r\n").as_bytes());
    bytes
}

impl<'a> LivePictures<'a> {
    /// Images of all devices of `run`.
    pub fn new(run: &'a RealTimeRun<'a>) -> Self {
        let devices = run.rig().devices.iter().map(|_| CameraImages::default()).collect();
        Self { run, devices, streams: Default::default() }
    }

    /// Clients that receive encoded images, see [`Streams`].
    pub fn streams(&self) -> &Arc<Streams> {
        &self.streams
    }

    /// Newest image of a device; `None` if there is none, or if its number is `seen`. The call also counts as a
    /// request, so that images are encoded for the next three seconds.
    pub fn newest(&self, device: DeviceId, seen: u64) -> Option<Arc<Jpeg>> {
        let camera = self.devices.get(device.0)?;
        camera.asked_ns.store(self.now_ns().max(1), Ordering::Relaxed);
        let newest = camera.newest.lock().expect("no holder panics");
        newest.as_ref().filter(|jpeg| jpeg.number != seen).cloned()
    }

    /// Observer of sent images, to be passed to [`super::watch`].
    pub fn audience(&self) -> Waiting<'_> {
        Waiting(self)
    }

    /// Encodes images until `is_over` returns true, if the rig has a camera.
    pub fn develop(&self, is_over: impl Fn() -> bool) {
        if !self.run.rig().devices.iter().any(is_camera) {
            return;
        }
        os::step_back(&self.run.rig().engine, os::ONLOOKER_NICE);
        let mut made_ns = vec![0_u64; self.devices.len()];
        let mut number = 0;
        while !is_over() {
            let watch = Stopwatch::start();
            for (index, camera) in self.devices.iter().enumerate() {
                if self.now_ns() < made_ns[index] + SHORTEST_PERIOD.as_nanos() as u64 {
                    continue;
                }
                let waiting = camera.waiting.lock().expect("no holder panics").take();
                let Some((due, picture, lens)) = waiting else { continue };
                made_ns[index] = self.now_ns();
                let Some(bytes) = jpeg(&picture) else { continue };
                number += 1;
                let jpeg = Jpeg { number, due, lens, bytes };
                self.streams.send(DeviceId(index), &jpeg);
                *camera.newest.lock().expect("no holder panics") = Some(jpeg.into());
            }
            std::thread::park_timeout(watch.elapsed().max(REST));
        }
    }

    fn now_ns(&self) -> u64 {
        self.run.elapsed().as_nanos() as u64
    }

    fn is_wanted(&self, device: DeviceId) -> bool {
        let asked_ns = self.devices[device.0].asked_ns.load(Ordering::Relaxed);
        let ends_ns = asked_ns.saturating_add(PATIENCE.as_nanos() as u64);
        (asked_ns > 0 && self.now_ns() <= ends_ns) || self.streams.is_watched(device)
    }
}

/// Keeps the newest image of each camera until it is encoded.
pub struct Waiting<'a>(&'a LivePictures<'a>);

impl Audience for Waiting<'_> {
    fn is_there(&self) -> bool {
        (0..self.0.devices.len()).any(|device| self.0.is_wanted(DeviceId(device)))
    }

    fn wants(&self, device: DeviceId) -> bool {
        self.0.is_wanted(device)
    }

    fn take(&mut self, seen: &Seen<'_>) {
        let What::Picture(picture, lens) = seen.what else { return };
        let camera = &self.0.devices[seen.device.0];
        if self.0.is_wanted(seen.device) {
            let newest = Some((seen.due, picture.clone(), lens.copied()));
            *camera.waiting.lock().expect("no holder panics") = newest;
        }
    }

    fn end_frame(&mut self, _at: SimTime) {}
}

/// Encodes an image as JPEG; `None` if it is too large.
fn jpeg(picture: &Picture) -> Option<Vec<u8>> {
    let [width, height] = picture.size.map(|size| u16::try_from(size).ok());
    let mut bytes = Vec::new();
    let encoder = Encoder::new(&mut bytes, QUALITY);
    let encoded = match picture.pixels() {
        Pixels::Grey(grey) => encoder.encode(&grey, width?, height?, ColorType::Luma),
        Pixels::Colour(colour) => encoder.encode(&colour, width?, height?, ColorType::Rgb),
    };
    encoded.ok().map(|()| bytes)
}

#[cfg(test)]
mod tests {
    use zune_jpeg::JpegDecoder;
    use zune_jpeg::zune_core::bytestream::ZCursor;

    use super::*;
    use crate::wire::gige::gvsp::PixelFormat;

    #[test]
    fn a_file_shows_the_picture() {
        let bytes = [200u8, 120, 40].repeat(64 * 32);
        let (size, offset) = ([64, 32], [0, 0]);
        let picture = Picture { number: 1, size, offset, format: PixelFormat::Rgb8, bytes };
        let file = jpeg(&picture).expect("it is small");
        let mut decoder = JpegDecoder::new(ZCursor::new(&file));
        let pixels = decoder.decode().expect("a JPEG file");
        assert_eq!(pixels.len(), 3 * 64 * 32);
        for (found, wanted) in pixels.iter().zip(&picture.bytes) {
            assert!(found.abs_diff(*wanted) < 4, "{found} {wanted}");
        }
        let huge = Picture { size: [70_000, 1], bytes: vec![0; 210_000], ..picture };
        assert_eq!(jpeg(&huge), None);
    }

    #[test]
    fn a_slow_client_misses_images_and_the_gone_make_room() {
        let streams = Streams::default();
        let jpeg = |number| Jpeg { number, due: SimTime(0), lens: None, bytes: vec![7; 5] };
        let mut slow = streams.open(DeviceId(1)).expect("there is room");
        (1..10).for_each(|number| streams.send(DeviceId(1), &jpeg(number)));
        streams.send(DeviceId(0), &jpeg(10));
        let first = slow.try_recv().expect("one image waits");
        let text = String::from_utf8_lossy(&first).into_owned();
        assert!(text.starts_with("Content-Type: image/jpeg\r\nContent-Length: 5\r\n\r\n\u{7}"));
        assert!(text.ends_with("\r\n--menura-frame\r\n"), "{text:?}");
        assert!(slow.try_recv().is_err());
        let others: Vec<_> = (1..MOST_STREAMS).map(|_| streams.open(DeviceId(0))).collect();
        assert!(others.iter().all(Option::is_some));
        assert!(streams.open(DeviceId(0)).is_none());
        drop(slow);
        assert!(!streams.is_watched(DeviceId(1)));
        assert!(streams.open(DeviceId(0)).is_some());
        // A client that reads no images loses its stream.
        (0..MOST_REFUSED + 1).for_each(|_| streams.send(DeviceId(0), &jpeg(1)));
        assert!(!streams.is_watched(DeviceId(0)));
    }
}
