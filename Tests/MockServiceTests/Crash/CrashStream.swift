import PowerSyncSyncRules
import PowerSyncWire

@testable import PowerSyncServiceEngine

/// A stream that holds all buckets of a script, so that what is written to them is kept for it, and compares what it finds
/// in memory with what the disk has.
struct CrashStream: Sendable {
    /// What the journal says of operations that were in memory as they are on the disk.
    static let compared = "compared"

    let store: ServiceStore
    let publisher: Publisher
    let frames: FrameStore
    let journal: StoreJournal

    /// Goes on until the task is cancelled.
    func run() async throws {
        var sequence: UInt64 = 0
        while true {
            let publication = try await publisher.next(after: sequence)
            sequence = publication.sequence
            try await follow(publication)
        }
    }

    /// Holds the buckets of a replication stream until another one is served.
    private func follow(_ publication: Publication) async throws {
        let stream = publication.stream
        let names = publication.served.plan.sources.flatMap { source in
            StoreScript.owners.map { "\(stream)#\(source.name.text)[\"\($0)\"]" }
        }
        let mailbox = Mailbox(
            buckets: Set(names.map { ExactText($0) }), key: ExactText(StoreSession.writeCheckpointKey))
        guard let attachment = try publisher.attach(mailbox, to: stream) else { return }
        defer { withExtendedLifetime(attachment) {} }
        var view = try await store.view(of: names, stream: stream, key: "")
        var (last, buckets) = (view.checkpoint.operation, view.buckets)
        while mailbox.end == nil {
            try await mailbox.wait()
            guard let news = mailbox.take(behind: last) else { continue }
            guard let changed = news.changed else {
                view = try await store.view(of: names, stream: stream, key: "")
                (last, buckets) = (view.checkpoint.operation, view.buckets)
                continue
            }
            for (name, totals) in changed {
                try await compare(totals, behind: buckets[name]?.lastOperation ?? 0, mailbox)
                buckets[name] = totals
            }
            last = max(last, news.checkpoint.operation)
        }
    }

    /// Compares what is in memory of a bucket behind an operation.
    private func compare(
        _ totals: BucketTotals, behind known: OperationID, _ mailbox: Mailbox
    ) async throws {
        guard let bucket = totals.id else { return }
        var position = known
        while position < totals.lastOperation {
            func request(upTo last: OperationID) -> FrameRequest {
                FrameRequest(
                    bucket: bucket, after: position, last: last, rows: StreamSession.rowLimit,
                    bytes: FrameRequest.lineBytes)
            }
            guard let frame = try frames.frame(inMemory: request(upTo: totals.lastOperation)) else { return }
            // It ends with its publication, and there may have been more of them.
            let stored = try await store.frame(request(upTo: frame.last))
            // Behind the end they are being removed.
            guard mailbox.end == nil else { return }
            let line = try Self.line(frame, behind: position)
            if let stored, try Self.line(stored, behind: position) == line {
                journal.did(Self.compared)
            } else {
                journal.differs("operations of bucket \(bucket) behind \(position)")
            }
            position = frame.last
        }
    }

    private static func line(_ frame: Frame, behind position: OperationID) throws -> [UInt8] {
        try LineEncoder(.raw, BlockCompressors()).encode(frame, of: "b", after: position, hasMore: false)
            .taken()
    }
}
