import PowerSyncSyncRules

/// What must hold for every sync configuration.
enum SyncConfigProperties {
    static func check(_ text: String, _ tally: inout Tally) {
        let config = SyncConfig.compile(text)
        guard config == SyncConfig.compile(text) else { fatalError("a text means two things") }
        let size = config.text.bytes.count
        for diagnostic in config.diagnostics.all {
            let range = diagnostic.range
            guard range.start >= 0, range.start <= range.end, range.end <= size, !diagnostic.message.isEmpty
            else { fatalError("a message of what is nowhere in the text: \(diagnostic)") }
        }
        guard let plan = config.plan else {
            tally.count("sync configurations refused")
            return
        }
        for querier in plan.streams.flatMap(\.queriers) {
            guard plan.sources.indices.contains(querier.source) else {
                fatalError("a source that is not there")
            }
            for case .lookup(let lookup, _, _) in querier.stages where !plan.lookups.indices.contains(lookup)
            {
                fatalError("a lookup that is not there")
            }
        }
        tally.count("sync configurations")
        tally.count("bucket sources", plan.sources.count)
        tally.count("lookups", plan.lookups.count)
    }
}
