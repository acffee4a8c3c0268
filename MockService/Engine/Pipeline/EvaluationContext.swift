import PowerSyncWire

/// Whose rows are written, and what they are evaluated and converted with.
package struct EvaluationContext: Sendable {
    /// The stream that is written.
    package let stream: StreamNumber
    /// Its configuration.
    package let config: CompiledSyncConfig
    /// What values are converted with.
    package let converter: SlotConverter
    /// Is called now and then while much is written at once.
    let progress: @Sendable () -> Void
    private let names: Set<ExactText>

    /// Makes a context.
    ///
    /// - Parameters:
    ///   - stream: The stream that is written.
    ///   - config: Its configuration.
    ///   - progress: Is called now and then while much is written at once.
    package init(
        stream: StreamNumber, config: CompiledSyncConfig, progress: @escaping @Sendable () -> Void = {}
    ) {
        self.stream = stream
        self.config = config
        self.progress = progress
        converter = SlotConverter(options: config.conversion)
        names = Set(config.tables.map { Self.name($0.schema, $0.name) })
    }

    /// Whether rows of a table matter.
    ///
    /// - Parameters:
    ///   - schema: The schema of the table.
    ///   - table: The table.
    /// - Returns: Whether the configuration names it.
    package func uses(schema: String, table: String) -> Bool { names.contains(Self.name(schema, table)) }

    /// The length tells where the schema ends.
    private static func name(_ schema: String, _ table: String) -> ExactText {
        ExactText("\(schema.utf8.count):\(schema).\(table)")
    }
}

extension CompiledSyncConfig {
    /// The tables that it names, each once, in the order in which they are read.
    package var tables: [(schema: String, name: String)] {
        var seen: Set<[ExactText]> = []
        return sources.flatMap(\.processors).filter { seen.insert([$0.schema, $0.table]).inserted }
            .map { (schema: $0.schema.text, name: $0.table.text) }
            .sorted { ($0.schema, $0.name) < ($1.schema, $1.name) }
    }
}
