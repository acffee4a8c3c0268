import Foundation
import PowerSyncStack
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@Suite struct ServiceScenarioTests {
    /// Every recorded scenario by the name of its file.
    static func recordings() throws -> [(file: String, scenario: ServiceScenario)] {
        try ["service/curated", "service/random", "service/types"].flatMap { folder in
            try Repository.fixtureFiles(folder).map { file in
                let text = try String(contentsOf: file, encoding: .utf8)
                let name = file.deletingPathExtension().lastPathComponent
                return (name, try ServiceScenario(parsing: text))
            }
        }
    }

    @Test func readsEveryRecording() throws {
        let recordings = try Self.recordings()
        #expect(recordings.count == 164)
        for (file, scenario) in recordings {
            #expect(scenario.name == file)
            #expect(!scenario.steps.isEmpty)
        }
        #expect(recordings.filter { $0.scenario.streamLimit != nil }.map(\.file) == ["too-many-connections"])
        #expect(
            recordings.filter { $0.scenario.syncConfigs.count == 2 }.map(\.file)
                == ["redeploy-other-config", "redeploy-same-config"])
    }

    private static func document(_ members: [UInt8]) -> [UInt8] {
        [UInt8(members.count + 5), 0, 0, 0] + members + [0]
    }

    @Test func theTypesOfBSONLinesAreRead() throws {
        let recordings = try Self.recordings().filter { $0.file.hasPrefix("bson") }
        #expect(recordings.count == 3)
        for (file, scenario) in recordings {
            var types = BSONTypes()
            for step in scenario.steps {
                switch step {
                case .settle(let lines): lines.values.forEach { types.add($0.types) }
                case .waitEnd(let end): end.lines.values.forEach { types.add($0.types) }
                default: break
                }
            }
            // {"checkpoint_complete": {"last_op_id": 1}}, with a number where a text has to be.
            let inner = Self.document([0x10] + Array("last_op_id".utf8) + [0, 1, 0, 0, 0])
            var other = BSONTypes()
            try other.add(Self.document([0x03] + Array("checkpoint_complete".utf8) + [0] + inner))
            #expect(types.differences(from: types) == [])
            #expect(
                types.differences(from: other)
                    == ["checkpoint_complete.last_op_id has the BSON types 16, recorded 2"], "\(file)")
        }
    }

    @Test func everyRecordingIsConsistentInItself() throws {
        for (file, scenario) in try Self.recordings() {
            var states: [String: SyncStreamState] = [:]
            func apply(_ lines: [String: RecordedLines]) {
                for (client, recording) in lines {
                    for line in recording.lines { states[client]?.apply(line) }
                }
            }
            for step in scenario.steps {
                switch step {
                case .open(let opening):
                    var state = SyncStreamState(isRecorded: true)
                    for bucket in opening.sent["buckets"]?.arrayValue ?? [] {
                        let name = bucket["name"]?.stringValue ?? ""
                        let after = bucket["after"]?.stringValue.flatMap { Int64($0) } ?? 0
                        let former = opening.positionsOf.flatMap { states[$0] }
                        state.begin(name, at: after, from: former?.reached(BucketLabel(name).text))
                    }
                    states[opening.client] = state
                case .settle(let lines): apply(lines)
                case .waitEnd(let end): apply(end.lines)
                default: break
                }
            }
            for (client, state) in states {
                #expect(state.broken == [], "\(file), \(client)")
                #expect(state.unfit == [], "\(file), \(client)")
            }
        }
    }

    @Test(arguments: [
        ("{", "not JSON"), (#"{"sync_config":"","steps":[]}"#, "\"name\" is missing"),
        (
            #"{"name":"a","sync_config":"","steps":[{"tx":[]},{"dance":1}]}"#,
            "step 1: no step is known with dance"
        ),
        (#"{"name":"a","sync_config":"","steps":[{"tx":[1]}]}"#, "step 0: a statement is no text"),
        (#"{"name":"a","sync_config":"","steps":[{"tx":"x"}]}"#, "step 0: \"tx\" is no list"),
        (#"{"name":"a","sync_config":"","schema":"x","steps":[]}"#, "\"schema\" is no list"),
        (#"{"name":"a","sync_config":"","steps":[{"close":"c"}]}"#, "step 0: no client c was opened"),
        (
            #"{"name":"a","sync_config":"","steps":[{"settle":1,"lines":{"c":[]}}]}"#,
            "step 0: no client c was opened"
        ),
        (
            #"{"name":"a","sync_config":"","steps":[{"open":"d","user":"u","accept":"","positions_of":"c"}]}"#,
            "step 0: no client c was opened"
        ),
        (
            #"{"name":"a","sync_config":"","steps":[{"wait_end":"c","seconds":1,"ended":"never"}]}"#,
            "step 0: \"wait_end\" needs \"ended\", \"seconds\" and \"after_seconds\""
        ),
    ])
    func saysWhatIsWrongWithAFile(text: String, message: String) {
        let error = #expect(throws: StackError.self) { try ServiceScenario(parsing: text) }
        #expect(error?.message.hasPrefix(message) == true, "\(error?.message ?? "")")
    }

    @Test func sendsALongTextThatIsOneLetterAgainAndAgain() throws {
        let recording = try Self.recordings().first { $0.file == "content-types-and-bodies" }
        let bodies = (recording?.scenario.steps ?? []).compactMap { step -> [UInt8]? in
            if case .http(let request, _) = step { request.body } else { nil }
        }
        #expect(bodies.contains { $0.count > 1_100_000 })
    }
}
