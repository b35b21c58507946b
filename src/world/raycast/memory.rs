//! Huge pages and prefetching for the ray caster.

/// A vector with capacity for `len` values, in huge pages where the system supports them. Trees are read in random
/// order; with small pages, address translation takes as long as reading.
pub fn huge<T>(len: usize) -> Vec<T> {
    let values: Vec<T> = Vec::with_capacity(len);
    #[cfg(target_os = "linux")]
    advise_huge(values.as_ptr().cast_mut().cast::<u8>(), len * size_of::<T>());
    values
}

/// Requests huge pages. Memory that is already in use keeps its small pages.
#[cfg(target_os = "linux")]
fn advise_huge(start: *mut u8, bytes: usize) {
    const HUGE_PAGE: usize = 2 << 20;
    let before = start.align_offset(HUGE_PAGE);
    let inside = bytes.saturating_sub(before) / HUGE_PAGE * HUGE_PAGE;
    if inside == 0 {
        return;
    }
    // SAFETY: the range lies in one allocation; this advice changes neither contents nor access.
    #[allow(unsafe_code)]
    let advised = unsafe {
        let start = start.add(before).cast();
        rustix::mm::madvise(start, inside, rustix::mm::Advice::LinuxHugepage)
    };
    if let Err(error) = advised {
        tracing::debug!(%error, "no huge pages");
    }
}

/// Prefetches all of `value`, which will be read soon; has no effect on processors other than x86-64.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        const LINE: usize = 64;
        let start = std::ptr::from_ref(value).cast::<i8>();
        for offset in (0..size_of::<T>()).step_by(LINE) {
            // SAFETY: every address lies in `value`, and a prefetch neither reads nor faults.
            #[allow(unsafe_code)]
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(start.add(offset));
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
