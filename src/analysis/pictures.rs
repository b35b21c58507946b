//! Collects one image of a captured camera.

use super::capture::{CaptureError, CaptureReader, Source};
use super::flows::{Analysis, Senders, ports_of};
use crate::devices::decoder::picture::Picture;
use crate::wire::ethernet::Content;

/// Collects image `number` (1 is the first complete one) of the flow with the most data packets. If the capture has
/// fewer images, returns their number as the inner `Err`; `None` if the sender sends no images.
///
/// # Errors
/// The capture cannot be read.
pub fn collect(
    source: Source<'_>,
    analysis: &Analysis,
    number: u64,
) -> Result<Option<Result<Picture, u64>>, CaptureError> {
    let Some((flow, _)) = analysis.main_data_flow() else { return Ok(None) };
    if !flow.senders.likeliest().is_some_and(|sender| sender.sends_images()) {
        return Ok(None);
    }
    let mut senders = Senders::default();
    let mut reader = CaptureReader::open(source)?;
    let mut whole = 0;
    // The analysis has already reported errors in the file. Images from the frames before an error can still be drawn.
    while let Some(Ok(captured)) = reader.next_frame() {
        let Ok(Content::Udp(datagram)) = Content::find(captured.link, captured.frame) else {
            continue;
        };
        if (datagram.source, datagram.destination) != (flow.source, flow.destination) {
            continue;
        }
        if let Some(picture) = senders.picture(ports_of(&datagram), datagram.payload) {
            whole += 1;
            if whole == number {
                return Ok(Some(Ok(picture)));
            }
        }
    }
    Ok(Some(Err(whole)))
}
