//! Embree as a shared library that is loaded at run time. This file has the only calls into it.
//!
//! Written from Embree 4's headers (`rtcore_device.h`, `rtcore_geometry.h`, `rtcore_scene.h`, `rtcore_ray.h`), which
//! are not needed to build. The interface of this file is safe: scenes are committed once and own the memory to which
//! Embree points. They may be used from any thread, as Embree allows for committed scenes.

#![allow(unsafe_code, reason = "a C library is called; every call is in this file")]

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicIsize, Ordering};

/// Environment variable that names the library to load instead of the usual ones.
pub const LIBRARY_VARIABLE: &str = "MENURA_EMBREE";
/// Library names, tried in this order: that of Debian's and Ubuntu's packages, then that of their `-dev` packages and
/// of builds from source.
const USUAL_NAMES: [&str; 2] = ["libembree4.so.4", "libembree4.so"];
/// Versions with known structs, as Embree writes versions: `40400` is 4.4.0.
const KNOWN_VERSIONS: std::ops::RangeInclusive<i64> = 40_000..=40_499;

/// Reason why Embree cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
pub enum EmbreeError {
    /// A statically linked Menura cannot load libraries.
    #[error(
        "a statically linked Menura cannot load Embree; use the .deb or a build from source, which \
         are dynamically linked"
    )]
    Static,
    /// No library could be loaded.
    #[error(
        "cannot load Embree 4\n{}\ninstall Debian's or Ubuntu's libembree4-4, or set \
         {LIBRARY_VARIABLE} to the path of the library, such as the libembree4 in the PyPI wheel \
         `embreex`",
        tried.join("\n")
    )]
    Absent {
        /// Each name with the operating system's error.
        tried: Vec<String>,
    },
    /// A library that lacks a function of Embree 4.
    #[error("{path} is not Embree 4: it has no `{function}`")]
    Stranger {
        /// Path of the library.
        path: String,
        /// Name of the missing function.
        function: &'static str,
    },
    /// A version of Embree with unknown data layouts.
    #[error("{path} is Embree {version}; allowed: 4.0 to 4.4")]
    Version {
        /// Path of the library.
        path: String,
        /// Version that the library reports.
        version: Version,
    },
    /// An Embree built without a feature that Menura needs.
    #[error("{path} was built without {feature}")]
    Feature {
        /// Path of the library.
        path: String,
        /// Name of the missing feature.
        feature: &'static str,
    },
    /// Embree reports an error.
    #[error("Embree failed at {doing}: {reason}")]
    Refused {
        /// The operation that failed.
        doing: &'static str,
        /// Embree's error.
        reason: &'static str,
    },
}

/// A version of Embree, as the number that Embree reports: `40400` is 4.4.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version(i64);

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.0 / 10_000, self.0 / 100 % 100, self.0 % 100)
    }
}

/// Handle of an object of Embree: `RTCDevice`, `RTCScene` or `RTCGeometry`.
type Handle = *mut c_void;
/// `RTCFilterFunctionN`: Embree calls such a function to accept or reject hits.
type FilterFunction = unsafe extern "C" fn(*const FilterArguments);
/// `RTCMemoryMonitorFunction`: Embree calls such a function when it allocates or frees memory.
type MemoryMonitor = unsafe extern "C" fn(*mut c_void, isize, bool) -> bool;

/// Declares the functions in use, by their names without `rtc`.
macro_rules! functions {
    ($($field:ident $name:literal ($($argument:ty),*) $(-> $answer:ty)?;)*) => {
        struct Functions {
            $($field: unsafe extern "C" fn($($argument),*) $(-> $answer)?,)*
        }

        impl Functions {
            /// Looks up all functions. The error is the name of a missing one.
            fn of(library: &libloading::Library) -> Result<Self, &'static str> {
                // SAFETY: the types are those of Embree 4's headers, where functions keep their
                // types from 4.0 on; the library is never unloaded, so the addresses stay valid.
                $(let $field = *unsafe { library.get($name) }.map_err(|_| $name)?;)*
                Ok(Self { $($field),* })
            }
        }
    };
}

functions! {
    new_device "rtcNewDevice" (*const c_char) -> Handle;
    device_error "rtcGetDeviceError" (Handle) -> c_int;
    device_property "rtcGetDeviceProperty" (Handle, c_int) -> isize;
    set_memory_monitor "rtcSetDeviceMemoryMonitorFunction" (Handle, MemoryMonitor, *mut c_void);
    new_scene "rtcNewScene" (Handle) -> Handle;
    release_scene "rtcReleaseScene" (Handle);
    set_scene_flags "rtcSetSceneFlags" (Handle, c_int);
    commit_scene "rtcCommitScene" (Handle);
    new_geometry "rtcNewGeometry" (Handle, c_int) -> Handle;
    release_geometry "rtcReleaseGeometry" (Handle);
    commit_geometry "rtcCommitGeometry" (Handle);
    attach_geometry "rtcAttachGeometryByID" (Handle, Handle, c_uint);
    new_buffer "rtcSetNewGeometryBuffer" (Handle, c_int, c_uint, c_int, usize, usize) -> *mut c_void;
    set_user_data "rtcSetGeometryUserData" (Handle, *mut c_void);
    set_filter "rtcSetGeometryIntersectFilterFunction" (Handle, FilterFunction);
    set_instanced_scene "rtcSetGeometryInstancedScene" (Handle, Handle);
    set_transform "rtcSetGeometryTransform" (Handle, c_uint, c_int, *const f32);
    intersect_1 "rtcIntersect1" (Handle, *mut RayHits<1>, *mut IntersectArguments);
    intersect_8 "rtcIntersect8" (*const [i32; 8], Handle, *mut RayHits<8>, *mut IntersectArguments);
}

const PROPERTY_VERSION: c_int = 0;
const PROPERTY_FILTER_FUNCTION_SUPPORTED: c_int = 66;
const SCENE_FLAG_ROBUST: c_int = 1 << 2;
const GEOMETRY_TYPE_TRIANGLE: c_int = 0;
const GEOMETRY_TYPE_INSTANCE: c_int = 121;
const BUFFER_TYPE_INDEX: c_int = 0;
const BUFFER_TYPE_VERTEX: c_int = 1;
const FORMAT_UINT3: c_int = 0x5003;
const FORMAT_FLOAT3: c_int = 0x9003;
const FORMAT_FLOAT3X4_COLUMN_MAJOR: c_int = 0x9234;
const RAY_QUERY_FLAG_COHERENT: c_int = 1 << 16;
const FEATURE_FLAGS_ALL: c_uint = u32::MAX;
/// `RTC_INVALID_GEOMETRY_ID`: nothing was hit.
pub const NOTHING: u32 = u32::MAX;

/// `RTCIntersectArguments`, including the last member, which only some builds have.
#[repr(C)]
struct IntersectArguments {
    flags: c_int,
    feature_mask: c_uint,
    context: *mut c_void,
    filter: Option<FilterFunction>,
    intersect: Option<unsafe extern "C" fn(*const c_void)>,
    min_width_distance_factor: f32,
}

/// `RTCFilterFunctionNArguments`: arguments of a [`FilterFunction`].
#[repr(C)]
struct FilterArguments {
    valid: *mut i32,
    user_data: *mut c_void,
    context: *mut c_void,
    ray: *mut c_void,
    hit: *mut u32,
    lanes: c_uint,
}

/// `RTCRayHit` for one lane, `RTCRayHit8` for eight.
///
/// All versions agree up to the outermost instance's number, the last member that is read here. After it, 4.3 added
/// `instPrimID`, and builds for nested instances write one row for each level and array. [`RayHits::beyond`] has
/// space for eight levels of both, so that one layout fits every build.
#[repr(C, align(64))]
pub struct RayHits<const LANES: usize> {
    /// Origins of the rays, by axis and lane.
    pub origin: [[f32; LANES]; 3],
    near: [f32; LANES],
    /// Directions of the rays, by axis and lane; they may have any length.
    pub direction: [[f32; LANES]; 3],
    time: [f32; LANES],
    /// Input: end of each ray. Output: position of its hit. Both are distances in units of the direction's length.
    pub far: [f32; LANES],
    mask: [u32; LANES],
    id: [u32; LANES],
    flags: [u32; LANES],
    normal: [[f32; LANES]; 3],
    /// Barycentric weights of the triangle's second and third corner at the hit.
    pub weights: [[f32; LANES]; 2],
    /// Index of the hit triangle in the mesh.
    pub primitive: [u32; LANES],
    geometry: [u32; LANES],
    /// Index of the hit instance, or [`NOTHING`].
    pub instance: [u32; LANES],
    beyond: [[u32; LANES]; 15],
}

// Offsets in the headers: 12 rows of rays, then the hits, whose eighth row is the instance.
const _: () = assert!(std::mem::offset_of!(RayHits<1>, normal) == 48);
const _: () = assert!(std::mem::offset_of!(RayHits<1>, instance) == 48 + 7 * 4);
const _: () = assert!(std::mem::offset_of!(RayHits<8>, normal) == 384);
const _: () = assert!(std::mem::offset_of!(RayHits<8>, instance) == 384 + 7 * 32);
/// Row of the first barycentric weight in the `RTCHitN` that filter functions receive.
const HIT_ROW_WEIGHTS: usize = 3;
/// Row of the triangle's index in `RTCHitN`.
const HIT_ROW_PRIMITIVE: usize = 5;

impl<const LANES: usize> RayHits<LANES> {
    /// Empty rays, to be filled in.
    pub fn new() -> Self {
        Self {
            origin: [[0.0; LANES]; 3],
            near: [0.0; LANES],
            direction: [[0.0; LANES]; 3],
            time: [0.0; LANES],
            far: [0.0; LANES],
            mask: [u32::MAX; LANES],
            id: [0; LANES],
            flags: [0; LANES],
            normal: [[0.0; LANES]; 3],
            weights: [[0.0; LANES]; 2],
            primitive: [NOTHING; LANES],
            geometry: [NOTHING; LANES],
            instance: [NOTHING; LANES],
            beyond: [[NOTHING; LANES]; 15],
        }
    }
}

/// Returns whether a triangle stops a ray. The arguments are the index of the triangle, and the weights of its second
/// and third corner at the point that the ray hits.
pub type StopsRay = Box<dyn Fn(u32, [f32; 2]) -> bool + Send + Sync>;

/// The loaded library and its device. A process loads the library once and never unloads it, because Embree's threads
/// may outlive every scene.
pub struct Embree {
    functions: Functions,
    device: Handle,
    path: String,
    version: Version,
}

// SAFETY: Embree's devices may be used from any thread ("the Embree API is thread safe", API
// manual, chapter Embree API); the other members are plain values.
unsafe impl Send for Embree {}
// SAFETY: as for `Send`.
unsafe impl Sync for Embree {}

static EMBREE: OnceLock<Result<Embree, EmbreeError>> = OnceLock::new();
/// Memory in use as Embree reports it, bytes.
static HELD_BYTES: AtomicIsize = AtomicIsize::new(0);

/// Loads Embree once: the library that `MENURA_EMBREE` names, otherwise the first usual name that the operating
/// system finds.
///
/// # Errors
/// Embree cannot be loaded or used, for one of the reasons in [`EmbreeError`].
pub fn embree() -> Result<&'static Embree, EmbreeError> {
    let found = EMBREE.get_or_init(|| {
        let named = std::env::var_os(LIBRARY_VARIABLE).filter(|name| !name.is_empty());
        let names = match named {
            Some(name) => vec![PathBuf::from(name)],
            None => USUAL_NAMES.map(PathBuf::from).to_vec(),
        };
        Embree::load(&names)
    });
    found.as_ref().map_err(Clone::clone)
}

impl Embree {
    fn load(names: &[PathBuf]) -> Result<Self, EmbreeError> {
        if cfg!(target_feature = "crt-static") {
            return Err(EmbreeError::Static);
        }
        let mut tried = Vec::new();
        for name in names {
            // SAFETY: this runs the library's initialisers. The user requests that by naming the library or by
            // installing it under Embree's name.
            match unsafe { libloading::Library::new(name) } {
                Ok(library) => return Self::of(library, name.display().to_string()),
                Err(error) => {
                    // The operating system's message is the source of the error.
                    let cause = std::error::Error::source(&error).map(ToString::to_string);
                    let cause = cause.unwrap_or_else(|| error.to_string());
                    let name = name.display().to_string();
                    let is_named = cause.starts_with(&name);
                    tried.push(if is_named { cause } else { format!("{name}: {cause}") });
                }
            }
        }
        Err(EmbreeError::Absent { tried })
    }

    fn of(library: libloading::Library, path: String) -> Result<Self, EmbreeError> {
        let functions = Functions::of(&library)
            .map_err(|function| EmbreeError::Stranger { path: path.clone(), function })?;
        // The library's functions are in use until the process ends.
        std::mem::forget(library);
        // SAFETY: a null pointer selects the default configuration.
        let device = unsafe { (functions.new_device)(std::ptr::null()) };
        let embree = Self { functions, device, path, version: Version(0) };
        if device.is_null() {
            embree.check("making a device")?;
            return Err(EmbreeError::Refused {
                doing: "making a device",
                reason: "no reason given",
            });
        }
        // SAFETY: the device is alive.
        let property = |which| unsafe { (embree.functions.device_property)(device, which) };
        let version = Version(property(PROPERTY_VERSION) as i64);
        if !KNOWN_VERSIONS.contains(&version.0) {
            return Err(EmbreeError::Version { path: embree.path, version });
        }
        if property(PROPERTY_FILTER_FUNCTION_SUPPORTED) == 0 {
            let feature = "filter functions (EMBREE_FILTER_FUNCTION)";
            return Err(EmbreeError::Feature { path: embree.path, feature });
        }
        // SAFETY: the function has the type that Embree requires, and lives as long as the program.
        unsafe {
            (embree.functions.set_memory_monitor)(device, count_memory, std::ptr::null_mut());
        }
        Ok(Self { version, ..embree })
    }

    /// Version of the loaded library.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Name or path by which the library was loaded.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Bytes used by all scenes of the process.
    pub fn held_bytes(&self) -> usize {
        HELD_BYTES.load(Ordering::Relaxed).max(0) as usize
    }

    /// Builds the tree of a mesh in its own frame, as a scene that can be instanced. Rays pass through points for which
    /// `stops_ray` returns false. With `robust`, no ray passes between adjacent triangles.
    pub fn mesh(
        &'static self,
        positions: &[[f32; 3]],
        triangles: &[[u32; 3]],
        stops_ray: Option<StopsRay>,
        robust: bool,
    ) -> Result<BuiltScene, EmbreeError> {
        let scene = self.scene(robust, stops_ray.map(Box::new))?;
        let f = &self.functions;
        // SAFETY: the device is alive. Buffers have exactly the size that is copied into them, or
        // are null, which is checked. All vertex numbers are below the number of positions, as in
        // all scenes of this program. The user data is a box that `scene` keeps until after
        // Embree's scene, the only holder of the geometry, is released.
        unsafe {
            let geometry = (f.new_geometry)(self.device, GEOMETRY_TYPE_TRIANGLE);
            let buffer = |of, format, items| (f.new_buffer)(geometry, of, 0, format, 12, items);
            let vertices = buffer(BUFFER_TYPE_VERTEX, FORMAT_FLOAT3, positions.len());
            let indices = buffer(BUFFER_TYPE_INDEX, FORMAT_UINT3, triangles.len());
            if !vertices.is_null() && !indices.is_null() {
                let (vertices, indices) = (vertices.cast(), indices.cast());
                std::ptr::copy_nonoverlapping(positions.as_ptr(), vertices, positions.len());
                std::ptr::copy_nonoverlapping(triangles.as_ptr(), indices, triangles.len());
                if let Some(stops_ray) = &scene.stops_ray {
                    let user_data: *const StopsRay = &**stops_ray;
                    (f.set_user_data)(geometry, user_data.cast_mut().cast());
                    (f.set_filter)(geometry, filter);
                }
                (f.commit_geometry)(geometry);
                (f.attach_geometry)(scene.handle, geometry, 0);
            }
            (f.release_geometry)(geometry);
            self.check("copying a mesh")?;
            (f.commit_scene)(scene.handle);
        }
        self.check("building the tree of a mesh")?;
        Ok(scene)
    }

    /// Builds the scene of all instances, numbered from 0 in the given order. Each item is a mesh and the columns of
    /// the matrix from the mesh's frame to Embree's coordinates.
    pub fn world<'a>(
        &'static self,
        instances: impl Iterator<Item = (&'a BuiltScene, [f32; 12])>,
        robust: bool,
    ) -> Result<BuiltScene, EmbreeError> {
        let scene = self.scene(robust, None)?;
        let f = &self.functions;
        for (number, (mesh, columns)) in (0..).zip(instances) {
            // SAFETY: device and scenes are alive. Embree keeps a reference to the instanced scene. The caller keeps
            // the data to which the instanced scene points (see `BuiltScene`). The matrix is read at once.
            unsafe {
                let geometry = (f.new_geometry)(self.device, GEOMETRY_TYPE_INSTANCE);
                (f.set_instanced_scene)(geometry, mesh.handle);
                (f.set_transform)(geometry, 0, FORMAT_FLOAT3X4_COLUMN_MAJOR, columns.as_ptr());
                (f.commit_geometry)(geometry);
                (f.attach_geometry)(scene.handle, geometry, number);
                (f.release_geometry)(geometry);
            }
        }
        self.check("placing instances")?;
        // SAFETY: the scene is alive.
        unsafe { (f.commit_scene)(scene.handle) };
        self.check("building the tree of instances")?;
        Ok(scene)
    }

    fn scene(
        &'static self,
        robust: bool,
        stops_ray: Option<Box<StopsRay>>,
    ) -> Result<BuiltScene, EmbreeError> {
        // SAFETY: the device is alive, and so is the scene once it is not null.
        let handle = unsafe { (self.functions.new_scene)(self.device) };
        self.check("making a scene")?;
        let flags = if robust { SCENE_FLAG_ROBUST } else { 0 };
        // SAFETY: as above; Embree would have reported a null scene.
        unsafe { (self.functions.set_scene_flags)(handle, flags) };
        Ok(BuiltScene { embree: self, handle, stops_ray })
    }

    /// Returns the first error since this thread's last call, if any; `doing` names the operation that failed.
    fn check(&self, doing: &'static str) -> Result<(), EmbreeError> {
        // SAFETY: the device is alive, or null. With null, the function returns the error of creating a device.
        let reason = match unsafe { (self.functions.device_error)(self.device) } {
            0 => return Ok(()),
            2 => "invalid argument",
            3 => "invalid operation",
            4 => "out of memory",
            5 => "this processor is not supported",
            6 => "cancelled",
            _ => "unknown error",
        };
        Err(EmbreeError::Refused { doing, reason })
    }
}

/// A committed scene. A scene with instances must not outlive the scenes of their meshes, which own
/// the filters.
pub struct BuiltScene {
    embree: &'static Embree,
    handle: Handle,
    /// Filter that Embree calls. It is boxed twice, because Embree stores a thin pointer.
    stops_ray: Option<Box<StopsRay>>,
}

// SAFETY: committed scenes may be intersected by any number of threads at once (Embree's manual,
// `rtcIntersect1`), the filter is `Send` and `Sync`, and nothing else is reachable.
unsafe impl Send for BuiltScene {}
// SAFETY: as for `Send`.
unsafe impl Sync for BuiltScene {}

impl Drop for BuiltScene {
    fn drop(&mut self) {
        // SAFETY: the handle is this value's own and is not used again; `stops_ray` is dropped afterwards.
        unsafe { (self.embree.functions.release_scene)(self.handle) }
    }
}

impl BuiltScene {
    /// Finds the nearest hit of one ray, and writes it to `rays`.
    pub fn intersect_1(&self, rays: &mut RayHits<1>) {
        let mut arguments = IntersectArguments::COHERENT;
        // SAFETY: the scene is committed; both structs are at least as long as Embree's.
        unsafe { (self.embree.functions.intersect_1)(self.handle, rays, &mut arguments) }
    }

    /// Finds the nearest hit of each ray in the first `lanes` lanes, and writes it to `rays`.
    pub fn intersect_8(&self, rays: &mut RayHits<8>, lanes: usize) {
        /// Mask of the valid lanes, with the alignment that Embree requires.
        #[repr(align(32))]
        struct Valid([i32; 8]);
        let valid = Valid(std::array::from_fn(|lane| if lane < lanes { -1 } else { 0 }));
        let mut arguments = IntersectArguments::COHERENT;
        // SAFETY: the scene is committed; all structs are at least as long as Embree's, and `valid` is aligned.
        unsafe {
            (self.embree.functions.intersect_8)(&valid.0, self.handle, rays, &mut arguments);
        }
    }
}

impl IntersectArguments {
    const COHERENT: Self = Self {
        flags: RAY_QUERY_FLAG_COHERENT,
        feature_mask: FEATURE_FLAGS_ALL,
        context: std::ptr::null_mut(),
        filter: None,
        intersect: None,
        min_width_distance_factor: 0.0,
    };
}

/// Calls a mesh's [`StopsRay`] for every valid lane, and rejects the hit if it returns false. A panic in [`StopsRay`]
/// ends the process.
unsafe extern "C" fn filter(arguments: *const FilterArguments) {
    // SAFETY: Embree passes `lanes` lanes in `valid` and in each row of `hit`, and the user data that `Embree::mesh`
    // gave it.
    unsafe {
        let FilterArguments { valid, user_data, hit, lanes, .. } = *arguments;
        let stops_ray = &*user_data.cast::<StopsRay>();
        let lanes = lanes as usize;
        let row = |row: usize, lane: usize| *hit.add(row * lanes + lane);
        for lane in 0..lanes {
            if *valid.add(lane) == 0 {
                continue;
            }
            let weight = |corner| f32::from_bits(row(HIT_ROW_WEIGHTS + corner, lane));
            if !stops_ray(row(HIT_ROW_PRIMITIVE, lane), [weight(0), weight(1)]) {
                *valid.add(lane) = 0;
            }
        }
    }
}

/// Embree calls this function before it allocates memory and after it frees memory.
unsafe extern "C" fn count_memory(_: *mut c_void, bytes: isize, _: bool) -> bool {
    HELD_BYTES.fetch_add(bytes, Ordering::Relaxed);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_told_apart() {
        assert_eq!(Version(40_301).to_string(), "4.3.1");
        for known in [40_000, 40_200, 40_303, 40_400] {
            assert!(KNOWN_VERSIONS.contains(&known));
        }
        for unknown in [31_305, 39_999, 40_500, 50_000] {
            assert!(!KNOWN_VERSIONS.contains(&unknown));
        }
    }

    #[test]
    fn what_is_no_embree_is_told() {
        let none = Embree::load(&["/no/such/libembree4.so".into()]).err().unwrap().to_string();
        assert!(
            none.contains("/no/such/libembree4.so") && none.contains("MENURA_EMBREE"),
            "{none}"
        );
        let libc = Embree::load(&["libc.so.6".into()]).err().unwrap().to_string();
        assert_eq!(libc, "libc.so.6 is not Embree 4: it has no `rtcNewDevice`");
    }
}
