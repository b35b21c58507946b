//! Encoding of a pulse's echoes in a pixel.
//!
//! `docs/OUSTER.md` describes the models: signal is proportional to the received light, near infrared to the
//! reflectance of the target; reflectivity is linear up to a white diffuse target and logarithmic above it.
//! Firmware that does not calibrate reflectivity reports the light that the return would have at 1 m. There is no
//! shot noise.

use super::profile::Photons;
use super::words::ReturnOrder;
use crate::sensors::{Echoes, Return};
use crate::wire::ouster::format::{LidarFormat, PIXELS};
use crate::wire::ouster::lidar::{Pixel, PixelReturn};

/// Largest number of pixels per column.
const MOST_PIXELS: usize = PIXELS[PIXELS.len() - 1];
/// Range and reflectance of a pixel without an echo.
const NO_ECHO: f32 = f32::NEG_INFINITY;
/// A range beyond the largest of any format, millimetres.
const BEYOND_ALL_MM: f32 = (1 << 24) as f32;
/// Reflectivity of a white diffuse target; retro-reflectors have larger values.
const DIFFUSE_FULL_SCALE: f32 = 100.0;

/// Integer part of `number`, limited to 0 to `most`, which is less than 2^31.
#[allow(unsafe_code)] // the only cast that the compiler vectorises
#[inline(always)]
fn whole(number: f32, most: f32) -> i32 {
    let number = if number > 0.0 { number } else { 0.0 };
    let number = if number < most { number } else { most };
    // SAFETY: `number` is between 0 and `most`. A saturating cast would keep the compiler from converting several
    // pixels at once.
    unsafe { number.to_int_unchecked() }
}

/// Reflectivity that is not calibrated: the photons that the return would have from 1 m, modulo 2^16.
fn photons_from_1m(photons: f32, range_mm: i32) -> i32 {
    let range_mm = f64::from(range_mm);
    // Millimetres, because products of whole numbers are exact.
    ((f64::from(photons) * range_mm * range_mm / 1e6) as u64 & 0xffff) as i32
}

/// Encodes echoes as pixels, one column at a time.
///
/// A unit with 128 beams has up to 2.6 million pixels per second. Each quantity of a column therefore has its own
/// array, so that the compiler can vectorise, and each format has its own loop without branches.
#[derive(Clone, Debug)]
pub struct PixelMaker {
    signal_at_1m: f32,
    white: f32,
    sky: u16,
    /// Increase of reflectivity, in counts, per factor of e in reflectance.
    retro_scale: f32,
    calibrates_reflectivity: bool,
    beam_origin_m: f32,
    format: LidarFormat,
    range_step_mm: i32,
    most_steps: i32,
    steps_per_m: f32,
    order: ReturnOrder,
    /// First and second returns of the pixels of the present column.
    returns: [Returns; 2],
    /// Sum of the reflectances of a pixel's echoes; [`NO_ECHO`] without echoes.
    reflectance: [f32; MOST_PIXELS],
    near_infrared: [i32; MOST_PIXELS],
}

/// Selected echoes of a column's pixels, and the values that encode them.
#[derive(Clone, Debug)]
struct Returns {
    range_m: [f32; MOST_PIXELS],
    intensity: [f32; MOST_PIXELS],
    signal: [f32; MOST_PIXELS],
    range_mm: [i32; MOST_PIXELS],
    reflectivity: [i32; MOST_PIXELS],
    photons: [i32; MOST_PIXELS],
}

impl Returns {
    const NONE: Self = Self {
        range_m: [NO_ECHO; MOST_PIXELS],
        intensity: [0.0; MOST_PIXELS],
        signal: [0.0; MOST_PIXELS],
        range_mm: [0; MOST_PIXELS],
        reflectivity: [0; MOST_PIXELS],
        photons: [0; MOST_PIXELS],
    };

    fn say_nothing(&mut self) {
        self.range_mm.fill(0);
        self.reflectivity.fill(0);
        self.photons.fill(0);
    }

    #[inline(always)]
    fn set(&mut self, pixel: usize, echo: &Return) {
        self.range_m[pixel] = echo.range_m;
        self.intensity[pixel] = echo.intensity;
        self.signal[pixel] = echo.signal;
    }
}

impl PixelMaker {
    /// An encoder for one packet format; photon counts are multiplied by `signal_multiplier`.
    pub fn new(
        photons: &Photons,
        beam_origin_m: f64,
        format: LidarFormat,
        range_step_mm: u32,
        order: ReturnOrder,
        signal_multiplier: f32,
    ) -> Self {
        let full_gain = libm::log(photons.retro_full_gain);
        Self {
            signal_at_1m: photons.signal_at_1m as f32 * signal_multiplier,
            white: photons.white_near_infrared as f32,
            sky: photons.sky_near_infrared.round() as u16,
            retro_scale: ((255.0 - f64::from(DIFFUSE_FULL_SCALE)) / full_gain) as f32,
            calibrates_reflectivity: photons.calibrates_reflectivity,
            beam_origin_m: beam_origin_m as f32,
            format,
            range_step_mm: range_step_mm as i32,
            most_steps: (format.max_range_mm() / range_step_mm) as i32,
            steps_per_m: 1000.0 / range_step_mm as f32,
            order,
            returns: [Returns::NONE; 2],
            reflectance: [NO_ECHO; MOST_PIXELS],
            near_infrared: [0; MOST_PIXELS],
        }
    }

    /// Writes the pixels of a column to zeroed bytes; the echoes of a pixel are in order of range. Returns the number
    /// of returns.
    pub fn write_column(&mut self, column: &[Echoes], out: &mut [u8]) -> u32 {
        match self.format {
            LidarFormat::Legacy => self.write_pixels(LidarFormat::Legacy, column, out),
            LidarFormat::Single => self.write_pixels(LidarFormat::Single, column, out),
            LidarFormat::Dual => self.write_pixels(LidarFormat::Dual, column, out),
            LidarFormat::Low => self.write_pixels(LidarFormat::Low, column, out),
            LidarFormat::LowDual => self.write_pixels(LidarFormat::LowDual, column, out),
            LidarFormat::Fusa => self.write_pixels(LidarFormat::Fusa, column, out),
        }
    }

    #[inline(always)]
    fn write_pixels(&mut self, format: LidarFormat, column: &[Echoes], out: &mut [u8]) -> u32 {
        let is_dual = format.returns() == 2;
        let pixels = column.len().min(MOST_PIXELS);
        if column.iter().all(|echoes| echoes.as_slice().is_empty()) {
            let empty = Pixel { near_infrared: self.sky, ..Pixel::default() };
            out.chunks_exact_mut(format.pixel_len()).for_each(|out| empty.put(format, out));
            return 0;
        }
        let mut most = 0;
        for (pixel, echoes) in column.iter().take(MOST_PIXELS).enumerate() {
            most = most.max(self.choose(is_dual, pixel, echoes.as_slice()));
        }
        let (white, sky) = (self.white, i32::from(self.sky));
        for (told, reflectance) in self.near_infrared.iter_mut().zip(&self.reflectance) {
            let lit = if *reflectance < 1.0 { *reflectance } else { 1.0 };
            let counts = whole(white * lit + 0.5, 65535.0);
            *told = if *reflectance == NO_ECHO { sky } else { counts };
        }
        let mut count = 0;
        for which in 0..2 {
            match which < most {
                true => count += self.say(which, pixels),
                false => self.returns[which].say_nothing(),
            }
        }
        for (pixel, out) in out.chunks_exact_mut(format.pixel_len()).take(pixels).enumerate() {
            let told = |all: &Returns| PixelReturn {
                range_mm: all.range_mm[pixel] as u32,
                reflectivity: all.reflectivity[pixel] as u16,
                signal: all.photons[pixel] as u16,
            };
            let returns = [told(&self.returns[0]), told(&self.returns[1])];
            Pixel { returns, near_infrared: self.near_infrared[pixel] as u16 }.put(format, out);
        }
        count
    }

    /// Selects the echoes that a pixel reports; returns their number.
    #[inline(always)]
    fn choose(&mut self, is_dual: bool, pixel: usize, echoes: &[Return]) -> usize {
        let none = &Return { range_m: NO_ECHO, intensity: 0.0, signal: 0.0 };
        let (first, second, reflectance) = match echoes {
            [] => (none, none, NO_ECHO),
            [only] => (only, none, only.intensity),
            [near, far] if is_dual && self.order == ReturnOrder::StrongestToWeakest => {
                let is_ordered = near.signal >= far.signal;
                let (first, second) = if is_ordered { (near, far) } else { (far, near) };
                (first, second, near.intensity + far.intensity)
            }
            several => {
                let (first, second) = match is_dual {
                    true => self.two(several),
                    false => (self.best(several), none),
                };
                (first, second, several.iter().map(|echo| echo.intensity).sum())
            }
        };
        self.returns[0].set(pixel, first);
        if is_dual {
            self.returns[1].set(pixel, second);
        }
        self.reflectance[pixel] = reflectance;
        usize::from(!echoes.is_empty()) + usize::from(is_dual && echoes.len() > 1)
    }

    /// Whether the first echo precedes the second in the configured order of returns.
    fn is_before(&self, a: &Return, b: &Return) -> bool {
        match self.order {
            ReturnOrder::StrongestToWeakest => a.signal >= b.signal,
            ReturnOrder::FarthestToNearest => a.range_m >= b.range_m,
            ReturnOrder::NearestToFarthest => a.range_m <= b.range_m,
        }
    }

    fn best<'e>(&self, echoes: &'e [Return]) -> &'e Return {
        let first = &echoes[0];
        echoes.iter().fold(first, |best, echo| if self.is_before(best, echo) { best } else { echo })
    }

    /// The two strongest echoes, in the configured order of returns.
    fn two<'e>(&self, echoes: &'e [Return]) -> (&'e Return, &'e Return) {
        let [mut first, mut second] = [&echoes[0], &echoes[1]];
        if second.signal > first.signal {
            (first, second) = (second, first);
        }
        for echo in &echoes[2..] {
            if echo.signal > first.signal {
                (first, second) = (echo, first);
            } else if echo.signal > second.signal {
                second = echo;
            }
        }
        if self.is_before(first, second) { (first, second) } else { (second, first) }
    }

    /// Computes the values of the column's pixels with indices below `pixels`, for one of their returns: `which` is 0
    /// for the first return, 1 for the second. Returns the number of returns.
    #[inline(always)]
    fn say(&mut self, which: usize, pixels: usize) -> u32 {
        let Self { beam_origin_m: begin_m, steps_per_m, signal_at_1m, .. } = *self;
        let (most_steps, step_mm) = (self.most_steps, self.range_step_mm);
        let calibrates_reflectivity = self.calibrates_reflectivity;
        // Real units that do not calibrate reflectivity cut off fractions of a photon.
        let rounding = if calibrates_reflectivity { 0.5_f32 } else { 0.0 };
        let Returns { range_m, intensity, signal, range_mm, reflectivity, photons } =
            &mut self.returns[which];
        let (range_m, intensity) = (&range_m[..pixels], &intensity[..pixels]);
        let (signal, range_mm) = (&signal[..pixels], &mut range_mm[..pixels]);
        let (reflectivity, photons) = (&mut reflectivity[..pixels], &mut photons[..pixels]);
        for (told, range_m) in range_mm.iter_mut().zip(range_m) {
            // Rounds by adding a half, because `f32::round` is a function call without SSE4.1.
            let steps = whole((range_m + begin_m) * steps_per_m + 0.5, BEYOND_ALL_MM);
            *told = if steps <= most_steps { steps.wrapping_mul(step_mm) } else { 0 };
        }
        let mut is_bright = false;
        for ((told, intensity), range_mm) in reflectivity.iter_mut().zip(intensity).zip(&*range_mm)
        {
            let counts = whole(intensity * DIFFUSE_FULL_SCALE + 0.5, 255.0);
            *told = if *range_mm != 0 { counts } else { 0 };
            is_bright |= *intensity > 1.0;
        }
        for ((told, signal), range_mm) in photons.iter_mut().zip(signal).zip(&*range_mm) {
            let counts = whole(signal * signal_at_1m + rounding, 65535.0);
            *told = if *range_mm != 0 { counts } else { 0 };
        }
        if !calibrates_reflectivity {
            for ((told, signal), range_mm) in reflectivity.iter_mut().zip(signal).zip(&*range_mm) {
                *told = photons_from_1m(signal * signal_at_1m, *range_mm);
            }
        } else if is_bright {
            for ((told, intensity), range_mm) in
                reflectivity.iter_mut().zip(intensity).zip(&*range_mm)
            {
                if *intensity > 1.0 && *range_mm != 0 {
                    let more = libm::logf(*intensity) * self.retro_scale;
                    *told = i32::from((DIFFUSE_FULL_SCALE + more + 0.5) as u8);
                }
            }
        }
        range_mm.iter().map(|range_mm| u32::from(*range_mm != 0)).sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PHOTONS: Photons = Photons {
        signal_at_1m: 20_000.0,
        white_near_infrared: 1000.0,
        sky_near_infrared: 40.0,
        retro_full_gain: 2000.0,
        calibrates_reflectivity: true,
    };

    fn echoes(all: &[(f32, f32)]) -> Echoes {
        let mut echoes = Echoes::default();
        for (range_m, signal) in all {
            let intensity = signal * range_m * range_m;
            echoes.push(Return { range_m: *range_m, intensity, signal: *signal });
        }
        echoes
    }

    /// Encodes a column with one pixel; returns the decoded pixel.
    fn pixel(maker: &PixelMaker, seen: &Echoes) -> Pixel {
        let mut out = vec![0; maker.format.pixel_len()];
        let returns = maker.clone().write_column(&[*seen], &mut out);
        let pixel = Pixel::get(maker.format, &out);
        let told = pixel.returns.iter().filter(|one| one.range_mm != 0).count();
        assert_eq!(returns as usize, told);
        pixel
    }

    fn ranges(format: LidarFormat, order: ReturnOrder, seen: &Echoes) -> [u32; 2] {
        let maker = PixelMaker::new(&PHOTONS, 0.016, format, 1, order, 1.0);
        pixel(&maker, seen).returns.map(|one| one.range_mm)
    }

    #[test]
    fn the_two_strongest_stand_in_their_order() {
        use ReturnOrder::{FarthestToNearest, NearestToFarthest, StrongestToWeakest};
        let seen = echoes(&[(1.0, 0.2), (2.0, 0.1), (3.0, 0.4), (4.0, 0.3)]);
        let dual = |order| ranges(LidarFormat::Dual, order, &seen);
        assert_eq!(dual(StrongestToWeakest), [3016, 4016]);
        assert_eq!(dual(FarthestToNearest), [4016, 3016]);
        assert_eq!(dual(NearestToFarthest), [3016, 4016]);
        let single = |order| ranges(LidarFormat::Single, order, &seen)[0];
        assert_eq!(single(StrongestToWeakest), 3016);
        assert_eq!(single(FarthestToNearest), 4016);
        assert_eq!(single(NearestToFarthest), 1016);
    }

    #[test]
    fn ranges_are_multiples_of_the_step() {
        let maker =
            PixelMaker::new(&PHOTONS, 0.0, LidarFormat::Legacy, 3, ReturnOrder::default(), 1.0);
        let range_mm = |range_m| pixel(&maker, &echoes(&[(range_m, 0.1)])).returns[0].range_mm;
        assert_eq!([2.999, 3.001, 3.002].map(range_mm), [3000, 3000, 3003]);
    }

    #[test]
    fn light_becomes_counts() {
        let order = ReturnOrder::default();
        let maker = PixelMaker::new(&PHOTONS, 0.0, LidarFormat::Single, 1, order, 2.0);
        let seen = pixel(&maker, &echoes(&[(2.0, 0.1)]));
        let first = PixelReturn { range_mm: 2000, reflectivity: 40, signal: 4000 };
        assert_eq!((seen.returns[0], seen.near_infrared), (first, 400));
        let empty = pixel(&maker, &Echoes::default());
        assert_eq!((empty.returns[0], empty.near_infrared), (PixelReturn::default(), 40));
        let bright = pixel(&maker, &echoes(&[(1.0, 2000.0)]));
        let first = PixelReturn { range_mm: 1000, reflectivity: 255, signal: u16::MAX };
        assert_eq!((bright.returns[0], bright.near_infrared), (first, 1000));
        let far = ranges(LidarFormat::Low, order, &echoes(&[(300.0, 0.1)]));
        assert_eq!(far, [0, 0], "15 bits of 8 mm");
    }

    #[test]
    fn reflectivity_without_calibration_is_the_light_from_1_m() {
        let photons = Photons { calibrates_reflectivity: false, ..PHOTONS };
        let (format, order) = (LidarFormat::Legacy, ReturnOrder::default());
        let maker = PixelMaker::new(&photons, 0.0, format, 1, order, 1.0);
        let told = |range_m, signal| {
            let [first, _] = pixel(&maker, &echoes(&[(range_m, signal)])).returns;
            (first.reflectivity, first.signal)
        };
        assert_eq!(told(2.0, 0.1), (8000, 2000));
        assert_eq!(told(30.0, 0.05), ((900_000 % 65_536) as u16, 1000), "16 bits");
        assert_eq!(told(2.0, 0.000_09), (7, 1), "1.8 photons");
    }

    /// Expected pixel by the formulas of `docs/OUSTER.md`.
    fn said(maker: &PixelMaker, seen: &Echoes) -> Pixel {
        use ReturnOrder::{FarthestToNearest, NearestToFarthest, StrongestToWeakest};
        let mut kept = seen.as_slice().to_vec();
        let dual = maker.format.returns() == 2;
        // A stable sort keeps the nearest of equal echoes first.
        kept.sort_by(|a, b| b.signal.total_cmp(&a.signal));
        if dual {
            kept.truncate(2);
        }
        match maker.order {
            StrongestToWeakest => {}
            FarthestToNearest => kept.sort_by(|a, b| b.range_m.total_cmp(&a.range_m)),
            NearestToFarthest => kept.sort_by(|a, b| a.range_m.total_cmp(&b.range_m)),
        }
        kept.truncate(maker.format.returns());
        let mut pixel = Pixel { near_infrared: maker.sky, ..Pixel::default() };
        for (told, echo) in pixel.returns.iter_mut().zip(&kept) {
            let step_mm = maker.range_step_mm as u32;
            let steps = (echo.range_m + maker.beam_origin_m) * maker.steps_per_m + 0.5;
            let range_mm = (steps as u32).saturating_mul(step_mm);
            if range_mm == 0 || range_mm > maker.format.max_range_mm() {
                continue;
            }
            let photons = echo.signal * maker.signal_at_1m;
            if !maker.calibrates_reflectivity {
                let from_1m = f64::from(photons) * f64::from(range_mm).powi(2) / 1e6;
                let reflectivity = (from_1m % 65_536.0) as u16;
                *told = PixelReturn { range_mm, reflectivity, signal: photons as u16 };
                continue;
            }
            let reflectivity = match echo.intensity > 1.0 {
                true => DIFFUSE_FULL_SCALE + libm::logf(echo.intensity) * maker.retro_scale,
                false => echo.intensity * DIFFUSE_FULL_SCALE,
            };
            *told = PixelReturn {
                range_mm,
                reflectivity: ((reflectivity + 0.5) as u8).into(),
                signal: (photons + 0.5) as u16,
            };
        }
        if !seen.as_slice().is_empty() {
            let all: f32 = seen.as_slice().iter().map(|echo| echo.intensity).sum();
            pixel.near_infrared = (maker.white * all.min(1.0) + 0.5) as u16;
        }
        pixel
    }

    /// Up to five echoes in order of range: dim, white, bright, equally strong, on the window, beyond the largest
    /// range, and without light.
    fn any_echoes() -> impl Strategy<Value = Echoes> {
        let range_m = prop_oneof![0.0..200.0_f32, 0.0..0.002_f32, 200.0..1200.0_f32, Just(3.0e7)];
        let intensity = prop_oneof![0.0..1.2_f32, 0.0..3000.0_f32, Just(0.0), Just(1.0)];
        let signal = prop_oneof![0.0..1.0_f32, 0.0..10.0_f32, Just(0.25), Just(0.0)];
        prop::collection::vec((range_m, intensity, signal), 0..=5).prop_map(|mut all| {
            all.sort_by(|a, b| a.0.total_cmp(&b.0));
            let mut echoes = Echoes::default();
            for (range_m, intensity, signal) in all {
                echoes.push(Return { range_m, intensity, signal });
            }
            echoes
        })
    }

    proptest! {
        /// Columns encoded one after the other equal their pixels encoded separately, byte for byte: the encoder keeps
        /// no state.
        #[test]
        fn columns_are_their_pixels_one_by_one(
            format in prop::sample::select(LidarFormat::NAMES.map(|(_, format)| format).to_vec()),
            order in prop::sample::select(vec![
                ReturnOrder::StrongestToWeakest,
                ReturnOrder::FarthestToNearest,
                ReturnOrder::NearestToFarthest,
            ]),
            step_mm in prop::sample::select(vec![1_u32, 3]),
            calibrates_reflectivity in prop::bool::ANY,
            beam_origin_m in prop::sample::select(vec![0.0, 0.015_806]),
            multiplier in prop::sample::select(vec![0.25_f32, 1.0, 3.0]),
            pixels in prop::sample::select(PIXELS.to_vec()),
            columns in prop::collection::vec((prop::collection::vec(any_echoes(), MOST_PIXELS), 0_usize..3), 1..5),
        ) {
            let photons = Photons { calibrates_reflectivity, ..PHOTONS };
            let mut maker = PixelMaker::new(&photons, beam_origin_m, format, step_mm, order, multiplier);
            let len = format.pixel_len();
            for (mut column, keeps) in columns {
                column.truncate(pixels);
                // Some columns have at most one echo per pixel, some have none.
                for seen in &mut column {
                    let all = *seen;
                    *seen = Echoes::default();
                    let few = [0, 1, 5][keeps];
                    all.as_slice().iter().take(few).for_each(|echo| seen.push(*echo));
                }
                let mut out = vec![0; pixels * len];
                let returns = maker.write_column(&column, &mut out);
                let mut expected = vec![0; pixels * len];
                let mut expected_returns = 0;
                for (seen, out) in column.iter().zip(expected.chunks_exact_mut(len)) {
                    let pixel = said(&maker, seen);
                    expected_returns += pixel.returns.iter().filter(|one| one.range_mm != 0).count();
                    pixel.put(format, out);
                }
                prop_assert_eq!(returns as usize, expected_returns);
                prop_assert!(out == expected, "{:?} {:?}", format, order);
            }
        }
    }
}
