import PowerSyncSQLite

@testable import PowerSyncServiceEngine

/// What must hold of the lookups of a file.
extension StoreCheck {
    /// Holds what keys find behind all operations beside what source rows say they are found by.
    mutating func checkLookups(_ connection: SQLiteConnection) throws {
        func streams(of table: String) throws -> [Int64: StreamNumber] {
            var streams: [Int64: StreamNumber] = [:]
            try connection.forEach("SELECT id, stream FROM \(table)") { streams[$0.int64(0)] = $0.int64(1) }
            return streams
        }
        let definitions = try streams(of: "lookup_definition")
        let tables = try streams(of: "source_table")
        // What stopped streams hold is deleted piece by piece.
        let stopped = Set(self.streams.values.filter(\.isStopped).map(\.number))
        func isLive(_ stream: StreamNumber?) -> Bool { stream.map { !stopped.contains($0) } ?? true }
        var said: Set<[SQLiteValue]> = []
        for row in try StoredOperations(connection).rows() where isLive(tables[row.table]) {
            for lookup in row.places.lookups {
                said.insert([
                    .integer(lookup.definition), .blob(lookup.key), .integer(row.table),
                    .blob(row.key.bytes),
                ])
            }
        }
        var found: Set<[SQLiteValue]> = []
        var ids: Set<Int64> = []
        let last = lastOperation
        var problems: [String] = []
        // The newest version of a place comes last.
        try connection.forEach(
            "SELECT definition, key, source_table, row, op_id, length(value) FROM lookup "
                + "ORDER BY definition, key, source_table, row, op_id"
        ) { row in
            let id = row.int64(4)
            if !ids.insert(id).inserted { problems.append("two versions of lookups have operation \(id)") }
            if id < 1 || id > last {
                problems.append("a lookup has operation \(id), the counter is at \(last)")
            }
            guard isLive(definitions[row.int64(0)]) else { return }
            let place = (0..<4).map { row[$0] }
            if row.int64(5) > 0 { found.insert(place) } else { found.remove(place) }
        }
        for problem in problems { check(false, problem) }
        let (missing, unsaid) = (said.subtracting(found).count, found.subtracting(said).count)
        check(missing == 0, "\(missing) keys of source rows find nothing of them")
        check(unsaid == 0, "\(unsaid) keys find a source row that does not say so")
    }

    /// Ids that rows have set ascend with their operations, and a client has no more of them than are asked for.
    mutating func checkCustomWriteCheckpoints(_ connection: SQLiteConnection) throws {
        let versions = try connection.query(
            "SELECT stream, key, op_id, id FROM custom_write_checkpoint ORDER BY stream, key, op_id"
        ) { (place: [$0[0], $0[1]], operation: $0.int64(2), id: $0.int64(3)) }
        for version in versions {
            check(
                version.operation >= 1 && version.operation <= lastOperation,
                "a write checkpoint has operation \(version.operation), the counter is at \(lastOperation)")
        }
        for (_, versions) in Dictionary(grouping: versions, by: \.place) {
            let ids = versions.map(\.id)
            check(ids.count <= 2, "a client has \(ids.count) write checkpoints")
            check(ids == ids.sorted() && Set(ids).count == ids.count, "write checkpoints go back: \(ids)")
        }
    }
}
