import PowerSyncSyncRules
import PowerSyncWire

/// A record of a source table in one shape, ready to be evaluated; batches share it.
package final class TablePlan: Sendable {
    /// The table with its record.
    package let table: SourceTable
    /// The types of its columns.
    package let conversions: [PostgresType]
    /// The columns that identify a row, in table order.
    package let identity: [Int]
    /// What the configuration makes of a row.
    package let programs: [RowProgram]
    /// How the configuration finds a row.
    package let lookups: [LookupProgram]
    /// What of a row sets write checkpoints.
    package let writeCheckpoints: [LookupProgram]
    /// The id in `lookup_definition` of what each of these is of.
    package let definitions: [Int64]
    /// The id in `output_type` of what each program's rows are called on the client.
    package let types: [Int64]
    /// Whether values that an update may leave out are kept: not if the old row is told in full, or nothing finds it.
    package let keepsLargeValues: Bool

    /// Whether a row may come to many times as much: an element of an array to a record, or a value of a lookup, of its own.
    package let isMultiplied: Bool
    /// Whether a row may be in many places, or found by many keys: one for each element of an array.
    package let hasManyPlaces: Bool

    /// How each column's type is read.
    let forms: [SlotConverter.Form]
    /// Whether a column belongs to what identifies a row.
    let isIdentity: [Bool]
    /// Whether a column is converted: a program reads it, or it identifies the row.
    let isConverted: [Bool]
    /// The names of the columns that identify a row.
    let identityNames: [String]
    /// What messages call the bucket source of each program.
    let sourceNames: [String]
    /// What messages call the lookup of each program that finds rows.
    let lookupNames: [String]
    /// What the name of each program's buckets begins with, up to its values.
    let bucketNames: [[UInt8]]
    /// What each program's rows are called on the client.
    let typeNames: [[UInt8]]
    /// The bytes of all programs' constants.
    let texts: [UInt8]
    /// Where those of each program begin.
    let textOffsets: [Int]
    /// Where those of each program that finds rows begin.
    let lookupTextOffsets: [Int]
    /// Where those of each program that sets write checkpoints begin.
    let writeCheckpointTextOffsets: [Int]
    /// How many outputs of a row several programs share.
    let outputGroupCount: Int

    /// The tag of the one connection that there is.
    static let tag = CompileOptions().defaultTag

    /// Compiles what a configuration makes of a table.
    ///
    /// - Parameters:
    ///   - table: The table with its record.
    ///   - served: The configuration's plan.
    ///   - keepsLargeValues: Whether values that an update may leave out are kept.
    ///   - isRead: Whether its rows are read with the table, and not streamed.
    ///   - type: Gives the id of an output type.
    /// - Throws: What `type` throws.
    package init(
        _ table: SourceTable, _ served: ServedPlan, keepsLargeValues: Bool = true, isRead: Bool = false,
        type: (String) throws -> Int64
    ) rethrows {
        let plan = served.plan
        let columns = table.description.columns
        let shape = TableShape(
            tag: Self.tag, schema: ExactText(table.description.schema),
            name: ExactText(table.description.name), columns: columns.map { ExactText($0.name) })
        let all = RowProgramCompiler.compile(plan, shape)
        let names = all.rows.map { $0.type.name(of: table.description.name) }
        types = try names.map(type)
        self.table = table
        programs = all.rows
        lookups = all.lookups
        writeCheckpoints = all.writeCheckpoints
        definitions = all.lookups.map { served.lookups[$0.definition] }
        self.keepsLargeValues = keepsLargeValues
        isMultiplied =
            all.rows.contains { !$0.code.loops.isEmpty && $0.outputGroup == nil }
            || all.lookups.contains { !$0.code.loops.isEmpty }
        hasManyPlaces =
            all.rows.contains { !$0.code.loops.isEmpty } || all.lookups.contains { !$0.code.loops.isEmpty }
        let conversions = table.conversions(plan.options, isRead: isRead)
        self.conversions = conversions
        forms = conversions.map { SlotConverter.Form($0) }
        isIdentity = columns.map(\.isIdentity)
        identity = columns.indices.filter { columns[$0].isIdentity }
        let read = all.rows.reduce(into: Set<Int>()) { $0.formUnion($1.columns) }
            .union((all.lookups + all.writeCheckpoints).reduce(into: Set<Int>()) { $0.formUnion($1.columns) })
        isConverted = columns.indices.map { columns[$0].isIdentity || read.contains($0) }
        identityNames = columns.filter(\.isIdentity).map(\.name)
        let sources = all.rows.map { plan.sources[$0.source].name.text }
        sourceNames = sources
        lookupNames = all.lookups.map { plan.lookups[$0.definition].name.text }
        bucketNames = sources.map { Array("\($0)[".utf8) }
        typeNames = names.map { Array($0.utf8) }
        var texts: [UInt8] = []
        func offset(_ code: RowCode) -> Int {
            defer { texts += code.texts }
            return texts.count
        }
        textOffsets = all.rows.map { offset($0.code) }
        lookupTextOffsets = all.lookups.map { offset($0.code) }
        writeCheckpointTextOffsets = all.writeCheckpoints.map { offset($0.code) }
        self.texts = texts
        outputGroupCount = all.rows.reduce(0) { max($0, ($1.outputGroup ?? -1) + 1) }
    }

    /// Makes a table of which no row is evaluated, because all that are there go.
    ///
    /// - Parameter table: The table with its record.
    package convenience init(_ table: SourceTable) {
        let nothing = SyncPlan(
            edition: 3, options: CompatibilityOptions(edition: 3), streams: [], sources: [])
        self.init(table, ServedPlan(stream: 0, plan: nothing)) { _ in 0 }
    }
}
