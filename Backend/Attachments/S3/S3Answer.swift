import PowerSyncHTTPClient
import PowerSyncXML

/// What a service that speaks as S3 does has answered; pure.
///
/// A status of success is none where the body is an error: what takes long, as completing an upload does, is answered
/// with 200 before it is done.
struct S3Answer: Sendable {
    /// The status.
    let status: Int
    /// What the body says, where it is XML.
    private let content: XMLElement?

    /// Reads an answer.
    ///
    /// - Parameters:
    ///   - status: its status.
    ///   - body: its body. Blanks may stand before the XML, which are sent while the service works.
    init(status: Int, body: [UInt8]) {
        self.status = status
        let text = body.drop { $0 == 0x20 || $0 == 0x0A || $0 == 0x0D || $0 == 0x09 }
        if text.first == UInt8(ascii: "<") {
            // What is no XML says nothing, as if there were no body.
            content = try? XMLElement.parse(Array(text))
        } else {
            content = nil
        }
    }

    /// Whether what was asked for is done.
    var isSuccess: Bool { (200..<300).contains(status) && content?.name != "Error" }

    /// The code of an error, such as `NoSuchKey`; nil if there is none that is a word.
    var code: String? {
        guard content?.name == "Error", let text = content?.first("Code")?.text,
            (1...64).contains(text.utf8.count), text.utf8.allSatisfy({ isLetter($0) })
        else { return nil }
        return text
    }

    /// Whether the service itself says that there is no such object or upload.
    ///
    /// A status alone may be that of a proxy, or of a bucket that is not there.
    var isMissing: Bool { status == 404 && (code == "NoSuchKey" || code == "NoSuchUpload") }

    /// What it means that this is no success.
    ///
    /// - Parameter what: what was asked for, in words that complete "the object store does not …".
    /// - Returns: the error.
    func failure(_ what: String) -> ObjectStoreError {
        let reason = code.map { "\(status) \($0)" } ?? "\(status)"
        return ObjectStoreError(kind, "the object store does not \(what) (\(reason))" + hint)
    }

    private var kind: ObjectStoreError.Kind {
        switch code {
        case "PreconditionFailed", "NoSuchKey", "NoSuchUpload": return .conflict
        case "InternalError", "SlowDown", "ServiceUnavailable", "RequestTimeout", "OperationAborted",
            "ConditionalRequestConflict", "Busy":
            return .unavailable
        default: break
        }
        switch status {
        case 412: return .conflict
        // A status of success whose body says nothing: nobody knows whether it is done.
        case 200..<300 where code == nil: return .unavailable
        // As a proxy answers while its routes are changed.
        case 404 where code == nil: return .unavailable
        case 408, 409, 425, 429, 500, 502...599: return .unavailable
        default: return .refused
        }
    }

    /// What an operator can do about it.
    private var hint: String {
        switch (status, code) {
        case (_, "RequestTimeTooSkewed"): ": the clocks of this machine and of the store differ"
        case (_, "NoSuchBucket"): ": make the bucket"
        case (_, "SignatureDoesNotMatch"): ": the secret key or the region is wrong"
        case (_, "InvalidAccessKeyId"): ": the access key is wrong"
        case (_, "ExpiredToken"): ": the session token is no longer good"
        case (403, _):
            ": the keys need s3:PutObject, s3:GetObject, s3:DeleteObject, s3:AbortMultipartUpload, "
                + "s3:ListMultipartUploadParts and, to tell what is missing, s3:ListBucket"
        case (300..<400, _): ": the bucket has another region or endpoint"
        case (501, _): ": it must know If-None-Match"
        default: ""
        }
    }

    // MARK: What is told

    /// What the store calls an upload that was begun; nil if this is no such answer.
    var uploadID: String? {
        guard isSuccess, content?.name == "InitiateMultipartUploadResult",
            let id = content?.first("UploadId")?.text, !id.isEmpty
        else { return nil }
        return id
    }

    /// Whether an upload is complete.
    var isComplete: Bool { isSuccess && content?.name == "CompleteMultipartUploadResult" }

    /// A page of parts, and behind which number the next one begins, if there is one; nil if this is no such answer.
    var parts: (page: [StoredPart], next: Int?)? {
        guard isSuccess, let content, content.name == "ListPartsResult" else { return nil }
        var page: [StoredPart] = []
        for element in content.all("Part") {
            guard let number = element.first("PartNumber").flatMap({ Int($0.text) }),
                let size = element.first("Size").flatMap({ Int64($0.text) }),
                let tag = element.first("ETag")?.text
            else { return nil }
            let sha256 = element.first("ChecksumSHA256")?.text
            page.append(StoredPart(number: number, size: size, tag: tag, sha256: sha256))
        }
        guard content.first("IsTruncated")?.text == "true" else { return (page, nil) }
        guard let next = content.first("NextPartNumberMarker").flatMap({ Int($0.text) }) else { return nil }
        return (page, next)
    }

    private func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    /// What it means that there was no answer.
    ///
    /// - Parameters:
    ///   - error: what the client says.
    ///   - what: what was asked for, in words that complete "the object store does not …".
    /// - Returns: the error.
    static func failure(_ error: HTTPClientError, _ what: String) -> ObjectStoreError {
        let refusals: Set<HTTPClientError.Code> = [
            .tls, .untrustedAuthority, .identityRefused, .proxyRefused, .rejectedAddress, .unreadableFile,
            .badConfiguration, .badURL, .badRequest, .tooLarge,
        ]
        return ObjectStoreError(
            refusals.contains(error.code) ? .refused : .unavailable,
            "the object store does not \(what) (\(error.code.rawValue))")
    }
}
