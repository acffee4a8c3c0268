/// What of an older edition a configuration keeps (service 6.2).
package struct CompatibilityOptions: Sendable, Hashable {
    /// Times as ISO 8601 spells them.
    package var timestampsISO8601: Bool
    /// Without effect: names always carry their version.
    package var versionedBucketIDs: Bool
    /// `->` takes its right side for one key.
    package var fixedJSONExtract: Bool
    /// Domains, composites, arrays of enums and ranges are converted.
    package var customPostgresTypes: Bool
    /// Digits of a second's fraction; nil is a fraction as the source has it.
    package var fractionDigits: Int?
    /// Which rules expressions are evaluated by.
    package var engine: Engine

    /// Makes the options that an edition has unless the configuration says otherwise.
    package init(edition: Int) {
        let isNew = edition >= 2
        timestampsISO8601 = isNew
        versionedBucketIDs = isNew
        fixedJSONExtract = isNew
        customPostgresTypes = isNew
        fractionDigits = nil
        engine = .standard
    }
}
