import PowerSyncTestSupport

extension LocalStatement {
    /// Returns some statement.
    static func random(_ random: inout SeededRandom) -> LocalStatement {
        let title = random.once(in: 4) ? nil : random.pick(ModelContent.titles)
        let n = random.once(in: 3) ? nil : random.below(4)
        let row =
            random.once(in: 8)
            ? ModelRow.draft("r\(random.below(3))")
            : ModelRow(type: random.pick(ModelRow.tables), id: "r\(random.below(5))")
        switch random.below(9) {
        case 0, 1: return .insert(row, title: title, n: n, replaces: false)
        case 2: return .insert(row, title: title, n: n, replaces: true)
        case 3, 4: return .update(row, title: .some(title), n: .some(n))
        case 5: return .update(row, title: nil, n: .some(n))
        case 6, 7: return .delete(row)
        default: return .note(id: "n\(random.below(100))", title: title ?? "b")
        }
    }
}

extension ServiceModel {
    /// Changes some rows, as others who use the service would; `type` picks the type of each.
    mutating func changeRows(_ random: inout SeededRandom, type: (inout SeededRandom) -> String) {
        if random.once(in: 8) {
            let bucket = random.below(buckets.count)
            for operation in buckets[bucket].current.values.sorted(by: { $0.id < $1.id }) {
                guard let row = operation.row else { continue }
                write(
                    row, nil, subkey: operation.subkey, bucket: bucket,
                    checksum: UInt32(truncatingIfNeeded: random.next()))
            }
            if random.once(in: 2) { compact(bucket, clears: true) }
        }
        for _ in 0...random.below(3) {
            let row = ModelRow(type: type(&random), id: "r\(random.below(5))")
            let content =
                random.once(in: 4)
                ? nil
                : ModelContent(
                    id: row.id, title: random.once(in: 5) ? nil : random.pick(ModelContent.titles),
                    n: random.once(in: 4) ? nil : random.below(4),
                    extra: random.once(in: 3) ? random.below(100) : nil)
            let subkey = random.once(in: 3) ? random.pick(["k1", "k/2"]) : nil
            write(
                row, content, subkey: subkey, bucket: random.below(buckets.count),
                checksum: UInt32(truncatingIfNeeded: random.next()))
            // The same row comes through other queries, too.
            if random.once(in: 4) {
                write(
                    row, content, subkey: subkey, bucket: random.below(buckets.count),
                    checksum: UInt32(truncatingIfNeeded: random.next()))
            }
        }
    }
}
