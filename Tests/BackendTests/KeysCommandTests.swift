import Foundation
import PowerSyncBackend
import PowerSyncCommandLine
import PowerSyncCrypto
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// The commands by which one key follows another (backend 4.6).
@Suite(.patient())
struct KeysCommandTests {
    private struct Desk: Sendable {
        let keys: KeysFixture
        let clock = Lock<Int64>(1_800_000_000)
        let pauses = Lock<[Duration]>([])

        struct Answer {
            let status: Int32
            let lines: [String]
            let errors: String
        }

        var now: Int64 { clock.withLock { $0 } }

        func run(_ words: String...) async -> Answer { await run(words) }

        func run(_ words: [String]) async -> Answer {
            let (lines, errors) = (Lock<[String]>([]), Lock<[String]>([]))
            let environment = ["JWT_KEYS_DIR": keys.folder.path, "JWT_TTL": "10m"]
            let command = BackendCommand.named(
                "powersync-backend", environment: { environment },
                output: { line in lines.withLock { $0.append(line) } }, now: { Double(now) },
                pause: { pause in
                    pauses.withLock { $0.append(pause) }
                    clock.withLock { $0 += pause.components.seconds }
                })
            let status = await command.main(
                ["keys"] + words, errors: { line in errors.withLock { $0.append(line) } })
            return Answer(
                status: status, lines: lines.withLock { $0 }, errors: errors.withLock { $0.joined() })
        }

        func roster() throws -> KeyRoster { try keys.roster(now: now) }

        var signer: String? { get throws { try roster().signer?.file.id } }
    }

    private func with(_ body: (Desk) async throws -> Void) async throws {
        try await KeysFixture.with { try await body(Desk(keys: $0)) }
    }

    @Test func aKeyIsGeneratedPromotedAndRetiresTheFormerOne() async throws {
        try await with { desk in
            // As a backend of before has left it.
            let first = try desk.keys.put("signing-key.jwk").thumbprint
            let generated = await desk.run("generate", "--algorithm", "EdDSA")
            let second = try #require(generated.lines.first)
            #expect(generated.status == 0, "\(generated.errors)")
            #expect(try desk.signer == first, "whoever is alone no more goes on signing")
            #expect(try desk.roster().set()[second]?.algorithm == .EdDSA)
            let promoted = await desk.run("promote", String(second.prefix(8)))
            #expect(promoted.status == 0, "\(promoted.errors)")
            #expect(promoted.lines.first == "waiting for 600 seconds, until others have fetched the key")
            #expect(desk.pauses.withLock { $0.reduce(.zero, +) } == .seconds(600))
            #expect(try desk.signer == second)
            let now = desk.now
            #expect(try desk.roster().entries.map(\.standing).contains(.verifies(until: now + 660)))
            let again = await desk.run("promote", second)
            #expect(again.status == 0 && desk.now == now, "there is nothing to wait for")
            desk.clock.withLock { $0 += 660 }
            #expect(try desk.roster().set()[first] == nil)
            let listed = await desk.run("list")
            let text = listed.lines.joined()
            #expect(text.contains(first) && text.contains("its time is over"))
            #expect(await desk.run("list", "--remove").status == 0)
            #expect(try desk.keys.folder.read().map(\.id) == [second])
        }
    }

    /// Whoever has lost a key to somebody does not wait.
    @Test func aRevokedKeyCountsForNothingAtOnce() async throws {
        try await with { desk in
            let first = try desk.keys.put("signing-key.jwk").thumbprint
            let second = try #require(await desk.run("generate").lines.first)
            #expect(await desk.run("promote", second, "--now").status == 0)
            #expect(desk.pauses.withLock { $0.isEmpty })
            #expect(try desk.roster().set()[first] != nil)
            #expect(await desk.run("retire", first, "--now").status == 0)
            #expect(try desk.roster().set()[first] == nil)
            let refused = await desk.run("promote", first, "--now")
            #expect(refused.status == 1 && refused.errors.contains("is retired"))
        }
    }

    @Test func whatWouldLeaveNobodyToSignIsRefused() async throws {
        try await with { desk in
            let first = try desk.keys.put("signing-key.jwk").thumbprint
            for isNow in [false, true] {
                let words = ["retire", first] + (isNow ? ["--now"] : [])
                let refused = await desk.run(words)
                #expect(refused.status == 1 && refused.errors.contains("is the current key"))
            }
            let half = try desk.keys.put("half.jwk", isPublic: true).thumbprint
            let refused = await desk.run("promote", half, "--now")
            #expect(refused.status == 1 && refused.errors.contains("half.jwk is a public key"))
        }
    }

    /// Between two files anything may end.
    @Test func eachMomentOfAPromotionHasOneSigner() async throws {
        try await with { desk in
            let current = JSON.integer(desk.now)
            try desk.keys.put("a.jwk", nil, ["psb_state": .string("current"), "psb_current": current])
            try desk.keys.put("b.jwk", nil, ["psb_state": .string("next"), "psb_published": .integer(0)])
            let roster = try desk.roster()
            let next = try #require(roster.entries.first { $0.standing == .next })
            let writes = KeyCommands.promote(next, roster, now: desk.now)
            #expect(writes.map(\.name) == ["b.jwk", "a.jwk"])
            for write in writes {
                try desk.keys.put(write.name, write.text)
                #expect(try desk.signer == next.file.id, "in the same second, too")
                #expect(try desk.roster().set()[roster.signer?.file.id ?? ""] != nil)
            }
        }
    }

    @Test func keysThatHaveNoMembersHaveAFileBesideThem() async throws {
        try await with { desk in
            let key = try KeysFixture.key()
            try desk.keys.put("old.pem", key.pemText(includePrivate: true))
            let second = try #require(await desk.run("generate").lines.first)
            #expect(try desk.keys.names.contains("old.state.json"))
            #expect(try desk.signer == key.thumbprint)
            #expect(await desk.run("promote", second, "--now").status == 0)
            #expect(await desk.run("retire", key.thumbprint, "--now").status == 0)
            #expect(await desk.run("list", "--remove").status == 0)
            #expect(try desk.keys.names.filter { $0.hasPrefix("old") } == [])
        }
    }

    @Test func membersOfOthersStayAndNothingSecretIsPrinted() async throws {
        try await with { desk in
            let key = try desk.keys.put("a.jwk", nil, ["x-note": .string("mine")])
            _ = await desk.run("generate")
            let text = try String(contentsOfFile: desk.keys.folder.path + "/a.jwk", encoding: .utf8)
            #expect(text.contains(#""x-note":"mine""#) && text.contains(#""psb_state":"current""#))
            let secret = try #require(
                try JSON.parse(key.jsonObjectText(includePrivate: true))["d"]?.stringValue)
            #expect(text.contains(secret))
            #expect(await desk.run("list").lines.allSatisfy { !$0.contains(secret) })
        }
    }

    @Test func aNameMustMeanOneKey() async throws {
        try await with { desk in
            var one = try JSONWebKey.generate(.ES256)
            one.kid = "the-same-beginning-1"
            var two = try JSONWebKey.generate(.ES256)
            two.kid = "the-same-beginning-2"
            try desk.keys.put("a.jwk", one, ["psb_state": .string("current"), "psb_current": .integer(1)])
            try desk.keys.put("b.jwk", two, ["psb_state": .string("next")])
            for (name, words) in [
                ("the-same", "several keys begin with the-same"), ("the", "no key is named the"),
                ("another-name", "no key is named another-name"),
            ] {
                let refused = await desk.run("retire", name)
                #expect(refused.status == 1 && refused.errors.contains(words))
            }
            #expect(await desk.run("retire", "the-same-beginning-2").status == 0)
            #expect(await desk.run("retire").status == 64)
            #expect(await desk.run("generate", "--algorithm", "HS256").status == 64)
        }
    }
}
