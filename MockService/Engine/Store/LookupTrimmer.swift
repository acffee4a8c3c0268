import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncWire

/// Removes versions of lookups that no checkpoint asks for any more, a piece in each transaction (DESIGN.md, 1).
///
/// Who writes leaves one such version for each that a checkpoint will cover, and a tombstone for each key that a row has
/// left. They are found by walking over the lookups of a stream, which begins when so many operations were given since the
/// last one that they may be worth it. Where a walk stands is kept in memory alone: behind a start there is a walk for each
/// stream.
package final class LookupTrimmer: Sendable {
    /// A version that is looked at.
    private struct Version {
        /// Key, table and row, of the definition at hand.
        let place: [SQLiteValue]
        let id: OperationID
        let isTombstone: Bool
    }

    /// A walk over the lookups of a stream.
    private struct Walk {
        let stream: StreamNumber
        /// The checkpoint of the stream when it began.
        let checkpoint: OperationID
        /// The definitions that are left, the one at hand first.
        var definitions: [Int64]
        /// The version that was looked at last.
        var last = LookupTrimmer.beginning
        /// How many versions have stayed.
        var kept: Int64 = 0
    }

    private struct State {
        var walk: Walk?
        /// The last walk of each stream that has had one.
        var ended: [StreamNumber: Walk] = [:]
    }

    private let limits: StoreLimits
    private let state = Lock(State())

    /// Makes a trimmer.
    ///
    /// - Parameter limits: How much one transaction looks at, and when a walk begins.
    package init(limits: StoreLimits = StoreLimits()) { self.limits = limits }

    /// Looks at a piece of the lookups of a stream, and removes what nobody asks for.
    ///
    /// - Parameter connection: The one that writes, without a transaction.
    /// - Returns: How many versions went, 0 if all were needed; nil if nothing is to be looked at.
    /// - Throws: `SQLiteError`; the piece is then looked at again.
    package func trim(_ connection: SQLiteConnection) throws -> Int64? {
        let checkpoints = try checkpoints(connection)
        guard var walk = try walk(among: checkpoints, connection), let checkpoint = checkpoints[walk.stream]
        else { return nil }
        let removed = try step(&walk, checkpoint, connection)
        state.withLock { state in
            let isOver = walk.definitions.isEmpty
            state.walk = isOver ? nil : walk
            if isOver { state.ended[walk.stream] = walk }
        }
        return removed
    }

    /// The checkpoints of the streams that have lookups; a stream that has no checkpoint, or is stopped, is left alone.
    private func checkpoints(_ connection: SQLiteConnection) throws -> [StreamNumber: OperationID] {
        var checkpoints: [StreamNumber: OperationID] = [:]
        try connection.forEach(
            "SELECT id, checkpoint_op FROM replication_stream WHERE state <> 'stopped' AND checkpoint_op > 0 "
                + "AND EXISTS (SELECT 1 FROM lookup_definition WHERE stream = replication_stream.id)"
        ) { checkpoints[$0.int64(0)] = $0.int64(1) }
        return checkpoints
    }

    /// The walk that is under way, or else one that is due.
    private func walk(
        among checkpoints: [StreamNumber: OperationID], _ connection: SQLiteConnection
    ) throws -> Walk? {
        let (walk, ended) = state.withLock { state -> (Walk?, [StreamNumber: Walk]) in
            state.ended = state.ended.filter { checkpoints[$0.key] != nil }
            if let walk = state.walk, checkpoints[walk.stream] == nil { state.walk = nil }
            return (state.walk, state.ended)
        }
        if let walk { return walk }
        for (stream, checkpoint) in checkpoints.sorted(by: { $0.key < $1.key })
        where isDue(at: checkpoint, behind: ended[stream]) {
            let definitions = try connection.query(
                "SELECT id FROM lookup_definition WHERE stream = ? ORDER BY id", [.integer(stream)]
            ) { $0.int64(0) }
            return Walk(stream: stream, checkpoint: checkpoint, definitions: definitions)
        }
        return nil
    }

    /// Whether a walk is worth it: each operation of the stream leaves two versions too many at most, the one that it has
    /// superseded, and a tombstone.
    private func isDue(at checkpoint: OperationID, behind walk: Walk?) -> Bool {
        guard let walk else { return true }
        let least = max(limits.trimmedOperations, walk.kept / Int64(limits.trimmedParts))
        return checkpoint - walk.checkpoint >= least
    }

    /// Looks at a piece of the definition at hand.
    private func step(
        _ walk: inout Walk, _ checkpoint: OperationID, _ connection: SQLiteConnection
    ) throws -> Int64 {
        guard let definition = walk.definitions.first else { return 0 }
        // One more, which says whether the last one is superseded.
        let most: [SQLiteValue] = [.integer(Int64(limits.trimmedVersions) + 1)]
        let versions = try connection.query(Self.versions, [.integer(definition)] + walk.last + most) { row in
            Version(place: (0..<3).map { row[$0] }, id: row.int64(3), isTombstone: row.int64(4) == 0)
        }
        let looked = versions.prefix(limits.trimmedVersions)
        let unneeded = Self.unneeded(looked, of: versions, checkpoint)
        let removed = try unneeded.isEmpty ? 0 : remove(unneeded, of: definition, connection)
        walk.kept += Int64(looked.count) - removed
        if let last = looked.last, versions.count > looked.count {
            walk.last = last.place + [.integer(last.id)]
        } else {
            walk.definitions.removeFirst()
            walk.last = Self.beginning
        }
        return removed
    }

    /// The newest of each place that nobody asks for: what is older has been superseded before.
    private static func unneeded(
        _ looked: ArraySlice<Version>, of versions: [Version], _ checkpoint: OperationID
    ) -> [Version] {
        var unneeded: [Version] = []
        for (index, version) in looked.enumerated() {
            let next = index + 1 < versions.count ? versions[index + 1] : nil
            let isSuperseded = next.map { $0.place == version.place && $0.id <= checkpoint } ?? false
            // A tombstone hides nothing once what is older is gone.
            guard isSuperseded || (version.isTombstone && version.id <= checkpoint) else { continue }
            if unneeded.last?.place == version.place { unneeded.removeLast() }
            unneeded.append(version)
        }
        return unneeded
    }

    private func remove(
        _ versions: [Version], of definition: Int64, _ connection: SQLiteConnection
    ) throws -> Int64 {
        try connection.transaction {
            var removed: Int64 = 0
            for version in versions {
                // With all that is older: none of it may come to light.
                try connection.run(
                    Self.delete, [.integer(definition)] + version.place + [.integer(version.id)])
                removed += connection.changes
            }
            return removed
        }
    }

    /// Before all versions of a definition: tables are numbered from 1.
    private static let beginning: [SQLiteValue] = [.blob([]), .integer(0), .blob([]), .integer(0)]

    /// SQLite knows the length of a blob without reading it.
    static let versions = """
        SELECT key, source_table, row, op_id, length(value) FROM lookup
            WHERE definition = ? AND (key, source_table, row, op_id) > (?, ?, ?, ?)
            ORDER BY key, source_table, row, op_id LIMIT ?
        """

    private static let delete =
        "DELETE FROM lookup WHERE definition = ? AND key = ? AND source_table = ? AND row = ? AND op_id <= ?"
}
