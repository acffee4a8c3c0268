import PowerSyncWire

/// Rows of texts in columns, for people at a terminal.
struct TextTable {
    private static let longest = 60

    private let titles: [String]
    private var rows: [[String]] = []

    init(_ titles: [String]) { self.titles = titles }

    /// Adds a row; texts may be anybody's.
    mutating func add(_ row: [String]) { rows.append(row.map { Self.shown($0, most: Self.longest) }) }

    /// The table, its columns as wide as they need to be.
    var text: String {
        let all = [titles] + rows
        let widths = titles.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        return all.map { row in
            var line = ""
            for (cell, width) in zip(row, widths) {
                line += cell + String(repeating: " ", count: width - cell.count + 2)
            }
            while line.last == " " { line.removeLast() }
            return line
        }.joined(separator: "\n")
    }

    /// Returns a text as a terminal may show it: what acts on one instead of being seen is spelled out.
    ///
    /// - Parameters:
    ///   - text: what somebody sent.
    ///   - most: the most characters; what is cut off shows as `…`.
    /// - Returns: one line.
    static func shown(_ text: String, most: Int = .max) -> String {
        var shown = ""
        var count = 0
        for scalar in text.unicodeScalars {
            if count >= most - 1, most != .max { return shown + "…" }
            if isSeen(scalar) {
                shown.unicodeScalars.append(scalar)
            } else {
                shown += "\\u{" + String(scalar.value, radix: 16) + "}"
            }
            count += 1
        }
        return shown
    }

    /// Returns JSON of the same values that a terminal may show: what acts on one is escaped.
    ///
    /// Such scalars stand within texts alone, and none of them is part of an escape.
    static func escaped(_ json: JSON) -> String {
        var shown = ""
        for scalar in json.text.unicodeScalars {
            guard !isSeen(scalar) else {
                shown.unicodeScalars.append(scalar)
                continue
            }
            for unit in String(scalar).utf16 {
                let digits = String(unit, radix: 16)
                shown += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
        return shown
    }

    private static func isSeen(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned:
            false
        default: true
        }
    }
}
