import PowerSyncBackend
import PowerSyncWire

/// What tests ask of a store for nobody in particular.
extension ObjectStore {
    /// Allows one PUT of an object to nobody in particular.
    func signUpload(
        key: String, contentType: String, size: Int64, sha256: [UInt8], at now: Int64
    ) throws -> SignedRequest {
        try signUpload(key: key, contentType: contentType, size: size, sha256: sha256, for: "", at: now)
    }

    /// Allows nobody in particular to GET an object.
    func signDownload(
        key: String, contentType: String, disposition: String, at now: Int64
    ) throws -> SignedRequest {
        try signDownload(key: key, contentType: contentType, disposition: disposition, for: "", at: now)
    }

    /// Allows one PUT of a part to nobody in particular.
    func signPart(
        key: String, upload: String, number: Int, size: Int64, sha256: [UInt8], at now: Int64
    ) throws -> SignedRequest {
        try signPart(
            key: key, upload: upload, number: number, size: size, sha256: sha256, for: "", at: now)
    }

    /// Makes an object of parts whose SHA-256 nobody knows.
    func completeMultipart(key: String, upload: String, parts: [StoredPart]) async throws {
        try await completeMultipart(key: key, upload: upload, parts: parts, sha256: nil)
    }
}
