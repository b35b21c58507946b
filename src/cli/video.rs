//! `menura run --v4l2`: writes images of cameras to `/dev/videoN`, for programs that read video
//! devices.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Mutex;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::CliError;
use super::watch::{Audience, LOOK, Seen, What};
use crate::config::rig::{DeviceId, Rig};
use crate::devices::decoder::picture::Picture;
use crate::devices::families::{family_of, is_camera};
use crate::engine::os;
use crate::links::v4l2::VideoOutput;
use crate::time::SimTime;

/// A camera and the video device that gets its images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VideoTarget {
    /// Name of the camera; `None` for the rig's only camera.
    camera: Option<String>,
    path: PathBuf,
}

impl FromStr for VideoTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (camera, path) = match text.split_once('=') {
            Some((camera, path)) => (Some(camera.to_owned()), path),
            None => (None, text),
        };
        if path.is_empty() || camera.as_deref() == Some("") {
            return Err("allowed: /dev/videoN or NAME=/dev/videoN".to_owned());
        }
        Ok(Self { camera, path: path.into() })
    }
}

/// Open video devices, each with the camera whose images it gets.
pub struct VideoOutputs(Vec<Sink>);

struct Sink {
    camera: DeviceId,
    output: Mutex<VideoOutput>,
    images: Sender<Picture>,
    waiting: Receiver<Picture>,
}

impl VideoOutputs {
    /// Opens the video devices, and makes their cameras stream from power-on without a host.
    ///
    /// # Errors
    /// A camera or a video device does not exist or is named twice, or no camera is named in a rig with several
    /// cameras.
    pub fn open(targets: &[VideoTarget], rig: &mut Rig) -> Result<Self, CliError> {
        let wrong = |text: String| CliError::Input(format!("error: --v4l2: {text}"));
        let mut all: Vec<Sink> = Vec::new();
        for (index, VideoTarget { camera, path }) in targets.iter().enumerate() {
            let camera = camera_of(camera.as_deref(), rig).map_err(wrong)?;
            if targets[..index].iter().any(|other| other.path == *path) {
                return Err(wrong(format!("{} is named twice", path.display())));
            }
            if all.iter().any(|sink| sink.camera == camera) {
                let name = &rig.devices[camera.0].name;
                return Err(wrong(format!("camera `{name}` is named twice")));
            }
            let output = VideoOutput::new(path).map_err(|error| wrong(error.to_string()))?;
            let device = &mut rig.devices[camera.0];
            if let Some(settings) = family_of(&device.profile).streaming(device) {
                device.settings = settings;
            }
            let (images, waiting) = bounded(1);
            all.push(Sink { camera, output: output.into(), images, waiting });
        }
        Ok(Self(all))
    }

    /// Whether there are no video devices.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Observer of sent images, to be passed to [`super::watch::watch`].
    pub fn audience(&self) -> Images<'_> {
        Images(self)
    }

    /// Writes images until `is_over` returns true, with one thread per video device.
    pub fn write(&self, rig: &Rig, is_over: impl Fn() -> bool + Sync) {
        std::thread::scope(|scope| {
            for sink in &self.0 {
                let is_over = &is_over;
                scope.spawn(move || {
                    os::step_back(&rig.engine, os::ANSWERER_NICE);
                    sink.write(&rig.devices[sink.camera.0].name, is_over);
                });
            }
        });
    }
}

impl Sink {
    fn write(&self, camera: &str, is_over: impl Fn() -> bool) {
        let mut output = self.output.lock().expect("no holder panics");
        let mut is_refused = false;
        while !is_over() {
            let Ok(picture) = self.waiting.recv_timeout(LOOK) else { continue };
            let [width, height] = picture.size;
            let yuyv = picture.pixels().yuyv(width as usize);
            let written = output.write([width.next_multiple_of(2), height], &yuyv);
            if let Err(error) = &written
                && !is_refused
            {
                tracing::warn!(
                    "--v4l2: {camera}: {error}; its images are dropped until this error ends"
                );
            }
            is_refused = written.is_err();
        }
    }
}

/// Camera with this name; without a name, the only camera of the rig.
fn camera_of(name: Option<&str>, rig: &Rig) -> Result<DeviceId, String> {
    let cameras: Vec<_> =
        (0..rig.devices.len()).filter(|index| is_camera(&rig.devices[*index])).collect();
    let names: Vec<_> = cameras.iter().map(|index| rig.devices[*index].name.as_str()).collect();
    let listed = names.join(", ");
    match (name, &cameras[..]) {
        (_, []) => Err("the rig has no camera".to_owned()),
        (None, [only]) => Ok(DeviceId(*only)),
        (None, _) => Err(format!("name the camera: NAME=/dev/videoN; cameras: {listed}")),
        (Some(name), all) => {
            let found = all.iter().find(|index| rig.devices[**index].name == name);
            let found = found.map(|index| DeviceId(*index));
            found.ok_or_else(|| format!("there is no camera `{name}`; cameras: {listed}"))
        }
    }
}

/// Passes images to the threads that write them; images for which a video device is too slow are dropped.
pub struct Images<'a>(&'a VideoOutputs);

impl Audience for Images<'_> {
    fn is_there(&self) -> bool {
        !self.0.is_empty()
    }

    fn wants(&self, device: DeviceId) -> bool {
        self.0.0.iter().any(|sink| sink.camera == device)
    }

    fn take(&mut self, seen: &Seen<'_>) {
        let What::Picture(picture, _) = seen.what else { return };
        for sink in self.0.0.iter().filter(|sink| sink.camera == seen.device) {
            let _ = sink.images.try_send(picture.clone());
        }
    }

    fn end_frame(&mut self, _at: SimTime) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_have_a_camera_or_none() {
        let target = |text: &str| text.parse::<VideoTarget>();
        let plain = VideoTarget { camera: None, path: "/dev/video9".into() };
        assert_eq!(target("/dev/video9"), Ok(plain.clone()));
        let named = VideoTarget { camera: Some("front".into()), ..plain };
        assert_eq!(target("front=/dev/video9"), Ok(named));
        assert!(target("").is_err() && target("=/dev/video9").is_err() && target("x=").is_err());
    }
}
