import PowerSyncWire

/// A part of a table's name in a query: exact, or the beginning of many (service 6.3).
package enum NamePart: Sendable, Hashable {
    /// This name.
    case exact(ExactText)
    /// Every name that begins so.
    case prefix(ExactText)

    /// Reads a part as it stands in a query: `assets_%` is a prefix.
    package init(_ text: ExactText) {
        if text.text.utf8.last == UInt8(ascii: "%") {
            self = .prefix(ExactText(String(text.text.unicodeScalars.dropLast())))
        } else {
            self = .exact(text)
        }
    }

    /// Whether it stands for several names.
    package var isWildcard: Bool {
        if case .prefix = self { true } else { false }
    }

    /// What of a name stands in the place of the `%`: empty for an exact one, nil if the name does not fit.
    package func suffix(of name: ExactText) -> ExactText? {
        switch self {
        case .exact(let exact): return exact == name ? ExactText("") : nil
        case .prefix(let prefix):
            guard name.text.utf8.starts(with: prefix.text.utf8) else { return nil }
            let rest = name.text.utf8.dropFirst(prefix.text.utf8.count)
            return ExactText(String(decoding: rest, as: UTF8.self))
        }
    }
}

/// The tables that a query reads as one.
package struct TablePattern: Sendable, Hashable {
    /// The tag of the connection; there is one connection.
    package let tag: NamePart
    /// The schema.
    package let schema: NamePart
    /// The table.
    package let name: NamePart

    /// Makes a pattern of its parts.
    package init(tag: NamePart, schema: NamePart, name: NamePart) {
        self.tag = tag
        self.schema = schema
        self.name = name
    }

    /// Whether a table is one of them; one of Postgres itself is none of a wildcard (service 7.1).
    package func matches(tag: ExactText, schema: ExactText, name: ExactText) -> Bool {
        if self.schema.isWildcard || self.name.isWildcard, Self.isOfPostgres(schema) { return false }
        return self.tag.suffix(of: tag) != nil && self.schema.suffix(of: schema) != nil
            && self.name.suffix(of: name) != nil
    }

    private static func isOfPostgres(_ schema: ExactText) -> Bool {
        schema.text.utf8.starts(with: "pg_".utf8) || schema == ExactText("information_schema")
    }
}
