import PowerSyncSystem
import PowerSyncWire

/// What all operations of one shape have in common: the same kind of work on the same table, with members of the same
/// names in the same order.
///
/// It is looked up once (`PlanShapes`); an operation of the shape then has its values converted, and nothing else.
package final class PlanShape: Sendable {
    /// What becomes of a member.
    enum Step: Sendable {
        /// It must be the id of the operation.
        case id
        /// It is the owner's, who comes from the token.
        indirect case owner(UploadColumn)
        /// It is written into the column at a place of `columns`; `parent` is the place among the table's parents.
        case value(Int, parent: Int?)
        /// It is left out: the server writes the column.
        case server
        /// No operation of the shape is accepted, unless a value of a member before it is refused first.
        ///
        /// Indirect, as the owner: steps are copied one by one, and those of values are small.
        indirect case refused(Refusal)
    }

    /// The table.
    package let table: UploadTable
    /// What is done to a row.
    package let kind: UploadOperationKind
    /// The columns that are set, in one order for all operations of the same columns.
    package let columns: [UploadColumn]
    /// What becomes of members, by their places, in the order of their names; of two of one name the last counts.
    let steps: [(place: Int, step: Step)]
    /// Whether the owner's column is set: behind those that the client sends, in front of those that the server sets.
    let setsOwner: Bool
    /// The statement of one row.
    let text: String
    /// Whether its statements have the owner as their last parameter.
    let isOwned: Bool
    /// Whether a session may keep its statements prepared.
    ///
    /// Postgres reads the default of a domain into a statement when that is prepared, and never again: `ALTER DOMAIN` tells the
    /// statement nothing, as changes of tables do.
    let isKept: Bool
    private let names: [String]
    private let textOfSeveral = Lock<String?>(nil)

    /// Finds the shape of an operation.
    ///
    /// - Parameters:
    ///   - operation: the operation, whose values do not matter.
    ///   - table: its table.
    init(of operation: UploadOperation, in table: UploadTable) {
        let kind = operation.kind
        let members = kind == .delete ? [] : operation.data ?? []
        names = members.map(\.name)
        self.table = table
        self.kind = kind
        var last: [ExactText: Int] = [:]
        for (place, member) in members.enumerated() { last[ExactText(member.name)] = place }
        var (columns, steps): ([UploadColumn], [(place: Int, step: Step)]) = ([], [])
        for (name, place) in last.sorted(by: { $0.key < $1.key }) {
            steps.append((place, PlanShape.step(name, table, &columns)))
        }
        self.steps = steps
        let owner = kind == .put ? table.owner : nil
        let isOwnerSet = owner.map { ExactText($0.name) != ExactText(table.id.name) } ?? false
        setsOwner = isOwnerSet
        if let owner, isOwnerSet { columns.append(owner) }
        // A PATCH that changes nothing stays one.
        if kind == .put || !columns.isEmpty { columns += table.assigned }
        self.columns = columns
        let writer = UploadWriter(table, kind, columns)
        isOwned = writer.isOwned
        text = writer.row()
        isKept = kind != .put || writer.namesAll(of: table.domainDefaults)
    }

    private static func step(
        _ name: ExactText, _ table: UploadTable, _ columns: inout [UploadColumn]
    ) -> Step {
        if name == ExactText("id") || name == ExactText(table.id.name) { return .id }
        guard let column = table.columns[name] else {
            return .refused(
                Refusal(
                    code: "UNKNOWN_COLUMN", message: "no such column may be written",
                    unknown: CatalogKnowledge.Name(table: table.name, column: name.text)))
        }
        if let owner = table.owner, ExactText(owner.name) == name { return .owner(column) }
        switch column.writer {
        case .client:
            columns.append(column)
            let parent = table.parents.firstIndex { ExactText($0.column.name) == ExactText(column.name) }
            return .value(columns.count - 1, parent: parent)
        case .server: return .server
        case .never:
            return .refused(
                Refusal(
                    code: "READ_ONLY_COLUMN", message: "clients may not write this column",
                    column: column.name))
        }
    }

    /// How many names its operations have.
    var nameCount: Int { names.count }

    /// Whether it has members that are never accepted.
    var isRefused: Bool {
        steps.contains { if case .refused = $0.step { true } else { false } }
    }

    /// Whether an operation has this shape, in the catalog that it was found in.
    func fits(_ operation: UploadOperation) -> Bool {
        guard kind == operation.kind, ExactText(operation.table) == ExactText(table.name) else {
            return false
        }
        guard kind != .delete, let members = operation.data else { return names.isEmpty }
        guard members.count == names.count else { return false }
        return names.indices.allSatisfy { ExactText(members[$0].name) == ExactText(names[$0]) }
    }

    /// Whether operations of both shapes can be done by one statement, whatever their ids are.
    func joins(_ other: PlanShape) -> Bool {
        self === other
            || kind == other.kind && ExactText(table.name) == ExactText(other.table.name)
                && columns.elementsEqual(other.columns) { ExactText($0.name) == ExactText($1.name) }
    }

    /// The statement of several rows.
    var rowsText: String {
        if let text = textOfSeveral.withLock({ $0 }) { return text }
        let text = UploadWriter(table, kind, columns).rows()
        textOfSeveral.withLock { $0 = text }
        return text
    }
}

extension PlanShape: Hashable {
    /// Compares what is done, not the order in which a client names it.
    package static func == (left: PlanShape, right: PlanShape) -> Bool {
        left === right
            || left.kind == right.kind && left.table == right.table && left.columns == right.columns
    }

    /// Hashes what is done.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        hasher.combine(ExactText(table.name))
        hasher.combine(columns.count)
    }
}

/// The shapes of operations in one reading of the catalog, some thousand of which are kept: those that were used last.
package final class PlanShapes: Sendable {
    /// The most shapes of each half.
    static let limit = 512
    /// A shape with more names is not kept: a client may send one name a million times.
    private static let longest = 256

    private struct State {
        /// By a number made of table, kind and names; of two with one number the last stays.
        var young: [Int: PlanShape] = [:]
        /// Those of which none was used since the young ones were begun anew.
        var old: [Int: PlanShape] = [:]

        /// Keeps a shape; a half that is full becomes the old one.
        mutating func keep(_ shape: PlanShape, _ number: Int) {
            if young.count >= PlanShapes.limit, young[number] == nil { (young, old) = ([:], young) }
            young[number] = shape
        }
    }

    /// The tables that uploads may write.
    package let tables: UploadTables
    private let state = Lock(State())

    /// Makes the shapes of a reading, none of which is found yet.
    package init(_ tables: UploadTables) { self.tables = tables }

    /// How many are kept.
    package var count: Int { state.withLock { $0.young.count + $0.old.count } }

    /// Returns the shape of an operation.
    ///
    /// - Parameters:
    ///   - operation: the operation.
    ///   - former: the shape of an operation before it, found here, which is tried first.
    /// - Returns: its shape.
    /// - Throws: `Refusal` where its table, or its kind on the table, is not accepted.
    package func shape(
        of operation: UploadOperation, like former: PlanShape? = nil
    ) throws(Refusal) -> PlanShape {
        if let former, former.fits(operation) { return former }
        let number = Self.number(of: operation)
        let known = state.withLock { state -> PlanShape? in
            if let shape = state.young[number] { return shape }
            guard let shape = state.old[number] else { return nil }
            state.keep(shape, number)
            return shape
        }
        if let known, known.fits(operation) { return known }
        guard let table = tables.tables[ExactText(operation.table)] else {
            throw Refusal(
                code: "UNKNOWN_TABLE", message: "no such table may be written",
                unknown: CatalogKnowledge.Name(table: operation.table))
        }
        guard table.operations.contains(operation.kind) else {
            throw Refusal(
                code: "OPERATION_NOT_ALLOWED",
                message: "\(operation.kind.rawValue) is not allowed on this table")
        }
        let shape = PlanShape(of: operation, in: table)
        // What is refused has names of a client's own, of any length.
        if shape.nameCount <= Self.longest, !shape.isRefused {
            state.withLock { $0.keep(shape, number) }
        }
        return shape
    }

    /// A number that operations of one shape share, and hardly any others.
    private static func number(of operation: UploadOperation) -> Int {
        var hasher = Hasher()
        hasher.combine(operation.kind)
        hasher.combine(ExactText(operation.table))
        if operation.kind != .delete {
            for member in operation.data ?? [] { hasher.combine(ExactText(member.name)) }
        }
        return hasher.finalize()
    }
}
