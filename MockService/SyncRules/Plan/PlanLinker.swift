import PowerSyncWire

/// Brings the variants of all streams together: what makes the service do the same is one (service 5, 6.9.7;
/// LANGUAGE.md 5).
package struct PlanLinker {
    private var streams: [StreamPlan] = []
    private var sources: [BucketSource] = []
    private var sourceNumbers: [Set<ProcessorIdentity>: Int] = [:]
    private var definitionNames: Set<ExactText> = []
    private var lookups: [LookupDefinition] = []
    private var lookupNumbers: [LookupIdentity: Int] = [:]

    private let isFixed: Bool

    /// Makes a linker that has no stream yet.
    ///
    /// - Parameter isFixed: Whether `fixed_json_extract` is on.
    package init(isFixed: Bool = true) { self.isFixed = isFixed }

    /// Adds a stream.
    ///
    /// - Parameters:
    ///   - stream: The stream.
    ///   - variants: Those of all of its queries, in order: their places number them.
    ///   - isMerging: Whether variants that requests find in the same way are one bucket, and those with the same rows
    ///     share them, as in edition 3. In edition 2 each variant has rows of its own (service 9.4, S10).
    ///   - diagnostics: Gets what is wrong.
    package mutating func add(
        _ stream: StreamDefinition, variants: [Variant], isMerging: Bool = true,
        _ diagnostics: inout DiagnosticList
    ) {
        var groups: [(first: Int, variants: [Variant])] = []
        var numbers: [RequestIdentity: Int] = [:]
        for (index, variant) in variants.enumerated() {
            let identity = RequestIdentity(variant.request, isFixed: isFixed)
            if isMerging, let number = numbers[identity] {
                groups[number].variants.append(variant)
            } else {
                numbers[identity] = groups.count
                groups.append((index, [variant]))
            }
        }
        guard groups.count <= PlanLimits.variants else {
            let counts = ["\(groups.count)", "\(PlanLimits.variants)"]
            diagnostics.add(Diagnostic(.tooManyBucketsDefined, counts, at: stream.nameRange))
            return
        }
        var queriers: [Querier] = []
        for group in groups {
            let name = ExactText("\(stream.name.text)|\(group.first)")
            // A definition `todos|0` would have its rows in the buckets of the stream `todos`.
            if definitionNames.contains(name) {
                diagnostics.add(Diagnostic(.duplicateDefinition, at: stream.nameRange))
            }
            let source = self.source(of: group.variants, name: name, isShared: isMerging)
            queriers.append(querier(group.variants[0].request, source: source))
        }
        streams.append(
            StreamPlan(
                name: stream.name, isDefault: stream.isDefault, priority: stream.priority,
                queriers: queriers))
    }

    /// Adds a bucket definition, which shares neither rows nor lookups with others.
    ///
    /// - Parameters:
    ///   - definition: The definition.
    ///   - compiled: What its queries come to; each processor stays, also one that is there twice, as recorded.
    mutating func add(_ definition: BucketDefinition, _ compiled: DefinitionsCompiler.Compiled) {
        let source = sources.count
        sources.append(BucketSource(name: definition.name, processors: compiled.processors))
        definitionNames.insert(definition.name)
        var queriers: [Querier] = []
        for request in compiled.requests {
            queriers.append(
                querier(request.side, source: source, priority: request.priority, isShared: false))
        }
        streams.append(
            StreamPlan(
                name: definition.name, isDefault: true, priority: definition.priority ?? 3, isLegacy: true,
                queriers: queriers))
    }

    /// Makes the plan of what was added.
    ///
    /// - Parameter document: The configuration.
    /// - Returns: The plan, without events.
    package func plan(of document: SyncDocument) -> SyncPlan {
        SyncPlan(
            edition: document.edition, options: document.options, streams: streams, sources: sources,
            lookups: lookups)
    }

    /// The source with the processors of some variants; one that is there already, and may be shared, keeps its name.
    private mutating func source(of variants: [Variant], name: ExactText, isShared: Bool) -> Int {
        var processors: [RowProcessor] = []
        var identities: Set<ProcessorIdentity> = []
        for variant in variants where identities.insert(ProcessorIdentity(variant.processor)).inserted {
            processors.append(variant.processor)
        }
        if isShared {
            if let number = sourceNumbers[identities] { return number }
            sourceNumbers[identities] = sources.count
        }
        sources.append(BucketSource(name: name, processors: processors))
        return sources.count - 1
    }

    private mutating func querier(
        _ request: RequestSide, source: Int, priority: Int? = nil, isShared: Bool = true
    ) -> Querier {
        var stages: [Stage] = []
        for step in request.steps {
            switch step {
            case .elements(let array, let filters): stages.append(.elements(array, filters: filters))
            case .lookup(let definition, let keys):
                let number = isShared ? lookup(definition) : ownLookup(definition)
                stages.append(.lookup(number, keys: keys, filters: []))
            }
        }
        return Querier(
            source: source, priority: priority, gates: request.gates, stages: stages, keys: request.keys)
    }

    /// A lookup that keeps its name, and is no other's.
    private mutating func ownLookup(_ definition: LookupDefinition) -> Int {
        lookups.append(definition)
        return lookups.count - 1
    }

    private mutating func lookup(_ definition: LookupDefinition) -> Int {
        let identity = LookupIdentity(definition)
        if let number = lookupNumbers[identity] { return number }
        lookupNumbers[identity] = lookups.count
        lookups.append(
            LookupDefinition(
                name: ExactText("lookup|\(lookups.count)"), table: definition.table,
                expansions: definition.expansions, filters: definition.filters, keys: definition.keys,
                outputs: definition.outputs))
        return lookups.count - 1
    }
}

/// What tells one processor from another: filters in another order ask the same.
private struct ProcessorIdentity: Hashable {
    private let rest: RowProcessor
    private let filters: Set<Expression>

    init(_ processor: RowProcessor) {
        rest = RowProcessor(
            table: processor.table, type: processor.type, expansions: processor.expansions,
            keys: processor.keys, outputs: processor.outputs, form: processor.form)
        filters = Set(processor.filters)
    }
}
