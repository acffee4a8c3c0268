import PowerSyncSQLite
import PowerSyncWire
import Testing

@testable import PowerSync

struct TrackingTests {
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

    @Test(arguments: ["", #""include_old":false"#, #""include_old":null"#])
    func previousValuesAreLeftOutByDefault(_ options: String) throws {
        #expect(try track(options) == [[#"{"name":"name."}"#, nil], [nil, nil]])
    }

    @Test func previousValuesOfAllColumns() throws {
        #expect(
            try track(#""include_old":true"#) == [
                [#"{"name":"name."}"#, #"{"name":"name","name2":"name2"}"#],
                [nil, #"{"name":"name.","name2":"name2"}"#],
            ])
    }

    @Test func previousValuesOfSomeColumns() throws {
        #expect(
            try track(#""include_old":["name"]"#) == [
                [#"{"name":"name."}"#, #"{"name":"name"}"#], [nil, #"{"name":"name."}"#],
            ])
    }

    @Test func previousValuesOfChangedColumns() throws {
        let options = #""include_old":true,"include_old_only_when_changed":true"#
        #expect(try track(options)[0] == [#"{"name":"name."}"#, #"{"name":"name"}"#])
    }

    @Test func noneOfTheFilteredColumnsChanged() throws {
        let options = #""include_old":["name2"],"include_old_only_when_changed":true"#
        #expect(try track(options)[0] == [#"{"name":"name."}"#, "{}"])
    }

    @Test(arguments: ["", #""include_metadata":false"#])
    func metadataNeedsTheOption(_ options: String) throws {
        let database = try open(options)
        #expect(
            sqliteError { try database.execute("INSERT INTO test(id, _metadata) VALUES ('a', 'x')") } != nil)
    }

    @Test func metadataTravelsWithTheWrite() throws {
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

    @Test func aDeleteWithMetadataIsAnUpdate() throws {
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

    @Test(arguments: [("", 2), (#""ignore_empty_update":true"#, 1)])
    func updatesThatChangeNothing(_ options: String, _ expected: Int) throws {
        let database = try open(options)
        try database.execute(
            "INSERT INTO test(id, name) VALUES ('a', 'name'); UPDATE test SET name = lower(name)")
        #expect(try database.entries().count == expected)
    }
}
