import PowerSyncStack
import PowerSyncSystem
import PowerSyncWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One large file up and down, by a queue and by curl in turns.
struct LargeFileRun: Sendable {
    private let world: StackWorld
    private let folder: String
    private let size: Int64
    private let pairs: Int

    /// Describes the run.
    ///
    /// - Parameters:
    ///   - world: has the backend.
    ///   - folder: a folder with room.
    ///   - megabytes: how large the file is.
    ///   - pairs: how many pairs there are.
    init(_ world: StackWorld, in folder: String, megabytes: Int, pairs: Int) {
        self.world = world
        self.folder = folder + "/large"
        size = Int64(megabytes) << 20
        self.pairs = pairs
    }

    private var file: String { folder + "/file" }
    private var amount: Double { Double(size) / 1_048_576 }
    private var name: String { "\(size >> 20) MB" }

    /// Measures all pairs.
    ///
    /// - Returns: the lines of the table.
    /// - Throws: `BenchmarkError`, `StackError`, errors of the clients.
    func measure() async throws -> [BenchmarkReport.Row] {
        try FileManager.default.createDirectory(
            atPath: folder + "/parts", withIntermediateDirectories: true)
        BenchmarkReport.progress("attachments: making a file of \(name)")
        try await CurlTransfers.shell("head -c \(size) /dev/urandom >file", in: folder)
        try await CurlTransfers.shell("split -b \(AttachmentPart.size) -a 5 file parts/", in: folder)
        let digest = try await CurlTransfers.digests("file", in: folder)[0]
        let parts = try await CurlTransfers.digests("*", in: folder + "/parts")
        let backend = try await backendProcess()
        let idle = (
            own: try ProcessMemory.own(.resident), backend: try ProcessMemory.other(backend, .resident)
        )
        var (up, down) = (PairedRates(), PairedRates())
        for pair in 1...pairs {
            let ids = (ours: Self.newID(), curl: Self.newID())
            let api = try await SigningBackend(world)
            try await SigningBackend.name([ids.ours, ids.curl], in: world)
            up.add(
                amount, ours: try await upload(ids.ours),
                limit: try await curlUpload(
                    SigningBackend.File(id: ids.curl, size: size, sha256: digest), parts, api))
            BenchmarkReport.progress("\(name) up: pair \(pair) of \(pairs): \(up.last("MB/s"))")
            down.add(
                amount, ours: try await download(ids.ours),
                limit: try await curlDownload(ids.curl, digest, api))
            BenchmarkReport.progress("\(name) down: pair \(pair) of \(pairs): \(down.last("MB/s"))")
            try await api.delete([ids.ours, ids.curl], in: world)
        }
        return [
            up.row("\(name) up, beside curl and sha256sum", unit: "MB/s", goal: "≥ 0.7 ×"),
            down.row("\(name) down, beside curl, sha256sum and fsync", unit: "MB/s", goal: "≥ 0.7 ×"),
            memory("client", try ProcessMemory.own(.peak), idle.own),
            memory("backend", try ProcessMemory.other(backend, .peak), idle.backend),
        ]
    }

    private static func newID() -> String { UUID().uuidString.lowercased() }

    private func backendProcess() async throws -> Int32 {
        guard let process = await world.stack.process(.backend) else {
            throw BenchmarkError("the backend is not running")
        }
        return process.processID
    }

    private func memory(_ what: String, _ peak: Int?, _ idle: Int?) -> BenchmarkReport.Row {
        let text =
            if let peak, let idle {
                "\(PairedTimes.decimals(Double(peak - idle) / 1_048_576)) MB"
            } else {
                "not known here"
            }
        return BenchmarkReport.Row(
            what: "memory of the \(what) above idle, \(name) each way", ours: text, goal: "≤ 64 MB")
    }

    // MARK: Up

    private func upload(_ id: String) async throws -> Duration {
        let place = folder + "/up"
        let queue = try await FileQueue(in: place, world, [id], atOnce: 1)
        try await CurlTransfers.shell("cp file copy", in: folder)
        try await queue.take(folder + "/copy", as: id)
        let time = try await queue.transfer(1)
        try await queue.close()
        try FileManager.default.removeItem(atPath: place)
        return time
    }

    private func curlUpload(
        _ announced: SigningBackend.File, _ parts: [String], _ api: SigningBackend
    ) async throws -> Duration {
        guard let plan = try await api.upload(announced).multipart, plan.partCount == parts.count else {
            throw BenchmarkError("the backend wants other parts than those of \(AttachmentPart.size) bytes")
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder + "/parts").sorted()
        let items = zip(try await api.parts(of: announced.id, parts), names).map { request, name in
            CurlTransfers.Item(
                url: request.url, headers: request.headers, upload: "\(folder)/parts/\(name)")
        }
        let time = try await CurlTransfers.run(items, over: 1, in: folder)
        let start = ContinuousClock.now
        try await api.complete(announced.id)
        _ = try await CurlTransfers.digests("file", in: folder)
        return time + (ContinuousClock.now - start)
    }

    // MARK: Down

    private func download(_ id: String) async throws -> Duration {
        let place = folder + "/down"
        let queue = try await FileQueue(in: place, world, [id], atOnce: 1)
        let time = try await queue.transfer(1)
        try await queue.close()
        try await CurlTransfers.shell("cmp file down/files/\(id).bin", in: folder)
        try FileManager.default.removeItem(atPath: place)
        return time
    }

    private func curlDownload(
        _ id: String, _ digest: String, _ api: SigningBackend
    ) async throws -> Duration {
        let item = CurlTransfers.Item(url: try await api.download(id), output: folder + "/got.part")
        let time = try await CurlTransfers.run([item], over: 1, in: folder)
        let start = ContinuousClock.now
        guard try await CurlTransfers.digests("got.part", in: folder) == [digest] else {
            throw BenchmarkError("curl got other bytes than were uploaded")
        }
        try CurlTransfers.settle(folder + "/got.part", as: folder + "/got", size: size)
        let rest = ContinuousClock.now - start
        try FileManager.default.removeItem(atPath: folder + "/got")
        return time + rest
    }
}
