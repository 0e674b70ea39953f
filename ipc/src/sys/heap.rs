//! How the C library's allocator gives memory back.
#![expect(unsafe_code, reason = "mallopt has no wrapper")]

/// Blocks of at least this size are given back to the kernel as soon as they are free.
const MMAP_THRESHOLD: libc::c_int = 1024 * 1024;

/// Makes the allocator return every large block at once. By itself glibc raises that threshold to 32 MB as soon as one
/// large block was freed, and from then on keeps what a burst of large requests has used.
pub fn give_back_large_blocks() {
    // SAFETY: two numbers, no pointers; to be called at any time, as its manual says.
    let set = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, MMAP_THRESHOLD) };
    debug_assert_eq!(set, 1, "mallopt refuses the threshold");
}
