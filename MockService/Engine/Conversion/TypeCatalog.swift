/// The types of a database by their ids (service 6.13, 7.4).
package struct TypeCatalog: Sendable {
    /// A row of `pg_type` with what belongs to it.
    package struct Entry: Sendable, Hashable {
        /// The id.
        package var oid: UInt32
        /// The name.
        package var name: String
        /// The letter of `typtype`: b, c, d, e, p, r, m.
        package var kind: Character
        /// The id of an array's elements, a domain's base, a range's or multirange's bounds; 0 if there is
        /// none.
        package var inner: UInt32 = 0
        /// Whether it is a true array.
        package var isArray = false
        /// What stands between elements of an array of this type.
        package var delimiter: Character = ","
        /// Whether values can be large and stored out of line.
        package var isVariableLength = true
        /// The fields of a composite type.
        package var fields: [(name: String, oid: UInt32)] = []

        /// Makes an entry; the rest is set afterwards.
        package init(oid: UInt32, name: String, kind: Character) {
            self.oid = oid
            self.name = name
            self.kind = kind
        }

        /// Whether two entries are of the same type.
        package static func == (left: Entry, right: Entry) -> Bool { left.oid == right.oid }

        /// Hashes the id.
        package func hash(into hasher: inout Hasher) { hasher.combine(oid) }
    }

    private let entries: [UInt32: Entry]

    /// Makes a catalog of its entries.
    package init(_ entries: [Entry] = []) {
        self.entries = Dictionary(entries.map { ($0.oid, $0) }, uniquingKeysWith: { _, last in last })
    }

    /// Whether values of a type may be missing in an update because they are stored out of line.
    package func isVariableLength(_ oid: UInt32) -> Bool { entries[oid]?.isVariableLength ?? true }

    /// The type of an id; text if it is not known.
    package func type(_ oid: UInt32) -> PostgresType { type(oid, depth: 0) }

    private func type(_ oid: UInt32, depth: Int) -> PostgresType {
        // A composite type can hold an array of itself.
        guard depth < 16, let entry = entries[oid] else { return .text }
        switch entry.kind {
        case "d": return type(entry.inner, depth: depth + 1)
        case "c":
            return .composite(
                entry.fields.map {
                    PostgresType.CompositeField(name: $0.name, type: type($0.oid, depth: depth + 1))
                })
        case "r": return .range(type(entry.inner, depth: depth + 1))
        case "m": return .multirange(type(entry.inner, depth: depth + 1))
        case "b" where entry.isArray:
            let delimiter = entries[entry.inner]?.delimiter ?? ","
            return .array(type(entry.inner, depth: depth + 1), delimiter: delimiter)
        case "b": return .base(named: entry.name)
        default: return .text
        }
    }
    /// The type of an id where the configuration knows no types of one's own (`custom_postgres_types` off): what Postgres
    /// has built in, and arrays of that; all else is text.
    ///
    /// - Parameters:
    ///   - oid: The id.
    ///   - isRead: Whether the value is read with its table: then one of a domain is of its base type, which the stream does
    ///     not tell (service 9.7, G38).
    /// - Returns: The type.
    package func plainType(_ oid: UInt32, isRead: Bool) -> PostgresType {
        var entry = entries[oid]
        var depth = 0
        while isRead, let domain = entry, domain.kind == "d", depth < 16 {
            entry = entries[domain.inner]
            depth += 1
        }
        guard let entry, entry.kind == "b" else { return .text }
        guard entry.isArray else { return .base(named: entry.name) }
        // Types of one's own have no name here.
        guard let element = entries[entry.inner], element.kind == "b", !element.name.isEmpty else {
            return .text
        }
        return .array(.base(named: element.name), delimiter: element.delimiter)
    }
}
