import PowerSyncBackend
import PowerSyncCrypto
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What each key of a folder does, by its state and the time (Backend/Tokens/SPEC.md).
struct KeySetTests {
    private static let now: Int64 = 1_800_000_000

    private func file(
        _ name: String, _ key: JSONWebKey, _ members: [String: JSON] = [:], isPublic: Bool = false
    ) throws -> KeyFile {
        let text = try KeysFixture.text(key, members, isPublic: isPublic)
        return try KeyFile(name: name, bytes: Array(text.utf8), state: nil)
    }

    private func standings(_ files: [KeyFile], at now: Int64 = now) throws -> [KeyRoster.Standing] {
        try KeyRoster(files, now: now, lifetime: 600).entries.map(\.standing)
    }

    private func state(
        _ state: String, _ name: String = "psb_current", _ time: Int64 = now
    ) -> [String: JSON] {
        ["psb_state": .string(state), name: .integer(time)]
    }

    @Test func aKeyThatIsAloneSigns() throws {
        let key = try JSONWebKey.generate(.ES256)
        #expect(try standings([file("a.jwk", key)]) == [.signs])
        #expect(try standings([file("a.jwk", key, isPublic: true)]) == [.unstated], "a public one cannot")
        #expect(try standings([file("a.jwk", key, state("next"))]) == [.next], "it was said to wait")
        let other = try file("b.jwk", .generate(.EdDSA))
        #expect(try standings([file("a.jwk", key), other]) == [.unstated, .unstated])
    }

    @Test func theNewestCurrentOneSignsAndTheOthersHaveRetired() throws {
        let keys = try (0..<3).map { _ in try JSONWebKey.generate(.ES256) }
        let files = try [
            file("a.jwk", keys[0], state("current", "psb_current", Self.now - 100)),
            file("b.jwk", keys[1], state("current", "psb_current", Self.now - 50)),
            file("c.jwk", keys[2], state("next", "psb_published")),
        ]
        #expect(try standings(files) == [.verifies(until: Self.now - 50 + 660), .signs, .next])
        let set = try KeyRoster(files, now: Self.now, lifetime: 600).set()
        #expect(set.signer?.id == keys[1].thumbprint)
        for key in keys { #expect(set[key.thumbprint] != nil) }
        // As long as tokens live, and the clocks of others differ.
        #expect(try standings(files, at: Self.now + 609)[0] == .verifies(until: Self.now + 610))
        #expect(try standings(files, at: Self.now + 610)[0] == .over)
        let later = try KeyRoster(files, now: Self.now + 610, lifetime: 600).set()
        #expect(later[keys[0].thumbprint] == nil && !later.published.contains(keys[0].thumbprint))
    }

    @Test func aRetiredKeyCountsForItsTimeAndARevokedOneForNothing() throws {
        let (signer, former) = (try JSONWebKey.generate(.ES256), try JSONWebKey.generate(.ES256))
        let current = try file("a.jwk", signer, state("current"))
        var members = state("retired", "psb_retired", Self.now - 659)
        let kept = try standings([current, file("b.jwk", former, members)])
        #expect(kept == [.signs, .verifies(until: Self.now + 1)])
        members["psb_retired"] = .integer(Self.now - 660)
        #expect(try standings([current, file("b.jwk", former, members)]) == [.signs, .over])
        members = state("retired", "psb_retired")
        members["psb_revoked"] = .integer(Self.now)
        let revoked = try file("b.jwk", former, members)
        #expect(try standings([current, revoked]) == [.signs, .over])
        let set = try KeyRoster([current, revoked], now: Self.now, lifetime: 600).set()
        #expect(set[former.thumbprint] == nil && set.signer?.id == signer.thumbprint)
    }

    @Test func publicMembersAloneArePublished() throws {
        let keys = try [SignatureAlgorithm.ES256, .RS256, .EdDSA].map { try JSONWebKey.generate($0) }
        let set = try KeySet(signer: keys[0], others: [keys[1], keys[2].publicKey()])
        let published = try JSON.parse(set.published)["keys"]?.arrayValue ?? []
        #expect(published.map { $0["kid"]?.stringValue } == keys.map(\.kid))
        for key in published {
            for member in ["d", "p", "q", "dp", "dq", "qi", "k", "oth"] { #expect(key[member] == nil) }
        }
        #expect(!set.published.contains("psb_"))
        for key in keys { #expect(set[key.thumbprint]?.key.isPrivate == false) }
    }

    @Test func keysThatCannotSignAreRefused() throws {
        let key = try JSONWebKey.generate(.ES256)
        let secret = try JSONWebKey(secret: Array("secret".utf8), algorithm: .HS256, kid: "s")
        let wrong: [(JSONWebKey, [JSONWebKey])] = [
            (secret, []), (key.publicKey(), []), (key, [key]), (key, [secret]),
        ]
        for (signer, others) in wrong {
            let error = thrown { try KeySet(signer: signer, others: others) } as? BackendError
            #expect(error?.code == .keys)
        }
    }

    @Test func twoKeysOfOneNameAreRefused() throws {
        let (one, two) = (try JSONWebKey.generate(.ES256), try JSONWebKey.generate(.ES256))
        let sameFile = thrown {
            try standings([file("a.jwk", one, state("current")), file("a.json", two)])
        }
        #expect((sameFile as? BackendError)?.message.hasPrefix("a.json and a.jwk have one name") == true)
        let sameKey = thrown {
            try standings([file("a.jwk", one, state("current")), file("b.jwk", one)])
        }
        #expect((sameKey as? BackendError)?.message.hasPrefix("a.jwk and b.jwk have one name") == true)
    }

    @Test(arguments: [
        ("psb_state", JSON.string("later"), "psb_state must be next, current or retired"),
        ("psb_state", .number("1"), "psb_state must be next, current or retired"),
        ("psb_current", .string("2026"), "psb_current must be whole seconds"),
        ("psb_retired", .number("-1"), "psb_retired must be whole seconds"),
        ("psb_state", .string("retired"), "a retired key needs psb_retired"),
    ])
    func whatIsSaidOfAKeyIsSpelledExactly(name: String, value: JSON, words: String) throws {
        let key = try JSONWebKey.generate(.ES256)
        let error = thrown { try file("a.jwk", key, [name: value]) } as? BackendError
        #expect(error?.code == .keys && error?.message.hasPrefix("a.jwk: " + words) == true)
    }

    @Test func otherKeysAreAnotherGeneration() throws {
        let (one, two) = (try JSONWebKey.generate(.ES256), try JSONWebKey.generate(.ES256))
        let keys = SigningKeys(try KeySet(signer: one))
        let first = keys.generation
        keys.replace(with: try KeySet(signer: one))
        #expect(keys.generation == first, "the same ones")
        keys.replace(with: try KeySet(signer: one, others: [two]))
        let second = keys.generation
        keys.replace(with: try KeySet(signer: two, others: [one]))
        #expect(second != first && keys.generation != second)
        #expect(keys.set.signer?.id == two.kid)
    }
}
