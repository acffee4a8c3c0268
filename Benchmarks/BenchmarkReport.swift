import PowerSyncCommandLine
import PowerSyncSQLite
import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The table that a run of the benchmarks ends with.
struct BenchmarkReport {
    /// One line of it.
    struct Row {
        let what: String
        /// Our figure with its unit.
        let ours: String
        /// The figure of the bare way; empty where there is none.
        var limit = ""
        /// Ours by the limit, with its spread; empty where there is no limit.
        var ratio = ""
        /// What is aimed at; empty for what is only reported.
        var goal = ""
    }

    private var rows: [Row] = []

    /// Adds lines at the end.
    mutating func add(_ more: [Row]) { rows += more }

    /// Returns the table with aligned columns, and a line about the machine.
    ///
    /// - Throws: SQLite's error if it does not tell its version.
    func text() throws -> String {
        let head = ["what", "ours", "limit", "ratio (least–most)", "goal"]
        let cells = rows.map { [$0.what, $0.ours, $0.limit, $0.ratio, $0.goal] }
        return Self.table(head, cells) + "\n\n" + (try Self.machine())
    }

    /// Returns a table with aligned columns.
    ///
    /// - Parameters:
    ///   - head: the names of the columns.
    ///   - rows: the lines, as many cells each.
    /// - Returns: its lines, without an end of the last.
    static func table(_ head: [String], _ rows: [[String]]) -> String {
        let cells = [head] + rows
        let widths = head.indices.map { column in cells.map { $0[column].count }.max() ?? 0 }
        var lines = cells.map { row in
            let padded = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
            return "| \(padded.joined(separator: " | ")) |"
        }
        lines.insert(
            "|" + widths.map { String(repeating: "-", count: $0 + 2) }.joined(separator: "|") + "|", at: 1)
        return lines.joined(separator: "\n")
    }

    /// Returns a line about the machine and the build.
    ///
    /// - Throws: SQLite's error if it does not tell its version.
    static func machine() throws -> String {
        let connection = try SQLiteConnection(path: ":memory:")
        let version = try connection.one("SELECT sqlite_version()") { $0.string(0) } ?? "?"
        let cores = sysconf(Int32(_SC_NPROCESSORS_ONLN))
        #if DEBUG
            let build = "a DEBUG build, whose figures mean nothing"
        #else
            let build = "a release build"
        #endif
        return "Measured on \(cores) cores with SQLite \(version) by \(build)."
    }

    /// Tells on standard error what is going on.
    static func progress(_ text: String) { StandardError.print(text) }
}

/// Why a benchmark cannot go on.
struct BenchmarkError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
