//! One of two places with unsafe code: asking the processor to fetch memory ahead of its use.
//!
//! In a run of a million processes nearly every event needs a process that is in no cache, and
//! waiting for main memory is most of the time. The simulator knows long before which process a
//! message goes to. A prefetch cannot fault whatever address it is given and changes nothing that
//! a program can observe; there is no safe way to say it in stable Rust.

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
