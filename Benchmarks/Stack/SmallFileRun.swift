import PowerSyncStack
import PowerSyncSystem
import PowerSyncWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Many small files up and down, by a queue and by curl in turns.
struct SmallFileRun: Sendable {
    private static let size = 10_000
    /// How many are transferred at a time.
    private static let atOnce = 8

    private let world: StackWorld
    private let folder: String
    private let count: Int
    private let pairs: Int

    /// Describes the run.
    ///
    /// - Parameters:
    ///   - world: has the backend.
    ///   - folder: a folder with room.
    ///   - count: how many files there are.
    ///   - pairs: how many pairs there are.
    init(_ world: StackWorld, in folder: String, count: Int, pairs: Int) {
        self.world = world
        self.folder = folder + "/small"
        self.count = count
        self.pairs = pairs
    }

    /// Measures all pairs.
    ///
    /// - Returns: the lines of the table.
    /// - Throws: `BenchmarkError`, `StackError`, errors of the clients.
    func measure() async throws -> [BenchmarkReport.Row] {
        BenchmarkReport.progress("attachments: making \(count) files of \(Self.size) bytes")
        let contents = try makeFiles()
        let digests = try await CurlTransfers.digests("*", in: folder + "/files")
        var (up, down) = (PairedRates(), PairedRates())
        for pair in 1...pairs {
            let ids = (ours: newIDs(), curl: newIDs())
            let api = try await SigningBackend(world)
            try await SigningBackend.name(ids.ours + ids.curl, in: world)
            up.add(
                Double(count), ours: try await upload(ids.ours, contents),
                limit: try await curlUpload(ids.curl, digests, api))
            BenchmarkReport.progress("small files up: pair \(pair) of \(pairs): \(up.last("files/s"))")
            down.add(
                Double(count), ours: try await download(ids.ours),
                limit: try await curlDownload(ids.curl, api))
            BenchmarkReport.progress("small files down: pair \(pair) of \(pairs): \(down.last("files/s"))")
        }
        let what = "\(count) files of 10 KB"
        return [
            up.row("\(what) up, 8 at once", unit: "files/s", goal: "≥ 0.5 ×"),
            down.row("\(what) down, 8 at once, fsynced", unit: "files/s", goal: "≥ 0.5 ×"),
        ]
    }

    /// Writes the files, in the order of their names.
    private func makeFiles() throws -> [Data] {
        try FileManager.default.createDirectory(
            atPath: folder + "/files", withIntermediateDirectories: true)
        var random = SplitMix(seed: 10)
        return try (0..<count).map { number -> Data in
            let words = (0..<Self.size / 8).map { _ in random.next() }
            let data = words.withUnsafeBytes { Data($0) }
            try data.write(to: URL(filePath: path(number)))
            return data
        }
    }

    private func path(_ number: Int) -> String {
        let digits = String(number)
        return "\(folder)/files/" + String(repeating: "0", count: 6 - digits.count) + digits
    }

    private func newIDs() -> [String] { (0..<count).map { _ in UUID().uuidString.lowercased() } }

    // MARK: Up

    private func upload(_ ids: [String], _ contents: [Data]) async throws -> Duration {
        let place = folder + "/up"
        let queue = try await FileQueue(in: place, world, ids, atOnce: Self.atOnce)
        for (id, data) in zip(ids, contents) { try await queue.save(data, as: id) }
        let time = try await queue.transfer(count)
        try await queue.close()
        try FileManager.default.removeItem(atPath: place)
        return time
    }

    private func curlUpload(
        _ ids: [String], _ digests: [String], _ api: SigningBackend
    ) async throws -> Duration {
        var items: [CurlTransfers.Item] = []
        for (number, id) in ids.enumerated() {
            let file = SigningBackend.File(id: id, size: Int64(Self.size), sha256: digests[number])
            guard let request = try await api.upload(file).request else {
                throw BenchmarkError("the backend wants parts of a file of \(Self.size) bytes")
            }
            items.append(
                CurlTransfers.Item(url: request.url, headers: request.headers, upload: path(number)))
        }
        let time = try await CurlTransfers.run(items, over: Self.atOnce, in: folder)
        // The backend answers only where the bytes are there.
        for id in ids { try await api.complete(id) }
        return time
    }

    // MARK: Down

    private func download(_ ids: [String]) async throws -> Duration {
        let place = folder + "/down"
        let queue = try await FileQueue(in: place, world, ids, atOnce: Self.atOnce)
        let time = try await queue.transfer(count)
        try await queue.close()
        try FileManager.default.removeItem(atPath: place)
        return time
    }

    private func curlDownload(_ ids: [String], _ api: SigningBackend) async throws -> Duration {
        let got = folder + "/got"
        try FileManager.default.createDirectory(atPath: got, withIntermediateDirectories: true)
        var items: [CurlTransfers.Item] = []
        for id in ids {
            items.append(CurlTransfers.Item(url: try await api.download(id), output: "\(got)/\(id).part"))
        }
        let time = try await CurlTransfers.run(items, over: Self.atOnce, in: folder)
        let start = ContinuousClock.now
        for id in ids {
            try CurlTransfers.settle("\(got)/\(id).part", as: "\(got)/\(id)", size: Int64(Self.size))
        }
        let rest = ContinuousClock.now - start
        try FileManager.default.removeItem(atPath: got)
        return time + rest
    }
}
