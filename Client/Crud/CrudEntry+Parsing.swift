import PowerSyncWire

extension CrudEntry {
    /// Reads one row of `ps_crud`.
    ///
    /// - Parameters:
    ///   - id: the row's id.
    ///   - transactionId: the row's transaction.
    ///   - data: the row's JSON: `{"op","type","id","data"?,"metadata"?,"old"?}`.
    /// - Throws: `operationFailed` for a row that is no entry; its content is not part of the message.
    init(id: Int64, transactionId: Int64?, data: String) throws(PowerSyncError) {
        let json: JSON
        do {
            json = try JSON.parse(data)
        } catch {
            throw PowerSyncError(
                .unreadableQueueEntry, "Entry \(id) of the upload queue is not JSON", detail: error.message)
        }
        guard let op = json["op"]?.stringValue.flatMap(UpdateType.init(rawValue:)),
            let table = json["type"]?.stringValue, let rowId = json["id"]?.stringValue
        else {
            throw PowerSyncError(
                .unreadableQueueEntry, "Entry \(id) of the upload queue lacks op, type or id")
        }
        self.init(
            id: rowId, clientId: id, op: op, table: table, transactionId: transactionId,
            metadata: json["metadata"]?.stringValue,
            opDataTyped: json["data"]?.objectMembers.map { JsonParam($0) },
            previousValuesTyped: json["old"]?.objectMembers.map { JsonParam($0) })
    }

    /// Reads a row `(id, tx_id, data)`.
    init(cursor: any SqlCursor) throws {
        let id = try cursor.getInt64(index: 0)
        guard let data = cursor.getStringOptional(index: 2) else {
            throw PowerSyncError(.unreadableQueueEntry, "Entry \(id) of the upload queue is empty")
        }
        try self.init(id: id, transactionId: cursor.getInt64Optional(index: 1), data: data)
    }
}
