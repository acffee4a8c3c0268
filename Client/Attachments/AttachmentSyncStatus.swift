/// How far an ``AttachmentQueue`` is with its files.
///
/// ```swift
/// func show(_ queue: AttachmentQueue) async {
///     for await status in queue.statusUpdates() {
///         let uploads = status.uploads
///         print("\(uploads.doneFiles) of \(uploads.doneFiles + uploads.waitingFiles) uploaded")
///     }
/// }
/// ```
public struct AttachmentSyncStatus: Sendable, Hashable {
    /// Which way a file goes.
    public enum Kind: Sendable, Hashable {
        /// To the storage.
        case upload
        /// From the storage.
        case download
        /// Away.
        case delete
    }

    /// How far the files are that go one way.
    public struct Lane: Sendable, Hashable {
        /// How many files are still to go, those under way included.
        public internal(set) var waitingFiles = 0
        /// How many bytes these have, as far as their sizes are known.
        public internal(set) var waitingBytes: Int64 = 0
        /// How many files are done since there was nothing to do.
        public internal(set) var doneFiles = 0
        /// How many bytes these have.
        public internal(set) var doneBytes: Int64 = 0
    }

    /// A file that is under way.
    public struct Transfer: Sendable, Hashable {
        /// The id of the attachment.
        public let id: String
        /// Which way it goes.
        public let kind: Kind
        /// How far it is.
        public internal(set) var bytes: AttachmentBytes
    }

    /// The files that are uploaded.
    public internal(set) var uploads = Lane()
    /// The files that are downloaded.
    public internal(set) var downloads = Lane()
    /// The files that are deleted.
    public internal(set) var deletes = Lane()
    /// The files that are under way, in the order in which they began.
    public internal(set) var transfers: [Transfer] = []
    /// What the last transfer of each file that has failed since the last full pass failed with, by the ids of the
    /// attachments; a thousand of them at most.
    public internal(set) var errors: [String: String] = [:]
}

extension AttachmentSyncStatus {
    subscript(_ lane: TransferLane) -> Lane {
        get {
            switch lane {
            case .upload: uploads
            case .download: downloads
            case .delete: deletes
            }
        }
        set {
            switch lane {
            case .upload: uploads = newValue
            case .download: downloads = newValue
            case .delete: deletes = newValue
            }
        }
    }
}

extension TransferLane {
    /// The way as apps know it.
    var kind: AttachmentSyncStatus.Kind {
        switch self {
        case .upload: .upload
        case .download: .download
        case .delete: .delete
        }
    }
}
