/// The names that operations have by number, of as many as occur.
package struct FrameNames: Sendable, Equatable {
    /// The UUIDs of source tables, by their records.
    package var tables: [Int64: String] = [:]
    /// The client's tables, by their ids in `output_type`.
    package var types: [Int64: String] = [:]

    /// No names.
    package init() {}
}
