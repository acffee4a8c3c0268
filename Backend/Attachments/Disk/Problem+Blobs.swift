import PowerSyncSystem

/// The answers of the disk store that are no success.
extension Problem {
    /// The URL is good for other than what is asked.
    static let signatureDoesNotMatch = Problem(
        403, "signature-does-not-match", "Signature does not match",
        detail: "the URL is good for another method, key, type, size or checksum, or was not made here")

    /// The URL is no longer good.
    static let signatureExpired = Problem(
        403, "signature-expired", "Signature expired", detail: "the URL is no longer good: ask for another")

    /// The body has no length.
    static let lengthRequired = Problem(411, "length-required", "Length required")

    /// The body is longer or shorter than it said.
    static let otherLength = Problem(400, "incomplete-body", "Incomplete body")

    /// The body has another SHA-256 than it said.
    static let otherChecksum = Problem(
        400, "bad-digest", "Bad digest",
        detail: "the body does not have the SHA-256 that x-amz-checksum-sha256 says")

    /// Something is stored under the key.
    static let alreadyStored = Problem(412, "already-stored", "Already stored")

    /// There is no upload for the object, any more or at all.
    static let noSuchUpload = Problem(404, "no-such-upload", "No such upload")

    /// Nothing is stored under the key.
    static let noSuchObject = Problem(404, "no-such-object", "No such object")

    /// What the failure of a transfer is to its client.
    static func blob(_ error: any Error) -> Problem {
        switch error {
        case is UnsatisfiableRange: Problem(416, "range-not-satisfiable", "Range not satisfiable")
        case let error as SystemError where DiskStore.isFull(error):
            Problem(507, "disk-full", "Insufficient storage", isRetryable: true)
        case is SystemError:
            .unavailable("storage-unavailable", "Storage unavailable", retryAfter: 5)
        default: ErrorResponse.problem(for: error, bodyLimit: 0, retryAfter: 1)
        }
    }
}
