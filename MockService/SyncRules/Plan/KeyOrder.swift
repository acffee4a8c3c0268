import PowerSyncWire

/// The order of the values in the names of buckets, and of the keys of lookups (service 5; LANGUAGE.md 5).
///
/// Rows and requests come to the same order, for both go by what is read of the row. The real service's order is by a
/// hash that is not known; this one has columns first, by name from the last to the first, which is as good as any
/// other, for clients do not look into names.
package enum KeyOrder {
    /// Sorts keys.
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - expression: What a key is of its row, with inputs numbered as a program of the row numbers them.
    /// - Returns: The keys in order; those with equal expressions stay as they are.
    package static func sorted<Key>(_ keys: [Key], by expression: (Key) -> Expression) -> [Key] {
        let texts = keys.map { text(expression($0)) }
        let order = keys.indices.sorted { left, right in
            texts[left] == texts[right]
                ? left < right : texts[right].lexicographicallyPrecedes(texts[left])
        }
        return order.map { keys[$0] }
    }

    /// Bytes that tell an expression from all others; those of a column are its name, whatever row it is of.
    private static func text(_ expression: Expression) -> [UInt8] {
        if case .column(_, let name) = expression { return Array(name.text.utf8) }
        var bytes: [UInt8] = [0]
        write(expression, to: &bytes)
        return bytes
    }

    private static func write(_ expression: Expression, to bytes: inout [UInt8]) {
        let children = expression.children
        bytes += Array("\(head(expression)) \(children.count)(".utf8)
        for child in children { write(child, to: &bytes) }
        bytes.append(UInt8(ascii: ")"))
    }

    /// What an expression is beside its children.
    private static func head(_ expression: Expression) -> String {
        switch expression {
        case .literal(let value): "literal \(literal(value))"
        case .column(_, let name): "column \(counted(name.text))"
        case .element(.element(let number), let part): "element \(number) \(part.rawValue)"
        case .element(_, let part): "element \(part.rawValue)"
        case .parameter(let parameter):
            "parameter \(parameter.source.rawValue) "
                + parameter.path.map { counted($0.text) }.joined(separator: " ")
        case .request(let source): "request \(source.rawValue)"
        case .table(let fact, _): "table \(fact.rawValue)"
        case .call(let function, _): function.rawValue
        case .cast(let type, _): "cast \(type.rawValue)"
        case .arithmetic(let operation, _, _): operation.rawValue
        case .concat: "||"
        case .member(_, _, let form): form.rawValue
        case .comparison(let comparison, _, _): comparison.rawValue
        case .isSame: "is"
        case .isTrue(_, let truth): "is \(truth)"
        case .and: "and"
        case .or: "or"
        case .not: "not"
        case .isNull: "is null"
        case .between: "between"
        case .choice(let base, let branches, _): "case \(base == nil ? 0 : 1) \(branches.count)"
        case .oneOf: "in"
        case .contains: "contains"
        case .overlaps: "overlaps"
        }
    }

    private static func literal(_ value: ScalarValue) -> String {
        switch value {
        case .null: "null"
        case .integer(let integer): "\(integer)"
        case .wide(let integer): integer.digits.text
        case .real(let real): "real \(real.bitPattern)"
        case .text(let text): "text \(counted(text.text))"
        case .blob(let bytes): "blob \(bytes)"
        }
    }

    /// A text with its length before it, so that what follows is told from it.
    private static func counted(_ text: String) -> String { "\(text.utf8.count):\(text)" }
}
