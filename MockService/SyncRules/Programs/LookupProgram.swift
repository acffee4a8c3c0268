/// What one lookup of a configuration makes of a row of one shape: by which keys it is found, and what is found; or what a
/// payload of an event does, without keys.
package struct LookupProgram: Sendable {
    /// Index into the plan's lookups, or payloads.
    package let definition: Int
    /// The instructions.
    package let code: RowCode
    /// The values of the key.
    package let keys: [Register]
    /// What is found.
    package let outputs: [Register]
    /// The columns that are read.
    package let columns: Set<Int>

    /// Makes a program of its parts.
    package init(definition: Int, code: RowCode, keys: [Register], outputs: [Register]) {
        self.definition = definition
        self.code = code
        self.keys = keys
        self.outputs = outputs
        columns = code.columns
    }
}

/// One way in which a row is found.
package struct LookupEntry: Sendable, Hashable {
    /// The values of the key: numbers and texts.
    package let key: [Slot]
    /// What is found.
    package let outputs: [Slot]

    /// Makes an entry of both.
    package init(key: [Slot], outputs: [Slot]) {
        self.key = key
        self.outputs = outputs
    }
}
