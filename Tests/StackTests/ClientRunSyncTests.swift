import Foundation
import PowerSync
import PowerSyncStack
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What a driving program gets to its commands while a client syncs, with a service that says what the test wants.
@Suite(.patient())
struct ClientRunSyncTests {
    private static let connect = #"{"id":1000,"op":"connect","retry":20,"throttle":1}"#

    /// Lets `body` drive a client of a peer, and ends it by the end of its input.
    private func with(
        login: ((ScriptedPeer) -> ClientOptions.Login)? = nil, usesCheckpointRequests: Bool = false,
        reading read: @escaping @Sendable (String) -> Void = { _ in },
        results: @escaping @Sendable (String) -> String? = { _ in nil },
        _ body: (DrivenClient, ScriptedPeer) async throws -> Void
    ) async throws {
        let folder = try TemporaryDirectory(prefix: "client-")
        let peer = try ScriptedPeer(results: results)
        var options = ClientOptions(
            database: folder.path + "/c.db",
            schema: Schema(Table(name: "items", columns: [.text("name")])), endpoint: peer.url,
            login: login?(peer) ?? .user("u", backend: peer.url))
        options.parameters = ["list": .int(5)]
        options.usesCheckpointRequests = usesCheckpointRequests
        let client = try DrivenClient(options, reading: read)
        try await body(client, peer)
        #expect(try await client.end() == 0)
        folder.remove()
    }

    /// Waits until the status says so.
    @discardableResult
    private func status(
        _ client: DrivenClient, _ state: String, until isReached: (JSON) -> Bool
    ) async throws -> JSON {
        var id = client.all.count * 1000 + 1_000_000
        return try await wait(
            for: state,
            read: {
                id += 1
                return try await client.ask(#"{"id":\#(id),"op":"status"}"#)
            }, until: isReached)
    }

    private func rows(_ client: DrivenClient, id: Int) async throws -> String? {
        try await client.ask(#"{"id":\#(id),"op":"read","sql":"SELECT name FROM items ORDER BY id"}"#)[
            "rows"]?
            .text
    }

    @Test func connectSyncsAndEachAppliedCheckpointIsAnEvent() async throws {
        try await with { client, peer in
            client.send(#"{"id":1,"op":"wait","for":"first-sync"}"#)
            #expect(try await client.ask(Self.connect).text == #"{"id":1000,"ok":true}"#)
            let stream = try await peer.stream()
            #expect(stream.request.contains(#""parameters":{"list":5}"#))
            stream.say(ScriptedPeer.checkpoint(1), ScriptedPeer.row(1))
            try await status(client, "a download") { $0["downloading"] == .bool(true) }
            #expect(client.answer(to: 1) == nil)
            #expect(client.events("checkpoint").isEmpty)
            stream.say(ScriptedPeer.complete(1))
            #expect(try await client.answered(1)["ok"] == .bool(true))
            #expect(try await rows(client, id: 2) == #"[{"name":"row 1"}]"#)
            let synced = try await client.ask(#"{"id":3,"op":"status"}"#)
            #expect(synced["connected"] == .bool(true) && synced["hasSynced"] == .bool(true))
            #expect(synced["progress"]?.isNull == true)
            try await wait(for: "the event") { client.events("checkpoint").count == 1 }
            #expect(client.events("checkpoint")[0]["at"] == synced["lastSyncedAt"])
            // One that is not complete yet is none.
            stream.say(ScriptedPeer.checkpoint(2), ScriptedPeer.row(2))
            let during = try await status(client, "another download") { $0["downloading"] == .bool(true) }
            #expect(during["progress"]?["total"] == .number("1"))
            #expect(client.events("checkpoint").count == 1)
            stream.say(ScriptedPeer.complete(2))
            try await wait(for: "the second event") { client.events("checkpoint").count == 2 }
            #expect(try await rows(client, id: 4) == #"[{"name":"row 1"},{"name":"row 2"}]"#)
        }
    }

    @Test func whatWasSyncedBeforeIsNoEventOfThisRun() async throws {
        let folder = try TemporaryDirectory(prefix: "client-")
        let peer = try ScriptedPeer()
        let options = ClientOptions(
            database: folder.path + "/c.db",
            schema: Schema(Table(name: "items", columns: [.text("name")])), endpoint: peer.url,
            login: .user("u", backend: peer.url))
        let first = try DrivenClient(options)
        _ = try await first.ask(Self.connect)
        try await peer.stream().say(
            ScriptedPeer.checkpoint(1), ScriptedPeer.row(1), ScriptedPeer.complete(1))
        try await wait(for: "the event") { first.events("checkpoint").count == 1 }
        #expect(try await first.end() == 0)
        let second = try DrivenClient(options)
        let answer = try await second.ask(#"{"id":1,"op":"wait","for":"first-sync","timeout":600}"#)
        #expect(answer["ok"] == .bool(true))
        #expect(try await second.end() == 0)
        #expect(second.events("checkpoint").isEmpty)
    }

    @Test func upToDateMeansThatWhatWasWrittenHereHasComeBack() async throws {
        try await with { client, peer in
            _ = try await client.ask(Self.connect)
            let stream = try await peer.stream()
            stream.say(ScriptedPeer.checkpoint(0), ScriptedPeer.complete(0))
            _ = try await client.ask(#"{"id":1,"op":"wait","for":"up-to-date"}"#)
            client.send(
                #"{"id":2,"op":"write","tx":[["INSERT INTO items (id, name) VALUES ('r1', 'row 1')"]]}"#,
                #"{"id":3,"op":"wait","for":"up-to-date"}"#, #"{"id":4,"op":"wait","for":"queue-empty"}"#)
            #expect(try await client.answered(4)["ok"] == .bool(true))
            var id = 100
            try await wait(
                for: "the target",
                read: {
                    id += 1
                    return try await client.ask(
                        #"""
                        {"id":\#(id),"op":"read","sql":"SELECT value FROM ps_kv WHERE key = \#
                        'target_checkpoint_request_id'"}
                        """#)["rows"]?.text
                }, until: { $0 == "[{\"value\":\(ScriptedPeer.writeCheckpoint)}]" })
            // Complete, but without the write checkpoint: it is applied when that has come.
            stream.say(ScriptedPeer.checkpoint(1), ScriptedPeer.row(1), ScriptedPeer.complete(1))
            try await wait(
                for: "the operation to be stored",
                read: {
                    id += 1
                    return try await client.ask(
                        #"{"id":\#(id),"op":"read","sql":"SELECT last_op FROM ps_buckets WHERE name = 'b'"}"#)[
                            "rows"]?.text
                }, until: { $0 == #"[{"last_op":1}]"# })
            #expect(client.answer(to: 3) == nil)
            stream.say(
                ScriptedPeer.checkpoint(1, writeCheckpoint: ScriptedPeer.writeCheckpoint),
                ScriptedPeer.complete(1))
            #expect(try await client.answered(3)["ok"] == .bool(true))
            #expect(peer.requests("POST /api/data ").count == 1)
        }
    }

    private static func insert(_ row: String, id: Int) -> String {
        #"{"id":\#(id),"op":"write","tx":[["INSERT INTO items (id, name) VALUES ('\#(row)', 'x')"]]}"#
    }

    @Test func whatTheBackendRefusesIsAnEvent() async throws {
        try await with(results: ScriptedPeer.refusing("bad", isUndecided: false)) { client, peer in
            _ = try await client.ask(Self.connect)
            _ = try await peer.stream()
            _ = try await client.ask(Self.insert("bad", id: 1))
            try await wait(for: "the event") { client.events("rejected").count == 1 }
            let event = client.events("rejected")[0]
            let time = try #require(event["at"]?.int64Value)
            let number = try #require(event["transaction"]?.int64Value)
            #expect(
                event.text == #"""
                    {"event":"rejected","at":\#(time),"code":"CHECK_VIOLATION","message":"must be positive",\#
                    "table":"items","id":"bad","rejection":"0190","transaction":\#(number),"undecided":false}
                    """#)
            #expect(try await client.ask(#"{"id":2,"op":"crud-count"}"#)["count"] == .number("0"))
            // There is nothing to decide, and what comes behind it is taken.
            let refused = try await client.ask(#"{"id":3,"op":"discard"}"#)
            #expect(refused["code"] == .string("invalidState"))
            _ = try await client.ask(Self.insert("good", id: 4))
            #expect(try await client.ask(#"{"id":5,"op":"wait","for":"queue-empty"}"#)["ok"] == .bool(true))
            #expect(client.events("rejected").count == 1)
        }
    }

    @Test func whatTheBackendLeavesToTheClientWaitsUntilItIsDiscarded() async throws {
        try await with(results: ScriptedPeer.refusing("bad", isUndecided: true)) { client, peer in
            _ = try await client.ask(Self.insert("bad", id: 1))
            // Nobody has refused it yet.
            let early = try await client.ask(#"{"id":2,"op":"discard"}"#)
            #expect(early["code"] == .string("invalidState"))
            _ = try await client.ask(Self.connect)
            _ = try await peer.stream()
            try await wait(for: "the event") { client.events("rejected").count == 1 }
            #expect(client.events("rejected")[0]["undecided"] == .bool(true))
            _ = try await client.ask(Self.insert("good", id: 3))
            // It is refused with each attempt, and told once.
            let attempts = peer.requests("POST /api/data ").count
            try await wait(for: "more attempts") { peer.requests("POST /api/data ").count > attempts + 2 }
            let waiting = try await status(client, "the error") { $0["uploadError"]?.isNull == false }
            #expect(waiting["uploadError"]?["code"] == .string("uploadUndecided"))
            #expect(try await client.ask(#"{"id":4,"op":"crud-count"}"#)["count"] == .number("2"))
            #expect(client.events("rejected").count == 1)
            let discarded = try await client.ask(#"{"id":5,"op":"discard"}"#)
            #expect(discarded.text == #"{"id":5,"ok":true,"count":1}"#)
            #expect(try await client.ask(#"{"id":6,"op":"wait","for":"queue-empty"}"#)["ok"] == .bool(true))
            #expect(peer.requests("POST /api/data ").last?.contains(#""id":"good""#) == true)
            try await status(client, "the end of the error") { $0["uploadError"]?.isNull == true }
            let again = try await client.ask(#"{"id":7,"op":"discard"}"#)
            #expect(again["code"] == .string("invalidState"))
            #expect(client.events("rejected").count == 1)
        }
    }

    /// That the backend says to come again decides nothing of what it has left to the client.
    @Test func whatIsToComeAgainMeanwhileCanStillBeDiscarded() async throws {
        let (isBusy, refusing) = (Lock(false), ScriptedPeer.refusing("bad", isUndecided: true))
        let results: @Sendable (String) -> String? = { request in
            isBusy.withLock { $0 } ? #"{"status":"retryable_error"}"# : refusing(request)
        }
        try await with(results: results) { client, peer in
            _ = try await client.ask(Self.insert("bad", id: 1))
            _ = try await client.ask(Self.connect)
            _ = try await peer.stream()
            try await wait(for: "the event") { client.events("rejected").count == 1 }
            isBusy.withLock { $0 = true }
            let attempts = peer.requests("POST /api/data ").count
            try await wait(for: "more attempts") { peer.requests("POST /api/data ").count > attempts + 2 }
            #expect(try await client.ask(#"{"id":2,"op":"discard"}"#)["count"] == .number("1"))
            #expect(try await client.ask(#"{"id":3,"op":"wait","for":"queue-empty"}"#)["ok"] == .bool(true))
        }
    }

    @Test func checkpointRequestsTakeThePlaceOfWriteCheckpointsWhereAskedFor() async throws {
        try await with(usesCheckpointRequests: true) { client, peer in
            _ = try await client.ask(Self.connect)
            let stream = try await peer.stream()
            stream.say(ScriptedPeer.checkpoint(0), ScriptedPeer.complete(0))
            _ = try await client.ask(
                #"{"id":1,"op":"write","tx":[["INSERT INTO items (id, name) VALUES ('r1', 'row 1')"]]}"#)
            // That of the stream, then that of the upload.
            try await wait(for: "the request of the upload") {
                peer.requests("POST /sync/checkpoint-request ").count == 2
            }
            client.send(#"{"id":2,"op":"wait","for":"up-to-date"}"#)
            stream.say(
                ScriptedPeer.checkpoint(1, writeCheckpoint: 2), ScriptedPeer.row(1), ScriptedPeer.complete(1))
            #expect(try await client.answered(2)["ok"] == .bool(true))
            #expect(try await rows(client, id: 3) == #"[{"name":"row 1"}]"#)
            #expect(peer.requests("GET /write-checkpoint2.json?").isEmpty)
        }
    }

    @Test func aTimeOf0AsksOnceAndAnswersByTheState() async throws {
        try await with { client, peer in
            _ = try await client.ask(#"{"id":1,"op":"stream","name":"lists"}"#)
            _ = try await client.ask(Self.connect)
            try await peer.stream().say(ScriptedPeer.checkpoint(0), ScriptedPeer.complete(0))
            _ = try await client.ask(#"{"id":2,"op":"wait","for":"up-to-date"}"#)
            let states = [#""first-sync""#, #""stream","name":"lists""#, #""up-to-date""#, #""queue-empty""#]
            for id in 100..<300 {
                let answer = try await client.ask(
                    #"{"id":\#(id),"op":"wait","for":\#(states[id % states.count]),"timeout":0}"#)
                #expect(answer["ok"] == .bool(true))
            }
        }
    }

    /// It takes the place of the one before, which was up to date, without a disconnection in between.
    @Test func aStreamThatIsSubscribedToIsUpToDateWhenItHasCome() async throws {
        try await with { client, peer in
            _ = try await client.ask(Self.connect)
            try await peer.stream().say(ScriptedPeer.checkpoint(0), ScriptedPeer.complete(0))
            _ = try await client.ask(#"{"id":1,"op":"wait","for":"up-to-date"}"#)
            _ = try await client.ask(#"{"id":2,"op":"stream","name":"lists"}"#)
            let second = try await peer.stream(2)
            #expect(second.request.contains(#""stream":"lists""#))
            var id = 100
            try await wait(
                for: "what was subscribed to to be missed",
                read: {
                    id += 1
                    return try await client.ask(
                        #"{"id":\#(id),"op":"wait","for":"up-to-date","timeout":0.05}"#)
                }, until: { $0["code"] == .string("timedOut") })
            client.send(#"{"id":4,"op":"wait","for":"up-to-date"}"#)
            second.say(ScriptedPeer.checkpoint(1), ScriptedPeer.row(1), ScriptedPeer.complete(1))
            #expect(try await client.answered(4)["ok"] == .bool(true))
            #expect(try await rows(client, id: 5) == #"[{"name":"row 1"}]"#)
        }
    }

    @Test func aNewStreamIsUpToDateWithItsFirstCheckpointAndNotBefore() async throws {
        try await with { client, peer in
            _ = try await client.ask(Self.connect)
            let first = try await peer.stream()
            first.say(ScriptedPeer.checkpoint(0), ScriptedPeer.complete(0))
            _ = try await client.ask(#"{"id":1,"op":"wait","for":"up-to-date"}"#)
            first.end()
            let second = try await peer.stream(2)
            try await status(client, "the second stream") { $0["connected"] == .bool(true) }
            let early = try await client.ask(#"{"id":2,"op":"wait","for":"up-to-date","timeout":0.05}"#)
            #expect(early["code"] == .string("timedOut"))
            client.send(#"{"id":3,"op":"wait","for":"up-to-date"}"#)
            second.say(ScriptedPeer.checkpoint(0), ScriptedPeer.complete(0))
            #expect(try await client.answered(3)["ok"] == .bool(true))
            // A checkpoint that is announced ends that.
            second.say(ScriptedPeer.checkpoint(1), ScriptedPeer.row(1))
            try await status(client, "a download") { $0["downloading"] == .bool(true) }
            let during = try await client.ask(#"{"id":4,"op":"wait","for":"up-to-date","timeout":0.05}"#)
            #expect(during["code"] == .string("timedOut"))
        }
    }

    /// What another process has is a lock beside the file, which a client cannot tell from one of its own process.
    @Test func whatAnotherProcessSyncsIsSaidToBeAndNotWaitedFor() async throws {
        let folder = try TemporaryDirectory(prefix: "client-")
        let peer = try ScriptedPeer()
        let database = folder.path + "/c.db"
        let client = try DrivenClient(
            ClientOptions(
                database: database, schema: Schema(Table(name: "items", columns: [.text("name")])),
                endpoint: peer.url, login: .user("u", backend: peer.url)))
        // Not connected, it may still be up to date one day.
        let early = try await client.ask(#"{"id":1,"op":"wait","for":"up-to-date","timeout":0.05}"#)
        #expect(early["code"] == .string("timedOut"))
        client.send(#"{"id":2,"op":"wait","for":"up-to-date"}"#)
        #expect(try await client.ask(#"{"id":3,"op":"status"}"#)["syncedElsewhere"] == .bool(false))
        let another = FileLock(path: database + "-sync", like: database)
        #expect(try another.take())
        #expect(try await client.ask(Self.connect)["ok"] == .bool(true))
        let status = try await client.ask(#"{"id":4,"op":"status"}"#)
        #expect(status["syncedElsewhere"] == .bool(true))
        #expect(status["connected"] == .bool(false) && status["connecting"] == .bool(false))
        client.send(
            #"{"id":5,"op":"wait","for":"up-to-date"}"#,
            #"{"id":6,"op":"wait","for":"up-to-date","timeout":0}"#,
            #"{"id":7,"op":"wait","for":"up-to-date","timeout":600}"#,
            #"{"id":8,"op":"wait","for":"queue-empty"}"#,
            #"{"id":10,"op":"wait","for":"up-to-date","timeout":0.05}"#)
        for id in [2, 5, 6] {
            let answer = try await client.answered(id)
            #expect(answer["code"] == .string("invalidState"))
            #expect(answer["error"]?.stringValue?.hasPrefix("another process syncs this file") == true)
        }
        let late = try await client.answered(10)
        #expect(late["code"] == .string("timedOut"))
        #expect(late["error"]?.stringValue?.contains("another process syncs this file") == true)
        // What the file itself says is waited for all the same.
        #expect(try await client.answered(8)["ok"] == .bool(true))
        another.release()
        let stream = try await peer.stream()
        try await self.status(client, "the connection") {
            $0["connected"] == .bool(true) && $0["syncedElsewhere"] == .bool(false)
        }
        stream.say(ScriptedPeer.checkpoint(0), ScriptedPeer.complete(0))
        #expect(try await client.ask(#"{"id":9,"op":"wait","for":"up-to-date"}"#)["ok"] == .bool(true))
        // With a limit of time it has waited for that.
        #expect(try await client.answered(7)["ok"] == .bool(true))
        #expect(try await client.end() == 0)
        folder.remove()
    }

    @Test func aTokenAloneSyncsAndUploadsNothing() async throws {
        try await with(login: { _ in .token("secret") }) { client, peer in
            _ = try await client.ask(
                #"{"id":1,"op":"write","tx":[["INSERT INTO items (id, name) VALUES ('a', 'b')"]]}"#)
            _ = try await client.ask(Self.connect)
            let stream = try await peer.stream()
            #expect(stream.request.contains("Token secret\r\n"))
            let failed = try await status(client, "the error") { $0["uploadError"]?.isNull == false }
            let error = try #require(failed["uploadError"]?["error"]?.stringValue)
            #expect(error.contains("nowhere to upload to"))
            #expect(failed["uploadError"]?["code"] == .string("invalidState"))
            #expect(try await client.ask(#"{"id":2,"op":"crud-count"}"#)["count"] == .number("1"))
        }
    }

    @Test func aServiceThatIsNotThereIsInTheStatus() async throws {
        let folder = try TemporaryDirectory(prefix: "client-")
        let client = try DrivenClient(
            ClientOptions(
                database: folder.path + "/c.db",
                schema: Schema(Table(name: "items", columns: [.text("name")])),
                endpoint: "http://127.0.0.1:1", login: .token("t")))
        _ = try await client.ask(Self.connect)
        let failed = try await status(client, "the error") { $0["downloadError"]?.isNull == false }
        #expect(failed["downloadError"]?["code"] == .string("connectionRefused"))
        #expect(failed["connected"] == .bool(false))
        #expect(try await client.end() == 0)
    }

    @Test func aStreamIsSubscribedHeldAndGivenUp() async throws {
        try await with { client, peer in
            let subscribe =
                #"{"id":1,"op":"stream","name":"lists","parameters":{"of":1},"ttl":3600,"priority":1}"#
            #expect(try await client.ask(subscribe).text == #"{"id":1,"ok":true}"#)
            client.send(#"{"id":2,"op":"wait","for":"stream","name":"lists","parameters":{"of":1}}"#)
            client.send(#"{"id":3,"op":"wait","for":"stream","name":"lists"}"#)
            _ = try await client.ask(Self.connect)
            let stream = try await peer.stream()
            #expect(stream.request.contains(#""stream":"lists""#))
            #expect(stream.request.contains(#""of":1"#))
            #expect(stream.request.contains(#""override_priority":1"#))
            stream.say(ScriptedPeer.checkpoint(0), ScriptedPeer.complete(0))
            #expect(try await client.answered(2)["ok"] == .bool(true))
            // Without parameters it is another one.
            #expect(client.answer(to: 3) == nil)
            let release = #"{"id":4,"op":"unstream","name":"lists","parameters":{"of":1}}"#
            #expect(try await client.ask(release).text == #"{"id":4,"ok":true}"#)
            let again = try await client.ask(
                #"{"id":5,"op":"unstream","name":"lists","parameters":{"of":1}}"#)
            #expect(again["ok"] == .bool(false) && again["code"] == .string("invalidState"))
            // It lasts for its time all the same, unless that is ended, too.
            let subscriptions =
                #"{"id":ID,"op":"read","sql":"SELECT count(*) AS n FROM ps_stream_subscriptions WHERE ttl > 0"}"#
            let held = try await client.ask(subscriptions.replacingOccurrences(of: "ID", with: "6"))
            #expect(held["rows"]?.text == #"[{"n":1}]"#)
            let all = try await client.ask(
                #"{"id":7,"op":"unstream","name":"lists","parameters":{"of":1},"all":true}"#)
            #expect(all["ok"] == .bool(true))
            let gone = try await client.ask(subscriptions.replacingOccurrences(of: "ID", with: "8"))
            #expect(gone["rows"]?.text == #"[{"n":0}]"#)
        }
    }

    @Test func clearKeepsWhatIsHeldUntilItIsGivenUp() async throws {
        try await with { client, peer in
            _ = try await client.ask(#"{"id":1,"op":"stream","name":"lists","ttl":3600}"#)
            _ = try await client.ask(Self.connect)
            #expect(try await peer.stream(1).request.contains(#""stream":"lists""#))
            _ = try await client.ask(#"{"id":2,"op":"clear"}"#)
            _ = try await client.ask(#"{"id":3,"op":"connect"}"#)
            #expect(try await peer.stream(2).request.contains(#""stream":"lists""#))
            // Given up while there is no stream that this would replace.
            _ = try await client.ask(#"{"id":4,"op":"disconnect"}"#)
            _ = try await client.ask(#"{"id":5,"op":"unstream","name":"lists"}"#)
            _ = try await client.ask(#"{"id":6,"op":"clear"}"#)
            _ = try await client.ask(#"{"id":7,"op":"connect"}"#)
            let third = try await peer.stream(3)
            #expect(!third.request.contains(#""stream":"lists""#))
        }
    }

    @Test func disconnectEndsTheStreamAndClearRemovesTheData() async throws {
        try await with { client, peer in
            _ = try await client.ask(Self.connect)
            let stream = try await peer.stream()
            stream.say(ScriptedPeer.checkpoint(1), ScriptedPeer.row(1), ScriptedPeer.complete(1))
            _ = try await client.ask(#"{"id":1,"op":"wait","for":"first-sync"}"#)
            _ = try await client.ask(#"{"id":2,"op":"disconnect"}"#)
            let status = try await client.ask(#"{"id":3,"op":"status"}"#)
            #expect(status["connected"] == .bool(false) && status["hasSynced"] == .bool(true))
            #expect(try await rows(client, id: 4) == #"[{"name":"row 1"}]"#)
            _ = try await client.ask(#"{"id":5,"op":"clear","soft":true}"#)
            #expect(try await rows(client, id: 6) == "[]")
            let kept = #"{"id":7,"op":"read","sql":"SELECT count(*) AS n FROM ps_oplog"}"#
            #expect(try await client.ask(kept)["rows"]?.text == #"[{"n":1}]"#)
            _ = try await client.ask(#"{"id":8,"op":"clear"}"#)
            let gone = #"{"id":9,"op":"read","sql":"SELECT count(*) AS n FROM ps_oplog"}"#
            #expect(try await client.ask(gone)["rows"]?.text == #"[{"n":0}]"#)
            let cleared = try await client.ask(#"{"id":10,"op":"status"}"#)
            #expect(cleared["hasSynced"] == .bool(false) && cleared["lastSyncedAt"]?.isNull == true)
        }
    }

    // MARK: A driving program that does not read

    /// Reads small lines; one that is large, and all behind it, when the gate is open.
    private static func read(_ line: String, at gate: BlockingGate) {
        if line.utf8.count > 1 << 20 { gate.wait() }
    }

    private static let large = #"{"id":999,"op":"read","sql":"SELECT hex(zeroblob(1048576)) AS x"}"#

    @Test func upToDateIsNotAnsweredFromAStateThatIsOver() async throws {
        let gate = BlockingGate()
        defer { gate.open() }
        try await with(reading: { Self.read($0, at: gate) }) { client, peer in
            _ = try await client.ask(Self.connect)
            let first = try await peer.stream()
            first.say(ScriptedPeer.checkpoint(0), ScriptedPeer.complete(0))
            _ = try await client.ask(#"{"id":1,"op":"wait","for":"up-to-date"}"#)
            client.send(Self.large)
            try await wait(for: "a line that is not read") { gate.arrivals == 1 }
            // An event for which there is no room, and then there is no stream any more.
            first.say(ScriptedPeer.checkpoint(1), ScriptedPeer.row(1), ScriptedPeer.complete(1))
            first.end()
            let second = try await peer.stream(2)
            client.send(#"{"id":2,"op":"wait","for":"up-to-date"}"#)
            gate.open()
            try await status(client, "the second stream") { $0["connected"] == .bool(true) }
            let early = try await client.ask(#"{"id":3,"op":"wait","for":"up-to-date","timeout":0.05}"#)
            #expect(early["code"] == .string("timedOut"))
            #expect(client.answer(to: 2) == nil)
            second.say(ScriptedPeer.checkpoint(1), ScriptedPeer.complete(1))
            #expect(try await client.answered(2)["ok"] == .bool(true))
        }
    }

    @Test func checkpointsThatAreReadLateAreEventsAllTheSame() async throws {
        let gate = BlockingGate()
        defer { gate.open() }
        try await with(reading: { Self.read($0, at: gate) }) { client, peer in
            _ = try await client.ask(Self.connect)
            let stream = try await peer.stream()
            client.send(Self.large)
            try await wait(for: "a line that is not read") { gate.arrivals == 1 }
            for rows in 1...3 {
                stream.say(
                    ScriptedPeer.checkpoint(rows), ScriptedPeer.row(rows), ScriptedPeer.complete(rows))
            }
            gate.open()
            try await wait(for: "the events") { client.events("checkpoint").count == 3 }
            let times = client.events("checkpoint").compactMap { $0["at"]?.int64Value }
            #expect(times.count == 3 && times == times.sorted())
            #expect(client.events("checkpoint").allSatisfy { $0["count"] == nil })
        }
    }
}
