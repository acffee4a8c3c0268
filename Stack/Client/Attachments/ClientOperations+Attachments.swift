import PowerSync

/// What a client does with files that belong to rows.
extension ClientOperations {
    /// Returns the files.
    ///
    /// - Throws: `ClientError` for a client that has none.
    func requiredAttachments() throws(ClientError) -> ClientAttachments {
        guard let attachments else {
            throw ClientError(
                "this client has no attachments; it has with --attachments SQL", code: .invalidState)
        }
        return attachments
    }

    /// Saves a copy of a file as a new attachment, and runs statements in the same transaction.
    ///
    /// The end of the task ends it where it is, and undoes all of it.
    ///
    /// - Parameters:
    ///   - file: the file.
    ///   - mediaType: its media type; nil for the one that its name tells.
    ///   - statements: the statements, with marks for the id.
    /// - Returns: the id.
    /// - Throws: as `ClientAttachments.save`; `ClientError` for a client that has none.
    func attach(
        _ file: String, mediaType: String?, _ statements: [ClientStatement]
    ) async throws -> String {
        let attachments = try requiredAttachments()
        return try await whileWanted { isUnwanted in
            try await attachments.save(file, mediaType: mediaType, unless: isUnwanted) { id, connection in
                try Self.run(statements.map { $0.naming(attachment: id) }, on: connection, unless: isUnwanted)
            }
        }
    }

    /// Deletes an attachment, and runs statements in the same transaction.
    ///
    /// - Parameters:
    ///   - id: its id.
    ///   - statements: the statements, with marks for the id.
    /// - Throws: as `ClientAttachments.delete`; `ClientError` for a client that has none.
    func deleteAttachment(_ id: String, _ statements: [ClientStatement]) async throws {
        let attachments = try requiredAttachments()
        let statements = statements.map { $0.naming(attachment: id) }
        try await whileWanted { isUnwanted in
            try await attachments.delete(id) { try Self.run(statements, on: $0, unless: isUnwanted) }
        }
    }

    /// Copies an attachment into a file.
    ///
    /// - Parameters:
    ///   - id: its id.
    ///   - file: the file, which is replaced as a whole.
    /// - Throws: as `ClientAttachments.export`; `ClientError` for a client that has none.
    func exportAttachment(_ id: String, to file: String) async throws {
        let attachments = try requiredAttachments()
        try await whileWanted { isUnwanted in
            try await attachments.export(id, to: file, unless: isUnwanted)
        }
    }

    /// Lists all attachments.
    ///
    /// - Parameter mapper: makes a value of each row of `ClientAttachments.listing(_:)`.
    /// - Returns: what it gave.
    /// - Throws: what the SDK throws; `ClientError` for a client that has none.
    func listAttachments<Row>(
        mapper: @Sendable @escaping (any SqlCursor) throws -> Row
    ) async throws -> StatementOutcome<Row> {
        let errors = try requiredAttachments().queue.status.errors
        return try await read(ClientAttachments.listing(errors), mapper: mapper)
    }

    private static func run(
        _ statements: [ClientStatement], on connection: any ConnectionContext,
        unless isUnwanted: @escaping @Sendable () -> Bool
    ) throws {
        for statement in statements {
            if isUnwanted() { throw CancellationError() }
            _ = try outcome(of: statement, on: connection, unless: isUnwanted) { _ in }
        }
    }
}
