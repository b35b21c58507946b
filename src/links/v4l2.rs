//! Output of camera images to a v4l2loopback device. Programs read them from `/dev/videoN`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use linuxvideo::format::{PixFormat, PixelFormat};
use linuxvideo::{CapabilityFlags, Device, VideoOutputDevice};

/// A video device to which YUYV images are written.
pub struct VideoOutput {
    path: PathBuf,
    /// Image size (width, height; pixels) and open device; `None` before the first image.
    open: Option<([u32; 2], VideoOutputDevice)>,
}

impl VideoOutput {
    /// Opens the device at `path` and checks that it accepts images.
    ///
    /// # Errors
    /// The device is missing or does not accept images; the error has the remedy.
    pub fn new(path: &Path) -> io::Result<Self> {
        let device = Device::open(path).map_err(|error| explained(path, &error))?;
        let can = device.capabilities()?.device_capabilities();
        if !can.contains(CapabilityFlags::VIDEO_OUTPUT) {
            let text = format!(
                "{} accepts no images: it is not a v4l2loopback device, or a program writes to it",
                path.display()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        Ok(Self { path: path.to_owned(), open: None })
    }

    /// Writes an image; `size` is width and height, pixels. After a change of the size the device is set up again,
    /// which v4l2loopback permits while no program reads.
    ///
    /// # Errors
    /// The device does not accept the size or the image.
    pub fn write(&mut self, size: [u32; 2], yuyv: &[u8]) -> io::Result<()> {
        if self.open.as_ref().is_none_or(|(set, _)| *set != size) {
            self.open = None;
            let [width, height] = size;
            let format = PixFormat::new(width, height, PixelFormat::YUYV);
            let device = Device::open(&self.path)?.video_output(format)?;
            let set = device.format();
            if [set.width(), set.height()] != size || set.pixel_format() != PixelFormat::YUYV {
                let text = format!(
                    "{} accepts no images of {width} x {height} in YUYV",
                    self.path.display()
                );
                return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
            }
            self.open = Some((size, device));
        }
        match &mut self.open {
            Some((_, device)) => device.write_all(yuyv),
            None => Ok(()),
        }
    }
}

fn explained(path: &Path, error: &io::Error) -> io::Error {
    let path = path.display();
    let text = match error.kind() {
        io::ErrorKind::NotFound => format!(
            "there is no {path}: load the kernel's module with `modprobe v4l2loopback`, from the package \
             v4l2loopback-dkms"
        ),
        io::ErrorKind::PermissionDenied => {
            format!("no permission to write {path}: join the group `video`")
        }
        // This error is reported for every file that is not a video device.
        _ if error.raw_os_error() == Some(rustix::io::Errno::NOTTY.raw_os_error()) => {
            format!("{path} is not a video device")
        }
        _ => format!("{path}: {error}"),
    };
    io::Error::new(error.kind(), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_video_output_is_told() {
        let wrong = |path: &str| VideoOutput::new(Path::new(path)).map(|_| ()).unwrap_err();
        let missing = wrong("/dev/video4711").to_string();
        assert!(missing.contains("modprobe v4l2loopback"), "{missing}");
        assert_eq!(wrong("/dev/null").to_string(), "/dev/null is not a video device");
    }
}
