//! One of two places with unsafe code: telling the machine ahead of time which memory will be used.
//!
//! In a run of a million processes nearly every event needs a process that is in no cache, and
//! waiting for main memory is most of the time. The simulator knows long before which process a
//! message goes to. A prefetch cannot fault whatever address it is given and changes nothing that
//! a program can observe; there is no safe way to say it in stable Rust. The same holds for the advice
//! to use large pages: with small ones, finding out where a process is takes longer than fetching it.

/// Has the processor fetch a value that will be needed soon.
#[inline(always)]
#[allow(unsafe_code)]
pub(crate) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start = std::ptr::from_ref(value).cast::<i8>();
        for line in 0..size_of::<T>().div_ceil(64) {
            // SAFETY: a prefetch is a hint; it reads nothing and faults on no address, and this
            // one stays within the value.
            unsafe { _mm_prefetch(start.wrapping_add(line * 64), _MM_HINT_T0) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// An empty vector with room for this many values: on large pages, where there are many and the system
/// has such pages.
#[allow(unsafe_code)]
pub(crate) fn roomy<T>(values: usize) -> Vec<T> {
    let room = Vec::<T>::with_capacity(values);
    #[cfg(target_os = "linux")]
    {
        const MADV_HUGEPAGE: i32 = 14;
        const LARGE_PAGE: usize = 1 << 21;
        unsafe extern "C" {
            fn madvise(start: *const u8, length: usize, advice: i32) -> i32;
        }
        let (start, bytes) = (room.as_ptr().cast::<u8>(), room.capacity() * size_of::<T>());
        let skipped = start.align_offset(LARGE_PAGE);
        if bytes > skipped {
            // SAFETY: this advice changes no contents, and the range is within the vector. The system
            // may refuse it, and then the pages are small.
            unsafe { madvise(start.wrapping_add(skipped), bytes - skipped, MADV_HUGEPAGE) };
        }
    }
    room
}
