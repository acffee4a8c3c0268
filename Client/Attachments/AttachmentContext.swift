/// Reads and changes the rows of one table of attachments.
///
/// Inside ``AttachmentServiceProtocol/withContext(callback:)`` nobody else of the queue changes them meanwhile.
public protocol AttachmentContextProtocol: Sendable {
    /// The database.
    var db: any PowerSyncDatabaseProtocol { get }
    /// The name of the table.
    var tableName: String { get }
    /// Where is logged.
    var logger: any LoggerProtocol { get }
    /// How many archived rows are kept.
    var maxArchivedCount: Int64 { get }

    /// Removes a row; its file stays.
    func deleteAttachment(id: String) async throws

    /// Gives a row the state ``AttachmentState/archived``.
    func ignoreAttachment(id: String) async throws

    /// Returns a row; nil if there is none.
    func getAttachment(id: String) async throws -> Attachment?

    /// Saves a row, in place of one that has the id; returns it with its new time.
    func saveAttachment(attachment: Attachment) async throws -> Attachment

    /// Saves rows in one transaction; does nothing if there are none.
    func saveAttachments(attachments: [Attachment]) async throws

    /// Returns the ids of all rows.
    func getAttachmentIds() async throws -> [String]

    /// Returns all rows, the oldest first.
    func getAttachments() async throws -> [Attachment]

    /// Returns the rows in one of the three queued states, the oldest first.
    func getActiveAttachments() async throws -> [Attachment]

    /// Removes a page of the archived rows that are too many, after their files.
    ///
    /// - Parameter callback: removes the files of rows; what it throws leaves the rows.
    /// - Returns: whether it was the last page.
    /// - Throws: what the database and the callback throw.
    func deleteArchivedAttachments(
        callback: @Sendable @escaping ([Attachment]) async throws -> Void
    ) async throws -> Bool

    /// Removes all rows; their files stay.
    func clearQueue() async throws
}

extension AttachmentContextProtocol {
    /// How many archived rows are removed at once.
    static var archivedPage: Int { 1000 }

    /// The rows of the table.
    var rows: AttachmentRows {
        AttachmentRows(
            db: db, sql: AttachmentSQL(name: tableName),
            environment: (self as? AttachmentContext)?.environment ?? .of(db))
    }

    /// Removes a row; its file stays.
    public func deleteAttachment(id: String) async throws {
        try await rows.change(id) { _ in .removed }
    }

    /// Gives a row the state ``AttachmentState/archived``.
    public func ignoreAttachment(id: String) async throws {
        try await rows.change(id) { $0.state == .archived ? .unchanged : .moved(to: .archived) }
    }

    /// Returns a row; nil if there is none.
    public func getAttachment(id: String) async throws -> Attachment? {
        try await rows.row(id)
    }

    /// Saves a row, in place of one that has the id; returns it with its new time.
    public func saveAttachment(attachment: Attachment) async throws -> Attachment {
        try await rows.save([attachment]).first ?? attachment
    }

    /// Saves rows in one transaction, each with a time behind that of the one before; does nothing if there are none.
    public func saveAttachments(attachments: [Attachment]) async throws {
        guard !attachments.isEmpty else { return }
        _ = try await rows.save(attachments)
    }

    /// Returns the ids of all rows.
    public func getAttachmentIds() async throws -> [String] {
        try await db.getAll("SELECT id FROM \(rows.sql.table)") { try $0.getString(index: 0) }
    }

    /// Returns all rows, the oldest first.
    public func getAttachments() async throws -> [Attachment] {
        try await rows.all(rows.sql.all)
    }

    /// Returns the rows in one of the three queued states, the oldest first.
    public func getActiveAttachments() async throws -> [Attachment] {
        try await rows.all(rows.sql.active)
    }

    /// Returns the archived rows, the oldest first.
    public func getArchivedAttachments() async throws -> [Attachment] {
        try await rows.all(rows.sql.archived)
    }

    /// Removes a page of the archived rows that are too many, after their files.
    ///
    /// The newest ``maxArchivedCount`` rows stay. A row that a row of the app refers to again since its file was
    /// removed stays, too, and is downloaded anew.
    ///
    /// - Parameter callback: removes the files of rows; what it throws leaves the rows.
    /// - Returns: whether it was the last page.
    /// - Throws: what the database and the callback throw.
    public func deleteArchivedAttachments(
        callback: @Sendable @escaping ([Attachment]) async throws -> Void
    ) async throws -> Bool {
        let rows = rows
        let page = try await rows.overflow(keeping: max(0, maxArchivedCount), limit: Self.archivedPage)
        guard !page.isEmpty else { return true }
        // First: who sees a reference to one of them from now on, also in another process, does not take its file for here.
        let expiring = try await rows.takePaths(of: page)
        do {
            try await callback(expiring)
        } catch {
            // Shielded: their files may be there still.
            try await Task { try await rows.returnPaths(of: expiring) }.value
            throw error
        }
        try await rows.change(expiring.map(\.id)) { AttachmentRules.expired($0) }
        return page.count < Self.archivedPage
    }

    /// Removes all rows; their files stay.
    public func clearQueue() async throws {
        try await db.execute("DELETE FROM \(rows.sql.table)")
    }
}

/// Reads and changes the rows of one table of attachments.
public actor AttachmentContext: AttachmentContextProtocol {
    /// The database.
    public let db: any PowerSyncDatabaseProtocol
    /// The name of the table.
    public let tableName: String
    /// Where is logged.
    public let logger: any LoggerProtocol
    /// How many archived rows are kept.
    public let maxArchivedCount: Int64
    let environment: SyncEnvironment

    /// Makes a context of a table, which the schema of the database has.
    ///
    /// - Parameters:
    ///   - db: the database.
    ///   - tableName: the name of the table.
    ///   - logger: where is logged.
    ///   - maxArchivedCount: how many archived rows are kept.
    public init(
        db: any PowerSyncDatabaseProtocol, tableName: String, logger: any LoggerProtocol,
        maxArchivedCount: Int64
    ) {
        self.init(
            db: db, tableName: tableName, logger: logger, maxArchivedCount: maxArchivedCount,
            environment: .of(db))
    }

    /// Makes a context with a clock of its own.
    init(
        db: any PowerSyncDatabaseProtocol, tableName: String, logger: any LoggerProtocol,
        maxArchivedCount: Int64, environment: SyncEnvironment
    ) {
        self.db = db
        self.tableName = tableName
        self.logger = logger
        self.maxArchivedCount = maxArchivedCount
        self.environment = environment
    }
}
