import CPowerSyncSystem

/// The system's clock.
package enum WallClock {
    /// Returns microseconds since 1970 (UTC).
    ///
    /// By way of C: the members of `timespec` are not to be had in a program that has Swift's libraries inside.
    package static func microseconds() -> Int64 { powersync_wall_clock() }
}
