/// Merges the queries of streams into bucket sources: what has the same request side is one bucket, and what
/// holds the
/// same rows is shared (service 5, 6.9.7).
struct StreamLinker {
    private var streams: [CompiledStream] = []
    private var sources: [BucketSource] = []

    /// Adds a stream with its queries, which are numbered in order.
    mutating func add(stream name: String, isDefault: Bool, priority: Int, queries: [CompiledQuery]) {
        var merged: [(index: Int, query: CompiledQuery, processors: [RowProcessor])] = []
        for (index, query) in queries.enumerated() {
            let same = merged.firstIndex { $0.query.gates == query.gates && $0.query.keys == query.keys }
            if let same {
                // An evaluator written twice counts once.
                if !merged[same].processors.contains(query.processor) {
                    merged[same].processors.append(query.processor)
                }
            } else {
                merged.append((index, query, [query.processor]))
            }
        }
        let variants = merged.map { entry in
            StreamVariant(
                source: source("\(name)|\(entry.index)", entry.processors), gates: entry.query.gates,
                keys: entry.query.keys)
        }
        streams.append(
            CompiledStream(name: name, isDefault: isDefault, priority: priority, variants: variants))
    }

    func finish(_ conversion: ConversionOptions) -> CompiledSyncConfig {
        CompiledSyncConfig(streams: streams, sources: sources, conversion: conversion)
    }

    private mutating func source(_ name: String, _ processors: [RowProcessor]) -> Int {
        if let same = sources.firstIndex(where: { Set($0.processors) == Set(processors) }) { return same }
        sources.append(BucketSource(name: name, processors: processors))
        return sources.count - 1
    }
}
