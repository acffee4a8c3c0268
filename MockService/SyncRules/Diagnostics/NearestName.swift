import PowerSyncWire

/// Finds the name that was meant by one that is not there (LANGUAGE.md 10).
///
/// A third of the letters may be others, two at most; capital letters count as small ones.
package struct NearestName {
    private let letters: [Unicode.Scalar]
    private let limit: Int

    /// Takes the name that is not there.
    package init(_ name: ExactText) {
        letters = Self.letters(of: name)
        limit = min(2, letters.count / 3)
    }

    /// The name that is most like it, the first one by its bytes of those that are as near; nil if none is near.
    package func nearest(of names: some Sequence<ExactText>) -> ExactText? {
        var found: (distance: Int, name: ExactText)?
        for name in names {
            guard let distance = distance(to: name) else { continue }
            if let best = found, (best.distance, best.name) <= (distance, name) { continue }
            found = (distance, name)
        }
        return found?.name
    }

    /// The column that is most like it, as SQL spells it; nil if none is near.
    package func column(of names: some Sequence<ExactText>) -> String? {
        nearest(of: names).map { Self.spelling($0) }
    }

    /// Finds the table that is most like it.
    ///
    /// - Parameters:
    ///   - schema: The tables that there are.
    ///   - defaultSchema: The schema that need not be named; of those that are as near, its tables come first.
    /// - Returns: The table as SQL spells it; nil if none is near.
    package func table(of schema: SourceSchema, default defaultSchema: ExactText) -> String? {
        var found: (distance: Int, isElsewhere: Int, spelling: ExactText)?
        for table in schema.tables {
            guard let distance = distance(to: table.name) else { continue }
            let isElsewhere = table.schema != defaultSchema
            let prefix = isElsewhere ? Self.spelling(table.schema) + "." : ""
            let spelling = ExactText(prefix + Self.spelling(table.name))
            let next = (distance, isElsewhere ? 1 : 0, spelling)
            if let best = found, best <= next { continue }
            found = next
        }
        return found?.spelling.text
    }

    /// How many letters are to be added, dropped or changed to come to a name (Levenshtein); nil if they are too many.
    private func distance(to name: ExactText) -> Int? {
        let other = Self.letters(of: name)
        guard abs(letters.count - other.count) <= limit else { return nil }
        var row = Array(0...other.count)
        for (index, letter) in letters.enumerated() {
            var diagonal = row[0]
            var least = index + 1
            row[0] = least
            for column in other.indices {
                let above = row[column + 1]
                row[column + 1] = min(
                    above + 1, row[column] + 1, diagonal + (letter == other[column] ? 0 : 1))
                least = min(least, row[column + 1])
                diagonal = above
            }
            guard least <= limit else { return nil }
        }
        return row[other.count] <= limit ? row[other.count] : nil
    }

    private static func letters(of name: ExactText) -> [Unicode.Scalar] {
        Array(name.text.lowercased().unicodeScalars)
    }

    /// A name as SQL spells it: in quotes if it would mean another one without.
    private static func spelling(_ name: ExactText) -> String {
        let isPlain = name.text.utf8.enumerated().allSatisfy { index, byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "_"): true
            case UInt8(ascii: "0")...UInt8(ascii: "9"): index > 0
            default: false
            }
        }
        if isPlain, !name.text.isEmpty, !Keywords.reserved.contains(name.text) { return name.text }
        return "\"\(name.text.replacing("\"", with: "\"\""))\""
    }
}

extension Diagnostic {
    /// The same with a name that may have been meant, of which the admin routes say nothing.
    ///
    /// - Parameter name: The name as it would be written; nil if there is none.
    /// - Returns: The diagnostic.
    package func suggesting(_ name: String?) -> Diagnostic {
        hinting(name.map { "Did you mean \($0)?" })
    }

    /// The same with what may help, of which the admin routes say nothing.
    ///
    /// - Parameter hint: A sentence; nil if there is none.
    /// - Returns: The diagnostic.
    package func hinting(_ hint: String?) -> Diagnostic {
        guard let hint else { return self }
        let end = message.hasSuffix(".") ? "" : "."
        return Diagnostic(
            name: name, severity: severity, message: "\(message)\(end) \(hint)", range: range,
            recorded: recorded ?? Recorded(.text(message, range)))
    }
}
