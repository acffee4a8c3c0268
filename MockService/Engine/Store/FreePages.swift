import PowerSyncSQLite

/// The pages of a file that hold nothing, and how many they may be (DESIGN.md, 1).
package struct FreePages: Sendable, Hashable {
    /// How many there are.
    package let count: Int64
    /// How many pages the file has.
    package let all: Int64
    /// The bytes of a page.
    package let size: Int64

    /// Makes counts of their fields.
    package init(count: Int64, of all: Int64, size: Int64) {
        self.count = count
        self.all = all
        self.size = size
    }

    /// Counts those of a file.
    ///
    /// - Parameter connection: One that has it open.
    /// - Throws: `SQLiteError`.
    package init(_ connection: SQLiteConnection) throws {
        func number(_ pragma: String) throws -> Int64 {
            try connection.one("PRAGMA \(pragma)") { $0.int64(0) } ?? 0
        }
        self.init(
            count: try number("freelist_count"), of: try number("page_count"), size: try number("page_size"))
    }

    /// Whether the file is to be made shorter.
    ///
    /// - Parameters:
    ///   - limits: How many free pages may stay.
    ///   - isGoingOn: Whether that has begun: then it goes on until half as many are left, so that it does not begin
    ///     again with the next row.
    /// - Returns: Whether there are too many.
    package func areTooMany(_ limits: StoreLimits, isGoingOn: Bool) -> Bool {
        let times: Int64 = isGoingOn ? 2 : 1
        return count * size * times > Int64(limits.freeBytes) && count * Int64(limits.freeParts) * times > all
    }

    /// Gives some of them back, in a transaction of its own: pages from the end of the file take their places.
    ///
    /// The file itself becomes shorter when the log is copied.
    ///
    /// - Parameters:
    ///   - most: How many at most.
    ///   - connection: The one that writes, without a transaction.
    /// - Returns: Whether there are fewer now; not in a file that keeps its pages.
    /// - Throws: `SQLiteError`.
    package func giveBack(_ most: Int, _ connection: SQLiteConnection) throws -> Bool {
        try connection.run("PRAGMA incremental_vacuum(\(most))")
        return try FreePages(connection).count < count
    }
}
