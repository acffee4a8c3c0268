import Foundation
import PowerSyncServiceEngine
import PowerSyncStack
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// The steps of scenarios against services that do one thing wrong.
@Suite(.patient()) struct ScenarioRunTests {
    // MARK: Lines of a client c1, recorded and sent

    private static let checksum = OperationChecksum.put(type: "t", id: "i", data: "{}")

    private static func data(_ opIDs: ClosedRange<Int>) -> String {
        let operations = opIDs.map { opID in
            #"{"op_id":"\#(opID)","op":"PUT","object_type":"t","object_id":"i","checksum":\#(checksum.value),"#
                + #""subkey":"s/i","data":"{}"}"#
        }
        return #"{"data":{"bucket":"1#a[]","after":"\#(opIDs.lowerBound - 1)","has_more":false,"#
            + #""data":[\#(operations.joined(separator: ","))],"next_after":"\#(opIDs.upperBound)"}}"#
    }

    private static func bucket(count: Int) -> String {
        let sum = (0..<count).reduce(Checksum.zero) { sum, _ in sum + checksum }
        return #"{"bucket":"1#a[]","checksum":\#(sum.signed),"count":\#(count),"priority":3,"#
            + #""subscriptions":[{"default":0}]}"#
    }

    private static func complete(_ opID: Int) -> String {
        #"{"checkpoint_complete":{"last_op_id":"\#(opID)"}}"#
    }

    /// A checkpoint with one row.
    private static let first = [
        #"{"checkpoint":{"last_op_id":"1","buckets":[\#(bucket(count: 1))],"streams":["#
            + #"{"name":"a","is_default":true,"errors":[]}]}}"#,
        data(1...1), complete(1),
    ]

    /// A checkpoint in which the row was written again, or again and again.
    private static func next(_ opIDs: ClosedRange<Int>) -> [String] {
        let last = opIDs.upperBound
        return [
            #"{"checkpoint_diff":{"last_op_id":"\#(last)","removed_buckets":[],"updated_buckets":["#
                + bucket(count: last) + "]}}",
            data(opIDs), complete(last),
        ]
    }
    private static let second = next(2...2)

    // MARK: Steps

    private static let open =
        #"{"open":"c1","user":"u","claims":{"__ttl":3600},"accept":"application/x-ndjson","headers":{},"#
        + #""sent":{"client_id":"c1","buckets":[]}}"#
    private static let tx = #"{"tx":["SELECT 1"]}"#
    private static let head =
        #"{"response":{"status":200,"headers":{"content-type":"application/x-ndjson","#
        + #""transfer-encoding":"chunked"}}}"#

    private static func settle(_ lines: [String], withHead: Bool = false) -> String {
        let entries = (withHead ? [head] : []) + lines.map { #"{"line":\#($0)}"# }
        return #"{"settle":1,"lines":{"c1":[\#(entries.joined(separator: ","))]}}"#
    }

    private static func waitEnd(_ lines: [String], seconds: Double) -> String {
        let entries = lines.map { #"{"line":\#($0)}"# }.joined(separator: ",")
        return
            #"{"wait_end":"c1","seconds":600,"ended":"end","after_seconds":\#(seconds),"lines":{"c1":[\#(entries)]}}"#
    }

    private static let opened = [open, settle(first, withHead: true)]

    private func run(
        _ steps: [String], limit: Int? = nil, silence: Duration = .milliseconds(50),
        _ plan: ScriptedService.Plan
    ) async throws -> ScenarioRun.Result {
        let limits = limit.map { #"{"api":{"parameters":{"max_concurrent_connections":\#($0)}}}"# } ?? "{}"
        let text =
            #"{"name":"s","sync_config":"","service":\#(limits),"steps":[\#(steps.joined(separator: ","))]}"#
        let service = try ScriptedService(plan)
        defer { service.close() }
        return try await ScenarioRun(
            ServiceScenario(parsing: text), service: service, silence: silence
        ).run()
    }

    private func run(
        _ steps: [String], _ stream: @escaping ScriptedService.Script
    ) async throws -> ScenarioRun.Result {
        try await run(steps, ScriptedService.Plan(streams: ["c1": stream]))
    }

    // MARK: Tests

    @Test func whatIsAsRecordedPasses() async throws {
        let result = try await run(Self.opened + [Self.tx, Self.settle(Self.second)]) { stream in
            stream.send(Self.first)
            stream.transactions[0].wait()
            stream.send(Self.second)
            stream.hold()
        }
        #expect(result.failures == [] && result.lineDifferences == [] && result.stopped == nil)
        // The one bucket, where it settles and at the end.
        #expect(result.compared == 3)
        #expect(result.outcome() == .passed(lineByLine: true))
    }

    @Test func linesThatDifferAreToldWhereTheStateIsEqual() async throws {
        let split = [Self.first[0], Self.data(1...1)] + ["{\"token_expires_in\":3}"]
        let partial = #"{"partial_checkpoint_complete":{"last_op_id":"1","priority":0}}"#
        let result = try await run(Self.opened) { stream in
            stream.send(split + [partial, Self.complete(1)])
            stream.hold()
        }
        #expect(result.failures == [])
        try #require(result.lineDifferences.count == 1, "\(result.lineDifferences)")
        #expect(result.lineDifferences[0].hasPrefix("c1: line 2 differs:"))
        #expect(result.outcome() == .passed(lineByLine: false))
    }

    /// Read as JSON, numbers of four bytes and of eight are the same.
    @Test(arguments: [false, true]) func anotherTypeOfANumberIsAFailure(isWide: Bool) async throws {
        let lines = try Self.first.map { text -> SyncLine in
            let line = try SyncLine(parsing: Array(text.utf8))
            // No client reads which one it completes.
            guard case .checkpointComplete = line else { return line }
            return .checkpointComplete(lastOpID: 1)
        }
        func asBSON(_ text: String) -> String {
            text.replacing("application/x-ndjson", with: "application/vnd.powersync.bson-stream")
        }
        let entries = zip(Self.first, lines).map { text, line in
            #"{"line":\#(text),"bson":"\#(Data(line.encodedBSON()).base64EncodedString())"}"#
        }
        let recorded = ([asBSON(Self.head)] + entries).joined(separator: ",")
        var plan = ScriptedService.Plan(streams: [
            "c1": { stream in
                for line in lines { stream.send(line.encodedBSON(wideIntegers: isWide)) }
                stream.hold()
            }
        ])
        plan.head = asBSON(.chunkedHead)
        let result = try await run(
            [asBSON(Self.open), #"{"settle":1,"lines":{"c1":[\#(recorded)]}}"#], plan)
        #expect(result.failures.isEmpty != isWide, "\(result.failures)")
        let other = " has the BSON types 18, recorded "
        #expect(result.failures.allSatisfy { $0.contains(other) }, "\(result.failures)")
    }

    @Test func anotherAnswerToARequestIsAFailure() async throws {
        let http =
            #"{"http":{"method":"GET","path":"/x","user":"u"},"answer":{"status":200,"headers":{"#
            + #""content-type":"application/json"},"body":{"data":"yes"}}}"#
        var plan = ScriptedService.Plan(answers: ["GET /x": #"{"data":"no"}"#])
        let result = try await run([http], plan)
        #expect(result.failures.count == 1)
        #expect(result.failures.first?.hasPrefix("step 0 (http): GET /x: body.data:") == true)
        plan.answers["GET /x"] = #"{"data":"yes"}"#
        let same = try await run([http], plan)
        #expect(same.failures == [] && same.compared == 1)
    }

    @Test func aRequestOfWhichNothingIsComparedDoesNotCount() async throws {
        let http =
            #"{"http":{"method":"GET","path":"/write-checkpoint.json","user":"u"},"#
            + #""answer":{"status":500,"headers":{}}}"#
        let result = try await run([http], ScriptedService.Plan())
        #expect(result.outcome() == .failed(["it compares nothing"]))
    }

    /// Sends the second checkpoint once it is asked for, and then tells.
    private static func late(_ asked: BlockingGate, _ sent: BlockingGate) -> ScriptedService.Script {
        { stream in
            stream.send(first)
            asked.wait()
            stream.send(second)
            sent.open()
            stream.hold()
        }
    }

    /// The lines of the transaction come behind the probe alone: who settles without one misses them.
    @Test(arguments: [nil, 2]) func whatWasWrittenIsWaitedForWithAProbe(limit: Int?) async throws {
        let (asked, sent) = (BlockingGate(), BlockingGate())
        defer { for gate in [asked, sent] { gate.open() } }
        let plan = ScriptedService.Plan(streams: [
            "c1": Self.late(asked, sent),
            "probe-1": { stream in
                asked.open()
                sent.wait()
                ScriptedService.publish(stream)
            },
        ])
        let result = try await run(Self.opened + [Self.tx, Self.settle(Self.second)], limit: limit, plan)
        #expect(result.failures == [])
    }

    @Test(arguments: [(1, false), (2, true)])
    func aProbeTakesNoPlaceThatTheScenarioNeeds(limit: Int, takesOne: Bool) async throws {
        let probes = Lock(0)
        let plan = ScriptedService.Plan(streams: [
            "c1": { stream in
                stream.send(Self.first)
                stream.transactions[0].wait()
                stream.send(Self.second)
                stream.hold()
            },
            "probe-1": { stream in
                probes.withLock { $0 += 1 }
                ScriptedService.publish(stream)
            },
        ])
        // What is opened next counts, too: the service may not know yet that the probe is gone.
        let next = takesOne ? [] : [Self.open]
        let result = try await run(
            Self.opened + [Self.tx, Self.settle(Self.second)] + next, limit: limit + next.count, plan)
        #expect(result.failures == [] && probes.withLock { $0 } == (takesOne ? 1 : 0))
    }

    /// What was written before a stream opened has been waited for there.
    @Test func oneProbeIsForAStreamAndForWhereItSettles() async throws {
        let probes = Lock(0)
        let probe: ScriptedService.Script = { stream in
            probes.withLock { $0 += 1 }
            ScriptedService.publish(stream)
        }
        let plan = ScriptedService.Plan(streams: [
            "c1": { stream in
                stream.send(Self.first)
                stream.hold()
            },
            "probe-1": probe,
            "probe-2": probe,
        ])
        let result = try await run([Self.tx] + Self.opened, plan)
        #expect(result.failures == [] && probes.withLock { $0 } == 1)
        let again = try await run(
            [Self.tx, Self.open, Self.tx, Self.settle(Self.first, withHead: true)], plan)
        #expect(again.failures == [] && probes.withLock { $0 } == 3)
    }

    @Test func ourOwnServiceMustHaveTheGauge() async throws {
        var plan = ScriptedService.Plan(streams: [
            "c1": { stream in
                stream.send(Self.first)
                stream.hold()
            }
        ])
        plan.hasGauge = false
        let own = try await run(Self.opened, plan)
        #expect(own.failures.first?.contains("have no powersync_sessions_behind") == true, "\(own.failures)")
        plan.isOwn = false
        let other = try await run(Self.opened, plan)
        #expect(other.failures == [] && other.lacksGauge)
    }

    @Test func aScenarioThatComparesNothingFails() {
        #expect(ScenarioRun.Result().outcome() == .failed(["it compares nothing"]))
    }

    // MARK: Ends

    private static let tokens = [#"{"token_expires_in":2}"#, #"{"token_expires_in":0}"#]

    @Test func theEndOfATokenIsComparedWithItsKindAndItsLastLine() async throws {
        let steps = [Self.open, Self.waitEnd(Self.first + Self.tokens, seconds: 0)]
        let cut = try await run(steps) { stream in stream.send(Self.first + Self.tokens) }
        #expect(
            cut.failures.contains { $0.hasPrefix("step 1 (wait_end): c1: ended cut ") }, "\(cut.failures)")
        let silent = try await run(steps) { stream in
            stream.send(Self.first)
            stream.end()
        }
        #expect(
            silent.failures.contains("step 1 (wait_end): c1: token_expires_in 2 did not come, but []"),
            "\(silent.failures)")
        #expect(
            silent.failures.contains(
                "step 1 (wait_end): c1: the last token_expires_in is missing, recorded 0"),
            "\(silent.failures)")
        #expect(
            silent.failures.contains {
                $0.hasPrefix("step 1 (wait_end): c1: ended after ")
                    && $0.hasSuffix(" s, before its token did")
            }, "\(silent.failures)")
    }

    @Test func theTimeOfAnEndIsCompared() async throws {
        let result = try await run([Self.open, Self.waitEnd(Self.first + Self.tokens, seconds: 3600)]) {
            stream in
            stream.send(Self.first + Self.tokens)
            stream.end()
        }
        #expect(
            result.failures.contains { $0.hasSuffix(" s, recorded after 3600.0 s") }, "\(result.failures)")
    }

    /// Opens the stream, makes a transaction that the real service sent nothing for, and lets the stream do something.
    ///
    /// - Parameter act: what it does; whether it goes on then.
    /// - Returns: the failures.
    /// - Throws: what the run throws.
    private func run(acting act: @escaping @Sendable (ScriptedStream) -> Bool) async throws -> [String] {
        let acted = BlockingGate()
        defer { acted.open() }
        let plan = ScriptedService.Plan(streams: [
            "c1": { stream in
                stream.send(Self.first)
                stream.transactions[0].wait()
                let goesOn = act(stream)
                // The probe tells that all is published, so the end has to come before it.
                if !goesOn { stream.connection.finishSending() }
                acted.open()
                if goesOn { stream.hold() }
            },
            "probe-1": { stream in
                acted.wait()
                ScriptedService.publish(stream)
            },
        ])
        return try await run(Self.opened + [Self.tx, Self.settle([])], plan).failures
    }

    @Test func aStreamThatEndsEarlyIsNoticed() async throws {
        #expect(try await run { _ in true } == [])
        let cut = try await run { _ in false }
        #expect(
            cut.first?.contains(": c1: its stream ended (cut), the recorded one did not") == true, "\(cut)")
        let ended = try await run { stream in
            stream.end()
            return false
        }
        #expect(
            ended.first?.contains(": c1: its stream ended (end), the recorded one did not") == true,
            "\(ended)")
        let garbage = try await run { stream in
            stream.connection.chunk("garbage\n")
            return true
        }
        #expect(garbage.first?.contains(": c1: its stream ended (error), ") == true, "\(garbage)")
        let half = try await run { stream in
            stream.connection.chunk(#"{"token_expires_in""#)
            stream.end()
            return false
        }
        #expect(half.first?.contains("the stream ended within a line") == true, "\(half)")
    }

    @Test func aServiceThatHasEndedIsNoStoppedOne() async throws {
        var plan = ScriptedService.Plan(
            streams: [
                "c1": { stream in
                    stream.send(Self.first)
                    stream.hold()
                }
            ], answers: ["GET /x": "{}"])
        plan.transactionsToLive = 1
        let http =
            #"{"http":{"method":"GET","path":"/x","user":"u"},"answer":{"status":200,"headers":{"#
            + #""content-type":"application/json"}}}"#
        for step in [Self.settle([]), http, Self.waitEnd([], seconds: 1)] {
            let failures = try await run(Self.opened + [Self.tx, step], plan).failures
            #expect(failures.count == 1 && failures[0].hasPrefix("step 3 ("), "\(failures)")
            #expect(
                failures.first?.hasSuffix(
                    ": the service has ended by itself; the log of the service ends: none")
                    == true, "\(failures)")
        }
    }

    @Test func aTornTransactionIsNoticed() async throws {
        func failures(_ sent: [String]) async throws -> [String] {
            try await run(Self.opened + [Self.tx, Self.settle(Self.next(2...3))]) { stream in
                stream.send(Self.first)
                stream.transactions[0].wait()
                stream.send(sent)
                stream.hold()
            }.failures
        }
        #expect(try await failures(Self.next(2...3)) == [])
        #expect(
            try await failures(Self.next(2...2) + Self.next(3...3)) == [
                "step 3 (settle): c1: 2 checkpoints changed its buckets, and there were 1 transactions: one is torn"
            ])
        // Two may come in one.
        let both = try await run(
            Self.opened + [Self.tx, Self.tx, Self.settle(Self.next(2...2) + Self.next(3...3))]
        ) { stream in
            stream.send(Self.first)
            stream.transactions[1].wait()
            stream.send(Self.next(2...3))
            stream.hold()
        }
        #expect(both.failures == [])
    }

    @Test func whatComesBehindTheLastStepIsCompared() async throws {
        let (asked, sent) = (BlockingGate(), BlockingGate())
        defer { for gate in [asked, sent] { gate.open() } }
        var plan = ScriptedService.Plan(streams: ["c1": Self.late(asked, sent)])
        // Twice in the step that settles, then at the end.
        plan.whenAskedForLife = { number in
            guard number == 3 else { return }
            asked.open()
            sent.wait()
        }
        // Long enough for a busy machine to read what was sent.
        let result = try await run(Self.opened, silence: .seconds(4), plan)
        #expect(
            result.failures.first?.hasPrefix("behind the last step: c1: bucket a[]: checksum ") == true,
            "\(result.failures)")
        #expect(result.lineDifferences.count == 1)
    }
}
