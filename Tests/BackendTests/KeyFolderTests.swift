import PowerSyncHTTP
import Foundation
import PowerSyncBackend
import PowerSyncCommandLine
import PowerSyncCrypto
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A folder of keys, and a backend that follows it (Backend/Tokens/SPEC.md).
@Suite(.patient())
struct KeyFolderTests {
    private static let now: Int64 = 1_800_000_000

    /// Makes a watch, whose clock and log the test has.
    private func watch(
        _ keys: KeysFixture, _ clock: Lock<Int64> = Lock(now), _ lines: Lock<[String]> = Lock([])
    ) throws -> KeyWatch {
        try watch(keys.folder, clock, lines)
    }

    private func watch(
        _ folder: KeyFolder, _ clock: Lock<Int64>, _ lines: Lock<[String]>
    ) throws -> KeyWatch {
        let log = Log(label: "keys") { line in lines.withLock { $0.append(line) } }
        return try KeyWatch(
            folder, lifetime: .seconds(600), now: { clock.withLock { Double($0) } }, log: log)
    }

    // MARK: Files

    @Test func aFirstKeyIsMadeWhichIsCurrentAndOutlivesARestart() async throws {
        try await KeysFixture.with { keys in
            let folder = KeyFolder(path: keys.folder.path + "/inner")
            let (told, toldAgain) = (Lock<[String]>([]), Lock<[String]>([]))
            let first = try watch(folder, Lock(Self.now), told)
            let again = try watch(folder, Lock(Self.now), toldAgain)
            let id = try #require(first.keys.set.signer?.id)
            #expect(id == again.keys.set.signer?.id)
            // A folder that is not mounted looks like a first start.
            let line = told.withLock { $0.first }
            #expect(line?.contains("keys.folder=\(folder.path)") == true && line?.contains(id) == true)
            #expect(toldAgain.withLock { $0 } == [])
            let times = try #require(try folder.read().first).times
            #expect(times.state == .current && times.current == Self.now && times.published == Self.now)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["signing-key.jwk"])
            let file = folder.path + "/signing-key.jwk"
            let attributes = try FileManager.default.attributesOfItem(atPath: file)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
    }

    /// The next start in a container has the same number.
    @Test func whatAKilledStartLeftDoesNotEndTheNext() async throws {
        try await KeysFixture.with { keys in
            try keys.put(".new-\(ProcessInfo.processInfo.processIdentifier)", "half a key")
            #expect(try watch(keys).keys.set.signer != nil)
            #expect(try keys.folder.read().count == 1)
        }
    }

    /// As when the stack that had made it was killed, and its shell has removed it.
    @Test func aFolderThatWasTakenAwayDoesNotComeBack() throws {
        let place = try TemporaryDirectory(prefix: "keys")
        let folder = KeyFolder(path: place.path + "/keys")
        place.remove()
        let error = thrown { try folder.prepare(creating: .ES256, now: Self.now) } as? BackendError
        #expect(error?.code == .keys)
        #expect(error?.message.hasSuffix("the folder above it: No such file or directory") == true)
        #expect(!FileManager.default.fileExists(atPath: place.path))
    }

    @Test func eachFormIsReadAndNothingElse() async throws {
        try await KeysFixture.with { keys in
            let made = try (0..<4).map { _ in try JSONWebKey.generate(.ES256) }
            try keys.put("a.jwk", made[0], ["psb_state": .string("current"), "psb_current": .integer(1)])
            try keys.put("b.json", made[1], isPublic: true)
            try keys.put("c.pem", made[2].pemText(includePrivate: true))
            try keys.put("c.state.json", #"{"psb_state":"next","psb_published":7}"#)
            let lines = try made[3].pemText(includePrivate: true).split(separator: "\n")
            let body = lines.filter { !$0.hasPrefix("-----") }.joined()
            try Data(Base64.decode(body) ?? []).write(to: URL(filePath: keys.folder.path + "/d.der"))
            for name in ["lock", ".hidden.jwk", "README", "e.txt", ".jwk"] { try keys.put(name, "nothing") }
            let files = try keys.folder.read().sorted { $0.name < $1.name }
            #expect(files.map(\.name) == ["a.jwk", "b.json", "c.pem", "d.der"])
            #expect(files.map { $0.key.kid } == made.map(\.kid))
            #expect(files.map(\.key.isPrivate) == [true, false, true, true])
            #expect(files.map(\.times.state) == [.current, nil, .next, nil])
            #expect(files[2].times.published == 7)
        }
    }

    @Test(arguments: [
        ("a.jwk", "broken"), ("a.json", "[]"), ("a.pem", "-----BEGIN PRIVATE KEY-----"), ("a.der", "x"),
        ("a.jwk", String(repeating: " ", count: 70_000)),
    ])
    func whatIsNoKeyIsNamed(name: String, text: String) async throws {
        try await KeysFixture.with { keys in
            try keys.put(name, text)
            let error = thrown { try watch(keys) } as? BackendError
            #expect(error?.code == .keys && error?.message.hasPrefix(name) == true)
        }
    }

    @Test func amongSeveralSomebodyMustSayWhichSigns() async throws {
        try await KeysFixture.with { keys in
            let ids = try ["a.jwk", "b.jwk"].map { try #require(try keys.put($0).kid) }
            let error = thrown { try watch(keys) } as? BackendError
            #expect(error?.message.contains("powersync-backend keys promote KID") == true)
            for id in ids { #expect(error?.message.contains(id) == true) }
        }
    }

    // MARK: A backend that runs

    @Test func whatChangesIsNoticed() async throws {
        try await KeysFixture.with { keys in
            let clock = Lock(Self.now)
            let watch = try watch(keys, clock)
            let first = try #require(watch.keys.set.signer?.id)
            let next = try keys.put("next.jwk", nil, ["psb_state": .string("next")])
            #expect(watch.keys.set[next.thumbprint] == nil)
            watch.look()
            #expect(watch.keys.set[next.thumbprint] != nil && watch.keys.set.signer?.id == first)
            let later = JSON.integer(Self.now + 1)
            try keys.put("next.jwk", next, ["psb_state": .string("current"), "psb_current": later])
            watch.look()
            #expect(watch.keys.set.signer?.id == next.thumbprint && watch.keys.set[first] != nil)
            // Nothing has changed but the time.
            let generation = watch.keys.generation
            clock.withLock { $0 += 661 }
            watch.look()
            #expect(watch.keys.set[first] == nil && watch.keys.generation != generation)
        }
    }

    @Test func whatCannotBeReadLeavesWhatIsKnown() async throws {
        try await KeysFixture.with { keys in
            let lines = Lock<[String]>([])
            let watch = try watch(keys, Lock(Self.now), lines)
            let first = try #require(watch.keys.set.signer?.id)
            try keys.put("broken.jwk", "broken")
            for _ in 0..<3 { watch.look() }
            #expect(watch.keys.set.signer?.id == first)
            #expect(lines.withLock { $0.count { $0.contains("broken.jwk") } } == 1, "once a minute")
            try keys.remove("broken.jwk")
            watch.look()
            // Two of which nobody says which signs.
            try keys.put("signing-key.jwk", try #require(try keys.folder.read().first).key)
            try keys.put("other.jwk")
            watch.look()
            #expect(watch.keys.set.signer?.id == first)
        }
    }

    @Test func aSignerThatIsGoneSignsNothingAndTheOthersVerify() async throws {
        try await KeysFixture.with { keys in
            let watch = try watch(keys)
            let first = try #require(watch.keys.set.signer?.id)
            let next = try keys.put("next.jwk", nil, ["psb_state": .string("next")])
            watch.look()
            try keys.remove("signing-key.jwk")
            for _ in 0..<2 { watch.look() }
            #expect(watch.keys.set.signer == nil && watch.keys.set[first] == nil)
            #expect(watch.keys.set[next.thumbprint] != nil)
        }
    }

    @Test(.enabled(if: TestOptions.hasDatabase))
    func aBackendThatRunsFollowsIt() async throws {
        try await KeysFixture.with { keys in
            try await TestBackend.with({ $0.keys = .directory(keys.folder.path) }) { backend in
                let former = try await backend.token()
                let next = try keys.put(
                    "next.jwk", nil, ["psb_state": .string("current"), "psb_current": .integer(Self.now + 1)])
                try await wait(
                    for: "the new key to sign",
                    read: { try JSONWebToken(parsing: try await backend.token()).header.kid },
                    until: { $0 == next.thumbprint })
                func status() async throws -> Int {
                    try await backend.send(
                        "POST", "/api/data", #"{"batch":[]}"#, fields: ["authorization": "Bearer \(former)"]
                    ).status
                }
                #expect(try await status() == 200, "the former one still verifies")
                try keys.remove("signing-key.jwk")
                try await wait(for: "the former one to be gone", read: status, until: { $0 == 401 })
            }
        }
    }

    /// Kubernetes mounts a folder whose names lead into another one, and swaps that.
    @Test func aSwapOfWhatNamesLeadToIsNoticed() async throws {
        try await KeysFixture.with { keys in
            let (path, manager) = (keys.folder.path, FileManager.default)
            var made: [JSONWebKey] = []
            for name in ["..1", "..2"] {
                try manager.createDirectory(atPath: "\(path)/\(name)", withIntermediateDirectories: false)
                made.append(try keys.put("\(name)/key.jwk"))
            }
            try manager.createSymbolicLink(atPath: path + "/..data", withDestinationPath: "..1")
            try manager.createSymbolicLink(atPath: path + "/key.jwk", withDestinationPath: "..data/key.jwk")
            let watch = try watch(keys)
            #expect(watch.keys.set.signer?.id == made[0].thumbprint)
            try keys.remove("..data")
            try manager.createSymbolicLink(atPath: path + "/..data", withDestinationPath: "..2")
            watch.look()
            #expect(watch.keys.set.signer?.id == made[1].thumbprint)
        }
    }

    @Test func manyNamesThatNobodyKnowsAreOneLook() async throws {
        try await KeysFixture.with { keys in
            let poller = try Poller()
            defer { poller.stop() }
            let watch = try watch(keys)
            let begun = ContinuousClock.now
            var looks = 0
            for _ in 0..<1_000 {
                if await watch.lookForUnknown(on: poller) { looks += 1 }
            }
            let tenths = Int((ContinuousClock.now - begun) / .milliseconds(100))
            #expect(looks <= tenths + 1)
            try await wait(for: "the next look") { await watch.lookForUnknown(on: poller) }
        }
    }

    /// Puts a file into the folder whose reader waits for the end of what is written; returns once somebody reads it.
    ///
    /// - Returns: the descriptor that must be closed to let the reader go on.
    private func holdUp(
        _ keys: KeysFixture, _ look: () async throws -> Void = {}
    ) async throws -> Int32 {
        let pipe = keys.folder.path + "/hung.jwk"
        try #require(mkfifo(pipe, 0o600) == 0)
        try await look()
        return try await wait(
            for: "somebody to read", read: { open(pipe, O_WRONLY | O_NONBLOCK | O_CLOEXEC) },
            until: { $0 >= 0 })
    }

    /// As a folder of a network whose server is gone.
    @Test func aFolderThatHangsHasOneLookHang() async throws {
        try await KeysFixture.with { keys in
            let poller = try Poller()
            defer { poller.stop() }
            let lines = Lock<[String]>([])
            let watch = try watch(keys, Lock(Self.now), lines)
            let signer = watch.keys.set.signer?.id
            let looks = Lock<Task<Bool, Never>?>(nil)
            let writer = try await holdUp(keys) {
                looks.withLock { $0 = Task { await watch.look(on: poller) } }
            }
            #expect(!watch.look(), "another one goes on")
            #expect(await !watch.lookForUnknown(on: poller))
            let look = try #require(looks.withLock { $0 })
            #expect(await !look.value, "nobody waits for its end")
            #expect(lines.withLock { $0.contains { $0.contains("does not answer") } })
            #expect(signer != nil && watch.keys.set.signer?.id == signer)
            try keys.remove("hung.jwk")
            close(writer)
            try await wait(for: "the look to end") { watch.look() }
            #expect(watch.keys.set.signer?.id == signer)
        }
    }

    @Test(.enabled(if: TestOptions.hasDatabase))
    func aFolderThatHangsHoldsUpNobody() async throws {
        try await KeysFixture.with { keys in
            try await TestBackend.with({ $0.keys = .directory(keys.folder.path) }) { backend in
                let own = try await backend.token()
                let writer = try await holdUp(keys)
                defer { close(writer) }
                func status(_ token: String) async throws -> Int {
                    try await backend.send(
                        "POST", "/api/data", #"{"batch":[]}"#, fields: ["authorization": "Bearer \(token)"]
                    ).status
                }
                #expect(try await backend.send("GET", "/healthz").status == 200)
                #expect(try await status(own) == 200)
                // Whether such a key has come only a look could tell, as of each token of a provider.
                let foreign = try SignIn.token(try KeysFixture.key(), kid: "theirs")
                for _ in 0..<3 { #expect(try await status(foreign) == 401) }
            }
        }
    }
}
