import Testing

@testable import PowerSyncCrypto

struct KeyStrengthTests {
    private func isWeak(_ key: JSONWebKey) -> Bool {
        do {
            try key.requireStrength()
            return false
        } catch {
            return error.code == .weakKey
        }
    }

    private func edwards(_ point: [UInt8]) throws -> JSONWebKey {
        try JSONWebKey(fields: ["kty": "OKP", "crv": "Ed25519", "x": Base64URL.encode(point)])
    }

    private func rsa(_ exponent: [UInt8]) throws -> JSONWebKey {
        let modulus = [0xC1] + [UInt8](repeating: 0x55, count: 255)
        return try JSONWebKey(
            fields: ["kty": "RSA", "n": Base64URL.encode(modulus), "e": Base64URL.encode(exponent)])
    }

    @Test func ordinaryKeysAreStrong() throws {
        for algorithm in SignatureAlgorithm.allCases where algorithm.keyType != .oct {
            let key = try JSONWebKey.generate(algorithm)
            #expect(!isWeak(key) && !isWeak(key.publicKey()))
        }
        for exponent: [UInt8] in [[3], [0x11], [1, 0, 1]] { #expect(try !isWeak(rsa(exponent))) }
    }

    @Test(arguments: [[1], [2], [0, 1], [4], [1, 0, 0]] as [[UInt8]])
    func anRSAKeyHasAnOddExponentOfThreeOrMore(exponent: [UInt8]) throws {
        #expect(try isWeak(rsa(exponent)))
    }

    /// libcrypto takes all of these for keys.
    @Test func pointsOfASmallOrderAreWeak() throws {
        let prime = [0xED] + [UInt8](repeating: 0xFF, count: 30) + [0x7F]
        var points: [[UInt8]] = [
            [UInt8](repeating: 0, count: 32), [1] + [UInt8](repeating: 0, count: 31), prime,
            [0xEC] + prime.dropFirst(), [0xEE] + prime.dropFirst(),
        ]
        // The same with the other sign.
        points += points.map { Array($0.dropLast()) + [$0[31] | 0x80] }
        for point in points { #expect(try isWeak(edwards(point))) }
        // The generator.
        #expect(try !isWeak(edwards([0x58] + [UInt8](repeating: 0x66, count: 31))))
    }

    /// What a guard forgets, libcrypto refuses.
    @Test(arguments: [SignatureAlgorithm.ES256, .RS256, .EdDSA])
    func thePublicFormHasNoPrivateHandle(algorithm: SignatureAlgorithm) throws {
        let pair = try JSONWebKey.generate(algorithm)
        let half = pair.publicKey()
        let signature = try pair.sign([1], algorithm: algorithm)
        #expect(half.verify(signature: signature, message: [1], algorithm: algorithm))
        let handle = try #require(half.handle)
        #expect(handle.sign([1], digest: algorithm.digest) == nil)
        #expect(pair.handle?.sign([1], digest: algorithm.digest) != nil)
    }
}
