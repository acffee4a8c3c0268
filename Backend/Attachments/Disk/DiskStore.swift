import PowerSyncCrypto
import PowerSyncHTTP
import PowerSyncSystem
import PowerSyncWire

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Objects in a folder of this machine; the backend serves their URLs (`BlobRoutes`), which are signed with a key in
/// the folder.
///
/// Several backends may use one folder. An object is written under another name, brought to the disk, and gets its own
/// name only where nothing has it. What was being written when a process ended is removed at the next start.
package final class DiskStore: ObjectStore {
    /// Where things are.
    let folder: DiskFolder
    /// Does what is short.
    let work = FileWork(limit: 16)
    /// Writes to what is being written.
    let write: BlobSink.Write
    /// Makes objects of parts, which takes long.
    private let joins = FileWork(limit: 2)
    /// The most uploads that are completed or wait for it; one more is told to come again.
    static let mostJoins = 16
    private let secret: [UInt8]
    private let publicURL: @Sendable () -> String
    /// Uploads that are being completed.
    private let completing = Lock<Set<String>>([])

    /// Makes the folder, unless it is there, and looks into it.
    ///
    /// - Parameters:
    ///   - folder: its path; the folder above it is there.
    ///   - publicURL: tells where devices reach the backend, `http://host:port`.
    /// - Throws: `BackendError` with `.configuration`.
    package convenience init(
        folder: String, publicURL: @escaping @Sendable () -> String
    ) throws(BackendError) {
        try self.init(
            folder: folder, publicURL: publicURL,
            write: { file, bytes throws(SystemError) in try file.write(bytes) })
    }

    /// The same with another way to write, and to give a file one more name.
    init(
        folder path: String, publicURL: @escaping @Sendable () -> String, write: @escaping BlobSink.Write,
        link: DiskFolder.Link? = nil
    ) throws(BackendError) {
        var place = DiskFolder(path: path)
        if let link { place.link = link }
        let key: [UInt8]
        do {
            try place.prepare()
            try place.requireLinks()
            key = try place.signingKey()
            try place.sweep()
        } catch {
            throw BackendError(
                .configuration,
                "\(ObjectStoreConfiguration.variable) names a folder that cannot be used: \(error)",
                cause: error)
        }
        folder = place
        secret = key
        self.publicURL = publicURL
        self.write = write
    }

    /// How many uploads are being completed or wait for it, for tests.
    var joinCount: Int { completing.withLock { $0.count } }

    // MARK: Signing

    package func signUpload(
        key: String, contentType: String, size: Int64, sha256: [UInt8], for user: String, at now: Int64
    ) throws -> SignedRequest {
        try ObjectKey.check(key)
        let checksum = Self.checksumField(sha256)
        let grant = BlobGrant(
            key: key, expiry: now + ObjectStoreLifetime.upload, user: name(of: user),
            use: .upload(contentType: contentType, size: size, sha256: checksum.value))
        return request("PUT", grant, fields: Self.uploadFields(contentType, checksum))
    }

    package func signDownload(
        key: String, contentType: String, disposition: String, for user: String, at now: Int64
    ) throws -> SignedRequest {
        try ObjectKey.check(key)
        let grant = BlobGrant(
            key: key, expiry: now + ObjectStoreLifetime.download, user: name(of: user),
            use: .download(contentType: contentType, disposition: disposition))
        return request("GET", grant, fields: [])
    }

    package func signPart(
        key: String, upload: String, number: Int, size: Int64, sha256: [UInt8], for user: String,
        at now: Int64
    ) throws -> SignedRequest {
        try ObjectKey.check(key)
        try ObjectKey.check(part: number, size: size)
        let checksum = Self.checksumField(sha256)
        let grant = BlobGrant(
            key: key, expiry: now + ObjectStoreLifetime.upload, user: name(of: user),
            use: .part(upload: upload, number: number, size: size, sha256: checksum.value))
        return request("PUT", grant, fields: [checksum])
    }

    /// What a user is called in a URL, which tells nobody who it is.
    private func name(of user: String) -> String {
        guard !user.isEmpty else { return "" }
        let code = HMAC.sha256(key: secret, message: Array("powersync-blob-user-1\n\(user)".utf8))
        return Hexadecimal.encode(Array(code[..<16]))
    }

    /// Whether a code is the one of a grant.
    func allows(_ grant: BlobGrant, code: String) -> Bool { grant.allows(code, secret) }

    private func request(
        _ method: String, _ grant: BlobGrant, fields: [(name: String, value: String)]
    ) -> SignedRequest {
        var origin = publicURL()
        while origin.hasSuffix("/") { origin.removeLast() }
        let query = (grant.query + [(name: "sig", value: grant.code(secret))]).map { pair in
            "\(pair.name)=\(PercentEncoding.encode(pair.value))"
        }
        return SignedRequest(
            method: method, url: "\(origin)\(BlobRoutes.path)\(grant.key)?\(query.joined(separator: "&"))",
            fields: fields, expiry: grant.expiry)
    }

    // MARK: Parts

    package func createMultipart(key: String, contentType: String) async throws -> String {
        try ObjectKey.check(key)
        return try await onDisk { [folder] in try folder.makeUpload(for: key) }
    }

    package func parts(key: String, upload: String) async throws -> [StoredPart]? {
        try ObjectKey.check(key)
        return try await onDisk { [folder] in try folder.parts(of: upload, for: key) }
    }

    package func completeMultipart(
        key: String, upload: String, parts: [StoredPart], sha256: [UInt8]?
    ) async throws {
        try ObjectKey.check(key)
        try ObjectKey.check(parts)
        let hasPlace = completing.withLock { completing -> Bool in
            guard completing.count < Self.mostJoins else { return false }
            return completing.insert(upload).inserted
        }
        guard hasPlace else {
            throw ObjectStoreError(.unavailable, "the upload is being completed, or too many others are")
        }
        defer { completing.withLock { _ = $0.remove(upload) } }
        let isMade: Bool
        do {
            isMade = try await onDisk(joins) { [folder, write] in
                try folder.join(parts, of: upload, as: key, sha256: sha256, write)
            }
        } catch is DiskFolder.PartChanged {
            throw ObjectStoreError(.unavailable, "a part is not as it was listed")
        } catch is DiskFolder.OtherBytes {
            try await abortMultipart(key: key, upload: upload)
            throw ObjectStoreError(.conflict, "the parts are other bytes than were announced")
        }
        // Nothing can become of parts whose object is there.
        try await abortMultipart(key: key, upload: upload)
        guard isMade else {
            throw ObjectStoreError(.conflict, "something is stored, or the upload is not there")
        }
    }

    package func abortMultipart(key: String, upload: String) async throws {
        try ObjectKey.check(key)
        try await onDisk { [folder] in
            guard try folder.has(upload, for: key) else { return }
            try folder.removeUpload(upload)
        }
    }

    // MARK: Objects

    package func head(key: String) async throws -> StoredObject? {
        try ObjectKey.check(key)
        return try await onDisk { [folder] in
            try BlobFile(path: folder.object(key)).map { StoredObject(size: $0.size) }
        }
    }

    package func delete(key: String) async throws {
        try ObjectKey.check(key)
        try await onDisk { [folder] in try folder.removeObject(key) }
    }

    // MARK: The name of the store

    package func isNamed(_ name: String) async throws -> Bool {
        try ObjectKey.check(name)
        return try await onDisk { [folder] in try folder.isNamed(name) }
    }

    package func takeName(_ name: String) async throws {
        try ObjectKey.check(name)
        try await onDisk { [folder] in try folder.takeName(name) }
    }

    /// Does work on a thread that may block.
    private func onDisk<Value: Sendable>(
        _ threads: FileWork? = nil, _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        do {
            return try await (threads ?? work).run(body)
        } catch let error as SystemError {
            throw Self.failure(error)
        }
    }

    /// What a call of the system that failed means for a store.
    static func failure(_ error: SystemError) -> ObjectStoreError {
        isFull(error)
            ? ObjectStoreError(.unavailable, "the disk of the store is full")
            : ObjectStoreError(
                .unavailable,
                "the folder of the store cannot be used: \(SystemError.text(of: error.errno))")
    }

    /// Whether there is no room on the disk, or for this user.
    static func isFull(_ error: SystemError) -> Bool { error.errno == ENOSPC || error.errno == EDQUOT }
}
