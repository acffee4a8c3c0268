import Foundation
import PowerSyncCrypto
import PowerSyncHTTP
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncBackend

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The folder of the disk store: what is in it, who may read it, and what is left of a process that ended.
@Suite(.patient())
struct DiskStoreTests {
    private typealias Body = DiskStoreFixture.Body

    private func mode(_ path: String) throws -> mode_t {
        var status = stat()
        try #require(lstat(path, &status) == 0)
        return status.st_mode & 0o777
    }

    /// Stores parts of an upload and returns them as they are listed.
    private func store(
        _ parts: [[UInt8]], of upload: String, for key: String, _ fixture: DiskStoreFixture
    ) async throws -> [StoredPart] {
        for (index, bytes) in parts.enumerated() {
            let signed = try fixture.store.signPart(
                key: key, upload: upload, number: index + 1, size: Int64(bytes.count),
                sha256: Digest.sha256(bytes), at: fixture.now)
            let answer = try await fixture.send(signed, body: Body([bytes], length: Int64(bytes.count)))
            #expect(answer.status == 200)
        }
        return try #require(try await fixture.store.parts(key: key, upload: upload))
    }

    @Test func theFolderIsForThisUserAlone() async throws {
        let fixture = try DiskStoreFixture()
        defer { fixture.temporary.remove() }
        try await fixture.put([1], as: "k")
        for place in ["", "/objects", "/parts", "/incoming"] {
            #expect(try mode(fixture.folder + place) == 0o700, "\(place)")
        }
        for file in try fixture.files() { #expect(try mode("\(fixture.folder)/\(file)") == 0o600, "\(file)") }
        let key = Array(try Data(contentsOf: URL(filePath: fixture.folder + "/signing-key")))
        #expect(key.count == 32 && Set(key).count > 8)
    }

    @Test func urlsAndObjectsOutliveARestart() async throws {
        let fixture = try DiskStoreFixture()
        defer { fixture.temporary.remove() }
        let signed = try fixture.restarted().signUpload(
            key: "k", contentType: "image/png", size: 1, sha256: Digest.sha256([1]), at: fixture.now)
        #expect(signed.url.hasPrefix("http://127.0.0.1:1/api/v1/blobs/k?exp="))
        let target = String(signed.url.dropFirst("http://127.0.0.1:1".count))
        let answer = try await fixture.send(
            "PUT", target,
            [
                "content-type": "image/png", "if-none-match": "*",
                "x-amz-checksum-sha256": Base64.encode(Digest.sha256([1])),
            ], body: Body([[1]], length: 1))
        #expect(answer.status == 200)
        #expect(try await fixture.restarted().head(key: "k") == StoredObject(size: 1))
    }

    @Test func severalStoresBeginAtOnceInOneFolder() async throws {
        let temporary = try TemporaryDirectory(prefix: "disk-stores-")
        defer { temporary.remove() }
        let codes = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    let store = try DiskStore(folder: temporary.path + "/store", publicURL: { "http://h" })
                    return try store.signDownload(
                        key: "k", contentType: "a/b", disposition: "", at: 1_800_000_000
                    ).url
                }
            }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(codes.count == 1)
    }

    @Test func whatNobodyHoldsIsRemovedAtTheStart() async throws {
        let fixture = try DiskStoreFixture()
        defer { fixture.temporary.remove() }
        let held = try StagedFile(path: fixture.folder + "/incoming/held", resuming: false)
        let left = try StagedFile(path: fixture.folder + "/incoming/left", resuming: false)
        try left.write([1, 2, 3])
        left.close()
        let gone = fixture.folder + "/incoming/gone"
        try FileManager.default.createDirectory(atPath: gone, withIntermediateDirectories: false)
        try "part".write(toFile: gone + "/1", atomically: false, encoding: .utf8)
        try await fixture.put([1], as: "k")
        _ = try fixture.restarted()
        let remains = try FileManager.default.contentsOfDirectory(atPath: fixture.folder + "/incoming")
        #expect(remains == ["held"])
        #expect(try await fixture.store.head(key: "k")?.size == 1)
        held.discard()
    }

    @Test func aFolderThatCannotBeUsedEndsTheStart() throws {
        let temporary = try TemporaryDirectory(prefix: "disk-stores-")
        defer { temporary.remove() }
        try "".write(toFile: temporary.path + "/file", atomically: false, encoding: .utf8)
        try FileManager.default.createDirectory(
            atPath: temporary.path + "/bad", withIntermediateDirectories: false)
        try "short".write(toFile: temporary.path + "/bad/signing-key", atomically: false, encoding: .utf8)
        for (place, word) in [
            ("missing/store", "cannot make"), ("file", "cannot make"), ("bad", "32 bytes"),
        ] {
            let error = #expect(throws: BackendError.self) {
                try DiskStore(folder: "\(temporary.path)/\(place)", publicURL: { "" })
            }
            #expect(error?.code == .configuration, "\(place)")
            #expect(error?.message.hasPrefix("ATTACHMENTS_STORE ") == true, "\(place)")
            #expect(error?.message.contains(word) == true, "\(place): \(error?.message ?? "")")
        }
        #expect(!FileManager.default.fileExists(atPath: temporary.path + "/missing"))
    }

    /// No upload from 8 MiB on could be completed, and nobody would know before the first one.
    @Test func aFileSystemWithoutLinksEndsTheStart() throws {
        let temporary = try TemporaryDirectory(prefix: "disk-stores-")
        defer { temporary.remove() }
        let error = #expect(throws: BackendError.self) {
            try DiskStore(
                folder: temporary.path + "/store", publicURL: { "" },
                write: { file, bytes throws(SystemError) in try file.write(bytes) }, link: { _, _ in -EPERM })
        }
        #expect(error?.code == .configuration)
        #expect(error?.message.contains("has no hard links") == true, "\(error?.message ?? "")")
        let left = try FileManager.default.contentsOfDirectory(atPath: temporary.path + "/store/incoming")
        #expect(left.isEmpty)
    }

    @Test func theFolderMayBeALinkToWhereThereIsRoom() throws {
        let temporary = try TemporaryDirectory(prefix: "disk-stores-")
        defer { temporary.remove() }
        let (room, link) = (temporary.path + "/room", temporary.path + "/link")
        try FileManager.default.createDirectory(atPath: room, withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: room)
        _ = try DiskStore(folder: link, publicURL: { "" })
        #expect(FileManager.default.fileExists(atPath: room + "/signing-key"))
    }

    // MARK: Parts

    @Test func partsAreInAFolderOfTheirUploadUntilItIsComplete() async throws {
        let fixture = try DiskStoreFixture()
        defer { fixture.temporary.remove() }
        let upload = try await fixture.store.createMultipart(key: "a/b", contentType: "image/png")
        #expect(try fixture.files("parts") == ["\(upload)/key"])
        let pieces = [randomBytes(3 << 20), randomBytes(10), randomBytes(1 << 20)]
        let parts = try await store(pieces, of: upload, for: "a/b", fixture)
        #expect(try fixture.files("parts").sorted() == ["1", "2", "3", "key"].map { "\(upload)/\($0)" })
        #expect(parts.map(\.size) == pieces.map { Int64($0.count) })
        // Who goes on after a restart sees the same.
        #expect(try await fixture.restarted().parts(key: "a/b", upload: upload) == parts)
        try await fixture.store.completeMultipart(key: "a/b", upload: upload, parts: parts)
        #expect(try fixture.files("parts").isEmpty && fixture.files("incoming").isEmpty)
        #expect(try await fixture.send(try fixture.download("a/b")).body == pieces.flatMap { $0 })
        #expect(try await fixture.store.parts(key: "a/b", upload: upload) == nil)
    }

    @Test func aPartThatHasChangedSinceItWasListedStopsTheJoin() async throws {
        let fixture = try DiskStoreFixture()
        defer { fixture.temporary.remove() }
        let upload = try await fixture.store.createMultipart(key: "k", contentType: "image/png")
        let listed = try await store([[1, 2], [3]], of: upload, for: "k", fixture)
        let now = try await store([[1, 9]], of: upload, for: "k", fixture)
        #expect(now != listed)
        let error = await #expect(throws: ObjectStoreError.self) {
            try await fixture.store.completeMultipart(key: "k", upload: upload, parts: listed)
        }
        #expect(error?.kind == .unavailable)
        #expect(try await fixture.store.head(key: "k") == nil)
        #expect(try fixture.files("incoming").isEmpty)
    }

    /// A store that counts what it writes, and does something with the next piece.
    private func hooked() throws -> (
        fixture: DiskStoreFixture, hook: Lock<(@Sendable () -> Void)?>, written: Lock<Int>
    ) {
        let hook = Lock<(@Sendable () -> Void)?>(nil)
        let written = Lock(0)
        let fixture = try DiskStoreFixture { file, bytes throws(SystemError) in
            written.withLock { $0 += 1 }
            let next = hook.withLock { hook -> (@Sendable () -> Void)? in
                defer { hook = nil }
                return hook
            }
            next?()
            try file.write(bytes)
        }
        return (fixture, hook, written)
    }

    /// Else one byte that is sent again and again would have all others copied as often.
    @Test func nothingIsCopiedOfPartsThatHaveChanged() async throws {
        let (fixture, _, written) = try hooked()
        defer { fixture.temporary.remove() }
        let upload = try await fixture.store.createMultipart(key: "k", contentType: "image/png")
        let listed = try await store([[1, 2], [3]], of: upload, for: "k", fixture)
        #expect(try await store([[1, 2], [4]], of: upload, for: "k", fixture).last != listed.last)
        var present = try #require(try await fixture.store.parts(key: "k", upload: upload))
        present[1] = listed[1]
        written.withLock { $0 = 0 }
        await #expect(throws: ObjectStoreError.self) {
            try await fixture.store.completeMultipart(key: "k", upload: upload, parts: present)
        }
        #expect(written.withLock { $0 } == 0)
        #expect(try fixture.files("incoming").isEmpty)
    }

    @Test func aPartThatComesAgainWhileItIsJoinedChangesNothing() async throws {
        let (fixture, hook, written) = try hooked()
        defer { fixture.temporary.remove() }
        let upload = try await fixture.store.createMultipart(key: "k", contentType: "image/png")
        let parts = try await store([[1, 2], [3]], of: upload, for: "k", fixture)
        written.withLock { $0 = 0 }
        let (part, other) = ("\(fixture.folder)/parts/\(upload)/2", fixture.temporary.path + "/other")
        try Data([9]).write(to: URL(filePath: other))
        hook.withLock { $0 = { #expect(rename(other, part) == 0) } }
        try await fixture.store.completeMultipart(
            key: "k", upload: upload, parts: parts, sha256: Digest.sha256([1, 2, 3]))
        #expect(written.withLock { $0 } == 2)
        #expect(try await fixture.send(try fixture.download("k")).body == [1, 2, 3])
        #expect(try fixture.files("parts").isEmpty && fixture.files("incoming").isEmpty)
    }

    @Test func partsOfOtherBytesThanWereAnnouncedAreNoObject() async throws {
        let fixture = try DiskStoreFixture()
        defer { fixture.temporary.remove() }
        let upload = try await fixture.store.createMultipart(key: "k", contentType: "image/png")
        let parts = try await store([[1, 2], [3]], of: upload, for: "k", fixture)
        let error = await #expect(throws: ObjectStoreError.self) {
            try await fixture.store.completeMultipart(
                key: "k", upload: upload, parts: parts, sha256: Digest.sha256([1, 2, 4]))
        }
        #expect(error?.kind == .conflict)
        #expect(try await fixture.store.head(key: "k") == nil)
        #expect(try await fixture.store.parts(key: "k", upload: upload) == nil, "it begins anew")
        #expect(try fixture.files("parts").isEmpty && fixture.files("incoming").isEmpty)
    }

    @Test func oneUploadTooManyIsCompletedLater() async throws {
        let gate = BlockingGate()
        let isHeld = Lock(false)
        let fixture = try DiskStoreFixture { file, bytes throws(SystemError) in
            if isHeld.withLock({ $0 }) { gate.wait() }
            try file.write(bytes)
        }
        defer { fixture.temporary.remove() }
        var uploads: [(key: String, upload: String, parts: [StoredPart])] = []
        for number in 0...DiskStore.mostJoins {
            let upload = try await fixture.store.createMultipart(key: "k\(number)", contentType: "image/png")
            let parts = try await store([[1]], of: upload, for: "k\(number)", fixture)
            uploads.append(("k\(number)", upload, parts))
        }
        let last = uploads.removeLast()
        isHeld.withLock { $0 = true }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for one in uploads {
                group.addTask {
                    try await fixture.store.completeMultipart(
                        key: one.key, upload: one.upload, parts: one.parts)
                }
            }
            do {
                try await wait(for: "all to be in line", read: { fixture.store.joinCount }) {
                    $0 == DiskStore.mostJoins
                }
                let error = await #expect(throws: ObjectStoreError.self) {
                    try await fixture.store.completeMultipart(
                        key: last.key, upload: last.upload, parts: last.parts)
                }
                #expect(error?.kind == .unavailable)
            } catch {
                gate.open()
                throw error
            }
            gate.open()
            try await group.waitForAll()
        }
        try await fixture.store.completeMultipart(key: last.key, upload: last.upload, parts: last.parts)
        #expect(fixture.store.joinCount == 0)
    }

    /// What the backend ended in the midst of: parts of an object that is there, and folders that are for none.
    @Test func whatNothingCanComeOfIsRemovedAtTheStart() async throws {
        let fixture = try DiskStoreFixture()
        defer { fixture.temporary.remove() }
        let done = try await fixture.store.createMultipart(key: "k", contentType: "image/png")
        _ = try await store([[1]], of: done, for: "k", fixture)
        try await fixture.put([1], as: "k")
        let open = try await fixture.store.createMultipart(key: "l", contentType: "image/png")
        _ = try await store([[2]], of: open, for: "l", fixture)
        for (name, key) in [
            (String(repeating: "0", count: 32), nil), (String(repeating: "1", count: 32), "../x"),
        ] {
            let folder = fixture.folder + "/parts/" + name
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            if let key { try key.write(toFile: folder + "/key", atomically: false, encoding: .utf8) }
        }
        let later = try fixture.restarted()
        #expect(try fixture.files("parts").sorted() == ["\(open)/1", "\(open)/key"])
        let left = try FileManager.default.contentsOfDirectory(atPath: fixture.folder + "/parts")
        #expect(left == [open])
        #expect(try await later.parts(key: "l", upload: open)?.map(\.number) == [1])
        #expect(try await later.head(key: "k")?.size == 1)
    }

    /// A backend that ended before it could record an upload has told nobody of it, so it has no part.
    @Test func anUploadOfWhichNobodyKnowsIsRemovedAtAStartADayLater() async throws {
        let fixture = try DiskStoreFixture()
        defer { fixture.temporary.remove() }
        var uploads: [String] = []
        for _ in 0..<3 {
            uploads.append(try await fixture.store.createMultipart(key: "k", contentType: "image/png"))
        }
        let begun = try await store([[1]], of: uploads[1], for: "k", fixture)
        for upload in uploads[..<2] {
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -2 * 86_400)],
                ofItemAtPath: "\(fixture.folder)/parts/\(upload)/key")
        }
        let later = try fixture.restarted()
        #expect(try await later.parts(key: "k", upload: uploads[0]) == nil)
        #expect(try await later.parts(key: "k", upload: uploads[1]) == begun, "it may be gone on with")
        #expect(try await later.parts(key: "k", upload: uploads[2]) == [], "it has just begun")
    }

    @Test func aJoinOnAFullDiskLeavesThePartsAndNothingElse() async throws {
        let isFull = Lock(false)
        let fixture = try DiskStoreFixture { file, bytes throws(SystemError) in
            if isFull.withLock({ $0 }) { throw SystemError(.file, "cannot write", errno: ENOSPC) }
            try file.write(bytes)
        }
        defer { fixture.temporary.remove() }
        let upload = try await fixture.store.createMultipart(key: "k", contentType: "image/png")
        let parts = try await store([[1, 2], [3]], of: upload, for: "k", fixture)
        isFull.withLock { $0 = true }
        let error = await #expect(throws: ObjectStoreError.self) {
            try await fixture.store.completeMultipart(key: "k", upload: upload, parts: parts)
        }
        #expect(error?.kind == .unavailable && error?.message.contains("full") == true)
        #expect(try fixture.files("objects").isEmpty && fixture.files("incoming").isEmpty)
        isFull.withLock { $0 = false }
        try await fixture.store.completeMultipart(key: "k", upload: upload, parts: parts)
        #expect(try await fixture.send(try fixture.download("k")).body == [1, 2, 3])
    }

    @Test func ofManyCompletionsAtOnceOneMakesTheObject() async throws {
        let fixture = try DiskStoreFixture()
        defer { fixture.temporary.remove() }
        let upload = try await fixture.store.createMultipart(key: "k", contentType: "image/png")
        let bytes = randomBytes(2 << 20)
        let parts = try await store([bytes], of: upload, for: "k", fixture)
        let kinds = await withTaskGroup(of: ObjectStoreError.Kind?.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    do {
                        try await fixture.store.completeMultipart(key: "k", upload: upload, parts: parts)
                        return nil
                    } catch {
                        return (error as? ObjectStoreError)?.kind ?? .refused
                    }
                }
            }
            return await group.reduce(into: [ObjectStoreError.Kind?]()) { $0.append($1) }
        }
        #expect(kinds.filter { $0 == nil }.count == 1)
        #expect(kinds.allSatisfy { $0 != .refused })
        #expect(try await fixture.send(try fixture.download("k")).body == bytes)
        #expect(try fixture.files("incoming").isEmpty && fixture.files("parts").isEmpty)
    }

    @Test func whatIsLeftOfAnUploadOverAnObjectGoesWithIt() async throws {
        let fixture = try DiskStoreFixture()
        defer { fixture.temporary.remove() }
        let upload = try await fixture.store.createMultipart(key: "k", contentType: "image/png")
        let parts = try await store([[1]], of: upload, for: "k", fixture)
        try await fixture.put([2], as: "k")
        let error = await #expect(throws: ObjectStoreError.self) {
            try await fixture.store.completeMultipart(key: "k", upload: upload, parts: parts)
        }
        #expect(error?.kind == .conflict)
        #expect(try fixture.files("parts").isEmpty)
        #expect(try await fixture.send(try fixture.download("k")).body == [2])
    }

    @Test(arguments: ["", "..", "../objects", "a/b", String(repeating: "A", count: 32), "0123"])
    func noOtherFolderIsAnUpload(_ upload: String) async throws {
        let fixture = try DiskStoreFixture()
        defer { fixture.temporary.remove() }
        try await fixture.put([1], as: "k")
        #expect(try await fixture.store.parts(key: "k", upload: upload) == nil)
        try await fixture.store.abortMultipart(key: "k", upload: upload)
        let signed = try fixture.store.signPart(
            key: "k", upload: upload, number: 1, size: 1, sha256: Digest.sha256([1]), at: fixture.now)
        #expect(try await fixture.send(signed, body: Body([[1]], length: 1)).status == 404)
        #expect(try await fixture.store.head(key: "k")?.size == 1)
        #expect(try fixture.files().count == 2)
    }

    @Test func anUploadIsForItsObjectAlone() async throws {
        let fixture = try DiskStoreFixture()
        defer { fixture.temporary.remove() }
        let upload = try await fixture.store.createMultipart(key: "k", contentType: "image/png")
        let parts = try await store([[1]], of: upload, for: "k", fixture)
        try await fixture.store.abortMultipart(key: "l", upload: upload)
        let error = await #expect(throws: ObjectStoreError.self) {
            try await fixture.store.completeMultipart(key: "l", upload: upload, parts: parts)
        }
        #expect(error?.kind == .conflict)
        #expect(try await fixture.store.parts(key: "k", upload: upload) == parts)
    }

    @Test func hostileKeysReachNoFile() async throws {
        let fixture = try DiskStoreFixture()
        defer { fixture.temporary.remove() }
        for key in ["../signing-key", "/etc/passwd", "a//b", "", "a.b", "a\0b"] {
            await #expect(throws: ObjectStoreError.self) { _ = try await fixture.store.head(key: key) }
            await #expect(throws: ObjectStoreError.self) { try await fixture.store.delete(key: key) }
            await #expect(throws: ObjectStoreError.self) {
                _ = try await fixture.store.createMultipart(key: key, contentType: "a/b")
            }
            #expect(throws: ObjectStoreError.self) { try fixture.download(key) }
            #expect(throws: ObjectStoreError.self) { try fixture.upload([1], as: key) }
        }
        #expect(try fixture.files() == ["signing-key"])
    }
}
