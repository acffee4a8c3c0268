import PowerSyncCrypto
import PowerSyncMockService
import PowerSyncWire

/// Judges recorded tokens as this stack's service does, and tells where the real one judged otherwise.
package struct TokenConformance: Sendable {
    /// Whether tokens get a line, too, that may be refused for the way they are written.
    package var isVerbose = false
    /// Receives each line of the report.
    package var print: @Sendable (String) -> Void

    /// Makes a run.
    ///
    /// - Parameter print: receives each line of the report.
    package init(print: @escaping @Sendable (String) -> Void) { self.print = print }

    /// What became of one token.
    private enum Outcome: Equatable {
        case same
        /// Refused here, and allowed to be: nothing is wrong with the token but the way it is written.
        case refusedForItsWriting
        /// Refused here for the way it is written, and there for something that is wrong with it besides.
        case refusedSooner
        case other(String)
    }

    /// What the texts of service 2.2 begin with; others of the real service are its library's.
    private static let texts = [
        "Token is not a well-formed JWT.", "\"alg\" (Algorithm) Header Parameter not allowed",
        "Unexpected token algorithm ", "Could not find an appropriate key in the keystore.",
        "signature verification failed", "JWT payload is missing a required claim ", "JWT has expired",
        "Unexpected \"aud\" claim value: ", "Token must expire in a maximum of ",
        "Payload parameters must be an object",
    ]

    private struct Verdict: CustomStringConvertible {
        var code: String?
        var user = ""
        var expiry = 0.0
        var text = ""

        var description: String {
            code.map { "refused, \($0): \(text)" } ?? "accepted, user \(user), until \(expiry)"
        }

        /// Whether another verdict says what this recorded one does.
        func isMet(by other: Verdict) -> Bool {
            code == other.code && user == other.user && expiry == other.expiry
        }

        /// Whether its text, if that counts, is that of another one.
        func hasText(of other: Verdict) -> Bool {
            text == other.text || !TokenConformance.texts.contains(where: text.hasPrefix)
        }
    }

    /// Judges every token of a file.
    ///
    /// - Parameter path: JSON lines: `now` and `sets` of keys, then a token with its `result` a line.
    /// - Returns: whether all were judged as recorded.
    /// - Throws: `StackError` if there is nothing to judge, or the file is no such file.
    package func run(_ path: String) throws -> Bool {
        let lines = try TextFile.read(path).split(separator: "\n")
        guard let first = lines.first, let head = Self.json(first), let now = Self.number(head["now"]) else {
            throw StackError(.file, "\(path) does not begin with a line that has \"now\" and \"sets\"")
        }
        let sets = try (head["sets"]?.arrayValue ?? []).map { try Self.keys($0, path) }
        var counts = (same: 0, writing: 0, sooner: 0, other: 0)
        for (number, line) in lines.enumerated().dropFirst() {
            guard let token = Self.json(line), let set = token["set"]?.int64Value,
                sets.indices.contains(Int(set)),
                let text = token["token"]?.stringValue, let result = token["result"]
            else { throw StackError(.file, "\(path): line \(number + 1) is no token with its result") }
            let expected = Self.recorded(result)
            switch outcome(of: Self.judged(text, token, sets[Int(set)], now), expected, token) {
            case .same: counts.same += 1
            case .refusedForItsWriting:
                counts.writing += 1
                if isVerbose {
                    print("\(path): line \(number + 1) (\(Self.note(token))): refused for its writing")
                }
            case .refusedSooner:
                counts.sooner += 1
                if isVerbose {
                    print(
                        "\(path): line \(number + 1) (\(Self.note(token))): refused for its writing, \(expected)"
                            + " there")
                }
            case .other(let verdict):
                counts.other += 1
                print(
                    "\(path): line \(number + 1) (\(Self.note(token))):\n    - \(expected)\n    + \(verdict)")
            }
        }
        let passed = counts.same + counts.writing + counts.sooner
        guard passed + counts.other > 0 else { throw StackError(.file, "\(path) holds no token") }
        print(
            "\(passed) passed (\(counts.writing) of them refused for the way they are written alone, "
                + "\(counts.sooner) for that before what the real service names), \(counts.other) failed")
        return counts.other == 0
    }

    private func outcome(of verdict: Verdict, _ expected: Verdict, _ token: JSON) -> Outcome {
        let isMalformed = verdict.code == "PSYNC_S2101" && verdict.text.contains("well-formed")
        let note = Self.note(token)
        if expected.isMet(by: verdict) {
            // Where both refuse, one may look at the writing first. A list of one text is that text to the real service.
            let isSooner = !expected.hasText(of: verdict) && (isMalformed || note.contains("kid number"))
            guard !isSooner else { return .refusedSooner }
            return expected.hasText(of: verdict) ? .same : .other("\(verdict)")
        }
        let writings = [
            "signature padded", "signature base64", "signature spare bits", "space around", "member twice",
            "deep",
        ]
        guard isMalformed, writings.contains(where: note.contains) else { return .other("\(verdict)") }
        return expected.code == nil ? .refusedForItsWriting : .refusedSooner
    }

    private static func judged(_ text: String, _ token: JSON, _ keys: [JSONWebKey], _ now: Double) -> Verdict
    {
        let verifier = TokenVerifier(
            audience: (token["audiences"]?.arrayValue ?? []).compactMap(\.stringValue),
            lifetimeLimit: lifetime(token["maxAge"]?.stringValue))
        do throws(AuthorizationError) {
            let verified = try verifier.verify(text, keys: keys, now: now)
            return Verdict(user: verified.userID, expiry: verified.expiry)
        } catch {
            return Verdict(code: error.code, text: error.description)
        }
    }

    private static func recorded(_ result: JSON) -> Verdict {
        guard let code = result["code"]?.stringValue else {
            return Verdict(user: result["user"]?.stringValue ?? "", expiry: number(result["exp"]) ?? 0)
        }
        return Verdict(code: code, text: result["message"]?.stringValue ?? "")
    }

    private static func lifetime(_ text: String?) -> Double {
        switch text {
        case "60s": 60
        case "1 hour": 3_600
        default: 86_400
        }
    }

    private static func keys(_ set: JSON, _ path: String) throws(StackError) -> [JSONWebKey] {
        var keys: [JSONWebKey] = []
        for key in set.arrayValue ?? [] {
            let fields = (key.objectMembers ?? []).compactMap { member in
                member.value.stringValue.map { (member.name, $0) }
            }
            do throws(CryptoError) {
                keys.append(
                    try JSONWebKey(fields: Dictionary(fields) { _, last in last }, keyOperations: nil))
            } catch {
                throw StackError(.file, "\(path): a key cannot be used: \(error)")
            }
        }
        return keys
    }

    private static func note(_ token: JSON) -> String { token["note"]?.stringValue ?? "" }

    private static func number(_ json: JSON?) -> Double? {
        if case .number(let lexeme)? = json { Double(lexeme) } else { nil }
    }

    private static func json(_ line: Substring) -> JSON? { try? JSON.parse(Array(line.utf8)) }
}
