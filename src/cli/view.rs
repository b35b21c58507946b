//! `menura run --view`: a page that shows a run and can send faults and drive commands.
//!
//! The page polls and gets the newest state. A slow page misses frames but delays nothing. All files of the page are
//! embedded in the program.

mod fields;
mod recent;
mod scene;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use self::fields::{FaultForm, fault_forms};
use self::recent::{Recent, RecentFigures};
pub use self::scene::Viewers;
use self::scene::{NamedValue, Pose, Poses, Shown, Wishes};
use super::access::{Access, VIDEO};
use super::watch::LOOK;
use super::watch::pictures::{BOUNDARY, LivePictures, MULTIPART};
use super::{CliError, console};
use crate::config::rig::faults::{FaultConfig, FaultKind, WireFault};
use crate::config::rig::{DeviceId, TrajectoryConfig};
use crate::devices::families::is_camera;
use crate::engine::live_faults::LiveFault;
use crate::engine::run::RealTimeRun;
use crate::engine::run_control::{Listing, RunControl};
use crate::engine::stats::{DeviceFigures, LatenessBin};
use crate::engine::truth::labels::Labels;
use crate::frames::Transform;
use crate::links::http::{HttpServer, HttpStream, OpenStream};
use crate::time::SimTime;
use crate::wire::drive_order::DriveOrder;
use crate::wire::http::{HttpMethod, HttpRequest, HttpResponse};

/// Time without requests after which a page counts as closed.
const VIEWER_PATIENCE: Duration = Duration::from_secs(3);
/// Time without a drive command from a page after which the robot stops.
const DRIVER_PATIENCE: Duration = Duration::from_millis(600);
/// Smallest horizontal distance between successive stored points of the robot's path, metres.
const PATH_STEP_M: f64 = 0.2;
/// Largest number of points of the robot's path; later points are not recorded.
const MOST_PATH: usize = 20_000;
/// Height of the drawn robot if the rig does not define one, metres.
const USUAL_HEIGHT_M: f64 = 0.5;
/// Largest drive command that the page may send, in either direction: forward speed (m/s) and turn rate (rad/s).
const FASTEST: (f64, f64) = (20.0, 6.3);

/// Security headers: the page may load only files of this server and inline images, and no other page can embed it in a
/// frame.
const HEADERS: &[(&str, &str)] = &[
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
         img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ),
    ("x-frame-options", "DENY"),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// Path, content type and content of each file.
const FILES: &[(&str, &str, &str)] = &[
    ("/", "text/html; charset=utf-8", include_str!("view/page.html")),
    ("/view.css", "text/css; charset=utf-8", include_str!("view/view.css")),
    ("/cloud.js", SCRIPT, include_str!("view/cloud.js")),
    ("/lines.js", SCRIPT, include_str!("view/lines.js")),
    ("/pick.js", SCRIPT, include_str!("view/pick.js")),
    ("/pace.js", SCRIPT, include_str!("view/pace.js")),
    ("/timeline.js", SCRIPT, include_str!("view/timeline.js")),
    ("/cards.js", SCRIPT, include_str!("view/cards.js")),
    ("/pictures.js", SCRIPT, include_str!("view/pictures.js")),
    ("/faults.js", SCRIPT, include_str!("view/faults.js")),
    ("/drive.js", SCRIPT, include_str!("view/drive.js")),
    ("/view.js", SCRIPT, include_str!("view/view.js")),
];
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// An open port for viewers.
pub struct ViewServer {
    server: HttpServer,
    access: Access,
}

impl ViewServer {
    /// Listens at `address`, and prints the URL of the page.
    ///
    /// # Errors
    /// The port is not available.
    pub fn open(address: SocketAddr) -> Result<Self, CliError> {
        let wrong = |error: std::io::Error| CliError::Input(format!("error: --view: {error}"));
        let server = HttpServer::listen(address).map_err(wrong)?.with_headers(HEADERS);
        let access = Access::at(address).map_err(wrong)?;
        let reach = server.address();
        match access.token() {
            None => console::say(format_args!("live view: http://{reach}/")),
            Some(token) => console::say(format_args!("live view: http://{reach}/#{token}")),
        }
        Ok(Self { server, access })
    }
}

/// Constant data about a run.
#[derive(Serialize)]
struct Facts {
    rig: String,
    fault_log: Option<PathBuf>,
    /// Length, width and height of the robot, metres.
    robot_size_m: [f64; 3],
    is_driven: bool,
    devices: Vec<DeviceFacts>,
}

#[derive(Serialize)]
struct DeviceFacts {
    name: String,
    /// Faults that the device supports.
    faults: Vec<FaultForm>,
    /// Whether the device can send images.
    is_camera: bool,
}

/// State that the page requests repeatedly.
#[derive(Serialize)]
struct Status<'a> {
    time_s: f64,
    real_time_factor: f64,
    is_driven: bool,
    contacts: Option<u64>,
    pose: Pose,
    /// Poses of the sensors, by device.
    sensors: Vec<Pose>,
    /// Points of the robot's path that the page does not have yet: east, north and up in World, metres.
    path: Vec<[f32; 3]>,
    path_length: usize,
    devices: Vec<DeviceStatus<'a>>,
    rig: &'a str,
    faults: Vec<LiveFault>,
    /// Names of labels, by label number; `None` unless the page requested them.
    #[serde(skip_serializing_if = "Option::is_none")]
    labels: Option<&'a [String]>,
}

#[derive(Serialize)]
struct DeviceStatus<'a> {
    #[serde(flatten)]
    figures: DeviceFigures,
    recent: RecentFigures,
    lateness: &'a [LatenessBin],
    values: &'a [NamedValue],
    hosts: Vec<String>,
}

#[derive(Deserialize)]
struct Order {
    forward_m_s: f64,
    turn_rad_s: f64,
}

/// State that the threads of the view share.
pub struct View<'a> {
    run: &'a RealTimeRun<'a>,
    control: &'a RunControl<'a>,
    server: &'a ViewServer,
    pictures: &'a LivePictures<'a>,
    shown: Shown,
    path: Mutex<Vec<[f32; 3]>>,
    /// Recent activity, by device.
    recent: Mutex<Vec<Recent>>,
    /// Time of a page's last request for the status, nanoseconds since the start of the run; 0 for never.
    seen_ns: AtomicU64,
    /// Time of a page's last drive command, nanoseconds since the start of the run; 0 for never and after a stop.
    driven_ns: AtomicU64,
    /// Time of a page's last request for labels, nanoseconds since the start of the run; 0 for never.
    labels_ns: AtomicU64,
    /// Names of labels, once they were requested.
    labels: OnceLock<Vec<String>>,
}

impl<'a> View<'a> {
    /// The view of `run` on the port of `server`; images come from `pictures`.
    pub fn new(
        server: &'a ViewServer,
        run: &'a RealTimeRun<'a>,
        control: &'a RunControl<'a>,
        pictures: &'a LivePictures<'a>,
    ) -> Self {
        Self {
            run,
            control,
            server,
            pictures,
            shown: Shown::default(),
            path: Mutex::default(),
            recent: Mutex::new(run.rig().devices.iter().map(|_| Recent::default()).collect()),
            seen_ns: AtomicU64::new(0),
            driven_ns: AtomicU64::new(0),
            labels_ns: AtomicU64::new(0),
            labels: OnceLock::new(),
        }
    }

    /// Receiver of decoded device data, which the page shows.
    pub fn viewers(&self) -> Viewers<'_> {
        let wishes = Wishes {
            is_there: Box::new(|| self.is_within(&self.seen_ns, VIEWER_PATIENCE)),
            labels: Box::new(|| self.is_within(&self.labels_ns, VIEWER_PATIENCE)),
            poses: Box::new(|at| self.poses(at)),
        };
        Viewers::new(&self.shown, self.run.rig().devices.len(), wishes)
    }

    /// Serves the page until `over` is set.
    pub fn serve(&self, over: &AtomicBool) {
        let (ask, asked) =
            crossbeam_channel::bounded::<(HttpRequest, oneshot::Sender<HttpResponse>)>(64);
        std::thread::scope(|scope| {
            let is_over = || over.load(Ordering::Relaxed);
            scope.spawn(move || self.look_after(is_over));
            for _ in 0..2 {
                let asked = asked.clone();
                scope.spawn(move || {
                    while !is_over() {
                        let Ok((request, reply)) = asked.recv_timeout(LOOK) else { continue };
                        // The client may have disconnected.
                        let _ = reply.send(self.answer(&request));
                    }
                });
            }
            let pass = move |request| {
                let (reply, answer) = oneshot::channel();
                ask.try_send((request, reply)).ok().map(|()| answer)
            };
            let open = self.streams();
            if let Err(error) = self.server.server.serve_with(Arc::new(pass), open, over) {
                tracing::warn!("the live view has ended: {error}");
            }
        });
    }

    /// Function that answers requests for `/video/NAME`: it opens a stream of images of the camera NAME, or returns the
    /// reason for a refusal.
    fn streams(&self) -> OpenStream {
        let (access, streams) = (self.server.access.clone(), Arc::clone(self.pictures.streams()));
        let devices = self.run.rig().devices.iter().enumerate();
        let cameras = devices.filter(|(_, device)| is_camera(device));
        let cameras: Vec<_> =
            cameras.map(|(index, device)| (device.name.clone(), DeviceId(index))).collect();
        Arc::new(move |request| {
            let name = request.path.strip_prefix(VIDEO)?;
            if let Err((status, why)) = access.check(request) {
                return Some(Err(HttpResponse::text(status, why)));
            }
            let Some((_, camera)) = cameras.iter().find(|(camera, _)| camera == name) else {
                return Some(Err(HttpResponse::text(404, "the rig has no camera of this name")));
            };
            let start = format!("--{BOUNDARY}\r\n").into_bytes();
            let stream = |parts| HttpStream { content_type: MULTIPART, start, parts };
            let busy = || HttpResponse::text(503, "all streams are in use: close one");
            Some(streams.open(*camera).map(stream).ok_or_else(busy))
        })
    }

    fn now_ns(&self) -> u64 {
        self.run.elapsed().as_nanos() as u64
    }

    /// Whether the time `since` is at most `patience` ago; `false` for 0, which means never.
    fn is_within(&self, since: &AtomicU64, patience: Duration) -> bool {
        let since = since.load(Ordering::Relaxed);
        since > 0 && self.now_ns() <= since.saturating_add(patience.as_nanos() as u64)
    }

    /// Records the path and the activity of devices, and stops the robot if the page's drive commands cease.
    fn look_after(&self, is_over: impl Fn() -> bool) {
        while !is_over() {
            std::thread::park_timeout(LOOK);
            let drives = self.driven_ns.load(Ordering::Relaxed) > 0;
            if drives && !self.is_within(&self.driven_ns, DRIVER_PATIENCE) {
                let halt = DriveOrder::Twist { forward_m_s: 0.0, turn_rad_s: 0.0 };
                if self.run.order(halt) {
                    self.driven_ns.store(0, Ordering::Relaxed);
                }
            }
            self.note_recent();
            let ([x, y, z], _) = self.pose();
            let mut path = self.path.lock().expect("no holder panics");
            let is_far = path.last().is_none_or(|last| {
                let [dx, dy] = [x - f64::from(last[0]), y - f64::from(last[1])];
                dx * dx + dy * dy > PATH_STEP_M * PATH_STEP_M
            });
            if is_far && path.len() < MOST_PATH {
                path.push([x as f32, y as f32, z as f32]);
            }
        }
    }

    fn note_recent(&self) {
        let (now, counters) = (SimTime(self.now_ns()), self.run.counters());
        let mut recent = self.recent.lock().expect("no holder panics");
        for (recent, counters) in recent.iter_mut().zip(counters) {
            recent.note(now, counters);
        }
        if recent.iter().any(|recent| recent.wants_lateness(now)) {
            for (recent, lateness) in recent.iter_mut().zip(self.run.lateness_counts()) {
                recent.note_lateness(now, lateness);
            }
        }
    }

    fn pose(&self) -> Pose {
        pose_of(&self.run.world().trajectory.pose(SimTime(self.now_ns())))
    }

    fn poses(&self, at: SimTime) -> Poses {
        let world = self.run.world();
        let devices = self.run.rig().devices.iter().enumerate();
        let sensors = devices.map(|(index, device)| {
            let surroundings = world.surroundings_of(DeviceId(index), &device.body_from_sensor);
            pose_of(&surroundings.world_from_sensor(at))
        });
        Poses { robot: pose_of(&world.trajectory.pose(at)), sensors: sensors.collect() }
    }

    fn answer(&self, request: &HttpRequest) -> HttpResponse {
        if let Err((status, why)) = self.server.access.check(request) {
            return json_response(status, &json!({ "error": why }));
        }
        let number = |name: &str| {
            let pairs = form_urlencoded::parse(request.query.as_bytes());
            let found = pairs.into_iter().find(|(key, _)| key == name);
            found.and_then(|(_, value)| value.parse::<u64>().ok()).unwrap_or(0)
        };
        match (request.method, request.path.as_str()) {
            (HttpMethod::Get, "/api/status") => {
                self.seen_ns.store(self.now_ns().max(1), Ordering::Relaxed);
                let labels = (number("labels") > 0).then(|| self.label_names());
                self.status(number("path") as usize, labels)
            }
            (HttpMethod::Get, "/api/rig") => json_response(200, &json!(self.facts())),
            (HttpMethod::Get, "/api/cloud") => self.cloud(number("after")),
            (HttpMethod::Get, "/api/picture") => {
                self.picture(DeviceId(number("device") as usize), number("after"))
            }
            (HttpMethod::Post, "/api/fault") => {
                let answer = self.control.answer(&request.body);
                let status = if answer.get("error").is_some() { 400 } else { 200 };
                json_response(status, &answer)
            }
            (HttpMethod::Post, "/api/drive") => self.drive(&request.body),
            (HttpMethod::Get, path) => match FILES.iter().find(|(name, ..)| *name == path) {
                Some((_, content_type, text)) => {
                    HttpResponse { status: 200, content_type, body: text.as_bytes().to_vec() }
                }
                None => HttpResponse::text(404, "not found"),
            },
            _ => HttpResponse::text(405, "allowed: GET; POST of /api/fault and /api/drive"),
        }
    }

    /// Returns the names of the labels. The call also makes the run label points for the duration [`VIEWER_PATIENCE`].
    fn label_names(&self) -> &[String] {
        self.labels_ns.store(self.now_ns().max(1), Ordering::Relaxed);
        let (rig, world) = (self.run.rig(), self.run.world());
        self.labels.get_or_init(|| Labels::of(rig, world).names().to_vec())
    }

    fn facts(&self) -> Facts {
        let rig = self.run.rig();
        let Listing { rig: name, fault_log, .. } = self.control.listing();
        let [length_m, width_m] = rig.robot.footprint_m;
        let height_m = match &rig.robot.trajectory {
            TrajectoryConfig::Drive(drive) => drive.body.height_m,
            _ => USUAL_HEIGHT_M,
        };
        let devices = rig.devices.iter().map(|device| DeviceFacts {
            name: device.name.clone(),
            faults: fault_forms(device),
            is_camera: is_camera(device),
        });
        Facts {
            rig: name,
            fault_log,
            robot_size_m: [length_m, width_m, height_m],
            is_driven: self.run.contacts().is_some(),
            devices: devices.collect(),
        }
    }

    fn status(&self, from: usize, labels: Option<&[String]>) -> HttpResponse {
        let elapsed = self.run.elapsed();
        let now = SimTime(elapsed.as_nanos() as u64);
        let (lateness, values) = (self.run.lateness(), self.shown.values());
        let (counters, counts) = (self.run.counters(), self.run.lateness_counts());
        let recent = self.recent.lock().expect("no holder panics");
        let devices = self.run.figures(elapsed).into_iter().zip(self.run.hosts()).enumerate();
        let devices = devices.map(|(index, (figures, hosts))| DeviceStatus {
            recent: recent[index].figures(
                now,
                counters[index],
                &counts[index],
                figures.nominal_rate_hz,
                self.is_down(DeviceId(index), now),
            ),
            figures,
            lateness: &lateness[index],
            values: values.get(index).map_or(&[], Vec::as_slice),
            hosts: hosts.iter().map(ToString::to_string).collect(),
        });
        let path = self.path.lock().expect("no holder panics");
        let status = Status {
            time_s: elapsed.as_secs_f64(),
            real_time_factor: self.run.real_time_factor(),
            is_driven: self.run.contacts().is_some(),
            contacts: self.run.contacts(),
            pose: self.pose(),
            sensors: self.poses(now).sensors,
            path: path.get(from..).unwrap_or_default().to_vec(),
            path_length: path.len(),
            devices: devices.collect(),
            rig: &self.run.rig().name,
            faults: self.run.fault_control().faults(),
            labels,
        };
        json_response(200, &json!(status))
    }

    /// Whether a fault interrupts the link of `device` at `now`: a fault of the rig, or one that was started during the
    /// run.
    fn is_down(&self, device: DeviceId, now: SimTime) -> bool {
        let mut faults = self.run.rig().faults.iter();
        let cuts = |fault: &FaultConfig| matches!(fault.kind, FaultKind::Wire(WireFault::LinkDown));
        self.run.fault_control().is_down(device, now)
            || faults.any(|fault| {
                fault.device == device.0 && cuts(fault) && fault.schedule.window_at(now).is_some()
            })
    }

    /// Response with the frame that follows number `seen`, or with the newest frame if that one is no longer stored; an
    /// empty response if there is no newer frame.
    fn cloud(&self, seen: u64) -> HttpResponse {
        match self.shown.frame_after(seen) {
            Some((_, frame)) => HttpResponse {
                status: 200,
                content_type: "application/octet-stream",
                body: frame.to_vec(),
            },
            None => HttpResponse::text(204, ""),
        }
    }

    /// Response with a camera's newest image, unless its number is `seen`; an empty response if there is no newer
    /// image.
    fn picture(&self, device: DeviceId, seen: u64) -> HttpResponse {
        let Some(jpeg) = self.pictures.newest(device, seen) else {
            return HttpResponse::text(204, "");
        };
        let head = [jpeg.number.to_le_bytes(), jpeg.due.as_secs_f64().to_le_bytes()];
        let body = [head.as_flattened(), &jpeg.bytes].concat();
        HttpResponse { status: 200, content_type: "application/octet-stream", body }
    }

    fn drive(&self, body: &[u8]) -> HttpResponse {
        let wrong = |text: &str| json_response(400, &json!({ "error": text }));
        let Ok(Order { forward_m_s, turn_rad_s }) = serde_json::from_slice(body) else {
            return wrong("allowed: {\"forward_m_s\": NUMBER, \"turn_rad_s\": NUMBER}");
        };
        if !(forward_m_s.abs() <= FASTEST.0 && turn_rad_s.abs() <= FASTEST.1) {
            return wrong("allowed: up to 20 m/s and 6.3 rad/s in either direction");
        }
        if self.run.contacts().is_none() {
            return wrong("the robot of this rig follows a trajectory; it is not driven");
        }
        if !self.run.order(DriveOrder::Twist { forward_m_s, turn_rad_s }) {
            return json_response(503, &json!({ "error": "busy" }));
        }
        let stands = forward_m_s == 0.0 && turn_rad_s == 0.0;
        self.driven_ns.store(if stands { 0 } else { self.now_ns().max(1) }, Ordering::Relaxed);
        json_response(200, &json!({ "ok": null }))
    }
}

fn pose_of<A, B>(pose: &Transform<A, B>) -> Pose {
    (pose.translation.to_array(), pose.rotation.to_array())
}

fn json_response(status: u16, value: &Value) -> HttpResponse {
    HttpResponse { status, content_type: "application/json", body: value.to_string().into_bytes() }
}
