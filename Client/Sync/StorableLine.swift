import PowerSyncWire

/// A data line that can be stored: each of its PUTs names its row (client-core 10, Q4).
package struct StorableLine: Sendable {
    /// The line.
    package let line: DataLine
    /// Its bytes as received.
    package let size: Int

    /// Takes a line, before anything of it is stored.
    ///
    /// - Parameters:
    ///   - line: the line.
    ///   - size: its bytes as received.
    /// - Throws: `SyncError` for a PUT without type or id, a row that nobody could apply or take away.
    package init(_ line: DataLine, size: Int) throws(SyncError) {
        guard line.operations.entries.allSatisfy(\.namesItsRow) else { throw .rowWithoutName }
        self.line = line
        self.size = size
    }
}

extension OperationList.Entry {
    fileprivate var namesItsRow: Bool { kind != .put || !(objectType.isAbsent || objectID.isAbsent) }
}
