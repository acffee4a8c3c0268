import CPowerSyncSystem

/// The memory of this process.
package enum Memory {
    /// Gives what has been freed back to the system, where the C library would keep it.
    ///
    /// glibc keeps it for each thread's own, so that a peak on one thread would come on top of those of others. Takes
    /// milliseconds for some hundred megabytes; does nothing elsewhere.
    package static func returnToSystem() { powersync_trim_memory() }

    /// Gives each piece of 4 MiB and more back as soon as it is freed, from now on.
    ///
    /// glibc does so at first, and keeps pieces of a size from the first on that was freed (mallopt(3), M_MMAP_THRESHOLD): a
    /// value of 15 MB that is copied four times then leaves holes which the next copy does not fit into. For programs, not
    /// for libraries; does nothing elsewhere.
    package static func mapsLargePieces() { powersync_map_large_memory() }
}
