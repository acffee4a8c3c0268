import PowerSyncCrypto
import Testing

struct JSONWebTokenTests {
    static let payload =
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"

    /// RFC 7515 A.1 to A.3 and RFC 8037 A.4.
    static let vectors: [(key: String, algorithm: SignatureAlgorithm, token: String)] = [
        (
            SampleKeys.secret, .HS256,
            "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9." + payload
                + ".dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        ),
        (
            SampleKeys.rsaPublic, .RS256,
            "eyJhbGciOiJSUzI1NiJ9." + payload + "."
                + "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujG"
                + "bds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K"
                + "0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6"
                + "LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"
        ),
        (
            SampleKeys.p256, .ES256,
            "eyJhbGciOiJFUzI1NiJ9." + payload + "."
                + "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
        ),
        (
            SampleKeys.ed25519, .EdDSA,
            "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc."
                + "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
        ),
    ]

    @Test(arguments: 0..<4)
    func verifiesTheTokensOfTheRFCs(index: Int) throws {
        let (json, algorithm, text) = Self.vectors[index]
        let key = try JSONWebKey(json: Array(json.utf8))
        let token = try JSONWebToken(parsing: text)
        #expect(token.header.algorithm == algorithm.rawValue)
        #expect(token.isSigned(by: key, as: algorithm))
        for other in SignatureAlgorithm.allCases where other != algorithm {
            #expect(!token.isSigned(by: key, as: other))
        }
        if key.keyType != .oct { #expect(token.isSigned(by: key.publicKey(), as: algorithm)) }
    }

    @Test(arguments: 0..<4)
    func noChangedBitOfASignatureVerifies(index: Int) throws {
        let (json, algorithm, text) = Self.vectors[index]
        let key = try JSONWebKey(json: Array(json.utf8))
        let token = try JSONWebToken(parsing: text)
        let signed = Array(
            text.utf8.prefix(upTo: text.utf8.lastIndex(of: UInt8(ascii: ".")) ?? text.endIndex))
        #expect(key.verify(signature: token.signature, message: signed, algorithm: algorithm))
        for index in token.signature.indices {
            var signature = token.signature
            signature[index] ^= 0x10
            #expect(!key.verify(signature: signature, message: signed, algorithm: algorithm))
        }
        #expect(!key.verify(signature: [], message: signed, algorithm: algorithm))
        #expect(!key.verify(signature: token.signature + [0], message: signed, algorithm: algorithm))
        #expect(!key.verify(signature: token.signature, message: signed + [0], algorithm: algorithm))
    }

    @Test func signsWithEd25519AsRFC8037Does() throws {
        let key = try JSONWebKey(json: Array(SampleKeys.ed25519.utf8))
        let parts = Self.vectors[3].token.split(separator: ".")
        let signature = try key.sign(Array("\(parts[0]).\(parts[1])".utf8), algorithm: .EdDSA)
        #expect(Base64URL.encode(signature) == String(parts[2]))
    }

    @Test func signsWithASecretAsServiceVectorC38Does() throws {
        let key = try JSONWebKey(fields: [
            "kty": "oct", "alg": "HS256", "kid": "test-key",
            "k": "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY",
        ])
        let header = #"{"alg":"HS256","kid":"test-key"}"#
        let claims = #"{"sub":"user1","aud":"powersync-dev","iat":1700000000,"exp":1700003600}"#
        let text = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(Array(claims.utf8))
        let signature = try key.sign(Array(text.utf8), algorithm: .HS256)
        #expect(Base64URL.encode(signature) == "lNy1DvfaIzR3EPfcWIPsK1uxT7ev-tR0I6VlyrmyplI")
    }

    @Test(arguments: SignatureAlgorithm.allCases)
    func whatItSignsVerifiesWithTheSameKeyAlone(algorithm: SignatureAlgorithm) throws {
        let key = try JSONWebKey.generate(algorithm)
        let claims = Array(#"{"sub":"u1"}"#.utf8)
        let text = try JSONWebToken.signed(payload: claims, with: key, algorithm: algorithm, kid: key.kid)
        let token = try JSONWebToken(parsing: text)
        #expect(token.payload == claims)
        #expect(token.header.kid == key.thumbprint)
        #expect(token.header.type == "JWT")
        #expect(token.isSigned(by: key, as: algorithm))
        #expect(!token.isSigned(by: try JSONWebKey.generate(algorithm), as: algorithm))
    }

    @Test func aPublicKeyIsNeverASharedSecret() throws {
        let key = try JSONWebKey(json: Array(SampleKeys.thumbprinted.utf8))
        let forger = try JSONWebKey(secret: Array(key.pemText(includePrivate: false).utf8), algorithm: .HS256)
        let text = try JSONWebToken.signed(payload: [], with: forger, algorithm: .HS256, kid: key.kid)
        let token = try JSONWebToken(parsing: text)
        #expect(token.isSigned(by: forger, as: .HS256))
        #expect(!token.isSigned(by: key, as: .HS256))
        #expect(!token.isSigned(by: key, as: .RS256))
    }

    @Test func noneIsReadAndNeverSigned() throws {
        let token = try JSONWebToken(parsing: "eyJhbGciOiJub25lIn0.e30.")
        #expect(token.header.algorithm == "none")
        let key = try JSONWebKey(json: Array(SampleKeys.secret.utf8))
        for algorithm in SignatureAlgorithm.allCases { #expect(!token.isSigned(by: key, as: algorithm)) }
    }

    @Test func anExtensionThatMustBeUnderstoodRefusesTheToken() throws {
        let key = try JSONWebKey(json: Array(SampleKeys.secret.utf8))
        let header = #"{"alg":"HS256","crit":["b64"],"b64":false}"#
        let text = Base64URL.encode(Array(header.utf8)) + ".e30"
        let signature = try key.sign(Array(text.utf8), algorithm: .HS256)
        let token = try JSONWebToken(parsing: text + "." + Base64URL.encode(signature))
        #expect(token.header.hasCriticalExtensions)
        #expect(!token.isSigned(by: key, as: .HS256))
    }

    @Test(arguments: [
        "", "x", "a.b", "e30.e30.", "bm8.e30.AA", "eyJhbGciOiJIUzI1NiJ9.e30.AA.AA",
        "eyJhbGciOiJIUzI1NiJ9.e30=.AA",
        "eyJhbGciOiJIUzI1NiJ9.e30.A", "eyJhbGciOiJIUzI1NiJ9.e3 0.AA", "eyJhbGciOjV9.e30.AA",
    ])
    func refusesWhatIsNoToken(text: String) {
        #expect(throws: CryptoError.self) { try JSONWebToken(parsing: text) }
    }
}
