import PowerSyncWire

/// Says in which members, elements and rows two JSON values differ.
///
/// Both values are in canonical form (`TranscriptComparison`): what counts as equal is decided there.
package enum JSONDifference {
    /// A sequence is only compared element by element up to this many pairs; the time grows with the pairs.
    private static let comparablePairs = 1 << 20

    /// Returns one line for each point: `- ` and what only the recording has, `+ ` and what only the replay has.
    ///
    /// - Parameters:
    ///   - recorded: the value of the recording.
    ///   - replayed: the value of the replay.
    ///   - path: where the values stand, such as `[0].UpdateSyncStatus`; empty for the whole.
    /// - Returns: no line for equal values.
    package static func lines(_ recorded: JSON, _ replayed: JSON, at path: String = "") -> [String] {
        if recorded == replayed { return [] }
        switch (recorded, replayed) {
        case (.object(let recorded), .object(let replayed)): return members(recorded, replayed, at: path)
        case (.array(let recorded), .array(let replayed)):
            if (recorded + replayed).allSatisfy({ $0.arrayValue != nil }) {
                return rows(recorded, replayed, at: path)
            }
            return elements(recorded, replayed, at: path)
        default: return [line("-", path, recorded), line("+", path, replayed)]
        }
    }

    private static func members(_ recorded: [JSONMember], _ replayed: [JSONMember], at path: String)
        -> [String]
    {
        let old = JSON.object(recorded)
        let new = JSON.object(replayed)
        let names = Set((recorded + replayed).map(\.name)).sorted()
        return names.flatMap { name -> [String] in
            let path = path.isEmpty ? name : "\(path).\(name)"
            switch (old[name], new[name]) {
            case (let recorded?, let replayed?): return lines(recorded, replayed, at: path)
            case (let recorded?, nil): return [line("-", path, recorded)]
            case (nil, let replayed?): return [line("+", path, replayed)]
            case (nil, nil): return []
            }
        }
    }

    /// Rows of a table: which are there on one side alone, rows that begin alike beside each other.
    private static func rows(_ recorded: [JSON], _ replayed: [JSON], at path: String) -> [String] {
        var counts: [JSON: Int] = [:]
        for row in recorded { counts[row, default: 0] += 1 }
        for row in replayed { counts[row, default: 0] -= 1 }
        guard counts.allSatisfy({ $0.value == 0 }) else {
            return changes(
                recorded: excess(of: recorded) { counts[$0] ?? 0 },
                replayed: excess(of: replayed) { -(counts[$0] ?? 0) }
            ).map { line($0.sign, path, $0.row) }
        }
        let moved = zip(recorded, replayed).enumerated().first { $1.0 != $1.1 }
        return ["the same rows in another order, from row \(moved?.offset ?? 0) on"]
    }

    /// The rows that one side has more often than the other, in their order.
    private static func excess(of rows: [JSON], _ count: (JSON) -> Int) -> [JSON] {
        var taken: [JSON: Int] = [:]
        return rows.filter { row in
            guard taken[row, default: 0] < count(row) else { return false }
            taken[row, default: 0] += 1
            return true
        }
    }

    /// Puts beside each recorded row the replayed one that is most like it, and the rest behind all.
    private static func changes(recorded: [JSON], replayed: [JSON]) -> [(sign: String, row: JSON)] {
        guard recorded.count * replayed.count <= comparablePairs else {
            return recorded.map { ("-", $0) } + replayed.map { ("+", $0) }
        }
        var rest = replayed
        var changes: [(sign: String, row: JSON)] = []
        for row in recorded {
            changes.append(("-", row))
            let best = rest.enumerated().map { ($0.offset, likeness(row, $0.element)) }.max { $0.1 < $1.1 }
            if let (position, likeness) = best, likeness > 0 {
                changes.append(("+", rest.remove(at: position)))
            }
        }
        return changes + rest.map { ("+", $0) }
    }

    /// The number of columns that are equal.
    private static func likeness(_ first: JSON, _ second: JSON) -> Int {
        zip(first.arrayValue ?? [], second.arrayValue ?? []).count { $0 == $1 }
    }

    /// Elements in order; those that were replaced by one of their kind are compared in depth.
    private static func elements(_ recorded: [JSON], _ replayed: [JSON], at path: String) -> [String] {
        guard recorded.count * replayed.count <= comparablePairs else {
            let position = zip(recorded, replayed).enumerated().first { $1.0 != $1.1 }?.offset
            return [
                "\(path)\(path.isEmpty ? "" : ": ")\(recorded.count) recorded and \(replayed.count) replayed "
                    + "elements differ from \(position ?? min(recorded.count, replayed.count)) on"
            ]
        }
        let difference = replayed.difference(from: recorded)
        var added = difference.insertions
        var found: [(position: Int, lines: [String])] = []
        for case .remove(let offset, let element, _) in difference.removals {
            let partner = added.firstIndex { change in
                guard case .insert(_, let other, _) = change else { return false }
                return isOfOneKind(element, other)
            }
            if let partner, case .insert(_, let other, _) = added.remove(at: partner) {
                found.append((offset, lines(element, other, at: "\(path)[\(offset)]")))
            } else {
                found.append((offset, [line("-", "\(path)[\(offset)]", element)]))
            }
        }
        for case .insert(let offset, let element, _) in added {
            found.append((offset, [line("+", "\(path)[\(offset)]", element)]))
        }
        return found.sorted { $0.position < $1.position }.flatMap(\.lines)
    }

    /// Whether both are objects with the same names, such as two statuses.
    private static func isOfOneKind(_ first: JSON, _ second: JSON) -> Bool {
        guard let first = first.objectMembers, let second = second.objectMembers else { return false }
        return first.map(\.name) == second.map(\.name)
    }

    private static func line(_ sign: String, _ path: String, _ value: JSON) -> String {
        line(sign, path, value.text)
    }

    private static func line(_ sign: String, _ path: String, _ text: String) -> String {
        path.isEmpty ? "\(sign) \(text)" : "\(sign) \(path): \(text)"
    }
}
