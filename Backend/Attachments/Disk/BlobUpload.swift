import PowerSyncHTTP
import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The body of a PUT on its way into the disk store.
struct BlobUpload: Sendable {
    /// What it becomes.
    enum Target: Sendable {
        /// An object, where none is stored.
        case object(String)
        /// A part of an upload for an object, in place of the one that was there.
        case part(Int, upload: String, key: String)
    }

    /// The bytes that are held of a body, and written at a time.
    static let piece = 256 << 10

    let store: DiskStore
    let target: Target
    /// The bytes that are announced.
    let size: Int64
    /// Their 32 bytes of SHA-256.
    let sha256: [UInt8]

    /// Takes the body, as it comes, and gives it its name when all of it is on the disk.
    ///
    /// Where the name is taken, or there is no such upload, the body is not read. However it ends, nothing stays of a
    /// body that was not stored.
    ///
    /// - Parameter body: the body.
    /// - Throws: `Problem`; `HTTPError` of the body; `SystemError`.
    func receive(_ body: any HTTPRequestBody) async throws {
        let folder = store.folder
        try await store.work.run { [target] in try Self.check(target, in: folder) }
        let sink = try await store.work.run { [write = store.write] in
            try BlobSink(path: folder.newName(), write: write)
        }
        do {
            try await copy(body, to: sink)
            try await store.work.run { [self] in try finish(sink) }
        } catch {
            sink.discard()
            throw error
        }
    }

    private func copy(_ body: any HTTPRequestBody, to sink: BlobSink) async throws {
        var piece: [UInt8] = []
        while let bytes = try await body.next(limit: Self.piece - piece.count) {
            piece += bytes
            if piece.count >= Self.piece {
                try await write(piece, to: sink)
                piece = []
            }
        }
        if !piece.isEmpty { try await write(piece, to: sink) }
    }

    private func write(_ bytes: [UInt8], to sink: BlobSink) async throws {
        guard Int64(bytes.count) <= size - sink.size else { throw Problem.otherLength }
        try await store.work.run { try sink.write(bytes) }
    }

    private static func check(_ target: Target, in folder: DiskFolder) throws {
        switch target {
        case .object(let key):
            if try BlobFile(path: folder.object(key)) != nil { throw Problem.alreadyStored }
        case .part(_, let upload, let key):
            guard try folder.has(upload, for: key) else { throw Problem.noSuchUpload }
        }
    }

    private func finish(_ sink: BlobSink) throws {
        guard sink.size == size else { throw Problem.otherLength }
        guard sink.sha256() == sha256 else { throw Problem.otherChecksum }
        let folder = store.folder
        do throws(SystemError) {
            switch target {
            case .object(let key):
                try folder.makeFolder(of: key)
                try sink.commit(to: folder.object(key), replacing: false)
            case .part(let number, let upload, _):
                try sink.commit(to: folder.part(number, of: upload), replacing: true)
            }
        } catch {
            switch (target, error.errno) {
            case (.object, EEXIST): throw Problem.alreadyStored
            // It was completed or ended meanwhile.
            case (.part, ENOENT): throw Problem.noSuchUpload
            default: throw error
            }
        }
    }
}
