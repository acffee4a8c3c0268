/// Which way files go; the three ways do not wait for each other.
enum TransferLane: Int, Sendable, Hashable, CaseIterable {
    case upload, download, delete

    /// The way for a state; nil for one in which nothing is to be transferred.
    init?(_ state: AttachmentState) {
        switch state {
        case .queuedUpload: self = .upload
        case .queuedDownload: self = .download
        case .queuedDelete: self = .delete
        case .synced, .archived: return nil
        }
    }

    /// The state of the rows that wait for it.
    var state: AttachmentState {
        switch self {
        case .upload: .queuedUpload
        case .download: .queuedDownload
        case .delete: .queuedDelete
        }
    }
}

/// A place in the order in which files are transferred: that of the times, and of the bytes of the ids.
struct TransferPlace: Sendable, Hashable {
    let timestamp: Int
    let id: String

    /// Whether it comes behind another place.
    func isBehind(_ other: TransferPlace) -> Bool {
        guard timestamp == other.timestamp else { return timestamp > other.timestamp }
        return other.id.utf8.lexicographicallyPrecedes(id.utf8)
    }
}

/// A row that waits for a transfer.
struct TransferRow: Sendable, Hashable {
    let id: String
    let timestamp: Int
    let lane: TransferLane

    /// Its place in its lane.
    var place: TransferPlace { TransferPlace(timestamp: timestamp, id: id) }
}
