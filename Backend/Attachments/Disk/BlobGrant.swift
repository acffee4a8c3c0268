import PowerSyncCrypto

/// What a signed URL of the disk store allows; pure.
struct BlobGrant: Sendable, Hashable {
    /// What may be done with the object.
    enum Use: Sendable, Hashable {
        /// It may be stored where nothing is; SHA-256 in base64, as the field says it.
        case upload(contentType: String, size: Int64, sha256: String)
        /// A part of it may be stored.
        case part(upload: String, number: Int, size: Int64, sha256: String)
        /// It may be read, with these fields in the answer.
        case download(contentType: String, disposition: String)
    }

    /// The object.
    let key: String
    /// The last second since 1970 in which the URL is good.
    let expiry: Int64
    /// What its user is called, whose transfers are counted together; empty for nobody in particular.
    let user: String
    /// What may be done with it.
    let use: Use

    /// Makes a grant of its fields.
    init(key: String, expiry: Int64, user: String = "", use: Use) {
        self.key = key
        self.expiry = expiry
        self.user = user
        self.use = use
    }

    /// What the query of the URL says beside the code.
    var query: [(name: String, value: String)] {
        var end = [(name: "exp", value: String(expiry))]
        if !user.isEmpty { end.append((name: "user", value: user)) }
        switch use {
        case .upload: return end
        case .part(let upload, let number, _, _):
            return end + [(name: "upload", value: upload), (name: "part", value: String(number))]
        case .download(let contentType, let disposition):
            return end + [(name: "type", value: contentType), (name: "disposition", value: disposition)]
        }
    }

    /// Returns the code that only the owner of a secret can make, in hexadecimal digits.
    func code(_ secret: [UInt8]) -> String {
        Hexadecimal.encode(HMAC.sha256(key: secret, message: message))
    }

    /// Whether a code is the one; takes the same time for each of its length.
    func allows(_ code: String, _ secret: [UInt8]) -> Bool {
        constantTimeEquals(Array(code.utf8), Array(self.code(secret).utf8))
    }

    /// All that is signed, each value behind its length: no two grants have one message.
    var message: [UInt8] {
        let values: [String] =
            switch use {
            case .upload(let contentType, let size, let sha256):
                ["PUT", contentType, String(size), sha256, "if-none-match: *"]
            case .part(let upload, let number, let size, let sha256):
                ["PUT part", upload, String(number), String(size), sha256]
            case .download(let contentType, let disposition): ["GET", contentType, disposition]
            }
        let all = ["powersync-blob-1", key, String(expiry), user] + values
        return all.flatMap { Array("\($0.utf8.count):\($0)\n".utf8) }
    }
}
