import PowerSyncWire

/// The bytes of an upload that are known to be within the limits, before anything is made of them (backend 7, number 9).
package struct MeasuredBody: Sendable {
    /// The bytes that an operation takes on its way to the database, beside its values: plans, parameters, results.
    private static let operationBytes = 1 << 10
    /// How often the values are in memory at once: as parameters, as what libpq sends, and as a dead letter keeps them.
    private static let copies = 4

    private let bytes: [UInt8]
    private let limits: UploadLimits
    /// What it is made of.
    package let shape: UploadShape
    /// How many bytes it has.
    package var count: Int { bytes.count }

    /// Passes over a body and counts.
    ///
    /// - Parameters:
    ///   - bytes: the body.
    ///   - limits: what is too large.
    /// - Throws: `Problem` 400 for what is malformed, 413 for what is too large.
    package init(_ bytes: [UInt8], limits: UploadLimits = UploadLimits()) throws(Problem) {
        do throws(WireError) {
            shape = try UploadShape(bytes, limits: limits)
        } catch {
            throw Problem(error)
        }
        self.bytes = bytes
        self.limits = limits
    }

    /// About how much memory reading and applying it takes.
    ///
    /// Which of the texts are for columns of arrays is not known before the tables are; all of them may be.
    package var memory: Int {
        shape.treeBytes + shape.textTreeBytes + shape.operations * Self.operationBytes
            + bytes.count * Self.copies
    }

    /// Makes the tree.
    func tree() throws(Problem) -> JSON {
        do throws(WireError) {
            return try JSON.parse(
                bytes, limits: JSONLimits(depth: limits.depth, numberBytes: limits.numberBytes))
        } catch {
            throw Problem(error)
        }
    }
}
