import PowerSyncSystem

/// A transfer that was done, and has yet to be written.
struct FinishedTransfer: Sendable {
    /// The row as it was when the transfer began.
    let attachment: Attachment
    let lane: TransferLane
    let done: FileTransfer.Done

    /// Whether writing it takes a moment: an app's own storage may take any time for its file.
    var isQuick: Bool { done.file.map { $0.temporary != nil } ?? true }

    /// Decides what becomes of its row.
    func rule(_ row: Attachment, bytes: Int64) -> AttachmentChange {
        switch (lane, done.file) {
        // The time changes with the state: another one may be that of a row with other bytes, which came since.
        case (.upload, _): row.timestamp == attachment.timestamp ? AttachmentRules.uploaded(row) : .unchanged
        case (.download, let file?):
            AttachmentRules.downloaded(row, as: attachment.filename, to: file.path, size: bytes)
        case (.download, nil): .unchanged
        case (.delete, _): AttachmentRules.removed(row)
        }
    }
}

/// Writes what the transfers of a run have done: those together that end while others are written (SPEC.md,
/// "Transfers").
///
/// The files that were brought get their names, the names come to the disk, and then one transaction changes all rows,
/// while nobody else changes any.
final class FinishedTransfers: Sendable {
    /// What giving a file its name failed with.
    struct Unpublished: Error {
        let cause: any Error
    }

    private struct Waiter {
        let transfer: FinishedTransfer
        let continuation: Resumption<Void, any Error>
    }

    private struct State {
        /// In the order in which they came; no more than there are transfers.
        var waiters: [Waiter] = []
        var isWriting = false
    }

    /// A transfer whose row is to be changed.
    private struct Entry: Sendable {
        let place: Int
        let transfer: FinishedTransfer
        let bytes: Int64
    }

    private let parts: TransferParts
    private let tasks: AttachmentTasks
    private let state = Lock(State())

    /// Makes it for a run.
    ///
    /// - Parameters:
    ///   - parts: what the transfers work with.
    ///   - tasks: the tasks of the run: nothing is changed once that is over.
    init(_ parts: TransferParts, _ tasks: AttachmentTasks) {
        self.parts = parts
        self.tasks = tasks
    }

    /// How many wait to be written.
    var waiterCount: Int { state.withLock { $0.waiters.count } }

    /// Writes what was done, unless the row is another one meanwhile; returns then alone, also to who is cancelled.
    ///
    /// - Parameter transfer: what was done.
    /// - Throws: ``Unpublished``; what the database throws: the row is as before then.
    func write(_ transfer: FinishedTransfer) async throws {
        try await withThrowingResumption { (continuation: Resumption<Void, any Error>) in
            let isFirst = state.withLock { state in
                state.waiters.append(Waiter(transfer: transfer, continuation: continuation))
                defer { state.isWriting = true }
                return !state.isWriting
            }
            // Shielded: it has to be written, or taken back, although the row is to be deleted meanwhile. The task ends
            // with the last one that waits.
            if isFirst { Task.detached { await self.writeAll() } }
        }
    }

    private func writeAll() async {
        while hasWaiters() {
            do {
                // Whoever comes before the access is there goes along.
                try await parts.service.withContext { await self.writeNext(in: $0) }
            } catch {
                for waiter in takeNext() { waiter.continuation.resume(throwing: error) }
            }
        }
    }

    /// Whether somebody waits; otherwise the next one who comes begins anew.
    private func hasWaiters() -> Bool {
        state.withLock { state in
            state.isWriting = !state.waiters.isEmpty
            return state.isWriting
        }
    }

    /// Takes the next ones that are written together.
    private func takeNext() -> [Waiter] {
        state.withLock { state in
            let quick = state.waiters.prefix { $0.transfer.isQuick }.count
            let next = Array(state.waiters.prefix(max(1, quick)))
            state.waiters.removeFirst(next.count)
            return next
        }
    }

    private func writeNext(in context: AttachmentContext) async {
        let waiters = takeNext()
        let failures = await write(waiters.map(\.transfer), context.rows)
        for (waiter, failure) in zip(waiters, failures) {
            if let failure {
                waiter.continuation.resume(throwing: failure)
            } else {
                waiter.continuation.resume()
            }
        }
    }

    // MARK: Steps

    /// Writes transfers; returns what each of them failed with.
    private func write(_ transfers: [FinishedTransfer], _ rows: AttachmentRows) async -> [(any Error)?] {
        var failures: [(any Error)?] = transfers.map { _ in nil }
        var entries: [Entry] = []
        var named: [String] = []
        let places = transfers.indices.filter { transfers[$0].done.file != nil }
        var known: [Int: BroughtRow] = [:]
        do {
            if !places.isEmpty {
                let found = try await rows.brought(places.map { transfers[$0].attachment })
                for (place, row) in zip(places, found) { known[place] = row }
            }
        } catch {
            for place in places { failures[place] = error }
        }
        for (place, transfer) in transfers.enumerated() where failures[place] == nil {
            do {
                guard let bytes = try await publish(transfer, known[place], besides: named, rows)
                else { continue }
                entries.append(Entry(place: place, transfer: transfer, bytes: bytes))
                if let file = transfer.done.file { named.append(file.path) }
            } catch {
                failures[place] = error
            }
        }
        for (place, error) in Self.syncNames(of: entries) {
            // It has its name, as far as anybody knows; but nobody is told of it.
            failures[place] = Unpublished(cause: PowerSyncAttachmentError.ioError(error))
        }
        entries.removeAll { failures[$0.place] != nil }
        do {
            for failure in try await change(entries, rows) { failures[failure.place] = failure.error }
        } catch {
            for entry in entries { failures[entry.place] = error }
        }
        return failures
    }

    /// Gives a file that was brought its name: a row that does not want the file any more, or another one that has its
    /// name, finds it as it was.
    ///
    /// - Returns: how many bytes were transferred; nil where nothing is to be written.
    private func publish(
        _ transfer: FinishedTransfer, _ known: BroughtRow?, besides named: [String], _ rows: AttachmentRows
    ) async throws -> Int64? {
        guard let file = transfer.done.file else { return transfer.done.bytes }
        // What the next run finds of it, it need not fetch.
        if tasks.isOver { return nil }
        guard let known, AttachmentRules.awaits(known.row, as: transfer.attachment.filename),
            !known.isShared, !Self.isTaken(file.path, by: named),
            try await !parts.local.isTaken(file.path, besides: transfer.attachment.id, rows)
        else {
            file.drop()
            return nil
        }
        do {
            return try await file.publish()
        } catch {
            throw Unpublished(cause: error)
        }
    }

    /// Has the names that files got, and those that they had, brought to the disk; returns what that failed with, by the places
    /// of their transfers.
    private static func syncNames(of entries: [Entry]) -> [(place: Int, error: SystemError)] {
        var names: [(place: Int, path: String)] = []
        for entry in entries {
            guard let file = entry.transfer.done.file, let temporary = file.temporary else { continue }
            names.append((place: entry.place, path: file.path))
            names.append((place: entry.place, path: temporary))
        }
        return zip(names, StagedFile.syncEachName(of: names.map(\.path)))
            .compactMap { name, error in error.map { (place: name.place, error: $0) } }
    }

    /// Whether a path leads to a file that has just got another name: its row does not say so yet.
    private static func isTaken(_ path: String, by named: [String]) -> Bool {
        guard !named.isEmpty, let file = FileIdentity(of: path) else { return false }
        return named.contains { FileIdentity(of: $0) == file }
    }

    /// Changes the rows, and shows what was done.
    ///
    /// - Returns: what some of them have failed with behind that, by their places.
    /// - Throws: what the transaction throws.
    private func change(
        _ entries: [Entry], _ rows: AttachmentRows
    ) async throws -> [(place: Int, error: any Error)] {
        guard !entries.isEmpty else { return [] }
        let (changed, empty) = try await rows.finish(
            entries.map(\.transfer.attachment.id), in: Set(entries.map(\.transfer.lane))
        ) { [tasks] index, row in
            let entry = entries[index]
            return tasks.isOver ? .unchanged : entry.transfer.rule(row, bytes: entry.bytes)
        }
        var failures: [(place: Int, error: any Error)] = []
        for index in entries.indices where changed[index].change == .unchanged {
            do {
                try await takeBack(entries[index].transfer, changed[index].row, rows)
            } catch {
                failures.append((place: entries[index].place, error: error))
            }
        }
        let done = entries.indices.filter { changed[$0].change != .unchanged }.map { entries[$0] }
        for (index, entry) in done.enumerated() {
            let (attachment, lane) = (entry.transfer.attachment, entry.transfer.lane)
            let isLast = empty.contains(lane) && !done[(index + 1)...].contains { $0.transfer.lane == lane }
            parts.progress.ended(
                attachment.id, lane, done: entry.bytes, of: attachment.size ?? 0, isLast: isLast,
                unless: { tasks.isOver })
        }
        return failures
    }

    /// Removes a file whose row another process has changed, unless somebody needs it.
    private func takeBack(
        _ transfer: FinishedTransfer, _ row: Attachment?, _ rows: AttachmentRows
    ) async throws {
        guard let path = transfer.done.file?.path, !tasks.isOver else { return }
        if AttachmentRules.wants(row, fileAt: path) { return }
        let attachment = transfer.attachment
        if try await rows.isShared(attachment.filename, besides: attachment.id) { return }
        try await parts.local.storage.deleteFile(filePath: path)
    }
}
