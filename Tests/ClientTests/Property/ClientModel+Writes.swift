/// A statement of the app.
enum LocalStatement {
    case insert(ModelRow, title: String?, n: Int?, replaces: Bool)
    case update(ModelRow, title: String??, n: Int??)
    case delete(ModelRow)
    /// Into a table that only queues.
    case note(id: String, title: String)
}

/// Local writes (client-core 2.5 to 2.7, 8.1).
extension ClientModel {
    /// Writes and returns the entries that are queued with the commit; nil for a statement that fails.
    mutating func write(_ statement: LocalStatement) -> [QueueEntry]? {
        switch statement {
        case .insert(let row, let title, let n, let replaces):
            if visible[row] != nil, !replaces { return nil }
            let content = ModelContent(localTitle: title, n: n)
            visible[row] = content
            guard row.isSynced else { return [] }
            touch(row)
            let data = ModelContent.difference(from: nil, to: content)
            return [
                QueueEntry(
                    operation: .put, row: row, title: title, n: n,
                    text: "{\"op\":\"PUT\",\"id\":\"\(row.id)\",\"type\":\"\(row.type)\",\"data\":\(data)}")
            ]
        case .update(let row, let title, let n):
            guard let old = visible[row] else { return [] }
            let content = ModelContent(localTitle: title ?? old.title, n: n ?? old.n)
            visible[row] = content
            guard row.isSynced else { return [] }
            touch(row)
            let data = ModelContent.difference(from: old, to: content)
            return [
                QueueEntry(
                    operation: .patch, row: row, title: content.title, n: content.n,
                    setsTitle: content.title != old.title, setsN: content.n != old.n,
                    text: "{\"op\":\"PATCH\",\"id\":\"\(row.id)\",\"type\":\"\(row.type)\",\"data\":\(data)}")
            ]
        case .delete(let row):
            guard visible.removeValue(forKey: row) != nil, row.isSynced else { return [] }
            touch(row)
            return [
                QueueEntry(
                    operation: .delete, row: row,
                    text: "{\"op\":\"DELETE\",\"id\":\"\(row.id)\",\"type\":\"\(row.type)\"}")
            ]
        case .note(let id, let title):
            return [
                QueueEntry(
                    operation: .put, row: ModelRow(type: "notes", id: id), title: title,
                    text:
                        "{\"op\":\"PUT\",\"type\":\"notes\",\"id\":\"\(id)\",\"data\":{\"title\":\"\(title)\"}}"
                )
            ]
        }
    }

    /// The row is looked at again once the service has the change, and until then nothing is applied.
    private mutating func touch(_ row: ModelRow) {
        updated.insert(row)
        target = Self.unknown
        seen = nil
        applied = nil
    }

    mutating func commit(_ entries: [QueueEntry]) {
        guard !entries.isEmpty else { return }
        queue.append(entries)
        queuedEver += entries.count
    }

    /// Drops the oldest transaction, which the backend has now.
    mutating func completeUpload(of count: Int, writeCheckpoint: Int64?) {
        queue.removeFirst(count)
        if let writeCheckpoint, queue.isEmpty {
            target = writeCheckpoint
        } else if target != nil {
            target = Self.unknown
        }
    }
}

extension ModelRow {
    /// Types of the schema; rows of others that the service sends stay out of sight.
    static let tables = ["lists", "todos"]
    /// A table that is never synced; the service has a type of that name, too.
    static let localTable = "drafts"

    /// How a row of the local table stands in the model, apart from the service's.
    static func draft(_ id: String) -> ModelRow { ModelRow(type: "local drafts", id: id) }

    var isSynced: Bool { Self.tables.contains(type) }
    var table: String { isSynced ? type : Self.localTable }
}
