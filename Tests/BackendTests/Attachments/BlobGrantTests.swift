import Testing

@testable import PowerSyncBackend

struct BlobGrantTests {
    private static let upload = BlobGrant.Use.upload(contentType: "a/b", size: 12, sha256: "AA==")
    private static let part = BlobGrant.Use.part(upload: "u", number: 3, size: 12, sha256: "AA==")
    private static let download = BlobGrant.Use.download(contentType: "a/b", disposition: "inline")

    /// Grants of which no two are equal, each next to one that differs in little.
    private static let grants: [BlobGrant] = [
        BlobGrant(key: "k", expiry: 100, use: upload), BlobGrant(key: "l", expiry: 100, use: upload),
        BlobGrant(key: "k", expiry: 101, use: upload),
        BlobGrant(key: "k", expiry: 100, use: .upload(contentType: "a/c", size: 12, sha256: "AA==")),
        BlobGrant(key: "k", expiry: 100, use: .upload(contentType: "a/b", size: 13, sha256: "AA==")),
        BlobGrant(key: "k", expiry: 100, use: .upload(contentType: "a/b", size: 12, sha256: "AQ==")),
        BlobGrant(key: "k", expiry: 100, use: .upload(contentType: "a/b1", size: 2, sha256: "AA==")),
        BlobGrant(key: "k1", expiry: 0, use: upload),
        BlobGrant(key: "k", expiry: 100, use: part), BlobGrant(key: "l", expiry: 100, use: part),
        BlobGrant(key: "k", expiry: 100, use: .part(upload: "v", number: 3, size: 12, sha256: "AA==")),
        BlobGrant(key: "k", expiry: 100, use: .part(upload: "u", number: 4, size: 12, sha256: "AA==")),
        BlobGrant(key: "k", expiry: 100, use: .part(upload: "u", number: 31, size: 2, sha256: "AA==")),
        BlobGrant(key: "k", expiry: 100, use: .part(upload: "u3", number: 1, size: 12, sha256: "AA==")),
        BlobGrant(key: "k", expiry: 100, use: .part(upload: "u", number: 3, size: 12, sha256: "AQ==")),
        BlobGrant(key: "k", expiry: 100, use: download), BlobGrant(key: "l", expiry: 100, use: download),
        BlobGrant(key: "k", expiry: 100, use: .download(contentType: "a/c", disposition: "inline")),
        BlobGrant(key: "k", expiry: 100, use: .download(contentType: "a/b", disposition: "attachment")),
        BlobGrant(key: "k", expiry: 100, use: .download(contentType: "a/binline", disposition: "")),
        BlobGrant(key: "k", expiry: 100, use: .download(contentType: "a/b\n6:inline", disposition: "")),
        BlobGrant(key: "k", expiry: 100, user: "u", use: upload),
        BlobGrant(key: "k", expiry: 100, user: "v", use: upload),
        BlobGrant(key: "k", expiry: 100, user: "u", use: download),
    ]

    @Test func noTwoGrantsHaveOneCode() {
        let secret = [UInt8](repeating: 7, count: 32)
        #expect(Set(Self.grants.map { $0.code(secret) }).count == Self.grants.count)
        #expect(Set(Self.grants.map(\.message)).count == Self.grants.count)
    }

    @Test func onlyTheWholeCodeOfTheSecretIsGood() {
        let (secret, other) = ([UInt8](repeating: 7, count: 32), [UInt8](repeating: 8, count: 32))
        let grant = Self.grants[0]
        let code = grant.code(secret)
        #expect(code.utf8.count == 64 && grant.allows(code, secret))
        #expect(!grant.allows(code, other))
        for wrong in ["", String(code.dropLast()), code + "0", String(code.dropFirst())] {
            #expect(!grant.allows(wrong, secret), "\(wrong)")
        }
        // One digit alone makes a code of the same length another one, wherever it stands.
        for index in 0..<64 {
            var digits = Array(code.utf8)
            digits[index] = digits[index] == UInt8(ascii: "0") ? UInt8(ascii: "1") : UInt8(ascii: "0")
            #expect(!grant.allows(String(decoding: digits, as: UTF8.self), secret))
        }
    }

    @Test func theQuerySaysWhatTheRequestDoesNot() {
        let names = Self.grants.map { $0.query.map(\.name) }
        #expect(names[0] == ["exp"])
        #expect(names[8] == ["exp", "upload", "part"])
        #expect(names[15] == ["exp", "type", "disposition"])
        #expect(names.last == ["exp", "user", "type", "disposition"])
    }
}
