/// What an operator should know of rows, told once for all that it is true of; holds no values.
package struct RowWarnings: Sendable, Equatable {
    /// How many rows each text is true of.
    package private(set) var counts: [String: Int] = [:]

    /// Begins without a warning.
    package init() {}

    /// Adds one of a row.
    ///
    /// - Parameters:
    ///   - text: What is wrong with which table or column, and why: the same for every such row.
    ///   - count: How many rows there are.
    package mutating func add(_ text: String, _ count: Int = 1) { counts[text, default: 0] += count }
}

/// Decides which warnings of rows are told: at once what is new, and every half minute how many more there were.
///
/// A snapshot may have one for each of a million rows.
package struct RepeatedWarnings: Sendable {
    /// A line for the log.
    package struct Line: Sendable, Equatable {
        /// What is told.
        package let text: String
        /// Of how many rows, beside those that it was told of before.
        package let rows: Int
        /// Whether it was told before.
        package let isRepeated: Bool

        /// Makes a line of its parts.
        package init(text: String, rows: Int, isRepeated: Bool) {
            self.text = text
            self.rows = rows
            self.isRepeated = isRepeated
        }
    }

    private struct Told {
        var time: ContinuousClock.Instant
        var more = 0
    }

    /// How long nothing more is told of what was told.
    package static let pause = Duration.seconds(30)
    private var told: [String: Told] = [:]

    /// Begins without a warning.
    package init() {}

    /// Takes warnings.
    ///
    /// - Parameters:
    ///   - warnings: The warnings.
    ///   - now: The time.
    /// - Returns: What is to be told now.
    package mutating func take(_ warnings: RowWarnings, at now: ContinuousClock.Instant) -> [Line] {
        var lines: [Line] = []
        for (text, count) in warnings.counts.sorted(by: { $0.key < $1.key }) {
            if told[text] != nil {
                told[text]?.more += count
            } else {
                told[text] = Told(time: now)
                lines.append(Line(text: text, rows: count, isRepeated: false))
            }
        }
        return lines + due(at: now)
    }

    /// What is to be told now although nothing is new.
    ///
    /// - Parameters:
    ///   - now: The time.
    ///   - isEnd: Whether what was not told yet is told however short the time.
    /// - Returns: The lines.
    package mutating func due(at now: ContinuousClock.Instant, isEnd: Bool = false) -> [Line] {
        var lines: [Line] = []
        for (text, known) in told.sorted(by: { $0.key < $1.key })
        where isEnd || now - known.time >= Self.pause {
            // What was true of no more rows is forgotten.
            told[text] = known.more > 0 ? Told(time: now) : nil
            if known.more > 0 { lines.append(Line(text: text, rows: known.more, isRepeated: true)) }
        }
        return lines
    }
}
