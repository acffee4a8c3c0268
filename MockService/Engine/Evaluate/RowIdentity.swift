import PowerSyncCrypto
import PowerSyncSyncRules

/// Makes keys and replica ids of very many rows, with a digest that is kept: those of `RowKey` and `ReplicaID`, without
/// a text or an array for each; one owner, not shared.
struct RowIdentity: ~Copyable {
    private var digest = KeptDigest(.sha1)
    private var document: [UInt8] = []
    /// The sixteen bytes of the id that was made last.
    private(set) var replicaID: [UInt8] = []

    init() {}

    /// Appends the key of a row whose values lie in slots.
    ///
    /// - Parameters:
    ///   - plan: Its table.
    ///   - slots: The row.
    ///   - arena: What texts and blobs lie in.
    ///   - isIDNeeded: Whether `replicaID` shall be that of the row, also if the key does without.
    ///   - bytes: What the key is appended to.
    /// - Returns: Where it lies.
    mutating func append(
        _ plan: TablePlan, _ slots: [Slot], in arena: [UInt8], isIDNeeded: Bool, to bytes: inout [UInt8]
    ) -> Range<Int> {
        let start = bytes.count
        let isPacked = RowKey.append(plan.identity, of: slots, in: arena, to: &bytes)
        if isIDNeeded || !isPacked { makeReplicaID(plan, slots, in: arena) }
        if !isPacked { RowKey.append(replicaID: replicaID, to: &bytes) }
        return start..<bytes.count
    }

    /// Makes the id of a row: UUID version 5 over the BSON document of its identity, version 4 without one (service 4.5).
    private mutating func makeReplicaID(_ plan: TablePlan, _ slots: [Slot], in arena: [UInt8]) {
        guard !plan.identity.isEmpty else {
            replicaID = ReplicaID.random().bytes
            return
        }
        makeDocument(plan, slots, in: arena)
        digest.update(ReplicaID.namespace)
        digest.update(document)
        var id = replicaID
        replicaID = []
        id.removeAll(keepingCapacity: true)
        digest.finish { id.append(contentsOf: $0.prefix(16)) }
        id[6] = id[6] & 0x0F | 0x50
        id[8] = id[8] & 0x3F | 0x80
        replicaID = id
    }

    /// Makes the document of `ReplicaID.document`.
    private mutating func makeDocument(_ plan: TablePlan, _ slots: [Slot], in arena: [UInt8]) {
        document.removeAll(keepingCapacity: true)
        append(Int32(0))
        for (index, column) in plan.identity.enumerated() {
            let (slot, name) = (slots[column], plan.identityNames[index])
            switch slot.kind {
            case .null, .missing: append(0x0A, name)
            case .integer:
                append(0x12, name)
                append(slot.integer)
            case .real:
                if let integer = ReplicaID.integer(slot.real) {
                    append(0x10, name)
                    append(integer)
                } else {
                    append(0x01, name)
                    append(slot.real.bitPattern)
                }
            // A wide integer is the text of its digits, as it is stored.
            case .text, .wide:
                append(0x02, name)
                append(Int32(slot.range.count + 1))
                document.append(contentsOf: arena[slot.range])
                document.append(0)
            case .blob:
                append(0x05, name)
                append(Int32(slot.range.count))
                document.append(0)
                document.append(contentsOf: arena[slot.range])
            }
        }
        document.append(0)
        let count = UInt32(document.count)
        for place in 0..<4 { document[place] = UInt8(truncatingIfNeeded: count >> UInt32(8 * place)) }
    }

    private mutating func append(_ type: UInt8, _ name: String) {
        document.append(type)
        document.append(contentsOf: name.utf8)
        document.append(0)
    }

    private mutating func append(_ number: some FixedWidthInteger) {
        withUnsafeBytes(of: number.littleEndian) { document.append(contentsOf: $0) }
    }
}
