import PowerSyncSQLite
import Testing

@testable import PowerSync

struct CrudEntryWriterTests {
    @Test func takesNumbersAsTextAndNothingForOtherValues() throws {
        let database = try CoreDatabase()
        try database.execute(
            """
            INSERT INTO powersync_crud(op, id, type, data, old_values, metadata)
                VALUES ('PUT', 5, 1.5, 7, x'41', NULL);
            INSERT INTO powersync_crud(op, id, type) VALUES ('PUT', NULL, x'41');
            """)
        #expect(
            try database.entries() == [
                #"{"op":"PUT","id":"5","type":"1.5"}"#, #"{"op":"PUT","id":null,"type":null}"#,
            ])
        #expect(
            try database.rows("SELECT row_type, row_id, typeof(row_id) FROM ps_updated_rows ORDER BY 1")
                .contains(["1.5", "5", "text"]))
    }

    @Test func escapesIdTypeAndMetadata() throws {
        let database = try CoreDatabase()
        try database.connection.run(
            "INSERT INTO powersync_crud(op, id, type, metadata) VALUES ('PUT', ?1, ?1, ?1)",
            [.text("é \"\\\n\u{1}")])
        let text = #""é \"\\\n\u0001""#
        #expect(
            try database.entries() == [
                "{\"op\":\"PUT\",\"id\":\(text),\"type\":\(text),\"metadata\":\(text)}"
            ])
    }

    @Test func aTriggerOnTheQueueMayWriteToAnotherView() throws {
        let database = try CoreDatabase(tables: CoreDatabase.items, CoreDatabase.table("log", ["text"]))
        try database.execute(
            """
            CREATE TRIGGER watch AFTER INSERT ON ps_crud WHEN NEW.data ->> 'type' = 'items' BEGIN
                INSERT INTO log(id, text) VALUES ('of ' || (NEW.data ->> 'id'), NEW.data ->> 'op');
            END;
            INSERT INTO items(id, col) VALUES ('a', 'x'), ('b', 'y');
            """)
        #expect(
            try database.column("SELECT data ->> 'id' FROM ps_crud ORDER BY id")
                == ["a", "of a", "b", "of b"])
        #expect(
            try database.rows("SELECT row_type, row_id FROM ps_updated_rows ORDER BY 1, 2")
                == [["items", "a"], ["items", "b"], ["log", "of a"], ["log", "of b"]])
        #expect(try database.transactionIDs() == [1, 1, 1, 1])
    }
}
