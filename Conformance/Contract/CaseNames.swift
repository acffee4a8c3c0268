import PowerSyncWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What `${…}` stands for within one case.
///
/// A name without a point is a UUID of its own, unless it has been bound to something that an answer holds. Names
/// with one are of the surroundings: `user.alice`, `table.todos`, `column.todos.due`, `path.keys`,
/// `limit.body_bytes`; `me` is who sends, `bearer` that user's token, and `fresh` a UUID that is another one each
/// time.
struct CaseNames: Sendable {
    private var bound: [String: String] = [:]

    /// Makes the names of a backend's surroundings.
    init(_ target: ContractTarget) {
        for (name, user) in target.users { bound["user." + name] = user.subject }
        for (name, path) in target.fixtures.paths { bound["path." + name] = path }
        for (name, table) in target.fixtures.tables {
            bound["table." + name] = table.name
            for (logical, column) in table.columns { bound["column.\(name).\(logical)"] = column }
        }
    }

    /// Binds a name.
    mutating func bind(_ name: String, to value: String) { bound[name] = value }

    /// Whether a name stands for something already.
    func knows(_ name: String) -> Bool { bound[name] != nil }

    /// The name that a text is as a whole, as `${token}` is; nil for any other text.
    static func whole(_ text: String) -> String? {
        guard text.hasPrefix("${"), text.hasSuffix("}") else { return nil }
        let name = text.dropFirst(2).dropLast()
        return name.isEmpty || name.contains("}") ? nil : String(name)
    }

    /// Puts in what names stand for; those that are new and have no point become UUIDs.
    mutating func text(_ template: String) throws(ContractError) -> String {
        var text = ""
        var rest = template[...]
        while let mark = rest.firstRange(of: "${"), let end = rest[mark.upperBound...].firstIndex(of: "}") {
            text += rest[..<mark.lowerBound]
            text += try value(of: String(rest[mark.upperBound..<end]))
            rest = rest[rest.index(after: end)...]
        }
        return text + rest
    }

    /// The same in all texts and names of a value.
    mutating func json(_ template: JSON) throws(ContractError) -> JSON {
        switch template {
        case .string(let template): return .string(try text(template))
        case .array(let elements):
            var values: [JSON] = []
            for element in elements { values.append(try json(element)) }
            return .array(values)
        case .object(let members): return .object(try self.members(members))
        default: return template
        }
    }

    /// The same in members.
    mutating func members(_ templates: [JSONMember]) throws(ContractError) -> [JSONMember] {
        var members: [JSONMember] = []
        for member in templates { members.append(JSONMember(try text(member.name), try json(member.value))) }
        return members
    }

    private mutating func value(of name: String) throws(ContractError) -> String {
        if let value = bound[name] { return value }
        if name == "fresh" { return UUID().uuidString.lowercased() }
        // A column that has no other name is called as the logical one.
        if name.hasPrefix("column."), let column = name.split(separator: ".").last { return String(column) }
        guard !name.contains("."), !["me", "bearer", "n"].contains(name) else {
            throw ContractError(.unknownName, "nothing is called ${\(name)} here")
        }
        let fresh = UUID().uuidString.lowercased()
        bound[name] = fresh
        return fresh
    }
}
