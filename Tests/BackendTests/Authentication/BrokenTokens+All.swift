import PowerSyncBackend
import PowerSyncCrypto
import PowerSyncHTTP
import PowerSyncSystem
import PowerSyncWire
import Testing

/// What is wrong with them; of several things the rule that comes first is told (Backend/Authentication/SPEC.md).
extension BrokenTokens {
    /// All of them, as they are shown in one way.
    func all(_ way: Way) throws -> [Broken] {
        var texts = try algorithms(way)
        texts += try headers(way)
        texts += try keys(way)
        texts += try signatures(way)
        texts += try times(way)
        texts += try audiences(way)
        texts += try subjects(way)
        texts += try spellings(way)
        var all = texts.map { Broken(name: $0.name, fields: shown($0.token, way), code: $0.code) }
        all += try ways(way)
        return all
    }

    private typealias Text = (name: String, token: String, code: String)

    private func algorithms(_ way: Way) throws -> [Text] {
        let payload = Base64URL.encode(SignIn.claims().utf8)
        let kid = key(way).kid.map { ",\"kid\":\(JSON.quoted($0))" } ?? ""
        var texts: [Text] = ["none", "None", "NONE", "nOnE"].map { name in
            let header = Base64URL.encode(Array("{\"alg\":\"\(name)\"\(kid)}".utf8))
            return ("the algorithm \(name)", "\(header).\(payload).", "TOKEN_ALGORITHM")
        }
        let pem = try rsa.pemText(includePrivate: false)
        let inside = pem.split(separator: "\n").filter { !$0.hasPrefix("-") }.joined()
        let members = try JSON.parse(rsa.jsonObjectText(includePrivate: false))
        let modulus = try #require(members["n"]?.stringValue.flatMap { Base64URL.decode($0) })
        let header = Base64URL.encode(Array("{\"alg\":\"HS256\",\"kid\":\(JSON.quoted(rsa.kid ?? ""))}".utf8))
        let der = try #require(Base64.decode(inside))
        let secrets: [(String, [UInt8])] = [
            ("the PEM of a public key", Array(pem.utf8)), ("the DER of a public key", der),
            // HMAC fills a key up with zeros.
            ("a modulus", modulus), ("nothing", [0]), ("a weak word", Array("secret".utf8)),
        ]
        for (name, secret) in secrets {
            let code = HMAC.sha256(key: secret, message: Array("\(header).\(payload)".utf8))
            texts.append(
                ("\(name) as a secret", "\(header).\(payload).\(Base64URL.encode(code))", "TOKEN_SIGNATURE"))
        }
        let long = try JSONWebKey(secret: Array(SignIn.secret.utf8), algorithm: .HS512)
        texts.append(
            ("another digest of the secret", try SignIn.token(long, .HS512, kid: nil), "TOKEN_ALGORITHM"))
        return texts
    }

    private func headers(_ way: Way) throws -> [Text] {
        let other = try otherKey(way)
        let key = unknown.jsonObjectText(includePrivate: false)
        var texts: [Text] = []
        for member in [
            #""jku":"https://evil.example.com/keys""#, #""x5u":"https://evil.example.com/chain""#,
            #""x5c":["MIIB"]"#, "\"jwk\":\(key)",
        ] {
            let token = try signed(way, header: "\(header(way)),\(member)}", by: other)
            texts.append(("a key by \(member.prefix(5))", token, "TOKEN_SIGNATURE"))
        }
        for member in [#""crit":["exp"]"#, #""b64":false,"crit":["b64"]"#] {
            let token = try signed(way, header: "\(header(way)),\(member)}")
            texts.append(("the extension \(member)", token, "CREDENTIALS_MALFORMED"))
        }
        // A secret has no name, so that tokens may name any: the signature tells.
        let none = isShared(way) ? "TOKEN_SIGNATURE" : "TOKEN_KEY_UNKNOWN"
        let malformed = "CREDENTIALS_MALFORMED"
        let names: [(String, String, String)] = [
            ("a path", #""../../../../dev/null""#, none), ("SQL", #""x' UNION SELECT 'AA'; --""#, none),
            ("NUL", #""a\u0000b""#, malformed), ("a number", "1", malformed),
            ("a list", #"["a"]"#, malformed),
            ("a long text", "\"\(String(repeating: "k", count: 256))\"", malformed),
        ]
        for (name, kid, code) in names {
            let token = try signed(way, header: header(way, kid: kid) + "}", by: other)
            texts.append(("\(name) as a key's name", token, code))
        }
        return texts
    }

    private func keys(_ way: Way) throws -> [Text] {
        let other = try otherKey(way)
        // Whoever is asked about a cookie takes no such algorithm at all.
        let none = way == .cookie ? "TOKEN_ALGORITHM" : "TOKEN_KEY_UNKNOWN"
        func text(_ header: String) -> String {
            Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(Array(Self.shortPayload.utf8))
        }
        // With the exponent 1 the padded digest is its own signature (RFC 8017 9.2).
        let one = text(#"{"alg":"RS256","kid":"one"}"#)
        let information: [UInt8] = [
            0x30, 0x31, 0x30, 0x0D, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05,
            0x00, 0x04, 0x20,
        ]
        let end = [0] + information + Digest.sha256(Array(one.utf8))
        let padded = [0, 1] + [UInt8](repeating: 0xFF, count: 254 - end.count) + end
        // With a key of order 1 this one is good for each message.
        let any = [1] + [UInt8](repeating: 0, count: 63)
        let small = text(#"{"alg":"EdDSA","kid":"small"}"#)
        let short = text(#"{"alg":"RS256","typ":"JWT","kid":"short"}"#)
        let published = try signed(way, header: header(way, kid: "\"oct\"") + "}", by: other)
        let notSigned = isShared(way) ? "TOKEN_SIGNATURE" : "TOKEN_KEY_UNKNOWN"
        var texts: [Text] = [
            ("a key of a small order", "\(small).\(Base64URL.encode(any))", none),
            ("an RSA key with the exponent 1", "\(one).\(Base64URL.encode(padded))", none),
            ("an RSA key of 512 bits", "\(short).\(Self.shortSignature)", none),
            ("a key that encrypts", try SignIn.token(encrypting, kid: "enc"), none),
            ("a secret that is published", published, notSigned),
            ("another tenant's key", try SignIn.token(unknown, kid: unknown.kid), none),
            ("our key's name on another tenant's", try signed(way, by: other), "TOKEN_SIGNATURE"),
        ]
        switch way {
        case .own: texts.append(("a revoked key", try SignIn.token(revoked, kid: revoked.kid), none))
        case .provider, .cookie:
            texts.append(("a withdrawn key", try SignIn.token(withdrawn, kid: withdrawn.kid), none))
        case .session:
            let former = try JSONWebKey(secret: Array("the secret of before".utf8), algorithm: .HS256)
            texts.append(("a former secret", try signed(way, by: former), "TOKEN_SIGNATURE"))
        }
        return texts
    }

    private func signatures(_ way: Way) throws -> [Text] {
        let parts = try good(way).split(separator: ".").map(String.init)
        let other = try good(way, ["jti": .string("other")]).split(separator: ".").map(String.init)
        let admin = Base64URL.encode(SignIn.claims(["sub": .string("admin")]).utf8)
        let raw = try #require(Base64URL.decode(parts[2]))
        let zeros = Base64URL.encode([UInt8](repeating: 0, count: raw.count))
        let shaped = Base64URL.encode(isShared(way) ? Array(raw.prefix(16)) : Self.der(raw))
        return [
            ("no signature", "\(parts[0]).\(parts[1]).", "TOKEN_SIGNATURE"),
            ("a signature of zeros", "\(parts[0]).\(parts[1]).\(zeros)", "TOKEN_SIGNATURE"),
            ("a signature in another form", "\(parts[0]).\(parts[1]).\(shaped)", "TOKEN_SIGNATURE"),
            ("the signature of another token", "\(parts[0]).\(parts[1]).\(other[2])", "TOKEN_SIGNATURE"),
            ("another payload", "\(parts[0]).\(admin).\(parts[2])", "TOKEN_SIGNATURE"),
        ]
    }

    /// The form of a signature that libraries other than those of tokens have (X.690 8.3).
    private static func der(_ raw: [UInt8]) -> [UInt8] {
        func number(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
            var digits = Array(bytes.drop { $0 == 0 })
            if digits.first.map({ $0 >= 0x80 }) ?? true { digits.insert(0, at: 0) }
            return [2, UInt8(digits.count)] + digits
        }
        let body = number(raw.prefix(raw.count / 2)) + number(raw.suffix(raw.count / 2))
        return [0x30, UInt8(body.count)] + body
    }

    private func times(_ way: Way) throws -> [Text] {
        let now = Int(SignIn.now)
        let days = isShared(way) ? 30 : 1
        let changes: [(String, [String: JSON?], String)] = [
            ("an end that is a text", ["exp": .string("\(now + 600)")], "TOKEN_CLAIM"),
            ("a negative end", ["exp": .integer(-now)], "TOKEN_EXPIRED"),
            ("an end that is far", ["exp": .number("1e308")], "TOKEN_LIFETIME"),
            ("an end that is no number", ["exp": .number("1e400")], "TOKEN_CLAIM"),
            ("no end", ["exp": nil], "TOKEN_CLAIM"),
            ("an end that is over", ["exp": .integer(now - 61)], "TOKEN_EXPIRED"),
            ("a later beginning", ["nbf": .integer(now + 61)], "TOKEN_EARLY"),
            ("made tomorrow", ["iat": .integer(now + 61)], "TOKEN_EARLY"),
            ("a long life", ["exp": .integer(now + days * 86_400 + 1)], "TOKEN_LIFETIME"),
        ]
        return try changes.map { ($0.0, try good(way, $0.1), $0.2) }
    }

    private func audiences(_ way: Way) throws -> [Text] {
        let changes: [(String, [String: JSON?], String)] = [
            ("no audience", ["aud": nil], "TOKEN_CLAIM"),
            ("another audience", ["aud": .string("other")], "TOKEN_AUDIENCE"),
            (
                "a list without us", ["aud": .array([.string("a"), .string("App"), .string("app/")])],
                "TOKEN_AUDIENCE"
            ),
            ("an empty list", ["aud": .array([])], "TOKEN_AUDIENCE"),
            ("the beginning of ours", ["aud": .string("ap")], "TOKEN_AUDIENCE"),
            ("another issuer", ["iss": .string("\(SignIn.issuer)/")], "TOKEN_ISSUER"),
        ]
        return try changes.map { ($0.0, try good(way, $0.1), $0.2) }
    }

    private func subjects(_ way: Way) throws -> [Text] {
        let values: [(String, JSON?)] = [
            ("a number", .number("1")), ("null", .null), ("an object", .object([])), ("empty", .string("")),
            ("a text with NUL", .string("u1\0")), ("long", .string(String(repeating: "u", count: 1_025))),
            ("missing", nil),
        ]
        var texts: [Text] = try values.map {
            ("a subject that is \($0.0)", try good(way, ["sub": $0.1]), "TOKEN_CLAIM")
        }
        let rest = String(SignIn.claims(["sub": nil]).text.dropLast())
        for (first, second) in [("u1", "admin"), ("admin", "u1")] {
            let payload = "\(rest),\"sub\":\"\(first)\",\"sub\":\"\(second)\"}"
            texts.append(
                ("\(first), then \(second)", try signed(way, payload: payload), "CREDENTIALS_MALFORMED"))
        }
        return texts
    }

    private func spellings(_ way: Way) throws -> [Text] {
        let good = try good(way)
        let parts = good.split(separator: ".").map(String.init)
        let key = Base64URL.encode(Array(#"{"alg":"dir","enc":"A256GCM"}"#.utf8))
        let open = String(SignIn.claims().text.dropLast())
        let deep = String(repeating: "[", count: 2_000) + String(repeating: "]", count: 2_000)
        let long = SignIn.claims(["x": .string(String(repeating: "x", count: 6_200))]).text
        let deepOne = try signed(way, payload: "\(open),\"x\":\(deep)}")
        let longOne = try signed(way, payload: long)
        let texts: [(String, String)] = [
            ("two segments", "\(parts[0]).\(parts[1])"), ("four segments", "\(good).\(parts[2])"),
            ("five segments", "\(good)..\(parts[2])"), ("one that is encrypted", "\(key)..AAAA.AAAA.AAAA"),
            ("filled up", "\(good)="), ("a blank", "\(parts[0]). \(parts[1]).\(parts[2])"),
            ("another alphabet", "\(parts[0]).\(parts[1])+/.\(parts[2])"),
            ("deep", deepOne), ("8 KiB", longOne),
        ]
        return texts.map { ($0.0, $0.1, "CREDENTIALS_MALFORMED") }
    }

    /// Good tokens that are shown as no token may be.
    private func ways(_ way: Way) throws -> [Broken] {
        let good = try good(way)
        var twice = shown(good, way)
        if way == .cookie {
            twice["cookie"] = "s=\(good); s=\(good)"
        } else {
            twice.append("authorization", "Bearer \(good)")
        }
        let query = "access_token=\(good)&token=\(good)&jwt=\(good)"
        var schemes: [HTTPFields] = []
        if way == .cookie {
            for value in ["\"\(good)\"", ""] {
                schemes.append(["cookie": "s=\(value)", "x-requested-with": "test"])
            }
        } else {
            for value in ["Basic \(good)", "Token \(good)", "Bearer  \(good)", "Bearer", good] {
                schemes.append(["authorization": value])
            }
        }
        var all = schemes.map {
            Broken(name: "another scheme", fields: $0, code: "CREDENTIALS_MALFORMED")
        }
        all.append(Broken(name: "shown twice", fields: twice, code: "CREDENTIALS_TWICE"))
        all.append(Broken(name: "in the query", fields: [:], code: "UNAUTHENTICATED", query: query))
        return all
    }
}
