import Foundation
import PowerSyncCrypto
import PowerSyncMockService
import PowerSyncWire

/// The verifier of tokens.
///
/// | first byte modulo 3 | the rest |
/// |---|---|
/// | 0 | a token, or the value of an Authorization field |
/// | 1 | four bytes that choose key, names and what is spoilt, then header, NUL and payload, which are signed |
/// | 2 | the same without a header |
struct TokenTarget: FuzzTarget {
    static let words =
        [
            "\"alg\":", "\"kid\":", "\"typ\":", "\"crit\":", "\"jwk\":", "\"b64\":", "\"sub\":", "\"iat\":",
            "\"exp\":",
            "\"nbf\":", "\"aud\":", "\"parameters\":", "\"test\"", "none", "Bearer ", "Token ", ".",
            "1795327200",
            "1795330800", "1e400", "\\u0061", "null", "\0",
        ] + SignatureAlgorithm.allCases.map { "\"\($0.rawValue)\"" }

    /// The clock of the recorded tokens.
    private static let now = 1_795_327_200.0

    private(set) var tally = Tally()
    private let keys: TokenKeys
    private let verifier = TokenVerifier(audience: ["test", "powersync"])

    init() throws { keys = try TokenKeys() }

    static func firstInputs(fixtures: URL) throws -> [[UInt8]] {
        let text = try String(contentsOf: fixtures.appending(path: "tokens/tokens.jsonl"), encoding: .utf8)
        var inputs: [[UInt8]] = []
        // A third of them takes libFuzzer a while already: each is signed anew.
        for (number, line) in text.split(separator: "\n").enumerated() where number % 3 == 1 {
            guard let token = try JSON.parse(String(line))["token"]?.stringValue else { continue }
            inputs.append([0] + Array(token.utf8))
            let parts = token.split(separator: ".").map { Base64URL.decode($0) }
            guard parts.count == 3, let header = parts[0], let payload = parts[1] else { continue }
            let algorithm = (try? JSON.parse(header))?["alg"]?.stringValue ?? ""
            let key = SignatureAlgorithm.allCases.firstIndex { $0.rawValue == algorithm } ?? 0
            inputs.append([1, UInt8(key), 1, 0, 0] + header + [0] + payload)
            inputs.append([2, UInt8(key), 0, 0, UInt8(inputs.count % 256)] + payload)
        }
        return inputs + ["Bearer a.b.c", "Token x", "Token "].map { [0] + Array($0.utf8) }
    }

    mutating func check(_ input: [UInt8]) {
        switch (input.first ?? 0) % 3 {
        case 0: checkText(String(decoding: input.dropFirst(), as: UTF8.self))
        case let kind where input.count > 5:
            let bytes = Array(input[5...])
            let end = kind == 1 ? bytes.firstIndex(of: 0) ?? bytes.count : 0
            let key = keys.signing[Int(input[1]) % keys.signing.count]
            let header = kind == 1 ? Array(bytes[..<end]) : Self.header(of: key)
            let known = input[2] % 2 == 0 ? keys.known : keys.nameless
            checkSigned(header, Array(bytes[end...].drop { $0 == 0 }), key, known, input[3], input[4])
        default: break
        }
    }

    private static func header(of key: JSONWebKey) -> [UInt8] {
        Array(#"{"alg":"\#(key.algorithm?.rawValue ?? "")","kid":"\#(key.kid ?? "")"}"#.utf8)
    }

    /// No text that was not signed here is let in.
    private mutating func checkText(_ text: String) {
        tally.count("texts")
        guard verdict(text, keys.known) == nil, verdict(text, keys.nameless) == nil else {
            fatalError("a token that nobody signed is accepted")
        }
        guard let token = try? TokenVerifier.token(inField: text) else { return }
        tally.count("fields with a token")
        guard !token.isEmpty, text.hasSuffix(" " + token), !token.utf8.contains(0x20) else {
            fatalError("a token that is not the rest of its field")
        }
    }

    private mutating func checkSigned(
        _ header: [UInt8], _ payload: [UInt8], _ key: JSONWebKey, _ known: [JSONWebKey], _ place: UInt8,
        _ change: UInt8
    ) {
        guard let algorithm = key.algorithm else { fatalError("a key without an algorithm") }
        let text = Base64URL.encode(header) + "." + Base64URL.encode(payload)
        guard let signature = try? key.sign(Array(text.utf8), algorithm: algorithm) else {
            fatalError("a key that does not sign")
        }
        let token = "\(text).\(Base64URL.encode(signature))"
        guard let accepted = verdict(token, known) else { return tally.count("signed and refused") }
        tally.count("accepted \(algorithm.rawValue)")
        _ = accepted.userID
        checkHeader(header, key, known)
        guard verdict(token, keys.others) == nil, verdict(token, []) == nil else {
            fatalError("a token is accepted without the key that signed it")
        }
        // Changed anywhere, it is not what was signed. The last signs of a signature are checked as all others:
        // there is one spelling only.
        var bytes = Array(token.utf8)
        bytes[(bytes.count - 1) * Int(place) / 255] ^= change
        guard change == 0 || verdict(String(decoding: bytes, as: UTF8.self), known) == nil else {
            fatalError("a token is accepted after it was changed")
        }
    }

    /// An accepted token names the algorithm of the key that signed it, and the key unless that has no name.
    private func checkHeader(_ header: [UInt8], _ key: JSONWebKey, _ known: [JSONWebKey]) {
        guard let members = try? JSON.parse(header), members["crit"] == nil,
            members["alg"]?.stringValue == key.algorithm?.rawValue,
            members["kid"]?.stringValue == key.kid || known.allSatisfy({ $0.kid == nil })
        else { fatalError("a token is accepted by another key than it names") }
    }

    private func verdict(_ text: String, _ known: [JSONWebKey]) -> VerifiedToken? {
        do throws(AuthorizationError) {
            return try verifier.verify(text, keys: known, now: Self.now)
        } catch {
            guard error.code.hasPrefix("PSYNC_S21"), !error.description.isEmpty else {
                fatalError("an error without a code")
            }
            return nil
        }
    }
}
