import PowerSyncSQLite
import PowerSyncWire
import Testing

@testable import PowerSync

/// Vectors of client-core 9.2 on previous values, metadata and empty updates.
struct TrackingVectorTests {
    private func open(_ options: String) throws -> CoreDatabase {
        try CoreDatabase(tables: CoreDatabase.table("test", ["name", "name2"], options))
    }

    /// Queues an update of `name` and a delete; returns data and old values of both.
    private func track(_ options: String) throws -> [[String?]] {
        let database = try open(options)
        try database.execute(
            """
            INSERT INTO test(id, name, name2) VALUES ('a', 'name', 'name2');
            DELETE FROM ps_crud;
            UPDATE test SET name = name || '.';
            DELETE FROM test;
            """)
        return try database.queue().map { [$0.entry["data"]?.text, $0.entry["old"]?.text] }
    }

    @Test(
        "22: previous values are left out by default",
        arguments: ["", #""include_old":false"#, #""include_old":null"#])
    func previousValuesAreLeftOutByDefault(_ options: String) throws {
        #expect(try track(options) == [[#"{"name":"name."}"#, nil], [nil, nil]])
    }

    @Test("23: previous values of all columns")
    func previousValuesOfAllColumns() throws {
        #expect(
            try track(#""include_old":true"#) == [
                [#"{"name":"name."}"#, #"{"name":"name","name2":"name2"}"#],
                [nil, #"{"name":"name.","name2":"name2"}"#],
            ])
    }

    @Test("24: previous values of some columns")
    func previousValuesOfSomeColumns() throws {
        #expect(
            try track(#""include_old":["name"]"#) == [
                [#"{"name":"name."}"#, #"{"name":"name"}"#], [nil, #"{"name":"name."}"#],
            ])
    }

    @Test("25: previous values of changed columns")
    func previousValuesOfChangedColumns() throws {
        let options = #""include_old":true,"include_old_only_when_changed":true"#
        #expect(try track(options)[0] == [#"{"name":"name."}"#, #"{"name":"name"}"#])
    }

    @Test("26: none of the filtered columns changed")
    func noneOfTheFilteredColumnsChanged() throws {
        let options = #""include_old":["name2"],"include_old_only_when_changed":true"#
        #expect(try track(options)[0] == [#"{"name":"name."}"#, "{}"])
    }

    @Test("27: metadata needs the option", arguments: ["", #""include_metadata":false"#])
    func metadataNeedsTheOption(_ options: String) throws {
        let database = try open(options)
        #expect(
            sqliteError { try database.execute("INSERT INTO test(id, _metadata) VALUES ('a', 'x')") } != nil)
    }

    @Test("28: metadata travels with the write, not with a plain delete")
    func metadataTravelsWithTheWrite() throws {
        let database = try open(#""include_metadata":true"#)
        try database.execute(
            """
            INSERT INTO test(id, name, _metadata) VALUES ('a', 'name', 'test insert');
            UPDATE test SET name = 'other', _metadata = 'update';
            DELETE FROM test;
            """)
        let entries = try database.queue().map(\.entry)
        #expect(entries.map { $0["metadata"] } == ["test insert", "update", nil])
        #expect(entries[0]["data"]?.text == #"{"name":"name"}"#)
    }

    @Test("29: a delete with metadata is an update")
    func aDeleteWithMetadataIsAnUpdate() throws {
        let database = try open(#""include_metadata":true,"include_old":true"#)
        try database.execute(
            """
            INSERT INTO test(id, name) VALUES ('a', 'name');
            UPDATE test SET _deleted = TRUE, _metadata = 'custom delete';
            """)
        #expect(try database.rows("SELECT * FROM test").isEmpty)
        #expect(
            try database.entries().last
                == #"{"op":"DELETE","id":"a","type":"test","old":{"name":"name","name2":null},"metadata":"custom delete"}"#
        )
        #expect(try database.entries().count == 2)
    }

    @Test(
        "30: an update that changes nothing is queued unless the table ignores it",
        arguments: [("", 2), (#""ignore_empty_update":true"#, 1)])
    func updatesThatChangeNothing(_ options: String, _ expected: Int) throws {
        let database = try open(options)
        try database.execute(
            "INSERT INTO test(id, name) VALUES ('a', 'name'); UPDATE test SET name = lower(name)")
        #expect(try database.entries().count == expected)
    }
}
