import Foundation
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// Plays what a scripted service and backend did to the official Node SDK to this client, and compares what each did in
/// every respect that Tests/Fixtures/client/README.md names.
@Suite(.patient()) struct ClientRecordingTests {
    static let files: [String] = {
        let files = try? Repository.fixtureFiles("client")
        return (files ?? []).map(\.lastPathComponent)
    }()

    @Test func allRecordingsAreHere() { #expect(Self.files.count == 36) }

    @Test(arguments: files, RecordedWire.allCases)
    func behavesAsTheOfficialClientDoes(_ file: String, _ wire: RecordedWire) async throws {
        let recording = try ClientRecording(file)
        let player = try RecordingPlayer(recording, as: wire)
        let database = player.bench.database
        do {
            try await player.play()
            try await wait(for: "the status of the recording", read: { player.status }) {
                $0 == recording.status
            }
            #expect(try await player.rows() == recording.rows)
            let queued = try await database.get("SELECT count(*) FROM ps_crud") { try $0.getInt(index: 0) }
            #expect(queued == recording.queued)
            let streams = player.bench.transport.streams.filter { $0.status == 200 }
            #expect(streams.count == recording.closings.count)
            for (stream, isClosedByClient) in zip(streams, recording.closings) {
                guard let isClosedByClient else { continue }
                try await wait(for: "a stream to be as in the recording") {
                    stream.isCancelled == isClosedByClient
                }
            }
        } catch {
            // The error that ended the play says more than one that comes of it.
            try? await database.close()
            throw error
        }
        // Nothing more can come once it is closed.
        try await database.close()
        #expect(player.notes.requests == recording.requests)
        #expect(player.notes.shown == recording.shown)
        #expect(player.checkpoints == recording.checkpoints)
        guard recording.isTimed else { return }
        let (ours, theirs) = (Self.gaps(player.notes.times), Self.gaps(recording.requestTimes))
        for (index, (our, their)) in zip(ours, theirs).enumerated() {
            #expect(
                abs((our - their) / .milliseconds(1)) <= RecordingPlayer.slack / .milliseconds(1),
                "request \(index + 2) comes after \(our), in the recording after \(their)")
        }
    }

    private static func gaps(_ times: [Duration]) -> [Duration] {
        zip(times, times.dropFirst()).map { $1 - $0 }
    }
}
