import Foundation
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// What the app may expect, whatever it does.
extension AttachmentSession {
    /// Whether the row says that its file is here.
    private static func hasFile(_ row: Attachment) -> Bool {
        row.state == .synced || row.state == .queuedUpload
    }

    private func isHere(_ row: Attachment) -> Bool {
        benches[0].bytes(row.filename) == Self.content(of: row.id)
    }

    /// What holds at every moment: a file is here, and the right one, if its row says so.
    func check() async throws {
        for row in try await benches[0].rows() where Self.hasFile(row) && !isHere(row) {
            // It may have gone meanwhile, but not without its row.
            let isSettled: () async throws -> Bool = {
                guard let now = try await benches[0].row(row.id) else { return true }
                return !Self.hasFile(now) || isHere(now)
            }
            if benches.count == 1 {
                #expect(try await isSettled(), "the file of \(row.id) is not here")
            } else {
                // The other process may be between the two.
                try await wait(for: "the file of \(row.id), or its row to say that it is not here", isSettled)
            }
        }
    }

    /// What holds when everything had its time, in one process that is left.
    mutating func end(_ random: inout SeededRandom) async throws {
        storage.failEach(nil)
        let place = random.below(benches.count)
        let bench = benches[place]
        for (other, process) in benches.enumerated() where other != place {
            try await process.queue.stopSyncing()
        }
        try await bench.upload()
        try await bench.queue.startSync()
        // Of files that share a name one has to go before the other can come.
        let twins = try await bench.rows().filter {
            $0.filename != "\($0.id).jpg" && $0.state != .queuedDelete
        }
        for twin in twins { try await delete(twin.id, in: bench) }
        let referred = Set(photos.values.compactMap { $0 })
        let items = referred.sorted().map { WatchedAttachmentItem(id: $0, fileExtension: "jpg") }
        try await wait(
            for: "everything to be done",
            read: {
                // What was left out for a name that nobody has any more.
                try await bench.queue.processWatchedAttachments(items: items)
                try await bench.queue.syncStorage()
                return try await bench.rows()
            },
            until: { Self.isDone($0, referred) })
        // A start clears up what stops have left of downloads.
        try await bench.queue.stopSyncing()
        try await bench.queue.startSync()
        try await bench.queue.stopSyncing()
        try await bench.queue.expireCache()
        try await judge(bench, referred)
        for bench in benches { try await bench.close() }
    }

    /// Whether nothing waits, and what is referred to is here.
    private static func isDone(_ rows: [Attachment], _ referred: Set<String>) -> Bool {
        let waiting = rows.filter { TransferLane($0.state) != nil }
        let synced = rows.filter { $0.state == .synced }
        return waiting.isEmpty && Set(synced.map(\.id)) == referred
    }

    private func judge(_ bench: AttachmentBench, _ referred: Set<String>) async throws {
        let rows = try await bench.rows()
        #expect(Set(rows.filter { $0.state == .synced }.map(\.id)) == referred)
        for row in rows where Self.hasFile(row) {
            #expect(isHere(row), "the file of \(row.id) is not here")
        }
        for id in known.subtracting(deleted) {
            #expect(storage.files[id] == Self.content(of: id), "the file of \(id) is lost")
        }
        for id in deleted {
            #expect(storage.files[id] == nil && bench.bytes("\(id).jpg") == nil, "\(id) is deleted")
            // A list that was read before may have brought the row back; without a file, and for the cache alone.
            let isGone = rows.allSatisfy { $0.id != id || $0.state == .archived && !$0.hasPath }
            #expect(isGone, "\(id) is deleted and has a row")
        }
        for (path, id) in kept {
            let isThere = FileManager.default.contents(atPath: path) == Data(Self.content(of: id))
            #expect(isThere, "the app's own file of \(id) is lost")
        }
        let orphans = Set(try files(of: bench)).subtracting(rows.map(\.filename))
        #expect(orphans == [], "no row has them")
        #expect(storage.mostRunningOfFile <= 1)
    }

    /// The files in the folder of the photos, those without their own names among them.
    private func files(of bench: AttachmentBench) throws -> [String] {
        let folder = bench.folder.file("photos")
        return try FileManager.default.subpathsOfDirectory(atPath: folder).filter {
            var isFolder: ObjCBool = false
            let isThere = FileManager.default.fileExists(atPath: "\(folder)/\($0)", isDirectory: &isFolder)
            return isThere && !isFolder.boolValue
        }
    }
}
