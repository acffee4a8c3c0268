import Foundation
import PowerSyncCrypto
import PowerSyncWire

/// The readers of keys.
///
/// | first byte modulo 4 | the rest |
/// |---|---|
/// | 0 | a set of keys, as it comes over the network |
/// | 1 | a set of keys from one's own settings |
/// | 2 | a key in PEM |
/// | 3 | a key in DER |
struct KeyTarget: FuzzTarget {
    static let words =
        [
            "\"keys\":[", "\"kty\":", "\"RSA\"", "\"EC\"", "\"OKP\"", "\"oct\"", "\"crv\":", "\"P-256\"",
            "\"P-384\"",
            "\"P-521\"", "\"Ed25519\"", "\"Ed448\"", "\"alg\":", "\"use\":\"sig\"", "\"enc\"",
            "\"key_ops\":[",
            "\"verify\"", "\"sign\"", "\"kid\":", "\"n\":", "\"e\":\"AQAB\"", "\"d\":", "\"p\":", "\"q\":",
            "\"dp\":",
            "\"dq\":", "\"qi\":", "\"x\":", "\"y\":", "\"k\":", "-----BEGIN PRIVATE KEY-----\n",
            "-----END PRIVATE KEY-----\n", "-----BEGIN PUBLIC KEY-----\n",
            "-----BEGIN RSA PRIVATE KEY-----\n",
            "-----BEGIN EC PRIVATE KEY-----\n", "-----BEGIN ENCRYPTED PRIVATE KEY-----\n",
        ] + SignatureAlgorithm.allCases.map { "\"\($0.rawValue)\"" }

    private static let privateMembers = ["d", "p", "q", "dp", "dq", "qi", "k"]

    private(set) var tally = Tally()

    /// The recorded sets, and keys made now: those with private parts are not the same in another run.
    static func firstInputs(fixtures: URL) throws -> [[UInt8]] {
        let text = try String(contentsOf: fixtures.appending(path: "tokens/tokens.jsonl"), encoding: .utf8)
        let first = try JSON.parse(String(text.prefix { $0 != "\n" }))
        var sets = (first["sets"]?.arrayValue ?? []).map(\.text)
        var inputs: [[UInt8]] = []
        for algorithm in SignatureAlgorithm.allCases {
            let key = try JSONWebKey.generate(algorithm)
            for isPrivate in [false, true] {
                sets.append("[\(key.jsonObjectText(includePrivate: isPrivate))]")
            }
            guard algorithm.keyType != .oct else { continue }
            for isPrivate in [false, true] {
                let pem = try key.pemText(includePrivate: isPrivate)
                inputs.append([2] + Array(pem.utf8))
                let lines = pem.split(separator: "\n").filter { !$0.hasPrefix("-") }
                inputs.append([3] + (Base64.decode(lines.joined()) ?? []))
            }
        }
        for set in sets {
            for kind in [UInt8(0), 1] { inputs.append([kind] + Array("{\"keys\":\(set)}".utf8)) }
        }
        return inputs
    }

    mutating func check(_ input: [UInt8]) {
        let bytes = Array(input.dropFirst())
        switch (input.first ?? 0) % 4 {
        case 0: checkSet(bytes, includingSecrets: false)
        case 1: checkSet(bytes, includingSecrets: true)
        case 2: checkText(try? JSONWebKey.pem(String(decoding: bytes, as: UTF8.self)), "PEM")
        default: checkText(try? JSONWebKey.der(bytes), "DER")
        }
    }

    private mutating func checkSet(_ bytes: [UInt8], includingSecrets: Bool) {
        guard let set = try? JSONWebKeySet(json: bytes, includingSecrets: includingSecrets) else {
            return tally.count("sets refused")
        }
        tally.count("sets")
        for key in set.keys {
            guard includingSecrets || key.keyType != .oct else { fatalError("a secret from the network") }
            check(key)
        }
        let published = Array(set.jsonText().utf8)
        guard let again = try? JSONWebKeySet(json: published),
            again.keys.map(\.thumbprint) == set.keys.filter({ $0.keyType != .oct }).map(\.thumbprint)
        else { fatalError("a set that was published says something else") }
    }

    private mutating func checkText(_ key: JSONWebKey?, _ form: String) {
        guard let key else { return tally.count("\(form) refused") }
        check(key)
        guard let text = try? key.pemText(includePrivate: key.isPrivate),
            let again = try? JSONWebKey.pem(text), again.thumbprint == key.thumbprint,
            again.isPrivate == key.isPrivate
        else { fatalError("a key that was written as PEM is another") }
    }

    /// Written and read again it is the same key, its public text holds nothing private, and it does what it says.
    private mutating func check(_ key: JSONWebKey) {
        tally.count("\(key.isPrivate ? "private" : "public") keys \(key.keyType.rawValue)")
        guard let whole = read(key, includePrivate: true), whole.thumbprint == key.thumbprint,
            whole.isPrivate == key.isPrivate
        else { fatalError("a key that was written is another") }
        let text = key.jsonObjectText(includePrivate: false)
        guard let members = try? JSON.parse(text),
            !Self.privateMembers.contains(where: { members[$0] != nil })
        else { fatalError("a private member in public") }
        if key.keyType != .oct {
            guard let part = read(key, includePrivate: false), part.thumbprint == key.thumbprint,
                !part.isPrivate
            else { fatalError("the public part of a key is another key") }
        }
        checkSignature(key)
    }

    private func read(_ key: JSONWebKey, includePrivate: Bool) -> JSONWebKey? {
        try? JSONWebKey(json: Array(key.jsonObjectText(includePrivate: includePrivate).utf8))
    }

    private func checkSignature(_ key: JSONWebKey) {
        let message = Array("message".utf8)
        let other = key.keyType == .oct ? key : key.publicKey()
        for algorithm in SignatureAlgorithm.allCases {
            guard key.isPrivate, key.goes(with: algorithm) else {
                guard (try? key.sign(message, algorithm: algorithm)) == nil else {
                    fatalError("a key signs what it should not")
                }
                continue
            }
            guard let signature = try? key.sign(message, algorithm: algorithm),
                other.verify(signature: signature, message: message, algorithm: algorithm),
                !other.verify(signature: signature, message: message + [0], algorithm: algorithm)
            else { fatalError("a key does not accept what it signed") }
        }
    }
}
