import CPowerSyncSystem

/// The memory of this process.
package enum Memory {
    /// Gives what has been freed back to the system, where the C library would keep it.
    ///
    /// glibc keeps it for each thread's own, so that a peak on one thread would come on top of those of others. Takes
    /// milliseconds for some hundred megabytes; does nothing elsewhere.
    package static func returnToSystem() { powersync_trim_memory() }
}
