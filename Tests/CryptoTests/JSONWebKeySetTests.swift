import PowerSyncCrypto
import Testing

struct JSONWebKeySetTests {
    @Test func publishesNoPrivateMember() throws {
        var keys: [JSONWebKey] = []
        for algorithm in [SignatureAlgorithm.HS256, .RS256, .ES256, .ES384, .ES512, .EdDSA] {
            keys.append(try JSONWebKey.generate(algorithm))
        }
        let withOperations = try JSONWebKey(
            fields: [
                "kty": "OKP", "crv": "Ed25519", "kid": "ops",
                "d": "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
                "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
            ], keyOperations: ["sign"])
        keys.append(withOperations)
        let text = JSONWebKeySet(keys: keys).jsonText()
        for member in ["d", "p", "q", "dp", "dq", "qi", "k", "oth"] {
            #expect(!text.contains("\"\(member)\":"))
        }
        #expect(!text.contains("sign\""))
        let read = try JSONWebKeySet(json: Array(text.utf8), includingSecrets: true)
        #expect(read.keys.map(\.kid) == keys.dropFirst().map(\.kid))
        #expect(read.keys.allSatisfy { !$0.isPrivate })
        let signature = try keys[2].sign([1], algorithm: .ES256)
        let published = try #require(read.key(id: keys[2].kid ?? ""))
        #expect(published.verify(signature: signature, message: [1], algorithm: .ES256))
    }

    @Test func leavesOutWhatAVerifierMustNotUse() throws {
        let point = #""kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo""#
        let text = """
            {"keys":[{\(point),"kid":"good"},{\(point),"kid":"enc","use":"enc"},{\(point),"kid":"sig","use":"sig"},
            {\(point),"kid":"wrap","key_ops":["wrapKey"]},{\(point),"kid":"verify","key_ops":["sign","verify"]},
            {"kty":"oct","kid":"secret","k":"AAAA"},{"kty":"new","kid":"new"},{},{"kty":"RSA","kid":"short","n":5},
            {"kty":"OKP","crv":"Ed25519","kid":"cut","x":"11qY"},{\(point),"kid":"ps","alg":"PS256"}],"more":1}
            """
        #expect(try JSONWebKeySet(json: Array(text.utf8)).keys.map(\.kid) == ["good", "sig", "verify"])
        #expect(
            try JSONWebKeySet(json: Array(text.utf8), includingSecrets: true).keys.map(\.kid)
                == ["good", "sig", "verify", "secret"])
    }

    @Test(arguments: ["", "{}", "[]", #"{"keys":{}}"#, #"{"keys":[5]}"#, #"{"keys":["x"]}"#])
    func refusesWhatIsNoSet(text: String) {
        #expect(throws: CryptoError.self) { try JSONWebKeySet(json: Array(text.utf8)) }
    }
}
