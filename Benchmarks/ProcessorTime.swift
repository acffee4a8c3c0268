import CPowerSyncBenchmarks

/// How much processor time processes have taken so far, in seconds.
enum ProcessorTime {
    /// Returns that of a process with all its threads; nil elsewhere than on Linux, or if it is not there.
    static func of(_ process: Int32) -> Double? { known(powersync_process_seconds(process)) }

    /// Returns that of a process and its children, those that have ended included; nil as above.
    static func ofFamily(_ process: Int32) -> Double? { known(powersync_family_seconds(process)) }

    /// Returns that of the children of this process that have ended.
    static func ofEndedChildren() -> Double? { known(powersync_ended_children_seconds()) }

    private static func known(_ seconds: Double) -> Double? { seconds < 0 ? nil : seconds }
}
