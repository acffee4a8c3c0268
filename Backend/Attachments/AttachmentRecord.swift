import PowerSyncWire

/// What is known of an attachment: a row of `psb.attachments`.
package struct AttachmentRecord: Sendable, Hashable {
    /// How far it has come.
    package enum State: String, Sendable, Hashable {
        /// A URL was signed; the bytes may be there or not.
        case pending
        /// The bytes are there, as many as were announced.
        case ready
        /// It is gone or about to go; the id is kept.
        case deleted
    }

    /// The id that rows name; two users may have a file each of one id.
    package var id: String
    /// What the store calls the bytes.
    package var key: String
    /// The subject who asked for the first URL, and owned the row that named it then, unless that was everybody's.
    package var owner: String
    /// Whether that row was everybody's, or it was uploaded again from one that is: then all rows of its table that have the id
    /// name this file.
    package var isShared: Bool
    /// The table of that row; of a shared one the table that shares it.
    package var table: Catalog.Name
    /// The id of that row.
    package var rowID: String?
    /// What the user calls the file.
    package var filename: String
    /// The media type.
    package var contentType: String
    /// The bytes.
    package var size: Int64
    /// Their SHA-256, 64 lower-case hexadecimal digits.
    package var sha256: String
    /// What the store calls the upload in parts; nil if there is none.
    package var upload: String?
    /// How far it has come.
    package var state: State
    /// Whether no row named it when somebody looked last.
    package var isUnnamed = false

    /// Makes the record of an upload that nobody has asked for before.
    ///
    /// - Parameters:
    ///   - request: the question.
    ///   - key: what the store is to call the bytes.
    ///   - owner: the subject.
    ///   - row: the row that names it, with its table.
    ///   - isShared: whether that row is everybody's.
    package init(
        _ request: AttachmentUploadRequest, key: String, owner: String,
        row: (table: Catalog.Name, id: String?),
        isShared: Bool = false
    ) {
        id = request.id
        self.key = key
        self.owner = owner
        self.isShared = isShared
        table = row.table
        rowID = row.id
        // The one character that no text of Postgres has.
        filename =
            request.filename.utf8.contains(0)
            ? String(decoding: request.filename.utf8.filter { $0 != 0 }, as: UTF8.self) : request.filename
        contentType = request.contentType
        size = request.size
        sha256 = request.sha256
        state = .pending
    }

    /// What `init(_:)` reads, in its order.
    static let columns = """
        id, key, owner, is_shared, table_schema, table_name, row_id, filename, content_type, size::text,
        encode(sha256, 'hex'), upload, state, unnamed_since IS NOT NULL
        """

    /// Reads a row that begins with `columns`; nil if it is none.
    init?(_ values: [String?]) {
        guard values.count >= 14, let id = values[0], let key = values[1], let owner = values[2],
            let schema = values[4], let table = values[5], let filename = values[7],
            let contentType = values[8], let size = values[9].flatMap({ Int64($0) }), let sha256 = values[10],
            let state = values[12].flatMap(State.init(rawValue:))
        else { return nil }
        self.id = id
        self.key = key
        self.owner = owner
        isShared = values[3] == "t"
        self.table = Catalog.Name(schema: schema, table: table)
        rowID = values[6]
        self.filename = filename
        self.contentType = contentType
        self.size = size
        self.sha256 = sha256
        upload = values[11]
        self.state = state
        isUnnamed = values[13] == "t"
    }

    /// Whether it is of a subject, byte for byte.
    package func isOwned(by subject: String) -> Bool { ExactText(owner) == ExactText(subject) }
}

/// Bytes that a store is to remove.
package struct AttachmentRemoval: Sendable, Hashable {
    /// What the store calls them.
    package var key: String
    /// What it calls the upload in parts, if there is one.
    package var upload: String?
    /// From when on no URL that was signed can bring bytes, or when they were to go, if that was later; in seconds since 1970.
    package var lastAt: Double

    /// Makes a removal of its fields.
    package init(key: String, upload: String?, lastAt: Double) {
        self.key = key
        self.upload = upload
        self.lastAt = lastAt
    }
}
