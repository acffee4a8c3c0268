import PowerSyncTestSupport

/// The steps of a session.
extension Session {
    private enum Step {
        case service, compact, toggle, write, network, upload, cut, stop, restart, streams, flush
    }

    /// Runs random steps, then lets everything come to rest and compares client and service.
    func run() throws {
        defer { client.close() }
        for _ in 0..<(60 + random.below(60)) {
            step += 1
            now += 1_000_000
            if stream == nil, !random.once(in: 4) { try connect() }
            try perform(
                random.pick(weighted: [
                    (6, .service), (2, .compact), (1, .toggle), (3, .write), (32, .network), (12, .upload),
                    (1, .cut), (1, .stop), (2, .restart), (1, .streams), (2, .flush),
                ]))
        }
        try settle()
        let integrity = try client.integrity()
        try require(integrity == "ok", integrity)
    }

    private func perform(_ step: Step) throws {
        switch step {
        case .service: writeService()
        case .compact:
            let bucket = random.below(service.buckets.count)
            note("compact \(service.buckets[bucket].name)")
            service.compact(bucket, clears: !random.once(in: 3))
        case .toggle:
            let bucket = random.below(service.buckets.count)
            service.toggle(bucket)
            note("\(service.buckets[bucket].name) is offered: \(service.buckets[bucket].isOffered)")
        case .write: try write()
        case .network:
            serve()
            if !random.once(in: 3) { serve() }
            if !random.once(in: 4) { try receive() }
        case .upload: try advanceUpload()
        case .cut: if stream != nil { try cut() }
        case .stop: if stream != nil { try stop() }
        case .restart: try restart()
        case .streams: try changeSubscriptions()
        case .flush: try flush()
        }
    }

    private func writeService() {
        if random.once(in: 8) {
            let bucket = random.below(service.buckets.count)
            for operation in service.buckets[bucket].current.values.sorted(by: { $0.id < $1.id }) {
                guard let row = operation.row else { continue }
                service.write(
                    row, nil, subkey: operation.subkey, bucket: bucket,
                    checksum: UInt32(truncatingIfNeeded: random.next()))
            }
            if random.once(in: 2) { service.compact(bucket, clears: true) }
        }
        for _ in 0...random.below(3) {
            let type =
                random.once(in: 10) ? random.pick(["drafts", "unheard-of"]) : random.pick(ModelRow.tables)
            let row = ModelRow(type: type, id: "r\(random.below(5))")
            let content =
                random.once(in: 4)
                ? nil
                : ModelContent(
                    id: row.id, title: random.once(in: 5) ? nil : random.pick(ModelContent.titles),
                    n: random.once(in: 4) ? nil : random.below(4),
                    extra: random.once(in: 3) ? random.below(100) : nil)
            let subkey = random.once(in: 3) ? random.pick(["k1", "k/2"]) : nil
            let bucket = random.below(service.buckets.count)
            service.write(
                row, content, subkey: subkey, bucket: bucket,
                checksum: UInt32(truncatingIfNeeded: random.next()))
            // The same row comes through other queries, too.
            if random.once(in: 4) {
                service.write(
                    row, content, subkey: subkey, bucket: random.below(service.buckets.count),
                    checksum: UInt32(truncatingIfNeeded: random.next()))
            }
        }
    }

    /// Lets uploads end and the service be heard until nothing is left to do.
    private func settle() throws {
        note("settle")
        isCalm = true
        for _ in 0..<4000 {
            step += 1
            now += 1000
            if stream == nil { try connect() }
            let isUploaded =
                model.queue.isEmpty && upload == nil && awaited == nil && !hasNews
                && model.target != ClientModel.unknown
            if !isUploaded { try advanceUpload() }
            serve()
            try receive()
            guard let stream, wire.isEmpty, isUploaded, stream.isIdle else { continue }
            if stream.isBehind(service, lastSentWriteCheckpoint) { continue }
            try flush()
            try compareWithService(stream)
            return
        }
        throw SessionFailure(message: "client and service do not come to rest")
    }

    private func compareWithService(_ stream: ServiceStream) throws {
        let rows = model.comparable(model.visible)
        let truth = model.comparable(service.rows(stream.subscriptions))
        try require(
            rows == truth,
            """
            at rest the client shows \(rows.filter { truth[$0.key] != $0.value })
            instead of \(truth.filter { rows[$0.key] != $0.value })
            """)
        try require(model.updated.isEmpty, "at rest rows wait to be looked at")
        try require(model.progress == nil, "at rest a download goes on")
    }
}
