#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How the client learns which checkpoint includes what it has uploaded.
public enum CheckpointMode: Sendable, Encodable {
    /// The service is asked for a write checkpoint after each upload; works with every version of it.
    case legacy

    /// The client gives its requests numbers, which the service shows in its checkpoints.
    ///
    /// The service must be 1.24 or newer; an older one shows as an error of the download. Needed for
    /// ``PowerSyncDatabaseProtocol/requestCheckpoint()``. `checkpointRequestRetryDelay` is the time in seconds after which
    /// a request that no checkpoint shows is sent again: 10 if it is nil or less.
    case requests(checkpointRequestRetryDelay: TimeInterval? = nil)

    /// Encodes the name of the mode: `legacy` or `requests`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .legacy: try container.encode("legacy")
        case .requests: try container.encode("requests")
        }
    }
}
