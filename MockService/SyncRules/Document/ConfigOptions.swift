import PowerSyncYAML

/// What `config` says (service 6.2).
struct ConfigOptions {
    /// 1, 2 or 3.
    private(set) var edition = 1
    /// What of an older edition is kept.
    private(set) var compatibility = CompatibilityOptions(edition: 1)
    /// Where an edition is asked for that is not there yet: its key.
    private(set) var tooHighEdition: TextRange?

    private static let keys: Set<String> = [
        "edition", "storage_version", "timestamps_iso8601", "versioned_bucket_ids", "fixed_json_extract",
        "custom_postgres_types", "timestamp_max_precision", "unstable_sqlite_expression_engine",
    ]

    private static let precisions = ["seconds": 0, "milliseconds": 3, "microseconds": 6, "nanoseconds": 6]

    /// The options of edition 1.
    init() {}

    /// Reads a `config`; what is wrong in it leaves what it would say as without it.
    init(_ node: YAMLNode, _ reader: inout ValueReader) {
        guard let map = reader.map(node, known: Self.keys) else { return }
        if let pair = map["edition"] { readEdition(pair, &reader) }
        compatibility = CompatibilityOptions(edition: edition)
        if let node = map["storage_version"]?.value { checkStorageVersion(node, &reader) }
        let flags: [(key: String, option: WritableKeyPath<CompatibilityOptions, Bool>)] = [
            ("timestamps_iso8601", \.timestampsISO8601), ("versioned_bucket_ids", \.versionedBucketIDs),
            ("fixed_json_extract", \.fixedJSONExtract), ("custom_postgres_types", \.customPostgresTypes),
        ]
        for (key, option) in flags {
            guard let node = map[key]?.value, let isOn = reader.bool(node) else { continue }
            compatibility[keyPath: option] = isOn
        }
        if let node = map["timestamp_max_precision"]?.value { readPrecision(node, &reader) }
        if let node = map["unstable_sqlite_expression_engine"]?.value { readEngine(node, &reader) }
    }

    private mutating func readEdition(_ pair: ValueReader.Pair, _ reader: inout ValueReader) {
        guard let number = reader.number(pair.value) else { return }
        if number > 3 { tooHighEdition = ValueReader.range(pair.key) }
        // What is too high is read as the highest, so that the rest is checked, too.
        edition = number >= 3 ? 3 : number >= 2 ? 2 : 1
    }

    /// Tells of a storage version: it says how the real service stores, which this one does in its own way.
    private func checkStorageVersion(_ node: YAMLNode, _ reader: inout ValueReader) {
        guard let number = reader.number(node) else { return }
        switch number {
        case 2: break
        case 3: reader.add(.storageVersionUnstable, value: node)
        default: reader.add(.storageVersionOld, [node.string ?? ""], value: node)
        }
    }

    private mutating func readPrecision(_ node: YAMLNode, _ reader: inout ValueReader) {
        guard let digits = node.string.flatMap({ Self.precisions[$0] }) else {
            return reader.add(.precisionInvalid, value: node)
        }
        guard compatibility.timestampsISO8601 else { return reader.add(.precisionNeedsISO, value: node) }
        compatibility.fractionDigits = digits
    }

    private mutating func readEngine(_ node: YAMLNode, _ reader: inout ValueReader) {
        guard reader.bool(node) == true else { return }
        if edition < 3 {
            reader.add(.engineNeedsEdition, value: node)
        } else if !compatibility.fixedJSONExtract {
            reader.add(.engineNeedsJSON, value: node)
        } else {
            compatibility.engine = .sqlite
        }
    }
}
