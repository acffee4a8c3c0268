import Foundation
import PowerSyncCrypto
import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSync

/// Uploads by signed URLs, against a backend and a storage on a server of this package (backend 10.2).
@Suite(.patient()) struct SignedURLUploadTests {
    private static let small: [UInt8] = Array("a picture".utf8)
    /// Three parts, the last one of half the size.
    private static let large: [UInt8] = (0..<320).flatMap {
        [UInt8](repeating: UInt8($0 % 251), count: 64 << 10)
    }

    private static func digest(_ bytes: [UInt8]) -> String { Hexadecimal.encode(Digest.sha256(bytes)) }

    /// Compared as data, which takes no time in a debug build, and told without their bytes.
    private static func areEqual(_ left: [UInt8]?, _ right: [UInt8]) -> Bool {
        left.map { Data($0) } == Data(right)
    }

    private static func part(_ number: Int) -> [UInt8] {
        let start = (number - 1) * Int(AttachmentPart.size)
        return Array(large[start..<min(start + Int(AttachmentPart.size), large.count)])
    }

    // MARK: Small files

    @Test func aSmallFileGoesWithExactlyWhatWasSigned() async throws {
        try await StorageRig.run { rig in
            let told = ToldBytes()
            let path = try rig.write(Self.small)
            try await rig.client().upload(attachment: .row("a"), localUri: path, progress: told.report)
            #expect(rig.file("a") == Self.small)
            #expect(rig.calls == ["POST upload-url", "PUT store", "POST complete"])
            let question = try AttachmentUploadRequest(json: JSON.parse(rig.exchanges[0].body))
            #expect(
                question
                    == AttachmentUploadRequest(
                        id: "a", filename: "a.jpg", contentType: "image/jpeg", size: Int64(Self.small.count),
                        sha256: Self.digest(Self.small)))
            #expect(rig.exchanges[0].path == "/api/v1/attachments/upload-url")
            #expect(rig.exchanges[2].path == "/api/v1/attachments/a/complete")
            #expect(rig.exchanges[2].body == Array("{}".utf8))
            for (index, exchange) in rig.asked.enumerated() {
                let fields = exchange.request.fields
                #expect(fields["authorization"] == "Bearer \(StorageRig.secret)-\(index + 1)")
                #expect(fields["content-type"] == "application/json")
                #expect(fields["user-agent"] == UserAgent.current())
            }
            let put = rig.exchanges[1]
            #expect(
                put.names == [
                    "accept", "content-length", "content-type", "host", "if-none-match",
                    "x-amz-checksum-sha256", "x-custom",
                ])
            #expect(put.request.fields["content-type"] == "image/jpeg")
            #expect(put.request.fields["content-length"] == "\(Self.small.count)")
            #expect(put.request.fields["x-amz-checksum-sha256"] == Self.digest(Self.small))
            #expect(put.request.fields["if-none-match"] == "*")
            #expect(put.request.queryValue("sig") == StorageRig.secret)
            let size = Int64(Self.small.count)
            #expect(told.all.last == AttachmentBytes(done: size, total: size))
            #expect(told.all.filter { $0.done == size }.count == 1)
        }
    }

    @Test func aTransferHasNoLimitButSilence() async throws {
        try await StorageRig.run { rig in
            let path = try rig.write(Self.small)
            try await rig.client().upload(attachment: .row("a"), localUri: path, progress: { _ in })
            try await rig.client().download(
                attachment: .row("a"), localUri: rig.folder.file("down"), progress: { _ in })
            #expect(rig.sent.map(\.method) == ["PUT", "GET"])
            for request in rig.sent {
                #expect(request.idleTimeout == .seconds(45))
                #expect(request.totalTimeout == nil && request.answerTimeout == nil)
            }
        }
    }

    @Test func anEmptyFileGoes() async throws {
        try await StorageRig.run { rig in
            let told = ToldBytes()
            let path = try rig.write([])
            try await rig.client().upload(attachment: .row("a"), localUri: path, progress: told.report)
            #expect(rig.file("a") == [])
            #expect(rig.stored[0].request.fields["content-length"] == "0")
            #expect(told.all == [AttachmentBytes(done: 0, total: 0)])
        }
    }

    @Test(
        arguments: [nil, "", "nonsense", "a/b\r\nc: d", "a/" + String(repeating: "x", count: 200)]
            as [String?]
    )
    func whatIsNoMediaTypeGoesAsBytes(type: String?) async throws {
        try await StorageRig.run { rig in
            let path = try rig.write(Self.small)
            try await rig.client().upload(
                attachment: .row("a", mediaType: type), localUri: path, progress: { _ in })
            #expect(rig.stored[0].request.fields["content-type"] == "application/octet-stream")
        }
    }

    @Test func anIdIsOneWordOfTheAddress() async throws {
        try await StorageRig.run { rig in
            let path = try rig.write(Self.small)
            try await rig.client().upload(
                attachment: .row("../a b?c#d"), localUri: path, progress: { _ in })
            #expect(rig.asked[1].request.target == "/api/v1/attachments/..%2Fa%20b%3Fc%23d/complete")
            #expect(rig.file("../a b?c#d") == Self.small)
        }
    }

    @Test(arguments: ["", ".", ".."]) func anIdThatLeadsElsewhereIsRefused(id: String) async throws {
        try await StorageRig.run { rig in
            let client = rig.client()
            #expect(await client.downloadFailure(id, rig.folder.file("down"))?.code == .refused)
            #expect(await client.deleteFailure(id)?.code == .refused)
            #expect(rig.exchanges.isEmpty)
        }
    }

    // MARK: What is stored already

    @Test func whatIsStoredIsNotSent() async throws {
        try await StorageRig.run { rig in
            rig.store(Self.small, as: "a")
            let told = ToldBytes()
            let path = try rig.write(Self.small)
            try await rig.client().upload(attachment: .row("a"), localUri: path, progress: told.report)
            #expect(rig.calls == ["POST upload-url"])
            #expect(told.all.map(\.done) == [Int64(Self.small.count)])
        }
    }

    /// The answer to the first upload was lost, and the backend has not asked the storage yet.
    @Test func anUploadThatMeetsItsOwnBytesIsDone() async throws {
        try await StorageRig.run { rig in
            rig.store(Self.small, as: "a")
            rig.script { exchange, _ in
                guard exchange.call == "POST upload-url" else { return nil }
                let signed = rig.signed("a", "s", type: "image/jpeg")
                return .json(AttachmentUploadTicket(id: "a", request: signed).json)
            }
            let path = try rig.write(Self.small)
            try await rig.client().upload(attachment: .row("a"), localUri: path, progress: { _ in })
            #expect(rig.calls == ["POST upload-url", "PUT store", "POST complete"])
            #expect(rig.file("a") == Self.small)
        }
    }

    // MARK: Parts

    @Test func aLargeFileGoesInParts() async throws {
        try await StorageRig.run { rig in
            let told = ToldBytes()
            let path = try rig.write(Self.large)
            try await rig.client().upload(attachment: .row("a"), localUri: path, progress: told.report)
            #expect(Self.areEqual(rig.file("a"), Self.large))
            #expect(
                rig.calls == [
                    "POST upload-url", "POST parts", "PUT store", "PUT store", "PUT store", "POST complete",
                ])
            let parts = try AttachmentPartsRequest(json: JSON.parse(rig.exchanges[1].body)).parts
            #expect(
                parts == (1...3).map { AttachmentPart(number: $0, sha256: Self.digest(Self.part($0))) })
            #expect(rig.stored.map(\.part) == [1, 2, 3])
            #expect(
                rig.stored.allSatisfy {
                    $0.names == ["accept", "content-length", "host", "x-amz-checksum-sha256", "x-custom"]
                })
            #expect(told.all.last?.done == Int64(Self.large.count))
            #expect(told.all.map(\.done) == told.all.map(\.done).sorted())
        }
    }

    /// The connection breaks in the second part, and the process may have ended then.
    @Test func aCutUploadGoesOnWithThePartThatWasCut() async throws {
        try await StorageRig.run { rig in
            let size = Int(AttachmentPart.size)
            let storage = try CuttingStorage(cuttingAfter: size + (3 << 20))
            rig.name(storage: storage.url)
            rig.script { exchange, _ in exchange.call == "POST complete" ? HTTPResponse(status: 204) : nil }
            let path = try rig.write(Self.large)
            let failure = await rig.client().uploadFailure("a", path)
            #expect(failure?.code == .network)
            #expect(storage.parts.keys.sorted() == [1])
            #expect(rig.calls == ["POST upload-url", "POST parts"])

            rig.store(parts: storage.parts, of: "a")
            let told = ToldBytes()
            try await rig.client().upload(attachment: .row("a"), localUri: path, progress: told.report)
            let parts = storage.parts
            #expect((1...3).allSatisfy { Self.areEqual(parts[$0], Self.part($0)) })
            #expect(storage.received - Self.large.count <= size, "bytes that went a second time")
            let second = try AttachmentPartsRequest(json: JSON.parse(rig.exchanges[3].body)).parts
            #expect(second.map(\.number) == [2, 3])
            #expect(told.all.first?.done == Int64(size))
            #expect(told.all.last?.done == Int64(Self.large.count))
            #expect(rig.calls.suffix(1) == ["POST complete"])
        }
    }

    @Test func aHundredPartsAreAskedForAtOnce() async throws {
        let count = 250
        let folder = try TemporaryDirectory()
        try Data().write(to: URL(filePath: folder.file("f")))
        let file = FileDigest(
            path: "/f", identity: try LocalFile(folder.file("f")).identity,
            size: Int64(count - 1) * AttachmentPart.size + 5, sha256: Self.digest([]),
            parts: (1...count).map { Self.digest([UInt8($0)]) })
        #expect(file.region(ofPart: 2).offset == AttachmentPart.size)
        #expect(file.region(ofPart: 2).length == AttachmentPart.size)
        #expect(file.region(ofPart: count).offset == Int64(count - 1) * AttachmentPart.size)
        #expect(file.region(ofPart: count).length == 5)
        let urls = ScriptedURLs { _, _, body in
            let signed = SignedRequest(url: "http://store.test/", method: "PUT", expiresAt: "e")
            let parts = try AttachmentPartsRequest(json: JSON.parse(body)).parts
            return .json(
                AttachmentPartsTicket(parts: parts.map { .init(number: $0.number, request: signed) })
                    .json.text)
        }
        let meter = TransferMeter(total: file.size, uptime: { .zero }, report: { _ in })
        for stored in [[], Array(1...200), [2, 4]] {
            let multipart = AttachmentMultipart(
                partSize: AttachmentPart.size, partCount: count, uploaded: stored)
            // There is no storage: the first part ends it.
            await #expect(throws: HTTPClientError.self) {
                try await urls.client.sendParts(of: file, multipart, "a", meter)
            }
        }
        let asked = try urls.asked.map {
            try AttachmentPartsRequest(json: JSON.parse($0.body ?? [])).parts.map(\.number)
        }
        #expect(asked == [Array(1...100), Array(201...250), [1, 3] + Array(5...102)])
        #expect(urls.asked.allSatisfy { $0.url == "http://backend.test/api/v1/attachments/a/parts" })
        #expect(
            urls.sent.compactMap(\.file)
                == [1, 201, 1].map {
                    HTTPFileBody(
                        path: "/f", offset: Int64($0 - 1) * AttachmentPart.size, length: AttachmentPart.size)
                })
    }

    @Test func partsThatAreStoredMeanwhileEndTheUpload() async throws {
        try await StorageRig.run { rig in
            rig.script { exchange, number in
                guard exchange.call == "PUT store", number == 2 else { return nil }
                rig.store(Self.large, as: "a")
                return HTTPResponse(status: 412)
            }
            let path = try rig.write(Self.large)
            try await rig.client().upload(attachment: .row("a"), localUri: path, progress: { _ in })
            #expect(rig.calls.suffix(2) == ["PUT store", "POST complete"])
            #expect(rig.stored.count == 2)
        }
    }

    // MARK: Late URLs

    @Test func aLateURLIsAskedForOnceMore() async throws {
        try await StorageRig.run { rig in
            rig.script { exchange, number in
                exchange.call == "PUT store" && number == 1 ? HTTPResponse(status: 403) : nil
            }
            let path = try rig.write(Self.small)
            try await rig.client().upload(attachment: .row("a"), localUri: path, progress: { _ in })
            #expect(
                rig.calls == [
                    "POST upload-url", "PUT store", "POST upload-url", "PUT store", "POST complete",
                ])
            #expect(rig.file("a") == Self.small)
        }
    }

    @Test func aURLThatIsNeverAcceptedIsAnError() async throws {
        try await StorageRig.run { rig in
            rig.script { exchange, _ in
                guard exchange.isStorage else { return nil }
                let text = "<Error><Code>AccessDenied</Code><Message>\(StorageRig.secret)</Message></Error>"
                return HTTPResponse(status: 403, body: .bytes(Array(text.utf8)))
            }
            let path = try rig.write(Self.small)
            let failure = await rig.client().uploadFailure("a", path)
            #expect(failure?.code == .expired && failure?.status == 403)
            #expect(failure?.message == "PUT \(rig.url)/store/a failed with status 403 (AccessDenied)")
            #expect(rig.stored.count == 2)
        }
    }

    @Test func lateURLsOfPartsAreAskedForAgainAfterEachThatWasGood() async throws {
        try await StorageRig.run { rig in
            // The first request by each set of URLs but the first is good, the second one late.
            rig.script { exchange, number in
                exchange.call == "PUT store" && [2, 4].contains(number) ? HTTPResponse(status: 403) : nil
            }
            let path = try rig.write(Self.large)
            try await rig.client().upload(attachment: .row("a"), localUri: path, progress: { _ in })
            #expect(Self.areEqual(rig.file("a"), Self.large))
            #expect(rig.stored.map(\.part) == [1, 2, 2, 3, 3])
            let asked = try rig.exchanges.filter { $0.call == "POST parts" }.map {
                try AttachmentPartsRequest(json: JSON.parse($0.body)).parts.map(\.number)
            }
            #expect(asked == [[1, 2, 3], [2, 3], [3]])
        }
    }

    @Test func partsThatAreNeverAcceptedAreAnError() async throws {
        try await StorageRig.run { rig in
            rig.script { exchange, number in
                exchange.call == "PUT store" && number > 1 ? HTTPResponse(status: 403) : nil
            }
            let failure = await rig.client().uploadFailure("a", try rig.write(Self.large))
            #expect(failure?.code == .expired)
            #expect(rig.stored.map(\.part) == [1, 2, 2])
        }
    }

    // MARK: What the storage answers

    static let answers: [(status: Int, code: AttachmentStorageError.Code)] = [
        (301, .refused), (400, .damaged), (401, .refused), (404, .storage), (408, .storage), (409, .storage),
        (411, .refused), (413, .tooLarge), (429, .storage), (500, .storage), (503, .storage), (507, .storage),
    ]

    @Test(arguments: answers)
    func whatElseTheStorageAnswersIsAnError(status: Int, code: AttachmentStorageError.Code) async throws {
        try await StorageRig.run { rig in
            rig.script { exchange, _ in
                guard exchange.isStorage else { return nil }
                return HTTPResponse(
                    status: status, fields: ["location": "\(rig.url)/store/b?sig=\(StorageRig.secret)"],
                    body: .bytes(Array(repeating: UInt8(ascii: "x"), count: 100_000)))
            }
            for bytes in [Self.small, Self.large] {
                let failure = await rig.client().uploadFailure("a", try rig.write(bytes))
                #expect(failure?.code == code && failure?.status == status)
                #expect(failure?.description == "PUT \(rig.url)/store/a failed with status \(status)")
            }
            #expect(rig.stored.count == 2, "neither is a redirect followed nor anything sent again")
            #expect(rig.file("a") == nil)
        }
    }

    @Test func aStorageThatNobodyReachesIsAnError() async throws {
        try await StorageRig.run { rig in
            let nobody = try RefusingPort()
            rig.name(storage: "http://127.0.0.1:\(nobody.number)")
            let failure = await rig.client().uploadFailure("a", try rig.write(Self.small))
            #expect(failure?.code == .network && failure?.status == nil)
            #expect(failure?.message.contains(StorageRig.secret) == false)
        }
    }

    // MARK: Files

    @Test func aFileThatIsNotThereIsSaidSoBeforeAnybodyIsAsked() async throws {
        try await StorageRig.run { rig in
            let missing = rig.folder.file("missing")
            do {
                try await rig.client().upload(attachment: .row("a"), localUri: missing, progress: { _ in })
                Issue.record("it was uploaded")
            } catch PowerSyncAttachmentError.fileNotFound(let path) {
                #expect(path == missing)
            }
            #expect(rig.exchanges.isEmpty)
        }
    }

    /// What was read of it is good still: it is the same file.
    @Test func aFileThatWasMovedGoesFromWhereItIsWithoutBeingReadAgain() async throws {
        try await StorageRig.run { rig in
            rig.script { exchange, number in
                exchange.isStorage && number == 1 ? HTTPResponse(status: 500) : nil
            }
            let path = try rig.write(Self.small)
            let client = rig.client()
            #expect(await client.uploadFailure("a", path)?.status == 500)
            let moved = rig.folder.file("moved")
            try FileManager.default.moveItem(atPath: path, toPath: moved)
            #expect(await client.uploadFailure("a", moved) == nil)
            #expect(rig.file("a") == Self.small)
            #expect(rig.pieces == [Self.small.count])
        }
    }

    @Test func aFileThatBecomesShorterIsAnError() async throws {
        try await StorageRig.run { rig in
            let path = try rig.write(Self.small)
            rig.script { exchange, _ in
                if exchange.call == "POST upload-url" { _ = try rig.write([1, 2]) }
                return nil
            }
            #expect(await rig.client().uploadFailure("a", path)?.code == .disk)
            #expect(rig.file("a") == nil)
        }
    }

    @Test func aLinkIsUploadedOnlyFromItsOwnFolder() async throws {
        try await StorageRig.run { rig in
            let outside = try TemporaryDirectory()
            try Data([1]).write(to: URL(filePath: outside.file("secret")))
            _ = try rig.write(Self.small, "beside")
            for (name, target) in [("good", "beside"), ("bad", outside.file("secret"))] {
                try FileManager.default.createSymbolicLink(
                    atPath: rig.folder.file(name), withDestinationPath: target)
            }
            try await rig.client().upload(
                attachment: .row("a"), localUri: rig.folder.file("good"), progress: { _ in })
            #expect(rig.file("a") == Self.small)
            await #expect(throws: PowerSyncAttachmentError.self) {
                try await rig.client().upload(
                    attachment: .row("b"), localUri: rig.folder.file("bad"), progress: { _ in })
            }
            #expect(rig.file("b") == nil)
        }
    }

    // MARK: Memory

    @Test func aFileIsReadOnceInSmallPieces() async throws {
        let block = [UInt8](repeating: 7, count: 1 << 20)
        var bytes: [UInt8] = []
        for number in 0..<64 { bytes += block.dropLast() + [UInt8(number)] }
        let file = bytes
        try await StorageRig.run { rig in
            let path = try rig.write(file)
            try await rig.client().upload(attachment: .row("a"), localUri: path, progress: { _ in })
            #expect(rig.pieces.reduce(0, +) == 64 << 20)
            #expect(rig.pieces.max() == 64 << 10)
            #expect(rig.sent.allSatisfy { $0.body == nil && $0.file != nil })
            #expect(Self.areEqual(rig.file("a"), file))
            let down = rig.folder.file("down")
            let before = rig.pieces.count
            try await rig.client().download(attachment: .row("a"), localUri: down, progress: { _ in })
            let pieces = rig.pieces[before...]
            #expect(pieces.reduce(0, +) == 64 << 20)
            #expect((pieces.max() ?? 0) <= 64 << 10)
            #expect(Self.areEqual(rig.read(down), file))
        }
    }

    // MARK: Cancelling

    @Test(arguments: [false, true])
    func cancellingEndsAnUploadAtOnce(isLarge: Bool) async throws {
        try await StorageRig.run { rig in
            let gate = Gate()
            defer { gate.open() }
            rig.script { exchange, _ in
                if exchange.isStorage { await gate.pass() }
                return nil
            }
            let path = try rig.write(isLarge ? Self.large : Self.small)
            let client = rig.client()
            let uploading = Task {
                try await client.upload(attachment: .row("a"), localUri: path, progress: { _ in })
            }
            try await wait(for: "the storage to be asked") { gate.arrivals > 0 }
            uploading.cancel()
            await #expect(throws: CancellationError.self) { try await wait(forEndOf: uploading) }
            #expect(rig.calls.contains("POST complete") == false)
        }
    }
}
