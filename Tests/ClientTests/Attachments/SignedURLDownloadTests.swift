import Foundation
import PowerSyncCrypto
import PowerSyncHTTP
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSync

/// Downloads by signed URLs, against a backend and a storage on a server of this package (backend 10.2).
@Suite(.patient()) struct SignedURLDownloadTests {
    private static let file: [UInt8] = (0..<1_000).flatMap { row in
        (0..<100).map { UInt8((row + $0) % 251) }
    }

    private struct Cut: Error {}

    /// Answers with the bytes that were asked for, and cuts the connection behind some of them.
    private static func cut(_ exchange: StorageRig.Exchange, behind end: Int) -> HTTPResponse {
        let start = exchange.start ?? 0
        return HTTPResponse(
            status: exchange.start == nil ? 200 : 206,
            fields: exchange.start == nil ? [:] : .range(start, of: file.count),
            body: .sized(Int64(file.count - start)) { writer in
                try await writer.write(Array(file[start..<max(start, end)]))
                throw Cut()
            })
    }

    private static func download(
        _ rig: StorageRig, _ told: ToldBytes = ToldBytes()
    ) async throws {
        try await rig.client().download(
            attachment: .row("a", .queuedDownload), localUri: rig.folder.file("down"), progress: told.report)
    }

    private static func failure(_ rig: StorageRig) async -> AttachmentStorageError? {
        await rig.client().downloadFailure("a", rig.folder.file("down"))
    }

    private static func begin(_ rig: StorageRig, with bytes: some Sequence<UInt8>) throws {
        rig.store(file, as: "a")
        _ = try rig.write(Array(bytes), "down")
    }

    private static func down(_ rig: StorageRig) -> [UInt8]? { rig.read(rig.folder.file("down")) }

    // MARK: Whole files

    @Test func aFileComesWithNothingButTheSignedAddress() async throws {
        try await StorageRig.run { rig in
            rig.store(Self.file, as: "a")
            let told = ToldBytes()
            try await rig.client().download(
                attachment: .row("a", .queuedDownload), localUri: rig.folder.file("new/folder/down"),
                progress: told.report)
            #expect(rig.read(rig.folder.file("new/folder/down")) == Self.file)
            #expect(rig.calls == ["GET download-url", "GET store"])
            #expect(rig.asked[0].path == "/api/v1/attachments/a/download-url")
            #expect(rig.asked[0].request.fields["authorization"] == "Bearer \(StorageRig.secret)-1")
            #expect(rig.stored[0].names == ["accept", "host"])
            #expect(rig.stored[0].request.queryValue("sig") == StorageRig.secret)
            let size = Int64(Self.file.count)
            #expect(told.all.first == AttachmentBytes(done: 0, total: size))
            #expect(told.all.last == AttachmentBytes(done: size, total: size))
        }
    }

    @Test func anEmptyFileIsThereWithoutTheStorage() async throws {
        try await StorageRig.run { rig in
            rig.store([], as: "a")
            let told = ToldBytes()
            try await Self.download(rig, told)
            #expect(Self.down(rig) == [])
            #expect(rig.stored.isEmpty)
            #expect(told.all == [AttachmentBytes(done: 0, total: 0)])
        }
    }

    // MARK: Going on

    @Test func aDownloadGoesOnBehindWhatIsThere() async throws {
        try await StorageRig.run { rig in
            try Self.begin(rig, with: Self.file.prefix(60_000))
            let told = ToldBytes()
            try await Self.download(rig, told)
            #expect(Self.down(rig) == Self.file)
            #expect(rig.stored.map { $0.request.fields["range"] } == ["bytes=60000-"])
            #expect(told.all.first?.done == 60_000)
        }
    }

    @Test func aDownloadThatIsCutAtEveryTenthGoesOnEachTime() async throws {
        try await StorageRig.run { rig in
            rig.store(Self.file, as: "a")
            let tenth = Self.file.count / 10
            rig.script { exchange, number in
                exchange.isStorage && number <= 10 ? Self.cut(exchange, behind: (number - 1) * tenth) : nil
            }
            for number in 1...10 {
                let failure = await Self.failure(rig)
                #expect(failure?.code == .network && failure?.status == nil, "cut \(number)")
                let there = try #require(Self.down(rig))
                #expect(there == Array(Self.file.prefix(there.count)))
                #expect(there.count <= (number - 1) * tenth)
            }
            try await Self.download(rig)
            #expect(Self.down(rig) == Self.file)
            // Each attempt begins where the one before has ended, and only the first may begin at the beginning.
            let starts = rig.stored.map { $0.start ?? 0 }
            #expect(starts == starts.sorted() && starts.count == 11)
            #expect(starts.last ?? 0 > 0)
        }
    }

    @Test func whatIsThereAsAWholeIsNotFetched() async throws {
        try await StorageRig.run { rig in
            try Self.begin(rig, with: Self.file)
            try await Self.download(rig)
            #expect(Self.down(rig) == Self.file)
            #expect(rig.stored.isEmpty)
        }
    }

    @Test func moreThanThereShouldBeBeginsAnew() async throws {
        try await StorageRig.run { rig in
            try Self.begin(rig, with: Self.file + [1])
            try await Self.download(rig)
            #expect(Self.down(rig) == Self.file)
            #expect(rig.stored.map(\.start) == [nil])
        }
    }

    @Test func aStorageWithoutRangesBeginsAnew() async throws {
        try await StorageRig.run { rig in
            try Self.begin(rig, with: Self.file.prefix(60_000))
            rig.script { exchange, _ in
                exchange.isStorage ? HTTPResponse(status: 200, body: .bytes(Self.file)) : nil
            }
            try await Self.download(rig)
            #expect(Self.down(rig) == Self.file)
            #expect(rig.stored.map(\.start) == [60_000])
        }
    }

    @Test func aRangeThatIsNotThereBeginsAnew() async throws {
        try await StorageRig.run { rig in
            try Self.begin(rig, with: Self.file.prefix(60_000))
            rig.script { exchange, _ in
                exchange.isStorage && exchange.start != nil ? HTTPResponse(status: 416) : nil
            }
            try await Self.download(rig)
            #expect(Self.down(rig) == Self.file)
            #expect(rig.stored.map(\.start) == [60_000, nil])
        }
    }

    @Test func aRangeThatWasNotAskedForIsNotMissed() async throws {
        try await StorageRig.run { rig in
            try Self.begin(rig, with: [UInt8]())
            rig.script { exchange, _ in exchange.isStorage ? HTTPResponse(status: 416) : nil }
            let failure = await Self.failure(rig)
            #expect(failure?.code == .storage && failure?.status == 416)
            #expect(rig.stored.count == 1)
        }
    }

    /// A storage that ends too early without a word, and knows no ranges: asked again and again it would bring the same.
    @Test func aDownloadBeginsAnewOnce() async throws {
        try await StorageRig.run { rig in
            rig.store(Self.file, as: "a")
            rig.script { exchange, number in
                guard exchange.isStorage else { return nil }
                // Somebody has to end it.
                if number > 20 { return HTTPResponse(status: 500) }
                if exchange.start != nil { return HTTPResponse(status: 416) }
                return HTTPResponse(
                    status: 200, body: .stream { try await $0.write(Array(Self.file.prefix(40_000))) })
            }
            let failure = await Self.failure(rig)
            #expect(failure?.code == .storage && failure?.status == 416)
            #expect(rig.stored.map(\.start) == [nil, 40_000, nil, 40_000])
            #expect(Self.down(rig) == Array(Self.file.prefix(40_000)))
        }
    }

    /// An answer that is no shorter than it says, and shorter than the file.
    @Test func anAnswerThatEndsEarlyIsGoneOnWith() async throws {
        try await StorageRig.run { rig in
            rig.store(Self.file, as: "a")
            rig.script { exchange, number in
                guard exchange.isStorage, number == 1 else { return nil }
                return HTTPResponse(
                    status: 200, body: .stream { try await $0.write(Array(Self.file.prefix(40_000))) })
            }
            try await Self.download(rig)
            #expect(Self.down(rig) == Self.file)
            #expect(rig.stored.map(\.start) == [nil, 40_000])
        }
    }

    @Test func anAnswerWithoutAByteIsAnError() async throws {
        try await StorageRig.run { rig in
            try Self.begin(rig, with: Self.file.prefix(10))
            rig.script { exchange, _ in
                guard exchange.isStorage else { return nil }
                return HTTPResponse(
                    status: 206, fields: .range(10, of: Self.file.count),
                    body: .stream { try await $0.write([]) })
            }
            #expect(await Self.failure(rig)?.code == .network)
            #expect(Self.down(rig) == Array(Self.file.prefix(10)))
            #expect(rig.stored.count == 1)
        }
    }

    // MARK: Other bytes

    @Test func damagedBytesAreRemoved() async throws {
        try await StorageRig.run { rig in
            rig.store(Self.file, as: "a")
            var damaged = Self.file
            damaged[70_000] ^= 1
            let answer = damaged
            rig.script { exchange, number in
                exchange.isStorage && number == 1 ? HTTPResponse(status: 200, body: .bytes(answer)) : nil
            }
            #expect(await Self.failure(rig)?.code == .damaged)
            #expect(Self.down(rig) == nil)
            // The next attempt finds nothing of it.
            try await Self.download(rig)
            #expect(Self.down(rig) == Self.file)
        }
    }

    @Test(arguments: [(10, [10, nil]), (100_000, [nil])] as [(Int, [Int?])])
    func wrongBytesThatWereThereAreFetchedAnew(count: Int, starts: [Int?]) async throws {
        try await StorageRig.run { rig in
            try Self.begin(rig, with: [UInt8](repeating: 255, count: count))
            try await Self.download(rig)
            #expect(Self.down(rig) == Self.file)
            #expect(rig.stored.map(\.start) == starts)
        }
    }

    /// Once is enough: what comes then has come from the storage.
    @Test func whatIsWrongInTheStorageIsDamaged() async throws {
        try await StorageRig.run { rig in
            try Self.begin(rig, with: Self.file.prefix(10))
            var damaged = Self.file
            damaged[70_000] ^= 1
            let file = damaged
            rig.script { exchange, _ in
                guard exchange.isStorage else { return nil }
                let start = exchange.start ?? 0
                return HTTPResponse(
                    status: exchange.start == nil ? 200 : 206,
                    fields: exchange.start == nil ? [:] : .range(start, of: file.count),
                    body: .bytes(Array(file[start...])))
            }
            #expect(await Self.failure(rig)?.code == .damaged)
            #expect(Self.down(rig) == nil)
            #expect(rig.stored.map(\.start) == [10, nil])
        }
    }

    /// Of a large part, on a thread of its own.
    @Test func aLargePartIsLookedAtInSmallPieces() async throws {
        try await StorageRig.run { rig in
            let file = [UInt8](repeating: 3, count: 5 << 20)
            rig.store(file, as: "a")
            _ = try rig.write(Array(file.prefix(4 << 20)), "down")
            try await Self.download(rig)
            #expect(rig.pieces.reduce(0, +) == 5 << 20)
            #expect((rig.pieces.max() ?? 0) <= 64 << 10)
            #expect(rig.stored.map(\.start) == [4 << 20])
            #expect(Self.down(rig).map { Data($0) } == Data(file))
        }
    }

    private static let sizes: [(name: String, answer: @Sendable (StorageRig.Exchange) -> HTTPResponse)] = [
        ("shorter", { _ in HTTPResponse(status: 200, body: .bytes(Array(file.dropLast()))) }),
        ("longer", { _ in HTTPResponse(status: 200, body: .bytes(file + [1])) }),
        (
            "longer than it says",
            { _ in HTTPResponse(status: 200, body: .stream { try await $0.write(file + [1]) }) }
        ),
        (
            "a part of a longer one",
            { _ in
                HTTPResponse(
                    status: 206, fields: ["content-range": "bytes 0-99/\(file.count + 1)"],
                    body: .bytes(Array(file.prefix(100))))
            }
        ),
        (
            "a part behind the end",
            { _ in
                HTTPResponse(
                    status: 206, fields: ["content-range": "bytes 0-\(file.count)/*"],
                    body: .bytes(file + [1]))
            }
        ),
    ]

    @Test(arguments: sizes.indices) func anotherSizeIsDamaged(index: Int) async throws {
        let (name, answer) = Self.sizes[index]
        try await StorageRig.run { rig in
            rig.store(Self.file, as: "a")
            rig.script { exchange, _ in exchange.isStorage ? answer(exchange) : nil }
            #expect(await Self.failure(rig)?.code == .damaged, "\(name)")
            #expect(Self.down(rig) == nil)
            #expect(rig.stored.count == 1)
        }
    }

    @Test(arguments: ["bytes 0-99999/100000", "bytes 61000-99999/100000", "", "nonsense"])
    func anotherRangeThanWasAskedForIsRefused(range: String) async throws {
        try await StorageRig.run { rig in
            try Self.begin(rig, with: Self.file.prefix(60_000))
            rig.script { exchange, _ in
                guard exchange.isStorage else { return nil }
                return HTTPResponse(
                    status: 206, fields: range.isEmpty ? [:] : ["content-range": range],
                    body: .bytes(Array(Self.file.suffix(40_000))))
            }
            #expect(await Self.failure(rig)?.code == .storage)
            #expect(Self.down(rig) == Array(Self.file.prefix(60_000)), "what was there stays")
        }
    }

    @Test func aShorterRangeThanWasAskedForIsGoneOnWith() async throws {
        try await StorageRig.run { rig in
            try Self.begin(rig, with: Self.file.prefix(60_000))
            rig.script { exchange, number in
                guard exchange.isStorage, number == 1 else { return nil }
                return HTTPResponse(
                    status: 206, fields: ["content-range": "bytes 60000-69999/100000"],
                    body: .bytes(Array(Self.file[60_000..<70_000])))
            }
            try await Self.download(rig)
            #expect(Self.down(rig) == Self.file)
            #expect(rig.stored.map(\.start) == [60_000, 70_000])
        }
    }

    // MARK: Late URLs, and what else the storage answers

    @Test func aLateURLIsAskedForOnceMore() async throws {
        try await StorageRig.run { rig in
            try Self.begin(rig, with: Self.file.prefix(10))
            rig.script { exchange, number in
                exchange.isStorage && number == 1 ? HTTPResponse(status: 403) : nil
            }
            try await Self.download(rig)
            #expect(Self.down(rig) == Self.file)
            #expect(rig.calls == ["GET download-url", "GET store", "GET download-url", "GET store"])
            #expect(rig.stored.map(\.start) == [10, 10])
        }
    }

    @Test func aURLThatIsNeverAcceptedIsAnError() async throws {
        try await StorageRig.run { rig in
            try Self.begin(rig, with: Self.file.prefix(10))
            rig.script { exchange, _ in
                exchange.isStorage ? .problem(403, "expired-url") : nil
            }
            let failure = await Self.failure(rig)
            #expect(failure?.code == .expired && failure?.status == 403)
            #expect(failure?.message == "GET \(rig.url)/store/a failed with status 403 (EXPIRED_URL)")
            #expect(rig.stored.count == 2)
            #expect(Self.down(rig) == Array(Self.file.prefix(10)))
        }
    }

    @Test func otherBytesThanAMomentBeforeAreDamaged() async throws {
        try await StorageRig.run { rig in
            try Self.begin(rig, with: Self.file.prefix(10))
            rig.script { exchange, number in
                if exchange.isStorage { return HTTPResponse(status: 403) }
                return number == 2 ? .json(rig.download("a", [1]).json) : nil
            }
            #expect(await Self.failure(rig)?.code == .damaged)
            #expect(Self.down(rig) == nil)
        }
    }

    private static let answers: [(status: Int, code: AttachmentStorageError.Code)] = [
        (204, .storage), (302, .refused), (400, .refused), (401, .refused), (404, .storage), (408, .storage),
        (410, .storage), (412, .refused), (429, .storage), (500, .storage), (503, .storage),
    ]

    @Test(arguments: answers.indices) func whatElseTheStorageAnswersIsAnError(index: Int) async throws {
        let (status, code) = Self.answers[index]
        try await StorageRig.run { rig in
            try Self.begin(rig, with: Self.file.prefix(10))
            rig.script { exchange, _ in
                guard exchange.isStorage else { return nil }
                return HTTPResponse(
                    status: status, fields: ["location": "\(rig.url)/store/b?sig=\(StorageRig.secret)"])
            }
            let failure = await Self.failure(rig)
            #expect(failure?.code == code && failure?.status == status)
            #expect(failure?.description == "GET \(rig.url)/store/a failed with status \(status)")
            #expect(rig.stored.count == 1)
            #expect(Self.down(rig) == Array(Self.file.prefix(10)))
        }
    }

    // MARK: Files

    @Test func aFileThatSomebodyElseDownloadsIsLeftAlone() async throws {
        try await StorageRig.run { rig in
            rig.store(Self.file, as: "a")
            let other = try StagedFile(path: rig.folder.file("down"), resuming: true)
            #expect(await Self.failure(rig)?.code == .disk)
            #expect(rig.stored.isEmpty)
            other.close()
            try await Self.download(rig)
            #expect(Self.down(rig) == Self.file)
        }
    }

    @Test func aLinkIsNotWrittenThrough() async throws {
        try await StorageRig.run { rig in
            rig.store(Self.file, as: "a")
            let outside = try TemporaryDirectory()
            try Data([1]).write(to: URL(filePath: outside.file("secret")))
            try FileManager.default.createSymbolicLink(
                atPath: rig.folder.file("down"), withDestinationPath: outside.file("secret"))
            #expect(await Self.failure(rig)?.code == .disk)
            #expect(rig.read(outside.file("secret")) == [1])
        }
    }

    // MARK: Cancelling

    @Test func cancellingEndsADownloadAtOnceAndKeepsWhatIsThere() async throws {
        try await StorageRig.run { rig in
            let gate = Gate()
            defer { gate.open() }
            rig.store(Self.file, as: "a")
            rig.script { exchange, number in
                guard exchange.isStorage, number == 1 else { return nil }
                return HTTPResponse(
                    status: 200,
                    body: .sized(Int64(Self.file.count)) { writer in
                        try await writer.write(Array(Self.file.prefix(30_000)))
                        await gate.pass()
                        throw Cut()
                    })
            }
            let downloading = Task { try await Self.download(rig) }
            try await wait(for: "what comes first") { Self.down(rig)?.count == 30_000 }
            downloading.cancel()
            await #expect(throws: CancellationError.self) { try await wait(forEndOf: downloading) }
            #expect(Self.down(rig) == Array(Self.file.prefix(30_000)))
            // Nobody holds the file any more.
            try await Self.download(rig)
            #expect(Self.down(rig) == Self.file)
            #expect(rig.stored.map(\.start) == [nil, 30_000])
        }
    }
}
