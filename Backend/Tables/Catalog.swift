import PowerSyncWire

/// What the backend needs to know of a database: tables, columns with their types, unique keys, the
/// publication.
package struct Catalog: Sendable, Hashable {
    /// One column as the catalog describes it.
    package struct Column: Sendable, Hashable {
        /// The name.
        package var name: String
        /// The type in SQL without its length or scale, with its schema where that is not visible.
        package var type: String
        /// The number of the type.
        package var typeOID: UInt32
        /// The length or scale; -1 without.
        package var modifier: Int
        /// Whether the database computes the value and refuses any other.
        package var isGenerated: Bool
        /// Whether a new row must name the column and the backend may: NOT NULL without a default.
        package var isRequired: Bool
        /// Whether the column's collation takes no two texts for one.
        package var isDeterministic: Bool
        /// Whether its value in a row that leaves it out may tell when the row was written: it is generated, or its default
        /// is more than a constant, `now()` or `gen_random_uuid()`.
        package var showsOrder: Bool
        /// Whether a row that leaves it out has what its type says, a domain: a default of its own there is none.
        package var leavesDefaultToDomain: Bool

        /// Makes a column of its fields.
        package init(
            name: String, type: String, typeOID: UInt32, modifier: Int = -1, isGenerated: Bool = false,
            isRequired: Bool = false, isDeterministic: Bool = true, showsOrder: Bool = false,
            leavesDefaultToDomain: Bool = false
        ) {
            self.name = name
            self.type = type
            self.typeOID = typeOID
            self.modifier = modifier
            self.isGenerated = isGenerated
            self.isRequired = isRequired
            self.isDeterministic = isDeterministic
            self.showsOrder = showsOrder
            self.leavesDefaultToDomain = leavesDefaultToDomain
        }
    }

    /// A foreign key.
    package struct Reference: Sendable, Hashable {
        /// The columns that refer to rows.
        package var columns: [String]
        /// The table of these rows.
        package var table: Name

        /// Makes a reference of its parts.
        package init(columns: [String], table: Name) {
            self.columns = columns
            self.table = table
        }
    }

    /// One table or view.
    package struct Table: Sendable, Hashable {
        /// The columns in their order.
        package var columns: [Column] = []
        /// The columns that alone identify a row, by a unique index that upserts can use.
        package var uniqueColumns: Set<ExactText> = []
        /// Whether this is a view, whose keys are those of the tables below it.
        package var isView = false
        /// Whether a PUT can be an upsert: a view must be one that Postgres writes through to its table by itself.
        package var takesUpserts = true
        /// Whether it can be locked as it is: an ordinary or partitioned table.
        package var isLockable = true
        /// Whether the role that writes may lock it: a right on the whole table, not on columns alone.
        package var mayBeLocked = true
        /// Whether the role that writes may hold rows of it until its transaction ends: it has UPDATE on a column.
        package var mayHoldRows = true
        /// Whether it has row security.
        package var hasRowSecurity = false
        /// Whether nobody can see in which order a transaction puts rows into it, as far as its columns show none: an ordinary
        /// table without trigger, rule, row security, check, foreign key to or from it, or exclusion, with one unique
        /// index, and with types that call nothing of a team's.
        package var showsNoOrder = false
        /// The foreign keys that it has, in order.
        package var references: [Reference] = []
        /// What `psb.table_digest` says of it: another text as soon as anything here is another.
        package var digest: String?

        /// Makes an empty table.
        package init() {}
    }

    /// The name of a table with its schema.
    package struct Name: Sendable, Hashable {
        /// The schema.
        package let schema: String
        /// The table.
        package let table: String

        /// Makes a name of its parts.
        package init(schema: String, table: String) {
            self.schema = schema
            self.table = table
        }

        /// Compares bytes, as Postgres does.
        package static func == (left: Name, right: Name) -> Bool {
            ExactText(left.schema) == ExactText(right.schema)
                && ExactText(left.table) == ExactText(right.table)
        }

        /// Hashes the bytes.
        package func hash(into hasher: inout Hasher) {
            hasher.combine(ExactText(schema))
            hasher.combine(ExactText(table))
        }
    }

    /// One type.
    package struct TypeEntry: Sendable, Hashable {
        /// The name.
        package var name: String
        /// b base, d domain, e enumeration, c composite, r range, m multirange, p pseudo.
        package var kind: String
        /// The element of an array, otherwise 0.
        package var element: UInt32
        /// The type below a domain, otherwise 0.
        package var base: UInt32
        /// The length or scale that a domain adds; -1 without.
        package var modifier: Int

        /// Makes a type of its fields.
        package init(
            name: String, kind: String = "b", element: UInt32 = 0, base: UInt32 = 0, modifier: Int = -1
        ) {
            self.name = name
            self.kind = kind
            self.element = element
            self.base = base
            self.modifier = modifier
        }
    }

    /// The tables by name.
    package var tables: [Name: Table] = [:]
    /// The types by number.
    package var types: [UInt32: TypeEntry] = [:]
    /// The tables of the publication `powersync`, in order; nil where there is no such publication.
    package var published: [Name]?

    /// Makes an empty catalog.
    package init() {}

    /// Returns how a column's values are read.
    package func kind(of column: Column) -> ColumnKind { kind(column.typeOID, modifier: column.modifier) }

    private func kind(_ oid: UInt32, modifier: Int) -> ColumnKind {
        guard let type = types[oid] else { return .unsupported }
        switch type.kind {
        case "d": return kind(type.base, modifier: type.modifier)
        case "e": return .label
        case "r", "m": return .range(of: Catalog.bound(type.name))
        case "b" where type.element != 0 && type.name.hasPrefix("_"):
            let element = kind(type.element, modifier: modifier)
            return element == .unsupported ? .unsupported : .array(element)
        case "b": return Catalog.baseKind(type.name, modifier: modifier)
        default: return .unsupported
        }
    }

    private static func baseKind(_ name: String, modifier: Int) -> ColumnKind {
        switch name {
        case "bool": .boolean
        case "int2": .integer(bits: 16)
        case "int4": .integer(bits: 32)
        case "int8": .integer(bits: 64)
        // The modifier of numeric(p, s) is ((p << 16) | s) + 4; s has eleven bits, the first of them its sign.
        case "numeric": .numeric(scale: modifier < 4 ? nil : ((modifier - 4) & 0x7FF ^ 0x400) - 0x400)
        case "float4", "float8": .real
        case "varchar": .text(limit: modifier < 4 ? nil : modifier - 4)
        case "bpchar": .paddedText(length: modifier < 4 ? nil : modifier - 4)
        case "text": .text(limit: nil)
        case "name": .name
        case "json", "jsonb": .json
        case "bytea": .bytes
        case "timestamptz": .instant
        case "timestamp": .timestamp
        case "date": .date
        case "time", "timetz": .time
        case "interval": .interval
        case "uuid": .uuid
        case "bit", "varbit": .bits
        case "inet", "cidr", "macaddr", "macaddr8": .address
        case "citext": .textForm
        default: .unsupported
        }
    }

    /// What the bounds of Postgres' own ranges are; teams may define others.
    private static func bound(_ name: String) -> ColumnKind? {
        switch name {
        case "int4range", "int4multirange": .integer(bits: 32)
        case "int8range", "int8multirange": .integer(bits: 64)
        case "numrange", "nummultirange": .numeric(scale: nil)
        case "tsrange", "tsmultirange": .timestamp
        case "tstzrange", "tstzmultirange": .instant
        case "daterange", "datemultirange": .date
        default: nil
        }
    }
}
