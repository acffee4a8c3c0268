import PowerSyncSQLite
import PowerSyncTestSupport

@testable import PowerSync

/// What the app and its backend do.
extension Session {
    /// A transaction of the app, which may be rolled back as a whole or in part.
    func write() throws {
        if random.once(in: 2) { try flush() }
        var changed = model
        var entries: [QueueEntry] = []
        try client.writer.run("BEGIN IMMEDIATE")
        for _ in 0...random.below(4) {
            let saved = (changed, entries)
            let usesSavepoint = random.once(in: 5)
            if usesSavepoint { try client.writer.run("SAVEPOINT part") }
            let statement = randomStatement()
            let new = changed.write(statement)
            do {
                try client.run(statement)
                try require(new != nil, "\(statement) should have failed")
            } catch let error as SQLiteError {
                try require(new == nil, "\(statement) failed: \(error)")
            }
            entries += new ?? []
            note("write \(statement)\(new == nil ? ", refused" : "")")
            guard usesSavepoint else { continue }
            if random.once(in: 2) {
                note("roll back to the savepoint")
                try client.writer.run("ROLLBACK TO part")
                (changed, entries) = saved
            }
            try client.writer.run("RELEASE part")
        }
        if random.once(in: 6) {
            note("roll back")
            meet(.rolledBack)
            try client.writer.run("ROLLBACK")
            return try commit(model)
        }
        try client.writer.run("COMMIT")
        note("commit")
        changed.commit(entries)
        try commit(changed)
        try checkNumbers(of: entries.count)
    }

    /// Entries and transactions are numbered in the order of their commits.
    private func checkNumbers(of count: Int) throws {
        guard count > 0 else { return }
        let new = try client.queueNumbers().suffix(count)
        guard let first = new.first, let last = new.last else { return }
        try require(
            first.id > lastEntry.id && last.id == first.id + Int64(count) - 1,
            "the entries \(first.id) to \(last.id) come behind \(lastEntry.id)")
        try require(
            first.transaction == last.transaction && first.transaction > lastEntry.transaction,
            "transaction \(first.transaction) comes behind \(lastEntry.transaction)")
        lastEntry = last
    }

    private func randomStatement() -> LocalStatement { .random(&random) }

    // MARK: Uploading (client-core 8.1, 8.2)

    /// The next piece of an upload round.
    func advanceUpload() throws {
        if let upload {
            self.upload = nil
            // The answer of the backend is lost now and then: the same changes are sent again.
            if !isCalm, random.once(in: 8) { return note("the backend's answer is lost") }
            let isLast = model.queue.count == 1
            let custom = isLast && random.once(in: 6) ? service.nextWriteCheckpoint() : nil
            note("complete upload, write checkpoint \(custom.map(String.init) ?? "-")")
            hasNews = true
            var next = model
            next.completeUpload(of: 1, writeCheckpoint: custom)
            try client.completeUpload(through: upload.last, writeCheckpoint: custom)
            try commit(next)
            if custom != nil { try tellUploadCompleted() }
        } else if let next = try client.nextUpload() {
            guard let entries = model.queue.first else {
                throw SessionFailure(message: "the queue holds \(next.entries)")
            }
            try require(
                next.entries == entries.map(\.text),
                "the next upload is \(next.entries) instead of \(entries.map(\.text))")
            note("upload \(next.entries)")
            for entry in entries where ModelRow.tables.contains(entry.row.type) {
                // A backend may refuse a change; then the client's goes away again.
                if !isCalm, random.once(in: 8) { continue }
                service.apply(entry, checksum: UInt32(truncatingIfNeeded: random.next()))
            }
            upload = (next.last, entries)
        } else if let awaited {
            self.awaited = nil
            let isSame = model.queue.isEmpty && Int64(model.queuedEver) == awaited.write
            note("write checkpoint \(awaited.id)\(isSame ? "" : " comes too late")")
            var next = model
            if isSame { next.target = awaited.id }
            let isSet = try client.writer.transaction {
                try store.setTarget(awaited.id, ifLastWriteIs: awaited.write)
            }
            try require(isSet == isSame, "a write checkpoint was \(isSet ? "" : "not ")taken")
            try commit(next)
            try tellUploadCompleted()
        } else {
            let write = try client.writer.transaction { try store.writeAwaitingCheckpoint() }
            let isAwaiting = model.target == ClientModel.unknown && model.queuedEver > 0
            try require((write != nil) == isAwaiting, "a write checkpoint is awaited for \(write ?? -1)")
            guard let write else { return try tellUploadCompleted() }
            awaited = (service.nextWriteCheckpoint(), write)
            note("ask for a write checkpoint")
        }
    }

    /// The end of an upload round, whether a write checkpoint came of it or not.
    private func tellUploadCompleted() throws {
        hasNews = false
        guard model.isActive else { return }
        let wasPending = model.pending != nil
        let before = model.applied
        try feed(.uploadCompleted) { [now] in $0.uploadCompleted(now: now) }
        if wasPending, model.applied != before { meet(.pendingApplied) }
    }

    private var store: SyncStore { SyncStore(connection: client.writer, now: now) }

    // MARK: Subscriptions (client-core 7)

    func changeSubscriptions() throws {
        try flush()
        let key = Subscription.Key(
            name: ServiceModel.explicitStream, parameters: random.pick(ServiceModel.explicitParameters))
        var next = model
        let seconds = Int64(random.pick([0, 15, 3600]))
        switch random.below(3) {
        case 0:
            note("subscribe \(key.parameters ?? "") for \(seconds) s")
            next.subscribe(key, timeToLive: seconds, now: now)
            try client.writer.transaction { try store.subscribe(key.stream, timeToLive: seconds) }
        case 1:
            note("unsubscribe \(key.parameters ?? "")")
            next.unsubscribe(key)
            try client.writer.transaction { try store.unsubscribe(key.stream) }
        default: break
        }
        try commit(next)
        active = ServiceModel.explicitParameters.filter { _ in random.once(in: 2) }.map {
            Subscription.Key(name: ServiceModel.explicitStream, parameters: $0)
        }
        guard model.isActive else { return }
        note("the app holds \(active.compactMap(\.parameters))")
        try feed(.subscriptionsChanged(active: active.map(\.stream))) { [active, now] in
            $0.subscriptionsChanged(active: active, now: now)
        }
    }
}
