import PowerSyncWire

/// What becomes of a row of the table of attachments.
enum AttachmentChange: Sendable, Hashable {
    /// Nothing; nothing is written either.
    case unchanged
    /// It gets another state.
    case moved(to: AttachmentState)
    /// It gets another state, and its file is not here.
    case movedWithoutFile(to: AttachmentState)
    /// It is to be deleted everywhere, whatever was done with it.
    case deleting
    /// Its file is here and in the storage; the size is nil where it is that of before.
    case synced(path: String, size: Int64?)
    /// Its file is at another path.
    case repaired(path: String)
    /// It goes.
    case removed

    /// Returns the row as it is then; nil if it is gone.
    func applied(to row: Attachment) -> Attachment? {
        switch self {
        case .unchanged: row
        case .moved(let state): row.with(state)
        case .movedWithoutFile(let state): row.with(state).at(nil)
        case .deleting: row.with(.queuedDelete, hasSynced: false)
        case .synced(let path, let size):
            row.with(.synced, hasSynced: true).at(path).of(size: size ?? row.size)
        case .repaired(let path): row.at(path)
        case .removed: nil
        }
    }
}

/// What the error of a transfer means.
enum TransferFailure: Sendable, Hashable {
    /// There is nothing left to do: what was to be deleted is not there.
    case done
    /// The backend knows what rows of the app refer to only when the upload queue of the database is empty.
    case waits
    /// It is too early; nobody has to decide anything.
    case early
    /// The file that is to be uploaded is not on this device, and nobody decides what becomes of the row.
    case fileIsGone
    /// The app decides, if it has a handler; otherwise it is tried again.
    case open
}

/// Decides what becomes of rows; SPEC.md has the table of it.
enum AttachmentRules {
    /// Decides about a row that a row of the app refers to.
    static func watched(_ row: Attachment) -> AttachmentChange {
        guard row.state == .archived else { return .unchanged }
        // Of a file that is gone only the storage has a copy, if anybody has.
        guard row.hasPath else { return .moved(to: .queuedDownload) }
        return .moved(to: row.hasSynced == true ? .synced : .queuedUpload)
    }

    /// Decides about a row that no row of the app refers to.
    static func unwatched(_ row: Attachment) -> AttachmentChange {
        switch row.state {
        case .queuedDownload, .synced: .moved(to: .archived)
        // What was never uploaded may have been saved before the row that refers to it can be seen.
        case .queuedUpload: row.hasSynced == true ? .moved(to: .archived) : .unchanged
        case .queuedDelete, .archived: .unchanged
        }
    }

    /// Decides about a row that the app deletes.
    static func deleted(_ row: Attachment) -> AttachmentChange { .deleting }

    /// Decides about a row whose upload is done.
    static func uploaded(_ row: Attachment) -> AttachmentChange {
        guard row.state == .queuedUpload, let path = row.localUri else { return .unchanged }
        return .synced(path: path, size: nil)
    }

    /// Decides about a row whose file was downloaded.
    ///
    /// - Parameters:
    ///   - row: the row as it is now.
    ///   - filename: the name under which the file was downloaded.
    ///   - path: where it is.
    ///   - size: how many bytes there are.
    /// - Returns: what becomes of the row.
    static func downloaded(
        _ row: Attachment, as filename: String, to path: String, size: Int64
    ) -> AttachmentChange {
        awaits(row, as: filename) ? .synced(path: path, size: size) : .unchanged
    }

    /// Whether a row awaits the download of a file.
    ///
    /// - Parameters:
    ///   - row: the row as it is now; nil if it is gone.
    ///   - filename: the name under which the file was downloaded.
    /// - Returns: whether it does; nothing else may take the place of a file.
    static func awaits(_ row: Attachment?, as filename: String) -> Bool {
        guard let row else { return false }
        return row.state == .queuedDownload && ExactText(row.filename) == ExactText(filename)
    }

    /// Whether a row needs the file that was downloaded for it.
    ///
    /// - Parameters:
    ///   - row: the row as it is now; nil if it is gone.
    ///   - path: where the file is.
    /// - Returns: whether it does; what nobody needs is removed.
    static func wants(_ row: Attachment?, fileAt path: String) -> Bool {
        guard let row else { return false }
        return row.state == .queuedDownload || row.localUri.map { ExactText($0) } == ExactText(path)
    }

    /// Decides about a row whose file is deleted, in the storage and here.
    static func removed(_ row: Attachment) -> AttachmentChange {
        row.state == .queuedDelete ? .removed : .unchanged
    }

    /// Decides about a row whose transfer was given up by the app.
    ///
    /// - Parameters:
    ///   - row: the row as it is now.
    ///   - state: the state that was acted on.
    /// - Returns: what becomes of the row.
    static func givenUp(_ row: Attachment, _ state: AttachmentState) -> AttachmentChange {
        row.state == state ? .moved(to: .archived) : .unchanged
    }

    /// Decides about a row after a look for its file.
    ///
    /// - Parameters:
    ///   - row: the row.
    ///   - isThere: whether the file is where the row says.
    ///   - expected: the path where the file is, and should be; nil if it is not there.
    /// - Returns: what becomes of the row.
    static func verified(_ row: Attachment, isThere: Bool, expected: String?) -> AttachmentChange {
        guard row.hasPath else {
            return row.state == .synced ? .movedWithoutFile(to: .queuedDownload) : .unchanged
        }
        if isThere { return .unchanged }
        if let expected { return .repaired(path: expected) }
        switch row.state {
        case .queuedUpload, .archived: return .movedWithoutFile(to: .archived)
        case .synced: return .movedWithoutFile(to: .queuedDownload)
        case .queuedDownload, .queuedDelete: return .unchanged
        }
    }

    /// Decides about a row whose file is about to be removed because the cache is full: from then on nobody takes it for here.
    static func expiring(_ row: Attachment) -> AttachmentChange {
        row.state == .archived && row.hasPath ? .movedWithoutFile(to: .archived) : .unchanged
    }

    /// Decides about a row whose file was to be removed, and is where it was.
    static func kept(_ row: Attachment, at path: String) -> AttachmentChange {
        row.state == .archived && !row.hasPath ? .repaired(path: path) : .unchanged
    }

    /// Decides about a row whose file was removed because the cache is full.
    ///
    /// A row of the app may refer to it again since then, by way of another process.
    static func expired(_ row: Attachment) -> AttachmentChange {
        switch row.state {
        case .archived: .removed
        case .synced: .movedWithoutFile(to: .queuedDownload)
        case .queuedDownload, .queuedUpload, .queuedDelete: .unchanged
        }
    }

    /// Decides what the error of a transfer means.
    ///
    /// - Parameters:
    ///   - error: what the storage, or the reading or writing of the file, threw.
    ///   - lane: which way the file went.
    ///   - isQueueEmpty: whether nothing waited to be uploaded, from before the transfer until now.
    ///   - hasHandler: whether the app decides about errors.
    /// - Returns: what it means.
    static func failure(
        _ error: any Error, in lane: TransferLane, isQueueEmpty: Bool, hasHandler: Bool
    ) -> TransferFailure {
        if let error = error as? AttachmentStorageError {
            switch error.code {
            case .unknown where !isQueueEmpty, .stillReferenced where !isQueueEmpty: return .waits
            case .unknown where lane == .delete: return .done
            case .notUploaded, .stillReferenced: return .early
            case .gone where lane == .delete: return .done
            default: return .open
            }
        }
        if AttachmentFiles.saysHeld(error) { return .early }
        switch (error as? PowerSyncAttachmentError, lane) {
        case (.notFound?, .delete), (.fileNotFound?, .delete): return .done
        case (.fileNotFound?, .upload) where !hasHandler: return .fileIsGone
        default: return .open
        }
    }
}
