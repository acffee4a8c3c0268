import PowerSyncMockService
import PowerSyncStack
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// The steps of scenarios against services that do one thing wrong.
@Suite(.patient()) struct ScenarioRunTests {
    // MARK: Lines of a client c1, recorded and sent

    private static let checksum = OperationChecksum.put(type: "t", id: "i", data: "{}")

    private static func data(_ opID: Int, after: Int) -> String {
        #"{"data":{"bucket":"1#a[]","after":"\#(after)","has_more":false,"data":[{"op_id":"\#(opID)","op":"PUT","#
            + #""object_type":"t","object_id":"i","checksum":\#(checksum.value),"subkey":"s/i","data":"{}"}],"#
            + #""next_after":"\#(opID)"}}"#
    }

    private static func bucket(count: Int) -> String {
        let sum = count == 1 ? checksum : checksum + checksum
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
        data(1, after: 0), complete(1),
    ]

    /// A checkpoint in which the row was written again.
    private static let second = [
        #"{"checkpoint_diff":{"last_op_id":"2","removed_buckets":[],"updated_buckets":[\#(bucket(count: 2))]}}"#,
        data(2, after: 1), complete(2),
    ]

    // MARK: Steps

    private static let open =
        #"{"open":"c1","user":"u","claims":{"__ttl":4},"accept":"application/x-ndjson","headers":{},"#
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
        return #"{"wait_end":"c1","seconds":9,"ended":"end","after_seconds":\#(seconds),"lines":{"c1":[\#(entries)]}}"#
    }

    private static let opened = [open, settle(first, withHead: true)]

    private func run(_ steps: [String], _ plan: ScriptedService.Plan) async throws -> ScenarioRun.Result {
        let text = #"{"name":"s","sync_config":"","steps":[\#(steps.joined(separator: ","))]}"#
        let service = try ScriptedService(plan)
        defer { service.close() }
        return try await ScenarioRun(ServiceScenario(parsing: text), service: service, syncConfigs: [""]).run()
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
        #expect(result.compared == 2)
        #expect(result.outcome() == .passed(lineByLine: true))
    }

    @Test func linesThatDifferAreToldWhereTheStateIsEqual() async throws {
        let split = [Self.first[0], Self.data(1, after: 0)] + ["{\"token_expires_in\":3}"]
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

    @Test func anotherAnswerToARequestIsAFailure() async throws {
        let http =
            #"{"http":{"method":"GET","path":"/x","user":"u"},"answer":{"status":200,"headers":{},"#
            + #""body":{"data":"yes"}}}"#
        var plan = ScriptedService.Plan(answers: ["GET /x": #"{"data":"no"}"#])
        let result = try await run([http], plan)
        #expect(result.failures.count == 1)
        #expect(result.failures.first?.hasPrefix("step 0 (http): GET /x: body.data:") == true)
        plan.answers["GET /x"] = #"{"data":"yes"}"#
        let same = try await run([http], plan)
        #expect(same.failures == [] && same.compared == 1)
    }

    /// The lines of the transaction come behind the probe alone: who settles without one misses them.
    @Test func whatWasWrittenIsWaitedForWithAProbe() async throws {
        let (asked, sent) = (BlockingGate(), BlockingGate())
        defer { for gate in [asked, sent] { gate.open() } }
        let plan = ScriptedService.Plan(streams: [
            "c1": { stream in
                stream.send(Self.first)
                asked.wait()
                stream.send(Self.second)
                sent.open()
                stream.hold()
            },
            "probe-1": { stream in
                asked.open()
                sent.wait()
                ScriptedService.publish(stream)
            },
        ])
        let result = try await run(Self.opened + [Self.tx, Self.settle(Self.second)], plan)
        #expect(result.failures == [])
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
        let omitted = ScenarioRun.Result().outcome(omitting: ["a"])
        #expect(omitted == .notRun("nothing is left without the refused streams"))
    }

    // MARK: Ends

    private static let tokens = [#"{"token_expires_in":2}"#, #"{"token_expires_in":0}"#]

    @Test func theEndOfATokenIsComparedWithItsKindAndItsLastLine() async throws {
        let steps = [Self.open, Self.waitEnd(Self.first + Self.tokens, seconds: 0)]
        let cut = try await run(steps) { stream in stream.send(Self.first + Self.tokens) }
        #expect(cut.failures.contains { $0.hasPrefix("step 1 (wait_end): c1: ended cut ") }, "\(cut.failures)")
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
        #expect(silent.failures.contains("step 1 (wait_end): c1: ended after 0 s, before its token did"))
    }
}
