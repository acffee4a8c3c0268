import PowerSyncPostgres
import PowerSyncPostgresValues
import PowerSyncServiceEngine
import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What `GroupWriter` says has changed with a checkpoint: streams that hold something else are not told.
@Suite(.patient())
struct UnpublishedChangesTests {
    private static let config = """
        config: {edition: 3}
        streams:
          s: {auto_subscribe: true, query: SELECT * FROM t WHERE owner = auth.user_id()}
        """

    private struct Fixture {
        let store: ServiceStore
        let stream: StreamNumber
        let context: EvaluationContext
        let table: SourceTable

        init(path: String) async throws {
            store = try await ServiceStore.open(path: path)
            if let known = try await store.stream(configHash: "hash") {
                stream = known.number
            } else {
                stream = try await store.addStream(config: "", configHash: "hash", publication: 1) {
                    "slot_\($0)"
                }.number
                try await store.holdCheckpoint(stream, until: .zero, isSnapshotDone: true)
            }
            context = EvaluationContext(
                stream: stream, plan: try SyncPlan.compiled(UnpublishedChangesTests.config))
            table = try await store.resolve(Self.description, types: TypeCatalog(), context)
        }

        static let description = TableDescription(
            oid: 7, schema: "public", name: "t",
            columns: [
                SourceColumn(name: "id", typeOID: 25, isIdentity: true),
                SourceColumn(name: "owner", typeOID: 25, isIdentity: false),
            ])

        func put(_ id: String, _ owner: String) -> ReplicationEvent {
            .change(table, .insert([.text(id), .text(owner)]))
        }

        /// The owners whose buckets a checkpoint changes, which has their totals; nil if any may be one, and `none` without
        /// a checkpoint.
        func changed(_ events: [ReplicationEvent], isAhead: Bool = false) async throws -> [String]? {
            let result = try await store.apply(events, context, isAhead: isAhead)
            guard let checkpoint = result.checkpoint else { return ["none"] }
            guard let totals = result.changed.known else { return nil }
            let stored = try await store.states(
                of: totals.keys.map(\.text), stream: stream, at: checkpoint.operation)
            #expect(totals == stored)
            return totals.keys.map {
                $0.text.without(prefix: "\(stream)#s|0[\"", suffix: "\"]")
            }.sorted()
        }
    }

    private func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = try TemporaryDirectory(prefix: "unpublished-")
        defer { folder.remove() }
        try await body("\(folder.path)/state.db")
    }

    private func committed(_ lsn: UInt64) -> ReplicationEvent { .committed(LSN(rawValue: lsn)) }

    @Test func everyChangeOfABucketIsNamed() async throws {
        try await withFolder { path in
            let fixture = try await Fixture(path: path)
            #expect(try await fixture.changed([committed(1)]) == [])
            #expect(
                try await fixture.changed([fixture.put("a", "u1"), fixture.put("b", "u2"), committed(2)])
                    == ["u1", "u2"])
            #expect(try await fixture.changed([fixture.put("a", "u3"), committed(3)]) == ["u1", "u3"])
            let delete = ReplicationEvent.change(fixture.table, .delete([.text("b"), .null]))
            #expect(try await fixture.changed([delete, committed(4)]) == ["u2"])
            #expect(try await fixture.changed([fixture.put("c", "u4"), committed(5)]) == ["u4"])
            #expect(try await fixture.changed([.truncate(fixture.table), committed(6)]) == ["u3", "u4"])
            #expect(try await fixture.changed([.truncate(fixture.table), committed(7)]) == [])
            await fixture.store.close()
        }
    }

    @Test func whatIsStoredBeforeACheckpointIsNamedWithItAndWhatIsBehindWithTheNext() async throws {
        try await withFolder { path in
            let fixture = try await Fixture(path: path)
            #expect(try await fixture.changed([fixture.put("a", "u1")]) == ["none"])
            #expect(try await fixture.changed([fixture.put("b", "u2"), fixture.put("c", "u3")]) == ["none"])
            #expect(
                try await fixture.changed([
                    fixture.put("d", "u4"), committed(2), fixture.put("e", "u5"), committed(3),
                    fixture.put("f", "u6"), fixture.put("g", "u1"),
                ]) == ["u1", "u2", "u3", "u4", "u5"])
            #expect(try await fixture.changed([committed(4)]) == ["u1", "u6"])
            #expect(try await fixture.changed([committed(5)]) == [])
            await fixture.store.close()
        }
    }

    /// Rows that were read from the source, and a table whose place another one takes.
    @Test func snapshotsAndReplacementsAreNamedWhenTheyArePublished() async throws {
        try await withFolder { path in
            let fixture = try await Fixture(path: path)
            let rows = [("a", "u1"), ("b", "u2")].map {
                ReplicationEvent.change(fixture.table, .snapshot([.text($0.0), .text($0.1)]))
            }
            #expect(try await fixture.changed(rows, isAhead: true) == ["none"])
            #expect(try await fixture.changed([fixture.put("c", "u3"), committed(2)]) == ["none"])
            try await fixture.store.holdCheckpoint(fixture.stream, until: LSN(rawValue: 4))
            #expect(try await fixture.changed([committed(3)]) == ["none"])
            #expect(try await fixture.changed([committed(4)]) == ["u1", "u2", "u3"])
            _ = try await fixture.store.resolve(
                Fixture.description, types: TypeCatalog(), fixture.context, anew: true)
            #expect(try await fixture.changed([committed(5)]) == ["u1", "u2", "u3"])
            await fixture.store.close()
        }
    }

    @Test func whatWasStoredAndNotPublishedBeforeAStartMayBeAnything() async throws {
        try await withFolder { path in
            let first = try await Fixture(path: path)
            #expect(try await first.changed([first.put("a", "u1"), committed(1)]) == ["u1"])
            await first.store.close()
            let second = try await Fixture(path: path)
            #expect(try await second.changed([committed(2)]) == [], "everything had been published")
            #expect(try await second.changed([second.put("b", "u2")]) == ["none"])
            await second.store.close()
            let third = try await Fixture(path: path)
            #expect(try await third.changed([committed(3)]) == nil)
            #expect(try await third.changed([third.put("c", "u3"), committed(4)]) == ["u3"])
            await third.store.close()
        }
    }

    /// Whether what failed is on the disk nobody knows.
    @Test func behindAFailureAnyBucketMayHaveChanged() async throws {
        try await withFolder { path in
            let fixture = try await Fixture(path: path)
            #expect(try await fixture.changed([committed(1)]) == [])
            try await fixture.store.pool.write {
                try $0.execute("ALTER TABLE counter RENAME TO away")
            }
            await #expect(throws: (any Error).self) {
                try await fixture.changed([fixture.put("a", "u1"), committed(2)])
            }
            try await fixture.store.pool.write {
                try $0.execute("ALTER TABLE away RENAME TO counter")
            }
            #expect(try await fixture.changed([committed(3)]) == nil)
            #expect(try await fixture.changed([committed(4)]) == [])
            await fixture.store.close()
        }
    }
}

extension String {
    /// The text without what it begins and ends with; the whole text if that is not there.
    fileprivate func without(prefix: String, suffix: String) -> String {
        guard hasPrefix(prefix), hasSuffix(suffix) else { return self }
        return String(dropFirst(prefix.count).dropLast(suffix.count))
    }
}
