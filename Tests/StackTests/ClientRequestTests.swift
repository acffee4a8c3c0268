import PowerSyncStack
import PowerSyncWire
import Testing

/// What commands mean that leave something out.
struct ClientRequestTests {
    private func operation(_ text: String) throws -> ClientRequest.Operation {
        try ClientRequest(JSON.parse(text)).operation
    }

    @Test(arguments: [
        (#"{"op":"connect"}"#, 0.5, 0.01), (#"{"op":"connect","retry":20}"#, 0.02, 0.01),
        (#"{"op":"connect","retry":0,"throttle":1500}"#, 0, 1.5),
    ])
    func connectingHasItsTimes(_ text: String, _ retry: Double, _ throttle: Double) throws {
        guard case .change(.connect(let seenRetry, let seenThrottle)) = try operation(text) else {
            Issue.record("another command")
            return
        }
        #expect(seenRetry == retry)
        #expect(seenThrottle == throttle)
    }

    @Test(arguments: [
        (#"{"op":"watch","sql":"SELECT 1"}"#, 0.001),
        (#"{"op":"watch","sql":"SELECT 1","throttle":250}"#, 0.25),
    ])
    func aWatchHasItsThrottle(_ text: String, _ throttle: Double) throws {
        guard case .watch(_, let seen) = try operation(text) else {
            Issue.record("another command")
            return
        }
        #expect(seen == throttle)
    }

    @Test(arguments: [
        (#"{"op":"unwatch","id":3}"#, "3"), (#"{"op":"unwatch","id":9,"watch":3}"#, "3"),
        (#"{"op":"unwatch","watch":"a"}"#, #""a""#), (#"{"op":"unwatch","id":3,"watch":null}"#, "3"),
    ])
    func unwatchNamesAWatchByItsId(_ text: String, _ id: String) throws {
        guard case .unwatch(let seen) = try operation(text) else {
            Issue.record("another command")
            return
        }
        #expect(seen.text == id)
    }

    @Test func unwatchWithoutAnIdIsAMistake() {
        let error = #expect(throws: ClientError.self) { try operation(#"{"op":"unwatch"}"#) }
        #expect(error?.message == "watch: expected the id of a watch")
    }

    @Test(arguments: [
        (#"{"op":"clear"}"#, false), (#"{"op":"clear","soft":true}"#, true),
        (#"{"op":"clear","soft":false}"#, false),
    ])
    func clearingIsHardUnlessSaidOtherwise(_ text: String, _ soft: Bool) throws {
        guard case .change(.clear(let seen)) = try operation(text) else {
            Issue.record("another command")
            return
        }
        #expect(seen == soft)
    }

    @Test(
        arguments: [
            (#"{"op":"stream","name":"s"}"#, nil, nil),
            (#"{"op":"stream","name":"s","ttl":60,"priority":2}"#, 60, 2),
        ] as [(String, Double?, Int32?)])
    func aStreamHasWhatIsAskedFor(_ text: String, _ timeToLive: Double?, _ priority: Int32?) throws {
        guard case .change(.stream(_, let seenTime, let seenPriority)) = try operation(text) else {
            Issue.record("another command")
            return
        }
        #expect(seenTime == timeToLive)
        #expect(seenPriority == priority)
    }

    @Test(
        arguments: [
            (#"{"op":"attach","file":"f","tx":[["SELECT 1"],["SELECT ?",[{"$attachment":true}]]]}"#, nil, 2),
            (#"{"op":"attach","file":"f","media_type":"image/png","tx":[]}"#, "image/png", 0),
        ] as [(String, String?, Int)])
    func aFileMayHaveAMediaType(_ text: String, _ mediaType: String?, _ count: Int) throws {
        guard case .change(.attach(let file, let seen, let statements)) = try operation(text) else {
            Issue.record("another command")
            return
        }
        #expect(file == "f")
        #expect(seen == mediaType)
        #expect(statements.count == count)
    }

    @Test func filesAreDeletedListedAndCopied() throws {
        let deleting = try operation(#"{"op":"delete-attachment","attachment_id":"a","tx":[["SELECT 1"]]}"#)
        guard case .change(.deleteAttachment("a", let statements)) = deleting, statements.count == 1,
            case .look(.attachments) = try operation(#"{"op":"attachments","id":7}"#),
            case .look(.export("a", "f")) = try operation(#"{"op":"export","attachment_id":"a","file":"f"}"#)
        else {
            Issue.record("another command")
            return
        }
    }

    @Test(
        arguments: [
            (#"{"op":"wait","for":"first-sync"}"#, "first-sync", nil),
            (#"{"op":"wait","for":"attachments"}"#, "attachments", nil),
            (#"{"op":"wait","for":"up-to-date","timeout":1.5}"#, "up-to-date", 1.5),
        ] as [(String, String, Double?)])
    func aWaitLastsForEverUnlessSaidOtherwise(_ text: String, _ name: String, _ timeout: Double?) throws {
        guard case .wait(let condition, let seen) = try operation(text) else {
            Issue.record("another command")
            return
        }
        #expect(condition.name == name)
        #expect(seen == timeout)
    }
}
