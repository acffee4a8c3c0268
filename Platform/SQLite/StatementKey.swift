#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The text of a statement as the cache knows it: two are one only if they have the same bytes, as to SQLite.
///
/// `String` takes texts for equal that mean the same characters, however they are spelled: "é" as one scalar or as two,
/// "K" and the sign for kelvin. What one text names, or says in a literal, the other does not. Nothing is copied: a
/// look-up costs the hash of the bytes and one comparison of memory.
struct StatementKey: Hashable {
    private let sql: String

    init(_ sql: String) { self.sql = sql }

    static func == (left: StatementKey, right: StatementKey) -> Bool {
        guard left.sql.utf8.count == right.sql.utf8.count else { return false }
        var (left, right) = (left.sql, right.sql)
        return left.withUTF8 { left in
            right.withUTF8 { right -> Bool in
                // Only what is empty has no address.
                guard let first = left.baseAddress, let second = right.baseAddress else { return true }
                // Most texts are literals of the program, each in one place.
                return first == second || memcmp(first, second, left.count) == 0
            }
        }
    }

    func hash(into hasher: inout Hasher) {
        var sql = sql
        sql.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
