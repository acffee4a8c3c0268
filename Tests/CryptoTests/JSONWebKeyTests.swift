import PowerSyncCrypto
import Testing

struct JSONWebKeyTests {
    private func key(_ json: String) throws -> JSONWebKey { try JSONWebKey(json: Array(json.utf8)) }

    private func code(_ body: () throws -> Void) -> CryptoError.Code? {
        do {
            try body()
            return nil
        } catch let error as CryptoError {
            return error.code
        } catch {
            return nil
        }
    }

    @Test func thumbprintsAgreeWithTheRFCs() throws {
        #expect(try key(SampleKeys.thumbprinted).thumbprint == "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs")
        #expect(try key(SampleKeys.ed25519).thumbprint == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")
    }

    @Test func otherSpellingsOfAKeyHaveItsThumbprint() throws {
        let plain = try key(SampleKeys.thumbprinted)
        let spelled = SampleKeys.thumbprinted.replacing("\"AQAB\"", with: "\"AAEAAQ==\"")
        #expect(spelled != SampleKeys.thumbprinted)
        #expect(try key(spelled).thumbprint == plain.thumbprint)
        #expect(try key(SampleKeys.ed25519).publicKey().thumbprint == key(SampleKeys.ed25519).thumbprint)
    }

    @Test(arguments: [SignatureAlgorithm.HS256, .RS256, .ES256, .ES384, .ES512, .EdDSA])
    func aKeyComesBackFromItsJSON(algorithm: SignatureAlgorithm) throws {
        var made = try JSONWebKey.generate(algorithm)
        made.kid = "a \"name\" \\ with\nall ü 😀"
        let read = try key(made.jsonObjectText(includePrivate: true))
        #expect(read.kid == made.kid)
        #expect(read.algorithm == algorithm)
        #expect(read.use == "sig")
        #expect(read.isPrivate)
        #expect(read.thumbprint == made.thumbprint)
        let signature = try read.sign([1, 2, 3], algorithm: algorithm)
        #expect(made.verify(signature: signature, message: [1, 2, 3], algorithm: algorithm))
    }

    @Test(arguments: [SignatureAlgorithm.RS256, .ES256, .ES384, .ES512, .EdDSA])
    func aKeyComesBackFromItsPEMText(algorithm: SignatureAlgorithm) throws {
        let made = try JSONWebKey.generate(algorithm)
        let pair = try JSONWebKey.pem(made.pemText(includePrivate: true))
        #expect(pair.isPrivate)
        #expect(pair.algorithm == algorithm)
        #expect(pair.kid == made.kid)
        let half = try JSONWebKey.pem(made.pemText(includePrivate: false), kid: "half")
        #expect(!half.isPrivate)
        #expect(half.kid == "half")
        #expect(half.thumbprint == made.thumbprint)
        let signature = try pair.sign([7], algorithm: algorithm)
        #expect(half.verify(signature: signature, message: [7], algorithm: algorithm))
    }

    @Test func readsWhatOpenSSLWrites() throws {
        let pair = try JSONWebKey.pem(SampleKeys.p256PEM)
        #expect(
            pair.jsonObjectText(includePrivate: true)
                == #"{"alg":"ES256","crv":"P-256","d":"orx8IqvWjeeYYF7ic4ZOUvhKS24ok1ge1u45pZG7v6k","kid":"\#(pair.thumbprint)""#
                + #","kty":"EC","use":"sig","x":"LsRi__0nYsQ7SDlSQbAxJVATpmcfpxcRmaMmv13CgwE","#
                + #""y":"u98gRaBzC7yk8MDdMjWjgZBuFcjsAWzieYaZatZKsRQ"}"#)
        #expect(try JSONWebKey.pem(SampleKeys.p256SEC1).thumbprint == pair.thumbprint)
        #expect(try JSONWebKey.pem(SampleKeys.p256PublicPEM).thumbprint == pair.thumbprint)
        #expect(try JSONWebKey.pem(SampleKeys.p256PublicPEM).isPrivate == false)
        let edwards = try JSONWebKey.pem(SampleKeys.ed25519PEM)
        #expect(
            edwards.publicKey().jsonObjectText(includePrivate: true)
                == #"{"alg":"EdDSA","crv":"Ed25519","kid":"\#(edwards.thumbprint)","kty":"OKP","use":"sig","#
                + #""x":"8XOmTgPncvj_nx-GC_5YsbZ4rk7WER53s39pRr9Llls"}"#)
    }

    @Test func readsDER() throws {
        for (pem, isPrivate) in [(SampleKeys.p256PEM, true), (SampleKeys.p256PublicPEM, false)] {
            let body = pem.split(separator: "\n").dropFirst().dropLast().joined()
            let read = try JSONWebKey.der(Base64.decode(body) ?? [])
            #expect(read.isPrivate == isPrivate)
            #expect(try read.thumbprint == JSONWebKey.pem(pem).thumbprint)
        }
        #expect(code { _ = try JSONWebKey.der([1, 2, 3]) } == .malformed)
    }

    @Test func refusesUnfitPEMText() {
        #expect(code { _ = try JSONWebKey.pem("") } == .malformed)
        #expect(
            code { _ = try JSONWebKey.pem("-----BEGIN PRIVATE KEY-----\nno\n-----END PRIVATE KEY-----") }
                == .malformed)
        #expect(code { _ = try JSONWebKey.pem(SampleKeys.encryptedPEM) } == .malformed)
        #expect(code { _ = try JSONWebKey.pem(SampleKeys.weakRSAPEM) } == .weakKey)
        #expect(code { _ = try JSONWebKey.pem(SampleKeys.secp256k1PEM) } == .unsupported)
        #expect(code { _ = try JSONWebKey.pem(SampleKeys.p256PEM, algorithm: .ES384) } == .wrongKey)
        // The private number of another key: what it signs nobody would accept.
        let spoilt = SampleKeys.p256PEM.replacing("orx8Iqv", with: "osx8Iqv")
        #expect(spoilt != SampleKeys.p256PEM)
        #expect(code { _ = try JSONWebKey.pem(spoilt) } == .inconsistentKey)
        let body = spoilt.split(separator: "\n").dropFirst().dropLast().joined()
        #expect(code { _ = try JSONWebKey.der(Base64.decode(body) ?? []) } == .inconsistentKey)
    }

    /// What a signature costs grows with the cube of the length, and reading a private key makes one.
    @Test func refusesAnRSAKeyOfAnyLength() throws {
        let number = Base64URL.encode([UInt8](repeating: 0xFF, count: 2_049))
        #expect(code { _ = try key(#"{"kty":"RSA","e":"AQAB","n":"\#(number)"}"#) } == .unsupported)
        let pair = try JSONWebKey.generate(.RS256).jsonObjectText(includePrivate: true)
        // Six bytes more: of a few keys in a thousand "d" is a byte shorter than the modulus.
        #expect(code { _ = try key(pair.replacing(#""d":""#, with: #""d":"AQAAAAAA"#)) } == .malformed)
        #expect(
            code { _ = try key(pair.replacing(#""e":"AQAB""#, with: #""e":"\#(number)""#)) } == .malformed)
    }

    static let unfit: [(json: String, code: CryptoError.Code)] = [
        ("", .malformed), ("[]", .malformed), (#"{"k":"AA"}"#, .malformed), (#"{"kty":5}"#, .malformed),
        (#"{"kty":"oct"}"#, .malformed), (#"{"kty":"oct","k":""}"#, .weakKey),
        (#"{"kty":"oct","k":"AA!"}"#, .malformed), (#"{"kty":"oct","k":"AA","alg":"RS256"}"#, .wrongKey),
        (#"{"kty":"oct","k":"AA","alg":"A128KW"}"#, .unsupported), (#"{"kty":"XYZ","k":"AA"}"#, .unsupported),
        (#"{"kty":"RSA","n":"AQAB","e":"AQAB"}"#, .weakKey), (#"{"kty":"RSA","n":"AQAB"}"#, .malformed),
        (#"{"kty":"EC","crv":"P-192","x":"AA","y":"AA"}"#, .unsupported),
        (#"{"kty":"EC","x":"AA","y":"AA"}"#, .unsupported),
        // A point that is not on its curve.
        (SampleKeys.p256.replacing("f83O", with: "f83P"), .inconsistentKey),
        // A private number of another key, for each type that has one.
        (SampleKeys.p256.replacing("jpsQ", with: "kpsQ"), .inconsistentKey),
        (SampleKeys.ed25519.replacing("nWGx", with: "oWGx"), .inconsistentKey),
        (#"{"kty":"OKP","crv":"Ed25519","x":"AAAA"}"#, .malformed),
        (#"{"kty":"OKP","crv":"X25519","x":"AAAA"}"#, .unsupported),
    ]

    @Test(arguments: unfit.indices)
    func refusesUnfitJSON(index: Int) {
        let (json, expected) = Self.unfit[index]
        #expect(code { _ = try key(json) } == expected)
    }

    /// libcrypto makes no key of these, and loses the numbers that it was given.
    @Test(arguments: ["p", "q", "dp", "dq", "qi"])
    func refusesAnRSAKeyThatLacksOneOfItsParts(name: String) throws {
        let pair = try JSONWebKey.generate(.RS256).jsonObjectText(includePrivate: true)
        #expect(code { _ = try key(pair.replacing("\"\(name)\":", with: "\"other\":")) } == .malformed)
    }

    @Test func ed448SignsToo() throws {
        let pair = try JSONWebKey.pem(
            """
            -----BEGIN PRIVATE KEY-----
            MEcCAQAwBQYDK2VxBDsEOWyCpWLLgI0Q1jK+ichRPr9skp803fqMn2PJlg7240ij
            UoyKP8wvBE45o/xblEkvj9sG+ZmcWFm+zg==
            -----END PRIVATE KEY-----
            """)
        #expect(pair.curve == .ed448)
        let signature = try pair.sign([1], algorithm: .EdDSA)
        #expect(signature.count == 114)
        #expect(
            try key(pair.jsonObjectText(includePrivate: false)).verify(
                signature: signature, message: [1], algorithm: .EdDSA))
    }

    @Test func aPublicKeySignsNothing() throws {
        for text in [SampleKeys.p256, SampleKeys.ed25519, SampleKeys.secret] {
            let half = try key(text).publicKey()
            #expect(!half.isPrivate)
            for algorithm in SignatureAlgorithm.allCases {
                #expect(code { _ = try half.sign([1], algorithm: algorithm) } == .wrongKey)
            }
            #expect(code { _ = try half.pemText(includePrivate: true) } == .wrongKey)
        }
    }

    @Test func aKeyWithItsOwnAlgorithmServesNoOther() throws {
        let pair = try JSONWebKey.generate(.RS256)
        #expect(code { _ = try pair.sign([1], algorithm: .RS512) } == .wrongKey)
        var fields = ["kty": "oct", "k": "AAAA"]
        let open = try JSONWebKey(fields: fields)
        let signature = try open.sign([1], algorithm: .HS512)
        #expect(open.verify(signature: signature, message: [1], algorithm: .HS512))
        fields["alg"] = "HS256"
        #expect(try !JSONWebKey(fields: fields).verify(signature: signature, message: [1], algorithm: .HS512))
    }

    @Test func noTextOfAKeyShowsItsSecret() throws {
        let pair = try key(SampleKeys.p256)
        var dumped = ""
        dump(pair, to: &dumped)
        for text in ["\(pair)", String(reflecting: pair), String(describing: [pair]), dumped] {
            #expect(!text.contains("jpsQnnGQ"))
            #expect(!text.contains("142, 155"))
        }
    }
}
