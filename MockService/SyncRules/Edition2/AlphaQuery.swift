import PowerSyncWire

/// The query of a stream of edition 2: an alpha version of what edition 3 has (service 6.7).
struct AlphaQuery {
    /// The ways in which rows come into buckets, in the order that numbers them; none if something is wrong.
    let variants: [Variant]

    /// Compiles a query.
    ///
    /// - Parameters:
    ///   - text: The query.
    ///   - stream: Its stream.
    ///   - context: What it is compiled with.
    ///   - options: What of an older edition the configuration keeps.
    ///   - diagnostics: Where it is noted what is wrong.
    init(
        _ text: QueryText, of stream: StreamDefinition, _ context: DefinitionContext,
        _ options: CompatibilityOptions, _ diagnostics: inout DiagnosticList
    ) {
        var compiler = AlphaCompiler(reader: AlphaReader(text, context), stream: stream, options: options)
        do throws(QueryFailure) {
            variants = try compiler.variants()
            diagnostics.add(compiler.reader.query.diagnostics)
        } catch {
            variants = []
            diagnostics.add(error.diagnostic)
        }
    }
}

/// The steps from a query to variants.
private struct AlphaCompiler {
    var reader: AlphaReader
    let stream: StreamDefinition
    let options: CompatibilityOptions

    mutating func variants() throws(QueryFailure) -> [Variant] {
        let select = try reader.query.select()
        let table = try reader.table(of: select)
        let terms = try terms(of: select)
        let outputs = try reader.query.outputs(of: select, refusing: .request, .matchInColumn)
        if !outputs.hasID {
            reader.query.tell(.idRequired, at: select.items.first?.namedRange ?? select.range)
        }
        if stream.isDefault, reader.usesSubscription {
            reader.query.tell(.defaultUsesSubscription, at: 0..<reader.query.text.bytes.count)
        }
        let isWrong = reader.query.diagnostics.isFatal
        guard !isWrong, let source = select.sources.first, case .table(_, let name) = source.content else {
            return []
        }
        let type = RowProcessor.OutputType(of: table, name, alias: source.alias)
        let maker = AlphaVariants(table: table, type: type, outputs: outputs.columns, options: options)
        return terms.map { maker.variant($0) }
    }

    /// The terms of what stands behind WHERE; none if something is wrong with it that NOT has done.
    private mutating func terms(of select: SelectSyntax) throws(QueryFailure) -> [[AlphaCondition]] {
        guard let syntax = select.condition else { return [[]] }
        var refused: [Range<Int>] = []
        let condition = try reader.condition(syntax).withNegationsInside(&refused)
        for range in refused { reader.query.tell(.negation, at: range) }
        guard refused.isEmpty else { return [] }
        let size = condition.size
        guard size.terms <= PlanLimits.terms else { throw tooLarge("\(PlanLimits.terms) alternatives") }
        guard size.conditions <= PlanLimits.conditions else {
            throw tooLarge("\(PlanLimits.conditions) conditions in all alternatives")
        }
        let terms = condition.terms
        guard terms.allSatisfy({ $0.reduce(0) { $0 + $1.inputCount } <= PlanLimits.inputs }) else {
            throw tooLarge("\(PlanLimits.inputs) tables and arrays")
        }
        for case .selection(let subquery) in terms.joined() where subquery.isIndependent {
            throw independent(subquery)
        }
        return terms
    }

    private func tooLarge(_ limit: String) -> QueryFailure {
        reader.query.failure(.tooLarge, [limit], recorded: Recorded(.silent))
    }

    /// The failure of a sub-select that nothing of the request leads to; the admin routes place it at all of the query,
    /// as many bytes as that has without what YAML adds.
    private func independent(_ subquery: AlphaSubquery) -> QueryFailure {
        let text = reader.query.text
        let whole = TextRange(start: text.content.start, end: text.content.start + text.bytes.count)
        let message = DiagnosticName.subqueryIndependent.message()
        return reader.query.failure(
            .subqueryIndependent, at: subquery.range, recorded: Recorded(.text(message, whole)))
    }
}
