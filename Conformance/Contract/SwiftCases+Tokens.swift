import PowerSyncHTTP
import PowerSyncCrypto
import PowerSyncWire

/// Group B: tokens and keys.
extension SwiftCases {
    static let tokenCases: [(String, Body)] = [
        ("21", tokenHasThreeParts), ("22", headerNamesAnAsymmetricKey), ("23", claimsAreThoseOfTheService),
        ("24", keyIsPublished), ("25", tokenVerifiesWithThePublishedKey),
        ("26", nothingPrivateIsPublished), ("27", publishedKeysAreForSignatures),
        ("28", tokensAreFresh), ("32", tokensOutliveARestart),
    ]

    /// A token of the token route.
    private static func minted(_ session: ContractSession) async throws -> JSONWebToken {
        let text = try await mintedText(session)
        do {
            return try JSONWebToken(parsing: text)
        } catch {
            throw ContractFailure("the token cannot be read: \(error)")
        }
    }

    /// What the token route answers alice: where development tokens are, whoever shows nothing is whom he says, and elsewhere she
    /// shows her session.
    private static func answer(_ session: ContractSession) async throws -> ContractAnswer {
        let path = "${path.token}?user_id=${user.alice}"
        let answer = try await session.get(path)
        guard answer.status == 401 else { return answer }
        var request = ContractRequest()
        request.method = "GET"
        request.path = path
        // Where nobody gave the secret of sessions, her token is one.
        if session.target.signIn != nil { request.session = .good }
        return try await session.answer(to: request)
    }

    private static func mintedText(_ session: ContractSession) async throws -> String {
        let answer = try await answer(session)
        try require(answer.status == 200, "the token route answers \(answer.status)")
        return try require(answer.json?["token"]?.stringValue, "there is no token in the answer")
    }

    private static func tokenHasThreeParts(_ session: ContractSession) async throws -> ContractVerdict {
        _ = try await minted(session)
        guard session.target.profile == .l2 else { return .passed }
        let answer = try await answer(session)
        let url = try require(answer.json?["powersync_url"]?.stringValue, "there is no powersync_url")
        let isAbsolute = ["http://", "https://"].contains { url.hasPrefix($0) && url.count > $0.count }
        try require(isAbsolute, "powersync_url is \(url)")
        return .passed
    }

    private static func claims(_ token: JSONWebToken) throws -> JSON {
        let claims = try JSON.parse(token.payload)
        try require(claims.objectMembers != nil, "the payload of the token is no object")
        return claims
    }

    private static func published(_ session: ContractSession) async throws -> (json: JSON, set: JSONWebKeySet)
    {
        let answer = try await session.get("${path.keys}")
        try require(answer.status == 200, "the keys are answered \(answer.status)")
        let type = answer.fields["content-type"] ?? ""
        try require(type.contains("json"), "the keys are of the type \(type)")
        let json = try require(answer.json, "the keys are no JSON")
        return (json, try JSONWebKeySet(json: answer.body))
    }

    private static func headerNamesAnAsymmetricKey(_ session: ContractSession) async throws -> ContractVerdict
    {
        let token = try await minted(session)
        let algorithm = SignatureAlgorithm(rawValue: token.header.algorithm)
        try require(
            algorithm.map { $0.keyType != .oct } ?? false, "alg is \(token.header.algorithm)")
        try require(token.header.kid.map { !$0.isEmpty } ?? false, "there is no kid")
        return .passed
    }

    private static func claimsAreThoseOfTheService(_ session: ContractSession) async throws -> ContractVerdict
    {
        let claims = try claims(try await minted(session))
        let subject = await session.subject(of: "alice")
        try require(
            claims["sub"] == .string(subject),
            "sub is not the text of the user: \(claims["sub"]?.text ?? "none")")
        let (iat, exp) = (try whole(claims, "iat"), try whole(claims, "exp"))
        let longest: Int64 = session.target.profile == .l2 ? 3_600 : 86_400
        // Nothing is said of clocks: a minted `iat` may be some seconds back.
        let tolerance: Int64 = 60
        try require(exp - iat > 30 && exp - iat <= longest + tolerance, "the token lives \(exp - iat) s")
        let audiences = claims["aud"]?.arrayValue ?? claims["aud"].map { [$0] } ?? []
        let areTexts = audiences.allSatisfy { !($0.stringValue ?? "").isEmpty }
        try require(!audiences.isEmpty && areTexts, "aud is \(claims["aud"]?.text ?? "missing")")
        return .passed
    }

    /// A number that is spelled with digits alone: one demo writes a fraction, which verifiers refuse.
    private static func whole(_ claims: JSON, _ name: String) throws(ContractFailure) -> Int64 {
        guard case .number(let lexeme) = claims[name], let number = Int64(lexeme) else {
            throw ContractFailure("\(name) is \(claims[name]?.text ?? "missing")")
        }
        return number
    }

    private static func keyIsPublished(_ session: ContractSession) async throws -> ContractVerdict {
        let token = try await minted(session)
        let kid = try require(token.header.kid, "there is no kid")
        let (json, _) = try await published(session)
        let key = try require(
            json["keys"]?.arrayValue?.first { $0["kid"]?.stringValue == kid },
            "the key of the token is not published")
        let algorithm = try require(
            SignatureAlgorithm(rawValue: token.header.algorithm), "alg is \(token.header.algorithm)")
        try require(
            key["kty"]?.stringValue == algorithm.keyType.rawValue, "kty is \(key["kty"]?.text ?? "missing")")
        try require(
            key["alg"].map { $0.stringValue == algorithm.rawValue } ?? true,
            "alg is \(key["alg"]?.text ?? "")")
        let curves = ["ES256": "P-256", "ES384": "P-384", "ES512": "P-521"]
        if let curve = curves[algorithm.rawValue] {
            try require(key["crv"]?.stringValue == curve, "crv is \(key["crv"]?.text ?? "missing")")
        }
        return .passed
    }

    private static func tokenVerifiesWithThePublishedKey(
        _ session: ContractSession
    ) async throws -> ContractVerdict {
        let token = try await minted(session)
        let (_, set) = try await published(session)
        let key = try require(token.header.kid.flatMap { set.key(id: $0) }, "the key is not published")
        let algorithm = try require(
            SignatureAlgorithm(rawValue: token.header.algorithm), "alg is \(token.header.algorithm)")
        try require(token.isSigned(by: key, as: algorithm), "the signature is not that of the key")
        return .passed
    }

    private static func nothingPrivateIsPublished(_ session: ContractSession) async throws -> ContractVerdict
    {
        let (json, _) = try await published(session)
        for key in json["keys"]?.arrayValue ?? [] {
            for name in ["d", "p", "q", "dp", "dq", "qi", "oth", "k"] {
                try require(key[name] == nil, "a published key has the member \(name)")
            }
            try require(key["kty"]?.stringValue != "oct", "a shared secret is published")
        }
        return .passed
    }

    private static func publishedKeysAreForSignatures(
        _ session: ContractSession
    ) async throws -> ContractVerdict {
        let (json, _) = try await published(session)
        let keys = json["keys"]?.arrayValue ?? []
        try require(!keys.isEmpty, "no key is published")
        for key in keys {
            try require(key["use"].map { $0 == .string("sig") } ?? true, "use is \(key["use"]?.text ?? "")")
            let operations = key["key_ops"]?.arrayValue
            try require(operations?.contains(.string("verify")) ?? true, "key_ops have no verify")
        }
        let kids = keys.compactMap { $0["kid"]?.stringValue }
        try require(kids.count == keys.count, "a key has no kid")
        try require(Set(kids).count == kids.count, "two keys have one kid")
        return .passed
    }

    /// A second later there is another token, which is not the one of before.
    private static func tokensAreFresh(_ session: ContractSession) async throws -> ContractVerdict {
        let first = try claims(try await minted(session))
        let (iat, exp) = (try whole(first, "iat"), try whole(first, "exp"))
        let end = ContinuousClock.now + Duration.seconds(10) * session.target.patience
        while ContinuousClock.now < end {
            let next = try claims(try await minted(session))
            if try whole(next, "iat") > iat {
                try require(try whole(next, "exp") > exp, "a later token does not end later")
                return .passed
            }
            try await Task.sleep(for: .milliseconds(100))
        }
        return .failed("for ten seconds all tokens were made at one moment")
    }

    private static func tokensOutliveARestart(_ session: ContractSession) async throws -> ContractVerdict {
        let faults = try require(session.target.faults, "nobody can restart the backend")
        let token = try await minted(session)
        await session.follow(try await faults.restartBackend())
        let (_, set) = try await published(session)
        let key = try require(
            token.header.kid.flatMap { set.key(id: $0) }, "the key of before is not published any more")
        let algorithm = try require(
            SignatureAlgorithm(rawValue: token.header.algorithm), "alg is \(token.header.algorithm)")
        try require(token.isSigned(by: key, as: algorithm), "the token of before does not verify any more")
        return .passed
    }
}
