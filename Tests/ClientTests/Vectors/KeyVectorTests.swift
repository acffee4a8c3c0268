import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// Vector of client-core 9.16: keys of operations as early JavaScript SDKs stored them.
struct KeyVectorTests {
    @Test(
        "145: the quotes of early SDKs go from a key",
        arguments: [
            (#"foo/bar/"baz""#, "foo/bar/baz"),
            (#"foo/bar/"nested/subkey""#, "foo/bar/nested/subkey"),
            (#"foo/bar/"escaped\"key""#, #"foo/bar/escaped"key"#),
            (#"foo/bar/"escaped\\key""#, #"foo/bar/escaped\key"#),
            (#"foo/bar/"/\\"subkey""#, #"foo/bar/"/\\subkey"#),
        ])
    func removesQuotes(_ key: String, _ expected: String) throws {
        #expect(try converted(key) == expected)
    }

    @Test(
        "145: a key without such quotes is left alone",
        arguments: [
            "object_type/object_id/subkey", "object_type/object_id/null", #""object"/"type"/subkey"#,
            #"object"/type/object"/id/subkey"#, #""key""#, "", "\"", #"a/b/"not json\x""#,
        ])
    func leavesOtherKeys(_ key: String) throws {
        #expect(try converted(key) == "null")
    }

    private func converted(_ key: String) throws -> String {
        try CoreDatabase(version: 0).column(
            "SELECT powersync_remove_duplicate_key_encoding(\(SQLText.literal(key)))")[0]
    }

    @Test(
        "145: keys of a file are repaired when it opens, and the file is marked", .behaviour(110),
        arguments: ["v4-javascript", "v12-javascript"])
    func repairsAFile(_ name: String) throws {
        let database = try HistoricFile(name).open()
        #expect(try database.column("SELECT key FROM ps_oplog WHERE key GLOB '*\"'").count >= 5)
        try database.migrate(to: 14)
        #expect(
            try database.column("SELECT key FROM ps_oplog ORDER BY op_id") == [
                "lists/l1/k1", "lists/l2/k1", "todos/t1/k1", "todos/t2/k1", "todos/t4/k1",
            ])
        #expect(
            try database.rows(
                "SELECT value, typeof(value) FROM ps_kv WHERE key = 'powersync_js_migrated_subkeys'")
                == [["1", "text"]])
    }

    @Test("145: a file that is marked is not repaired again")
    func leavesAMarkedFile() throws {
        let database = try HistoricFile("v14").open()
        try database.execute(
            """
            INSERT INTO ps_kv(key, value) VALUES ('powersync_js_migrated_subkeys', '1');
            UPDATE ps_oplog SET key = 'todos/t1/a "quoted" "word"' WHERE op_id = 5;
            """)
        try database.migrate(to: 14)
        #expect(
            try database.column("SELECT key FROM ps_oplog WHERE op_id = 5") == [
                #"todos/t1/a "quoted" "word""#
            ])
    }
}
