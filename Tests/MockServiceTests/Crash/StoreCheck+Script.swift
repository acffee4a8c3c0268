import PowerSyncMockService
import PowerSyncPostgres
import PowerSyncWire

extension StoreCheck {
    /// Looks at the file of a session, which has limits of its own.
    init(ofSession path: String, keeps promises: StorePromises = StorePromises()) throws {
        try self.init(path: path, keeps: promises, limits: StoreSession.limits)
    }

    /// How what clients hold differs from what the source had at the commit that was published last.
    func differences(from script: StoreScript) -> [String] {
        var problems: [String] = []
        var expected: [ExactText: Set<HeldRow>] = [:]
        for (number, stream) in streams {
            guard let last = StoreScript.number(at: stream.checkpoint.lsn) else {
                problems.append("no transaction is committed at the checkpoint \(stream.checkpoint.lsn)")
                continue
            }
            expected.merge(script.held(through: last, stream: number)) { $1 }
        }
        for name in Set(rows.keys).union(expected.keys).sorted() where rows[name] != expected[name] {
            let (held, wanted) = (rows[name] ?? [], expected[name] ?? [])
            let ids = held.symmetricDifference(wanted).map(\.id).sorted()
            problems.append("\(name.text) has not what the source had of the rows \(ids)")
        }
        return problems
    }
}
