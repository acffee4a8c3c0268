import PowerSyncWire

/// The types that a value may have.
package struct ValueType: OptionSet, Sendable, Hashable {
    /// The bits.
    package let rawValue: Int

    /// Makes a type of its bits.
    package init(rawValue: Int) { self.rawValue = rawValue }

    /// NULL.
    package static let null = ValueType(rawValue: 1)
    /// An integer.
    package static let integer = ValueType(rawValue: 2)
    /// A double.
    package static let real = ValueType(rawValue: 4)
    /// A text.
    package static let text = ValueType(rawValue: 8)
    /// Bytes.
    package static let blob = ValueType(rawValue: 16)
    /// Any of them.
    package static let any: ValueType = [.null, .integer, .real, .text, .blob]
}

/// Tables with the types of their columns, of a Postgres or of a test; names are compared by their bytes.
///
/// It changes diagnostics and the types that are inferred, never the plan.
package struct SourceSchema: Sendable, Hashable {
    /// A column.
    package struct Column: Sendable, Hashable {
        /// Its name.
        package let name: ExactText
        /// The type of its values.
        package let type: ValueType
        /// The name that Postgres has for the type; nil if there is no Postgres.
        package let sourceType: String?
        /// The same as SQL spells it, with its modifiers: `numeric(10,2)`.
        package let declaredType: String?

        /// Makes a column of its fields.
        package init(
            name: ExactText, type: ValueType, sourceType: String? = nil, declaredType: String? = nil
        ) {
            self.name = name
            self.type = type
            self.sourceType = sourceType
            self.declaredType = declaredType
        }
    }

    /// A table.
    package struct Table: Sendable, Hashable {
        /// Its schema.
        package let schema: ExactText
        /// Its name.
        package let name: ExactText
        /// Its columns in order.
        package let columns: [Column]

        /// Makes a table of its fields.
        package init(schema: ExactText, name: ExactText, columns: [Column]) {
            self.schema = schema
            self.name = name
            self.columns = columns
        }
    }

    /// The tables.
    package var tables: [Table]

    /// Makes a schema of its tables.
    package init(_ tables: [Table]) { self.tables = tables }
}
