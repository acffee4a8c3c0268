import PowerSyncSyncRules

/// Which editions are compiled to plans by now (LANGUAGE.md 13): tests of what queries come to wait for that.
enum EditionReadiness {
    /// Whether the smallest configuration of an edition has a plan.
    static func compiles(_ edition: Int) -> Bool {
        let query = "{query: SELECT * FROM t}"
        let text =
            edition == 1
            ? "bucket_definitions: {a: {data: [SELECT * FROM t]}}"
            : "config: {edition: \(edition)}\nstreams: {a: \(query)}"
        return SyncConfig.compile(text).plan != nil
    }
}
