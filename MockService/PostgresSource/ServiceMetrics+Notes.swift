import PowerSyncServiceEngine

extension ServiceMetrics.Counters {
    /// Notes what was read of a link's stream.
    package mutating func note(_ read: StreamDecoder.Notes, of link: String) {
        note(bytes: read.bytes, commits: read.commits, commitTime: read.commitTime, of: link)
    }
}
