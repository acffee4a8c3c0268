/// Merges the queries of streams into bucket sources: what has the same request side is one bucket, and what
/// holds the
/// same rows is shared (service 5, 6.9.7).
struct StreamLinker {
    /// Queries of one stream with the same request side.
    private struct Bucket {
        let index: Int
        let query: CompiledQuery
        var processors: [RowProcessor] = []
        /// The processors again: one that is written twice counts once.
        var known: Set<RowProcessor> = []
    }

    private struct RequestSide: Hashable {
        let gates: [Expression]
        let keys: [[Expression]]
    }

    private var streams: [CompiledStream] = []
    private var sources: [BucketSource] = []
    /// Where the source of each set of processors stands.
    private var sourceIndexes: [Set<RowProcessor>: Int] = [:]

    /// Adds a stream with its queries, which are numbered in order.
    mutating func add(stream name: String, isDefault: Bool, priority: Int, queries: [CompiledQuery]) {
        var buckets: [Bucket] = []
        var bucketIndexes: [RequestSide: Int] = [:]
        for (index, query) in queries.enumerated() {
            let side = RequestSide(gates: query.gates, keys: query.keys)
            let place = bucketIndexes[side] ?? buckets.count
            if place == buckets.count {
                bucketIndexes[side] = place
                buckets.append(Bucket(index: index, query: query))
            }
            if buckets[place].known.insert(query.processor).inserted {
                buckets[place].processors.append(query.processor)
            }
        }
        let variants = buckets.map { bucket in
            StreamVariant(
                source: source("\(name)|\(bucket.index)", bucket.processors, bucket.known),
                gates: bucket.query.gates, keys: bucket.query.keys)
        }
        streams.append(
            CompiledStream(name: name, isDefault: isDefault, priority: priority, variants: variants))
    }

    func finish(_ conversion: ConversionOptions) -> CompiledSyncConfig {
        CompiledSyncConfig(streams: streams, sources: sources, conversion: conversion)
    }

    private mutating func source(
        _ name: String, _ processors: [RowProcessor], _ known: Set<RowProcessor>
    ) -> Int {
        if let same = sourceIndexes[known] { return same }
        sources.append(BucketSource(name: name, processors: processors))
        sourceIndexes[known] = sources.count - 1
        return sources.count - 1
    }
}
