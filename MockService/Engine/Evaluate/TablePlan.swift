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
    /// The id in `output_type` of what each program's rows are called on the client.
    package let types: [Int64]
    /// Whether values that an update may leave out are kept: not if the old row is told in full, or nothing finds it.
    package let keepsLargeValues: Bool

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
    /// What the name of each program's buckets begins with, up to its values.
    let bucketNames: [[UInt8]]
    /// What each program's rows are called on the client.
    let typeNames: [[UInt8]]
    /// The bytes of all programs' constants.
    let texts: [UInt8]
    /// Where those of each program begin.
    let textOffsets: [Int]
    /// How many outputs of a row several programs share.
    let outputGroupCount: Int

    /// Compiles what a configuration makes of a table.
    ///
    /// - Parameters:
    ///   - table: The table with its record.
    ///   - config: The configuration.
    ///   - keepsLargeValues: Whether values that an update may leave out are kept.
    ///   - type: Gives the id of an output type.
    /// - Throws: What `type` throws.
    package init(
        _ table: SourceTable, _ config: CompiledSyncConfig, keepsLargeValues: Bool = true,
        type: (String) throws -> Int64
    ) rethrows {
        let columns = table.description.columns
        let programs = RowProgramCompiler.compile(
            config, schema: table.description.schema, table: table.description.name,
            columns: columns.map(\.name))
        let names = programs.map { $0.type.name(of: table.description.name) }
        types = try names.map(type)
        self.table = table
        self.programs = programs
        self.keepsLargeValues = keepsLargeValues
        conversions = table.types
        forms = table.types.map { SlotConverter.Form($0) }
        isIdentity = columns.map(\.isIdentity)
        identity = columns.indices.filter { columns[$0].isIdentity }
        isConverted = columns.indices.map { column in
            columns[column].isIdentity || programs.contains { $0.columns.contains(column) }
        }
        identityNames = columns.filter(\.isIdentity).map(\.name)
        let sources = programs.map { config.sources[$0.source].name }
        sourceNames = sources
        bucketNames = sources.map { Array("\($0)[".utf8) }
        typeNames = names.map { Array($0.utf8) }
        var texts: [UInt8] = []
        var offsets: [Int] = []
        for program in programs {
            offsets.append(texts.count)
            texts += program.code.texts
        }
        self.texts = texts
        textOffsets = offsets
        outputGroupCount = programs.reduce(0) { max($0, ($1.outputGroup ?? -1) + 1) }
    }

    /// Makes a table of which no row is evaluated, because all that are there go.
    ///
    /// - Parameter table: The table with its record.
    package convenience init(_ table: SourceTable) {
        self.init(
            table, CompiledSyncConfig(streams: [], sources: [], conversion: ConversionOptions())
        ) { _ in 0 }
    }
}
