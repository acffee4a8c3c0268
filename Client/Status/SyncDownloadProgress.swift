/// How many operations of a download have arrived.
public protocol ProgressWithOperations: Sendable {
    /// The number of operations that the download consists of.
    var totalOperations: Int32 { get }
    /// The number of operations that have arrived.
    var downloadedOperations: Int32 { get }
}

extension ProgressWithOperations {
    /// The part that has arrived, from 0 to 1; 0 when there is nothing to download.
    public var fraction: Float {
        totalOperations == 0 ? 0 : Float(downloadedOperations) / Float(totalOperations)
    }
}

/// The progress of a download to the next complete checkpoint.
public protocol SyncDownloadProgress: ProgressWithOperations {
    /// Returns the progress of the data up to and including a priority.
    func untilPriority(priority: BucketPriority) -> any ProgressWithOperations
}
