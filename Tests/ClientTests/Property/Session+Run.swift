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
        service.changeRows(&random) { random in
            random.once(in: 10) ? random.pick(["drafts", "unheard-of"]) : random.pick(ModelRow.tables)
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
