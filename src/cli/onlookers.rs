//! Observers of a running rig: the live view (`--view`), Foxglove (`--foxglove`), and programs that read
//! video devices (`--v4l2`). Packets are decoded once for all observers.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;

use super::CliError;
use super::foxglove::{Foxglove, FoxglovePort};
use super::video::{VideoOutputs, VideoTarget};
use super::view::{View, ViewServer};
use super::watch::pictures::LivePictures;
use super::watch::{Audience, watch};
use crate::config::rig::Rig;
use crate::engine::os;
use crate::engine::session::LiveRun;

/// Options for observers of a run.
#[derive(Debug, clap::Args)]
pub struct OnlookerArgs {
    /// Serve a web page that shows points, values and lateness of the run, and can start and end
    /// faults
    ///
    /// The default, 127.0.0.1:8642, serves this machine alone. On any other address, the page
    /// requires the access token that is printed when the run starts.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:8642")]
    view: Option<SocketAddr>,

    /// Serve the run to Foxglove: point clouds, poses, frames, positions, lateness of devices
    ///
    /// Uses Foxglove's WebSocket protocol: choose "Open connection" there and enter the printed
    /// URL. The default, ws://127.0.0.1:8765, serves this machine alone. Any other address requires
    /// a token; the printed URL contains it.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:8765")]
    foxglove: Option<SocketAddr>,

    /// Show a camera's images on a v4l2loopback device, for programs that read video devices
    ///
    /// Each image is converted to YUYV. The camera streams from the start, without a GigE Vision host. NAME is needed if the
    /// rig has several cameras. May be repeated.
    #[arg(long, value_name = "[NAME=]/dev/videoN")]
    v4l2: Vec<VideoTarget>,
}

/// Open ports and video devices for observers of a run.
pub struct Onlookers {
    view: Option<ViewServer>,
    foxglove: Option<FoxglovePort>,
    video: VideoOutputs,
}

impl OnlookerArgs {
    /// Opens the ports and prints how to connect. Cameras with a video device stream from power-on.
    ///
    /// # Errors
    /// A port or a video device is not available, or no camera or several cameras fit a video device.
    pub fn open(&self, rig: &mut Rig) -> Result<Onlookers, CliError> {
        Ok(Onlookers {
            video: VideoOutputs::open(&self.v4l2, rig)?,
            view: self.view.map(ViewServer::open).transpose()?,
            foxglove: self.foxglove.map(FoxglovePort::open).transpose()?,
        })
    }
}

impl Onlookers {
    /// Whether any port or video device is open for observers.
    pub fn are_expected(&self) -> bool {
        self.view.is_some() || self.foxglove.is_some() || !self.video.is_empty()
    }

    /// Serves observers until the run is over.
    pub fn serve(&self, live: LiveRun<'_>) {
        let LiveRun { run, control, is_over: over } = live;
        let is_over = || over.load(Ordering::Relaxed);
        let pictures = LivePictures::new(run);
        let view = self.view.as_ref().map(|server| View::new(server, run, control, &pictures));
        let foxglove = self.foxglove.as_ref().map(|port| Foxglove::new(port, run));
        std::thread::scope(|scope| {
            // Threads that these threads start inherit the low priority.
            let engine = &run.rig().engine;
            if let Some(view) = &view {
                scope.spawn(|| {
                    os::step_back(engine, os::ANSWERER_NICE);
                    view.serve(over);
                });
            }
            if let Some(foxglove) = &foxglove {
                scope.spawn(|| {
                    os::step_back(engine, os::ONLOOKER_NICE);
                    foxglove.serve(over);
                });
            }
            scope.spawn(|| pictures.develop(is_over));
            scope.spawn(|| self.video.write(run.rig(), is_over));
            let mut viewers = view.as_ref().map(View::viewers);
            let mut subscribers = foxglove.as_ref().map(|foxglove| foxglove.subscribers(&pictures));
            let (mut waiting, mut images) = (pictures.audience(), self.video.audience());
            let mut audiences: Vec<&mut dyn Audience> = vec![&mut waiting, &mut images];
            audiences.extend(viewers.as_mut().map(|viewers| viewers as &mut dyn Audience));
            audiences.extend(subscribers.as_mut().map(|all| all as &mut dyn Audience));
            if let Some(tap) = run.tap() {
                watch(run.rig(), run.world(), tap, &mut audiences, is_over);
            }
        });
    }
}
