import PowerSyncWire

/// What a ``TransferPlan`` wants to know of the rows.
extension AttachmentSQL {
    /// Returns the next rows of a lane, and at its beginning the place of the last one.
    func found(
        _ page: TransferWish.Page, on connection: any ConnectionContext
    ) throws -> TransferFindings.Page {
        let rows = try self.page(
            of: page.lane, behind: page.place, limit: TransferPlan.pageSize, on: connection)
        // Where there is none, none is the last one.
        guard page.place == nil, !rows.isEmpty else { return TransferFindings.Page(rows: rows) }
        let place = try connection.getOptional(sql: last, parameters: [page.lane.state.rawValue]) {
            TransferPlace(timestamp: try $0.getInt(index: 1), id: try $0.getString(index: 0))
        }
        return TransferFindings.Page(rows: rows, last: place)
    }

    /// Returns the lanes for which rows wait, by their ids; of rows that wait for none, or are gone, there is nothing.
    func lanes(of ids: [String], on connection: any ConnectionContext) throws -> [String: TransferLane] {
        let parameter = JSON.array(ids.map { .string($0) }).text
        let found = try connection.getAll(sql: states, parameters: [parameter]) {
            (id: try $0.getString(index: 0), state: AttachmentState(rawValue: try $0.getInt(index: 1)))
        }
        var lanes: [String: TransferLane] = [:]
        for (id, state) in found { lanes[id] = state.flatMap { TransferLane($0) } }
        return lanes
    }
}
