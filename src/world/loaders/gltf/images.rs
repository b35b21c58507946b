//! Images of a glTF: reflectances and opacity masks, decoded one at a time.

use ::gltf::json;

use super::super::error::{Place, Problem};
use super::super::oddity::Oddity;
use super::super::texture::{self, Channel, Image};
use super::Loader;
use crate::world::colours::{ColourMap, LINEAR_FROM_SRGB};
use crate::world::scene::Texture;

impl Loader<'_> {
    /// Reflectance map of the image `source`, and an opacity mask if there is a `threshold`; `None` if the image is
    /// unusable. All materials with this image share the reflectance map.
    ///
    /// `threshold` has the smallest opaque alpha and the material's alpha. A texel is opaque if its alpha times the
    /// material's alpha is at least the smallest opaque alpha.
    pub(super) fn maps(
        &mut self,
        source: usize,
        threshold: Option<(f32, f32)>,
        place: &Place,
    ) -> Option<(Texture, Option<Texture>)> {
        let shared = self.reflectances.get(&source).cloned();
        let map = match shared {
            Some(map) => map?,
            None => {
                let map = self.reflectance(source, place);
                self.reflectances.insert(source, map.clone());
                map?
            }
        };
        let Some((from, alpha)) = threshold else { return Some((map, None)) };
        self.assembly.hold_texels(map.texels.len(), place)?;
        let alphas = texture::channel(self.image(source)?, Channel::Alpha);
        let is_solid = |texel: u8| f32::from(texel) / 255.0 * alpha >= from;
        let mask = texture::mapped(&alphas, |texel| if is_solid(texel) { 255 } else { 0 });
        Some((map, Some(mask)))
    }

    /// Colour map of image `source`, shared by all materials with this image; `None` if the image is unusable.
    pub(super) fn colours(&mut self, source: usize, place: &Place) -> Option<ColourMap> {
        if let Some(known) = self.colours.get(&source) {
            return known.clone();
        }
        self.image(source)?;
        let Self { image, assembly, .. } = self;
        let (_, image) = image.as_ref()?;
        let map = assembly.colours_of(image.as_ref()?, place);
        self.colours.insert(source, map.clone());
        map
    }

    fn reflectance(&mut self, source: usize, place: &Place) -> Option<Texture> {
        let pixels = self.image(source)?.pixels();
        self.assembly.hold_texels(pixels, place)?;
        let linear = linear_from_srgb();
        let first = texture::channel(self.image(source)?, Channel::First);
        Some(texture::mapped(&first, |texel| linear[usize::from(texel)]))
    }

    /// A decoded image. Only the last one is kept, because all its channels take much memory.
    fn image(&mut self, index: usize) -> Option<&Image> {
        if self.image.as_ref().is_none_or(|(last, _)| *last != index) {
            let image = self.read_image(index);
            self.image = Some((index, image));
        }
        self.image.as_ref().and_then(|(_, image)| image.as_ref())
    }

    fn read_image(&mut self, index: usize) -> Option<Image> {
        let place = self.place("images", index);
        let image: &json::Image = self.document.as_json().images.get(index)?;
        let bytes = match (&image.buffer_view, &image.uri) {
            (Some(view), _) => {
                let view = self.document.views().nth(view.value())?;
                let end = view.offset().checked_add(view.length())?;
                let data = self.buffers.get(view.buffer().index())?;
                let Some(bytes) = data.get(view.offset()..end) else {
                    let problem = Problem::Syntax("reaches beyond its buffer".into());
                    self.assembly.fault(place, problem);
                    return None;
                };
                bytes.to_vec()
            }
            (None, Some(uri)) => {
                let path = self.path_of(uri);
                if !uri.contains(':') && !self.assembly.resolver.exists(&path) {
                    self.assembly.warn(&place, Oddity::NoTexture { path });
                    return None;
                }
                self.resource(uri, &place)?
            }
            (None, None) => {
                let problem = Problem::Syntax("has neither `uri` nor `bufferView`".into());
                self.assembly.fault(place, problem);
                return None;
            }
        };
        let decoded = texture::decode(&bytes, &place);
        self.assembly.keep(decoded)
    }
}

/// Linear intensity, 0..=255, of each sRGB byte.
fn linear_from_srgb() -> [u8; 256] {
    LINEAR_FROM_SRGB.map(|linear| (linear * 255.0).round() as u8)
}
