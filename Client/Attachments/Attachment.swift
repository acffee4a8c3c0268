/// The name of the local-only table that attachments are kept in unless another one is chosen.
public let defaultAttachmentsTableName = "attachments"

/// What is to happen with a file.
public enum AttachmentState: Int, Sendable {
    /// A row of the app refers to the file, and it is not here yet.
    case queuedDownload
    /// The file was saved here and is not in the storage yet.
    case queuedUpload
    /// The file is to be deleted, in the storage and here.
    case queuedDelete
    /// The file is here and in the storage.
    case synced
    /// No row of the app refers to the file any more; it is kept for a while, in case that one does again.
    case archived
}

/// A file that belongs to rows of the app, as the table of attachments knows it.
public struct Attachment: Sendable {
    /// The id that rows of the app name the file by.
    public let id: String
    /// When it got its state, in milliseconds since 1970; never less than that of what got one before.
    public let timestamp: Int
    /// The name of the file, such as `<id>.jpg`.
    public let filename: String
    /// What is to happen with the file.
    public let state: AttachmentState
    /// The path of the file on this device; nil if it is not here.
    public let localUri: String?
    /// The media type, such as `image/jpeg`.
    public let mediaType: String?
    /// How many bytes there are, if that is known.
    public let size: Int64?
    /// Whether the file was uploaded or downloaded at least once.
    public let hasSynced: Bool?
    /// What the app wants to keep with the file.
    public let metaData: String?

    /// Describes a file.
    ///
    /// - Parameters:
    ///   - id: the id that rows of the app name it by.
    ///   - filename: the name of the file.
    ///   - state: what is to happen with it.
    ///   - timestamp: when it got its state, in milliseconds since 1970.
    ///   - hasSynced: whether it was uploaded or downloaded at least once.
    ///   - localUri: its path on this device.
    ///   - mediaType: its media type.
    ///   - size: how many bytes there are.
    ///   - metaData: what the app wants to keep with it.
    public init(
        id: String, filename: String, state: AttachmentState, timestamp: Int = 0, hasSynced: Bool? = false,
        localUri: String? = nil, mediaType: String? = nil, size: Int64? = nil, metaData: String? = nil
    ) {
        self.id = id
        self.timestamp = timestamp
        self.filename = filename
        self.state = state
        self.localUri = localUri
        self.mediaType = mediaType
        self.size = size
        self.hasSynced = hasSynced
        self.metaData = metaData
    }

    /// Reads a row of the table of attachments.
    ///
    /// - Parameter cursor: a row with all columns of the table, and its id.
    /// - Returns: the attachment.
    /// - Throws: ``SqlCursorError`` if a column is missing, or is NULL and must not be: id, filename, state,
    ///   timestamp or has_synced; ``PowerSyncAttachmentError/generalError(_:)`` for a state that is none.
    public static func fromCursor(_ cursor: any SqlCursor) throws -> Attachment {
        let number = try cursor.getInt(name: "state")
        guard let state = AttachmentState(rawValue: number) else {
            throw PowerSyncAttachmentError.generalError("An attachment cannot be in the state \(number)")
        }
        return Attachment(
            id: try cursor.getString(name: "id"), filename: try cursor.getString(name: "filename"),
            state: state, timestamp: try cursor.getInt(name: "timestamp"),
            hasSynced: try cursor.getBoolean(name: "has_synced"),
            localUri: try cursor.getStringOptional(name: "local_uri"),
            mediaType: try cursor.getStringOptional(name: "media_type"),
            size: try cursor.getInt64Optional(name: "size"),
            metaData: try cursor.getStringOptional(name: "meta_data"))
    }
}

extension Attachment {
    /// Whether the row says where the file is on this device.
    var hasPath: Bool { localUri?.isEmpty == false }

    /// Returns the same with another state.
    func with(_ state: AttachmentState, hasSynced: Bool? = nil) -> Attachment {
        copy(state: state, hasSynced: hasSynced ?? self.hasSynced, localUri: localUri, size: size)
    }

    /// Returns the same with another path on this device.
    func at(_ path: String?) -> Attachment {
        copy(state: state, hasSynced: hasSynced, localUri: path, size: size)
    }

    /// Returns the same with another size.
    func of(size: Int64?) -> Attachment {
        copy(state: state, hasSynced: hasSynced, localUri: localUri, size: size)
    }

    /// Returns the same with the time of another save.
    func saved(at timestamp: Int) -> Attachment {
        Attachment(
            id: id, filename: filename, state: state, timestamp: timestamp, hasSynced: hasSynced,
            localUri: localUri, mediaType: mediaType, size: size, metaData: metaData)
    }

    private func copy(
        state: AttachmentState, hasSynced: Bool?, localUri: String?, size: Int64?
    ) -> Attachment {
        Attachment(
            id: id, filename: filename, state: state, timestamp: timestamp, hasSynced: hasSynced,
            localUri: localUri, mediaType: mediaType, size: size, metaData: metaData)
    }
}

/// Returns the local-only table that an ``AttachmentQueue`` keeps its files in; the schema of the database needs it.
///
/// ```swift
/// let schema = Schema(
///     Table(name: "users", columns: [.text("name"), .text("photo_id")]),
///     createAttachmentTable(name: defaultAttachmentsTableName)
/// )
/// let database = PowerSyncDatabase(schema: schema, dbFilename: "users.db")
/// ```
///
/// - Parameter name: the name of the table; each queue has its own.
/// - Returns: the table.
public func createAttachmentTable(name: String) -> Table {
    Table(
        name: name,
        columns: [
            .integer("timestamp"), .integer("state"), .text("filename"), .integer("has_synced"),
            .text("local_uri"), .text("media_type"), .integer("size"), .text("meta_data"),
        ],
        // What waits is read page by page, whatever is saved comes behind all that was saved before, and a file goes
        // with the last row that has its name.
        indexes: [
            .ascending(name: "state", columns: ["state", "timestamp"]),
            .ascending(name: "timestamp", column: "timestamp"),
            .ascending(name: "filename", column: "filename"),
        ],
        localOnly: true)
}
