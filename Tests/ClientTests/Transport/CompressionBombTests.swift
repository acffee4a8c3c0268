import Foundation
import PowerSyncCompression
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// What a few kilobytes do to a client that hold half a gigabyte.
@Suite struct CompressionBombTests {
    /// In a process of its own, whose memory is of nothing else.
    @Test(.patient()) func aLineOf512MBInSeventyKilobytesIsTooLongAndTakesLittleMemory() async throws {
        try await ProcessTurn.take {
            await #expect(processExitsWith: .success) {
                try await CompressionBombTests.serve(
                    beginning: [], type: "application/x-ndjson",
                    text: "invalid text line: a line has more than 50331648 bytes")
            }
        }
    }

    /// The length in front of a document tells at once.
    @Test(.patient()) func soIsADocumentOf512MB() async throws {
        try await ProcessTurn.take {
            await #expect(processExitsWith: .success) {
                try await CompressionBombTests.serve(
                    beginning: [0, 0, 0, 0x20], type: "application/vnd.powersync.bson-stream",
                    text: "invalid binary line: a document has more than 50331648 bytes")
            }
        }
    }

    /// Syncs with a service whose second stream is such a line.
    private static func serve(beginning: [UInt8], type: String, text: String) async throws {
        let compressor = Compressor(.zstd)
        var bomb = compressor.compress(beginning)
        let block = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
        for _ in 0..<512 { bomb += compressor.compress(block) }
        bomb += compressor.finish()
        #expect(bomb.count < 80_000)
        let state = Lock((answers: 0, memory: 0))
        let server = try RawServer { [bomb] connection in
            guard connection.request() != nil else { return }
            let answers = state.withLock { state in
                state.answers += 1
                return state.answers
            }
            guard answers > 1 else {
                // What the first use of everything takes is no growth.
                connection.send(.head(compressedAs: "zstd"))
                let compressor = Compressor(.zstd)
                let lines = SyncLines.checkpoint(0, []) + "\n" + SyncLines.complete(0) + "\n"
                connection.chunk(compressor.compress(Array(lines.utf8)) + compressor.finish())
                return connection.endChunks()
            }
            if answers == 2 {
                ResidentMemory.forgetPeak()
                let memory = ResidentMemory.bytes("VmRSS:")
                state.withLock { $0.memory = memory }
            }
            connection.send(.head(compressedAs: "zstd").replacing("application/x-ndjson", with: type))
            connection.chunk(bomb)
            connection.waitForHangUp()
        }
        let folder = try TemporaryDirectory()
        let database = PowerSyncDatabase(
            schema: Schema(Table(name: "items", columns: [.text("col")])), dbFilename: folder.file())
        try await database.connect(
            connector: TestConnector(endpoint: server.url()), options: ConnectOptions(retryDelay: 0.02))
        var shown: (any Error)?
        for await status in database.currentStatus.asFlow() {
            shown = status.downloadError as? any Error
            if shown != nil { break }
        }
        let (peak, before) = (ResidentMemory.bytes("VmHWM:"), state.withLock { $0.memory })
        try await database.close()
        let error = try #require(shown as? PowerSyncError)
        #expect(error.code == .protocolViolation)
        #expect(error.localizedDescription.hasSuffix(text), "\(error.localizedDescription)")
        #if os(Linux)
            #expect(before > 0)
            if !TestOptions.hasSanitizer {
                #expect(peak - before <= 16 << 20, "\(before), then up to \(peak) bytes")
            }
        #endif
    }
}
