import PowerSyncServiceEngine
import PowerSyncSQLite
import Testing

/// Service 9.1, C15 to C41.
struct ReplicaIDTests {
    private static let vectors: [([(String, SQLiteValue)], String)] = [
        ([("id", "t1")], "117ab485-4b42-58a2-ab32-0053a22c3423"),
        ([("id", "test1"), ("description", "test1a")], "740ba9f2-8b0f-53e3-bb17-5f38a9616f0e"),
        ([("id", 1)], "e44b92eb-93fa-52fa-b4da-9ccfe1d754fe"),
        ([("id", 42)], "dbf9a96b-db10-59f7-84b5-6e6881d94dfb"),
        ([("org_id", "o1"), ("user_id", 7)], "72507da5-6e11-5e8f-a2f9-b22515d0e9ed"),
        ([("id", 9_007_199_254_740_993)], "55ff9a7d-200e-5c8c-a54c-d754292ce7a2"),
        ([("a", "a"), ("b", 1)], "9307a584-70d8-5bf3-a81a-be36a9fc9a48"),
        (
            [
                ("id", "d9"), ("team_id", "a"), ("owner_id", "u3"), ("title", "gamma 'quoted'"),
                ("published", 1),
                ("rank", 3), ("price", 0.0), ("readers", "\"u1\""), ("body", nil), ("created", nil),
                ("cost", nil),
            ], "8eb184f2-c1ef-57d2-a632-b2d6913456fe"
        ),
        // types-random-5, row n11: -0 is a double.
        (
            [
                ("id", "n11"), ("c0", #"{"a": 2, "z": 1}"#), ("c1", 1), ("c2", "(NaN,Infinity)"),
                ("c3", "9999-08-16 01:35:12.123456"), ("c4", nil), ("c5", "[52]"), ("c6", "x y   "),
                ("c7", nil), ("c8", -0.0),
            ], "ec8c472e-45a9-57e4-90e0-369d79012a03"
        ),
    ]

    @Test(arguments: vectors.indices)
    func isTheRecordedUUID(_ index: Int) {
        let (columns, expected) = Self.vectors[index]
        #expect(ReplicaID(columns: columns.map { (name: $0.0, value: $0.1) }).text == expected)
    }

    /// Its text in data is that of 0.
    @Test func minusZeroIsAnotherId() throws {
        let minus = try ValueConverter().value("-0", .real)
        let zero = try ValueConverter().value("0", .real)
        #expect(ReplicaID(columns: [("x", minus)]) != ReplicaID(columns: [("x", zero)]))
    }

    @Test func randomIdsDifferAndSayTheirVersion() {
        let ids = (0..<100).map { _ in ReplicaID.random().text }
        #expect(Set(ids).count == 100)
        #expect(ids.allSatisfy { $0.dropFirst(14).first == "4" })
    }
}
