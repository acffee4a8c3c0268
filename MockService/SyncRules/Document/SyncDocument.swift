import PowerSyncWire

/// A configuration as its YAML says it; its SQL is not read yet (service 6.1, 6.2).
package struct SyncDocument: Sendable, Hashable {
    /// 1, 2 or 3.
    package let edition: Int
    /// What of an older edition it keeps.
    package let options: CompatibilityOptions
    /// The common table expressions of all streams, of edition 3 alone.
    package let commonTables: [CommonTable]
    /// The bucket definitions, of editions 1 and 2 alone.
    package let definitions: [BucketDefinition]
    /// The streams.
    package let streams: [StreamDefinition]
    /// The events.
    package let events: [EventDefinition]
    /// What is wrong with options and common table expressions, and what concerns all streams.
    package let diagnostics: DiagnosticList
    /// What is told behind all else: keys that nobody knows, and too high an edition.
    package let trailing: DiagnosticList
}

/// What is wrong with the YAML of a stream, a bucket definition or an event.
package struct DefinitionNotes: Sendable, Hashable {
    /// What is told before what its queries have.
    package let first: DiagnosticList
    /// What is told behind that: keys that nobody knows.
    package let last: DiagnosticList

    /// Both.
    package var all: DiagnosticList {
        var all = first
        all.add(last)
        return all
    }
}

/// A common table expression, of the configuration or of one stream.
package struct CommonTable: Sendable, Hashable {
    /// Its name.
    package let name: ExactText
    /// Where the name stands.
    package let nameRange: TextRange
    /// Its SQL.
    package let query: QueryText
}

/// A stream.
package struct StreamDefinition: Sendable, Hashable {
    /// Its name.
    package let name: ExactText
    /// Where the name stands.
    package let nameRange: TextRange
    /// Whether clients get it without asking.
    package var isDefault = false
    /// 0 to 3, 0 is the most urgent.
    package var priority = 3
    /// Whether its queries may rest on what clients say of themselves, without a warning.
    package var acceptsDangerousQueries = false
    /// Its own common table expressions.
    package var commonTables: [CommonTable] = []
    /// Its queries that can be compiled: none in edition 1, one at most in edition 2.
    package var queries: [QueryText] = []
    /// What is wrong with its YAML.
    package var notes = DefinitionNotes(first: DiagnosticList(), last: DiagnosticList())
}

/// A bucket definition.
package struct BucketDefinition: Sendable, Hashable {
    /// Its name.
    package let name: ExactText
    /// Where the name stands.
    package let nameRange: TextRange
    /// 0 to 3, 0 is the most urgent; nil if nothing is said of it, which is 3.
    package var priority: Int?
    /// Where the key of the priority stands.
    package var priorityRange: TextRange?
    /// Whether its queries may rest on what clients say of themselves, without a warning.
    package var acceptsDangerousQueries = false
    /// Its parameter queries; nil for one bucket that everybody gets.
    package var parameters: [QueryText]?
    /// Its data queries.
    package var data: [QueryText] = []
    /// What is wrong with its YAML.
    package var notes = DefinitionNotes(first: DiagnosticList(), last: DiagnosticList())
}

/// An event: what is made of rows beside buckets (service 7.9).
package struct EventDefinition: Sendable, Hashable {
    /// Its name.
    package let name: ExactText
    /// Where the name stands.
    package let nameRange: TextRange
    /// Its queries.
    package var payloads: [QueryText] = []
    /// What is wrong with its YAML.
    package var notes = DefinitionNotes(first: DiagnosticList(), last: DiagnosticList())
}
