/// Which statements a session has prepared, by their text; decides alone, and asks nobody.
///
/// Those that were used last are kept. What falls out is given up at the head of a later pipeline, so that a name is good
/// for as long as the pipeline lasts in which it was told.
package struct PreparedStatements: Sendable {
    /// How a statement of a pipeline is sent.
    package enum Use: Sendable, Equatable {
        /// Without a name: it is parsed and planned for this once.
        case unnamed
        /// Prepared under this name, in front of it.
        case preparing(String)
        /// By the name under which it was prepared before.
        case named(String)

        /// The name of what is prepared in front; nil if nothing is.
        var newName: String? {
            guard case .preparing(let name) = self else { return nil }
            return name
        }
    }

    private struct Entry {
        let name: String
        var lastUse: Int
    }

    /// The text of a statement, told apart by its bytes: two spellings of one character are two names of columns.
    private struct Text: Hashable {
        let sql: String

        static func == (left: Text, right: Text) -> Bool {
            guard left.sql.utf8.count == right.sql.utf8.count else { return false }
            var (left, right) = (left.sql, right.sql)
            return left.withUTF8 { left in
                // Most are the very text that was kept.
                right.withUTF8 { left.baseAddress == $0.baseAddress || left.elementsEqual($0) }
            }
        }

        func hash(into hasher: inout Hasher) {
            var sql = sql
            sql.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        }
    }

    /// What is prepared in a pipeline, and in which of its segments.
    private typealias Begun = [Text: (name: String, segment: Int)]

    /// A longer text, in bytes, is not kept: 256 of these are what a session may hold of texts.
    private static let longestText = 32 << 10

    private let limit: Int
    private var kept: [Text: Entry] = [:]
    private var dropped: [String] = []
    private var dropsAll = false
    private var lastUse = 0
    private var lastNumber = 0

    /// Makes the knowledge of a session that has prepared nothing.
    ///
    /// - Parameter limit: How many are kept, at least one.
    package init(limit: Int) {
        precondition(limit > 0, "a session that keeps no prepared statements has no use for this")
        self.limit = limit
    }

    /// How many are prepared and kept.
    package var count: Int { kept.count }

    /// Says how the statements of a pipeline are sent; those without parameters, and those that must not be kept, are never prepared.
    ///
    /// What is prepared in one segment has its name in that segment alone: whether it was made is known at the end of all.
    ///
    /// - Parameter segments: The statements.
    /// - Returns: A use for each.
    package mutating func uses(of segments: [[PostgresStatement]]) -> [[Use]] {
        var begun: Begun = [:]
        var uses: [[Use]] = []
        uses.reserveCapacity(segments.count)
        for (index, segment) in segments.enumerated() {
            var ofSegment: [Use] = []
            ofSegment.reserveCapacity(segment.count)
            for statement in segment { ofSegment.append(use(of: statement, in: index, &begun)) }
            uses.append(ofSegment)
        }
        return uses
    }

    private mutating func use(
        of statement: PostgresStatement, in segment: Int, _ begun: inout Begun
    ) -> Use {
        guard statement.isKept, !statement.values.isEmpty, statement.sql.utf8.count <= Self.longestText
        else { return .unnamed }
        let text = Text(sql: statement.sql)
        if let index = kept.index(forKey: text) {
            lastUse += 1
            kept.values[index].lastUse = lastUse
            return .named(kept.values[index].name)
        }
        if let former = begun[text] { return former.segment == segment ? .named(former.name) : .unnamed }
        guard begun.count < limit else { return .unnamed }
        lastNumber += 1
        let name = "psb_\(lastNumber)"
        begun[text] = (name, segment)
        return .preparing(name)
    }

    /// Notes that the server has prepared a statement.
    ///
    /// - Parameters:
    ///   - text: The statement.
    ///   - name: The name that `uses` has given it.
    package mutating func made(_ text: String, _ name: String) {
        lastUse += 1
        kept[Text(sql: text)] = Entry(name: name, lastUse: lastUse)
        while kept.count > limit, let oldest = kept.min(by: { $0.value.lastUse < $1.value.lastUse }) {
            kept[oldest.key] = nil
            dropped.append(oldest.value.name)
        }
    }

    /// Forgets all names: what the server knows of them is another thing, or unknown.
    package mutating func forget() {
        kept = [:]
        dropsAll = true
    }

    /// Takes what gives up the names that are no longer kept; outside of a transaction alone, which it could end.
    ///
    /// - Returns: Statements of which each stands for itself: that the server does not know a name is no failure.
    package mutating func takeDrops() -> [PostgresStatement] {
        defer {
            dropped = []
            dropsAll = false
        }
        guard dropsAll else { return dropped.map { PostgresStatement("DEALLOCATE \($0)") } }
        // Also what was prepared behind the failure in the same pipeline.
        kept = [:]
        return [PostgresStatement("DEALLOCATE ALL")]
    }

    /// Whether an error says that names no longer stand for what was prepared.
    ///
    /// The server does not know a name (26000), or has it already (42P05), as behind a pooler that hands out another session
    /// for each transaction; or the columns of a result have changed with a table.
    ///
    /// - Parameter error: Of a statement.
    /// - Returns: Whether to `forget`; the statement itself succeeds once it is prepared anew.
    package static func ends(by error: PostgresError) -> Bool {
        switch error.sqlstate {
        case "26000", "42P05": true
        case "0A000": error.function == "RevalidateCachedQuery"
        default: false
        }
    }
}
