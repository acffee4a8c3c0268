import Testing

@testable import PowerSyncBackend

struct ObjectKeyTests {
    @Test(arguments: [
        "a", "A-Z_09", "t/u/2026/11/0b9c", String(repeating: "k", count: 200), "-", "_/-",
    ])
    func namesAreKeys(_ key: String) throws {
        #expect(ObjectKey.isValid(key))
        try ObjectKey.check(key)
    }

    @Test(arguments: [
        "", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/.", "a.jpg", "a b", "a\0", "a\n", "ä",
        "a\u{301}", "a%2fb", "a\\b", "a:b", "~a", "a*", String(repeating: "k", count: 201),
        "\u{FF0E}\u{FF0E}/a",
    ])
    func whatAFileSystemCouldTakeForMoreIsNone(_ key: String) {
        #expect(!ObjectKey.isValid(key))
        let error = #expect(throws: ObjectStoreError.self) { try ObjectKey.check(key) }
        #expect(error?.kind == .refused)
    }

    @Test func partsHaveNumbersAndBytes() throws {
        try ObjectKey.check(part: 1, size: 1)
        try ObjectKey.check(part: 10_000, size: 1 << 33)
        for (number, size) in [(0, 1), (-1, 1), (10_001, 1), (1, 0), (1, -1)] as [(Int, Int64)] {
            #expect(throws: ObjectStoreError.self) { try ObjectKey.check(part: number, size: size) }
        }
        let parts = [1, 2, 3].map { StoredPart(number: $0, size: 1, tag: "") }
        try ObjectKey.check(parts)
        for wrong in [[], [parts[1], parts[0]], [parts[0], parts[0]]] {
            #expect(throws: ObjectStoreError.self) { try ObjectKey.check(wrong) }
        }
    }
}
