import PowerSyncWire

/// Compares answers by the rules of the recordings.
package enum TranscriptComparison {
    /// Returns the value with members sorted by name, so that equal values are equal texts.
    ///
    /// Integers are compared digit by digit, other numbers as doubles; 1 and 1.0 differ.
    package static func canonical(_ json: JSON) -> JSON {
        switch json {
        case .null, .bool, .string: return json
        case .number(let lexeme):
            if Int64(lexeme) != nil { return json }
            return Double(lexeme).map { .number("\($0)") } ?? json
        case .array(let elements): return .array(elements.map(canonical))
        case .object(let members):
            return .object(
                members.sorted { $0.name < $1.name }.map { JSONMember($0.name, canonical($0.value)) })
        }
    }

    /// Returns instructions as they were recorded: without log lines, each time as `"T"`.
    static func masked(_ instructions: [JSON]) -> [JSON] {
        instructions.filter { $0["LogLine"] == nil }.map(masked)
    }

    private static func masked(_ json: JSON) -> JSON {
        switch json {
        case .null, .bool, .number, .string: json
        case .array(let elements): .array(elements.map(masked))
        case .object(let members):
            .object(
                members.map { member in
                    let isTime = member.name == "last_synced_at" || member.name == "expires_at"
                    guard isTime, case .number = member.value else {
                        return JSONMember(member.name, masked(member.value))
                    }
                    return JSONMember(member.name, .string("T"))
                })
        }
    }

    /// Leaves out every status that equals the one before it: whether two times fell into one millisecond shows in the
    /// reference's suppression and nowhere else.
    ///
    /// - Parameters:
    ///   - instructions: the instructions of one step.
    ///   - last: the last status since the iteration began; updated.
    /// - Returns: the others, in canonical form.
    static func withoutRepeatedStatus(_ instructions: [JSON], last: inout JSON?) -> [JSON] {
        instructions.map(canonical).filter { instruction in
            guard let status = instruction["UpdateSyncStatus"] else { return true }
            defer { last = status }
            return status != last
        }
    }
}
