import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSync

/// Questions about small files that go to a backend together (Client/Attachments/SPEC.md, "Questions").
@Suite(.patient()) struct AttachmentQuestionsTests {
    private typealias Call = @Sendable (AttachmentBackend) async throws -> String

    private static let batch = "/api/v1/attachments/batch"

    /// A backend that keeps the answers to questions about `first` and `later` back until the test says so.
    private struct Bench {
        let gate: Gate
        let later: Gate
        let clock: SteppedClock
        let urls: ScriptedURLs
        let backend: AttachmentBackend

        /// - Parameter script: answers all other questions.
        init(_ script: @escaping ScriptedURLs.Script) {
            let (gate, later, clock) = (Gate(), Gate(), SteppedClock())
            let urls = ScriptedURLs(clock: clock) { method, path, body in
                let held: Gate? = path.contains("/first/") ? gate : path.contains("/later/") ? later : nil
                guard let held else { return try await script(method, path, body) }
                await held.pass()
                return .json(AttachmentQuestionsTests.download(0).text)
            }
            self.gate = gate
            self.later = later
            self.clock = clock
            self.urls = urls
            backend = AttachmentBackend(urls.connector)
        }

        /// How many questions wait, or are on their way with others.
        var waiting: Int { backend.uploadQuestions.waiterCount + backend.downloadQuestions.waiterCount }

        /// What it was asked beside the questions that are kept back.
        var asked: [String] {
            urls.asked.map { String($0.url.dropFirst("http://backend.test".count)) }
                .filter { !$0.contains("/first/") && !$0.contains("/later/") }
        }

        /// The batches that it was sent.
        var batches: [JSON] {
            urls.asked.filter { $0.url.hasSuffix(AttachmentQuestionsTests.batch) }
                .map { (try? JSON.parse($0.body ?? [])) ?? .null }
        }

        /// Begins calls in their order while the answer to the first question of their way does not come.
        func begin(_ calls: [Call], behind first: @escaping Call) async throws -> [Task<String, any Error>] {
            let held = Task { [backend] in try await first(backend) }
            try await wait(for: "the first question") { gate.arrivals > 0 }
            var tasks = [held]
            for call in calls {
                let before = waiting
                tasks.append(Task { [backend] in try await call(backend) })
                try await wait(for: "a question that waits", read: { waiting }, until: { $0 > before })
            }
            return tasks
        }

        /// Asks questions while the answer to the first one of their way does not come, and then lets it come.
        ///
        /// - Returns: what came of them, without the first one.
        func ask(
            _ calls: [Call], behind first: @escaping Call = AttachmentQuestionsTests.locate("first")
        ) async throws -> [String] {
            let tasks = try await begin(calls, behind: first)
            gate.open()
            var results: [String] = []
            for task in tasks { results.append(AttachmentQuestionsTests.text(await task.result)) }
            return Array(results.dropFirst())
        }

        /// Asks one question after the other while the answer to an earlier one of their way does not come: where a
        /// backend takes no batch none waits for that.
        func ask(apart ids: [String]) async throws -> [String] {
            let held = Task { [backend] in try await AttachmentQuestionsTests.locate("later")(backend) }
            try await wait(for: "the earlier question") { later.arrivals > 0 }
            var results: [String] = []
            for id in ids { results.append(try await AttachmentQuestionsTests.locate(id)(backend)) }
            later.open()
            try await wait(forEndOf: held)
            return results
        }
    }

    // MARK: Questions and answers

    /// Asks where a file is; returns its size as the backend says it.
    private static func locate(_ id: String) -> Call {
        { backend in
            let ticket = try await backend.downloadTicket(id)
            return "size \(ticket.size)"
        }
    }

    /// Says that a file is stored.
    private static func complete(_ id: String) -> Call {
        { backend in
            try await backend.complete(id)
            return "complete"
        }
    }

    /// Asks where a file goes; returns its id as the backend says it.
    private static func upload(_ id: String, size: Int64 = 1) -> Call {
        { backend in
            let ticket = try await backend.uploadTicket(Self.question(id, size: size))
            return "to \(ticket.id)"
        }
    }

    private static func question(_ id: String, size: Int64 = 1) -> AttachmentUploadRequest {
        AttachmentUploadRequest(
            id: id, filename: "\(id).jpg", contentType: "image/jpeg", size: size,
            sha256: String(repeating: "0", count: 64))
    }

    private static func download(_ size: Int64) -> JSON {
        AttachmentDownloadTicket(
            url: "http://store.test/k", expiresAt: "e", size: size, contentType: "a/b",
            sha256: String(repeating: "0", count: 64)
        ).json
    }

    private static func ticket(_ id: String) -> JSON {
        AttachmentUploadTicket(id: id, isUploaded: true).json
    }

    private static func problem(_ status: Int, _ code: String) -> JSON {
        .object([JSONMember("status", .integer(status)), JSONMember("code", .string(code))])
    }

    private static func text(_ result: Result<String, any Error>) -> String {
        switch result {
        case .success(let text): text
        case .failure(is CancellationError): "cancelled"
        case .failure(let error as AttachmentStorageError): "\(error.code): \(error.message)"
        case .failure(let error): "\(error)"
        }
    }

    /// Answers a batch, and each question of it alone.
    private static func usual(_ path: String, _ body: [UInt8]) throws -> HTTPClientResponse {
        let words = path.split(separator: "/").map { String($0) }
        switch words.last {
        case "download-url": return .json(download(Int64(words[3].utf8.count)).text)
        case "complete": return .status(204)
        case "upload-url":
            return .json(ticket(try AttachmentUploadRequest(json: JSON.parse(body)).id).text)
        default: break
        }
        let json = try JSON.parse(body)
        var members: [JSONMember] = []
        if let list = json["upload"]?.arrayValue {
            let answers = list.map { ticket($0["id"]?.stringValue ?? "") }
            members.append(JSONMember("upload", .array(answers)))
        }
        if let list = json["download"]?.arrayValue {
            let answers = list.map { download(Int64($0.stringValue?.utf8.count ?? 0)) }
            members.append(JSONMember("download", .array(answers)))
        }
        if let list = json["complete"]?.arrayValue {
            members.append(JSONMember("complete", .array(list.map { _ in .object([]) })))
        }
        return .json(JSON.object(members).text)
    }

    // MARK: Together

    @Test func oneQuestionAtATimeGoesByItsOwnRoute() async throws {
        let bench = Bench { try Self.usual($1, $2) }
        #expect(try await Self.locate("a")(bench.backend) == "size 1")
        #expect(try await Self.upload("a")(bench.backend) == "to a")
        #expect(try await Self.complete("a")(bench.backend) == "complete")
        #expect(
            bench.asked == ["a/download-url", "upload-url", "a/complete"].map { "/api/v1/attachments/\($0)" })
    }

    @Test func whatComesMeanwhileGoesTogetherAndEachGetsItsOwnAnswer() async throws {
        let bench = Bench { try Self.usual($1, $2) }
        let results = try await bench.ask(["ccc", "a", "bb"].map(Self.locate))
        #expect(results == ["size 3", "size 1", "size 2"])
        #expect(bench.asked == [Self.batch])
        #expect(bench.batches.map(\.text) == [#"{"download":["ccc","a","bb"]}"#])
        #expect(bench.waiting == 0)
    }

    @Test func uploadsAndCompletionsGoInOneRequest() async throws {
        let bench = Bench { try Self.usual($1, $2) }
        let results = try await bench.ask(
            [Self.complete("c"), Self.upload("a"), Self.complete("d"), Self.upload("b")],
            behind: Self.complete("first"))
        #expect(results == ["complete", "to a", "complete", "to b"])
        #expect(bench.asked == [Self.batch])
        let expected = JSON.object([
            JSONMember("upload", .array(["a", "b"].map { Self.question($0).json })),
            JSONMember("complete", .array([.string("c"), .string("d")])),
        ])
        #expect(bench.batches == [expected])
        #expect(
            bench.urls.asked.last?.fields["authorization"] == "session"
                && bench.urls.asked.last?.fields["content-type"] == "application/json")
    }

    @Test func oneWayDoesNotWaitForTheOther() async throws {
        let bench = Bench { try Self.usual($1, $2) }
        let tasks = try await bench.begin([Self.upload("a")], behind: Self.complete("first"))
        #expect(try await Self.locate("a")(bench.backend) == "size 1")
        bench.gate.open()
        for task in tasks { try await wait(forEndOf: task) }
    }

    @Test func largeFilesAreAskedAboutAloneAndWaitForNothing() async throws {
        let bench = Bench { try Self.usual($1, $2) }
        let tasks = try await bench.begin([Self.upload("a")], behind: Self.complete("first"))
        #expect(try await Self.upload("large", size: AttachmentPart.size)(bench.backend) == "to large")
        try await bench.backend.complete("large", inParts: true)
        #expect(bench.asked == ["upload-url", "large/complete"].map { "/api/v1/attachments/\($0)" })
        bench.gate.open()
        for task in tasks { try await wait(forEndOf: task) }
    }

    @Test func whatWaitsGoesWhenTheAnswerTakesLongAlthoughNothingHappens() async throws {
        let bench = Bench { try Self.usual($1, $2) }
        let tasks = try await bench.begin(["a", "bb"].map(Self.locate), behind: Self.locate("first"))
        try await wait(
            for: "the alarm", read: { bench.clock.waiting }, until: { $0 == [QuestionLine.quick] })
        bench.clock.advance(by: QuestionLine.quick)
        #expect(try await wait(forEndOf: tasks[1]) == "size 1")
        #expect(try await wait(forEndOf: tasks[2]) == "size 2")
        #expect(bench.asked == [Self.batch])
        bench.gate.open()
        try await wait(forEndOf: tasks[0])
    }

    @Test func whereNothingWaitsAnyMoreNobodyLooksAgain() async throws {
        let bench = Bench { try Self.usual($1, $2) }
        let tasks = try await bench.begin([Self.locate("a")], behind: Self.locate("first"))
        try await wait(for: "the alarm") { bench.clock.waiting.count == 1 }
        tasks[1].cancel()
        #expect(Self.text(await tasks[1].result) == "cancelled")
        try await wait(for: "no alarm") { bench.clock.waiting.isEmpty }
        bench.gate.open()
        try await wait(forEndOf: tasks[0])
    }

    @Test func manyFilesGoUpAndComeDownWithFewQuestions() async throws {
        try await StorageRig.run { rig in
            let client = rig.client(environment: SteppedClock().environment)
            let gates = (up: Gate(), down: Gate())
            rig.script { exchange, number in
                // Each way's first question is not answered before the others wait.
                if exchange.call == "POST upload-url", number == 1 { await gates.up.pass() }
                if exchange.call == "GET download-url", number == 1 { await gates.down.pass() }
                return nil
            }
            let names = (0..<8).map { "f\($0)" }
            for (index, name) in names.enumerated() {
                _ = try rig.write([UInt8](repeating: UInt8(index), count: 10 + index), name)
            }
            let uploads = names.map { name in
                Task {
                    try await client.upload(
                        attachment: .row(name), localUri: rig.folder.file(name), progress: { _ in })
                }
            }
            try await wait(for: "seven that wait") { client.backend.uploadQuestions.waiterCount == 7 }
            gates.up.open()
            for upload in uploads { try await wait(forEndOf: upload) }
            #expect(names.allSatisfy { rig.file($0) == rig.read(rig.folder.file($0)) })
            // Alone: the first question, and completions that came while nothing was on its way.
            let batch = try #require(rig.exchanges.first { $0.call == "POST batch" })
            #expect(try JSON.parse(batch.body)["upload"]?.arrayValue?.count == 7)
            #expect(rig.asked.count < 16, "two for each file would be sixteen")
            let before = rig.asked.count
            let downloads = names.map { name in
                Task {
                    try await client.download(
                        attachment: .row(name, .queuedDownload), localUri: rig.folder.file("down-\(name)"),
                        progress: { _ in })
                }
            }
            try await wait(for: "seven that wait") { client.backend.downloadQuestions.waiterCount == 7 }
            gates.down.open()
            for download in downloads { try await wait(forEndOf: download) }
            #expect(names.allSatisfy { rig.read(rig.folder.file("down-\($0)")) == rig.file($0) })
            #expect(rig.asked.count == before + 2, "one alone, and seven together")
        }
    }

    // MARK: Failures

    @Test func eachGetsItsOwnErrorAsItWouldAlone() async throws {
        let problems = [
            (404, "UNKNOWN"), (404, "NOT_UPLOADED"), (410, "GONE"), (503, "STORE_UNAVAILABLE"),
            (401, "UNAUTHENTICATED"),
        ]
        let bench = Bench { _, path, body in
            guard path == Self.batch else {
                let index = Int(path.split(separator: "/")[3]) ?? 0
                return .json(
                    Self.problem(problems[index].0, problems[index].1).text, status: problems[index].0)
            }
            let answers = problems.map { Self.problem($0.0, $0.1) } + [Self.download(7)]
            return .json(JSON.object([JSONMember("download", .array(answers))]).text)
        }
        let together = try await bench.ask((0...5).map { Self.locate("\($0)") })
        #expect(bench.asked == [Self.batch])
        #expect(together.last == "size 7")
        for index in problems.indices {
            let alone = Task { [backend = bench.backend] in try await Self.locate("\(index)")(backend) }
            #expect(Self.text(await alone.result) == together[index])
        }
        #expect(together[0].hasPrefix("unknown: GET ") && together[0].contains("404 (UNKNOWN)"))
    }

    @Test(arguments: [
        (429, "RATE_LIMITED"), (500, "INTERNAL"), (503, "DRAINING"),
    ])
    func aFailureOfAllIsEachOnes(status: Int, problem: String) async throws {
        let bench = Bench { _, _, _ in
            .json(Self.problem(status, problem).text, status: status, ["retry-after": "7"])
        }
        let results = try await bench.ask([Self.locate("a"), Self.locate("b")])
        for (id, result) in zip(["a", "b"], results) {
            #expect(result.hasPrefix("storage: GET "))
            #expect(result.hasSuffix("/\(id)/download-url failed with status \(status) (\(problem))"))
        }
        #expect(bench.asked == [Self.batch])
        guard status != 500 else { return }
        // The pause that the backend asked for is kept by whoever comes next.
        let next = Task { [backend = bench.backend] in try await Self.locate("c")(backend) }
        try await wait(for: "the pause", read: { bench.clock.waiting }, until: { $0 == [.seconds(7)] })
        next.cancel()
        await #expect(throws: CancellationError.self) { try await wait(forEndOf: next) }
    }

    /// The answer as a whole is a success, and has no field of one of them.
    @Test func thePauseThatOneOfThemIsToldIsKept() async throws {
        let problems = [(503, "STORE_UNAVAILABLE", 7), (429, "RATE_LIMITED", 3), (429, "QUOTA_EXCEEDED", 60)]
        let bench = Bench { _, path, body in
            guard path == Self.batch else { return try Self.usual(path, body) }
            let answers = problems.map { status, code, seconds in
                JSON.object([
                    JSONMember("status", .integer(status)), JSONMember("code", .string(code)),
                    JSONMember("retryAfter", .integer(seconds)),
                ])
            }
            return .json(JSON.object([JSONMember("download", .array(answers))]).text)
        }
        let results = try await bench.ask(["a", "b", "c"].map(Self.locate))
        #expect(results[0].hasPrefix("storage: GET ") && results[2].hasPrefix("quotaExceeded: GET "))
        let next = Task { [backend = bench.backend] in try await Self.locate("d")(backend) }
        try await wait(for: "the longest", read: { bench.clock.waiting }, until: { $0 == [.seconds(7)] })
        #expect(bench.asked == [Self.batch])
        bench.clock.advance(by: .seconds(7))
        #expect(try await wait(forEndOf: next) == "size 1")
    }

    @Test func withoutAnAnswerEachHasTheErrorOfTheNetwork() async throws {
        let bench = Bench { _, _, _ in throw HTTPClientError(.couldNotConnect, "no network") }
        let tasks = try await bench.begin(
            [Self.upload("a"), Self.upload("b")], behind: Self.complete("first"))
        bench.gate.open()
        for task in tasks.dropFirst() {
            await #expect(throws: PowerSyncError.self) { try await wait(forEndOf: task) }
        }
        #expect(bench.asked == [Self.batch], "nobody is asked apart where nobody answers")
    }

    @Test func whatIsNotAcceptedAsTheUsersIsSentOnceMore() async throws {
        let refusals = Lock(1)
        let bench = Bench { _, path, body in
            let isRefused = refusals.withLock { count in
                count -= 1
                return count >= 0
            }
            return isRefused ? .status(401) : try Self.usual(path, body)
        }
        #expect(try await bench.ask([Self.locate("a"), Self.locate("bb")]) == ["size 1", "size 2"])
        #expect(bench.asked == [Self.batch, Self.batch])
    }

    @Test func whatIsRefusedTwiceIsEachOnesError() async throws {
        let bench = Bench { _, _, _ in .status(401) }
        for result in try await bench.ask([Self.locate("a"), Self.locate("b")]) {
            #expect(result.hasPrefix("refused: GET ") && result.hasSuffix("failed with status 401"))
        }
        #expect(bench.asked == [Self.batch, Self.batch])
    }

    // MARK: Other backends

    @Test(arguments: [400, 403, 404, 405, 415, 501])
    func aBackendWithoutTheRouteIsAskedApart(status: Int) async throws {
        let bench = Bench { _, path, body in
            path == Self.batch ? .status(status) : try Self.usual(path, body)
        }
        #expect(try await bench.ask([Self.locate("a"), Self.locate("bb")]) == ["size 1", "size 2"])
        #expect(bench.asked.first == Self.batch)
        let apart = ["a", "bb"].map { "/api/v1/attachments/\($0)/download-url" }
        #expect(bench.asked.dropFirst().sorted() == apart)
        // From now on nothing waits for anything.
        #expect(try await bench.ask(apart: ["ccc", "d"]) == ["size 3", "size 1"])
        #expect(bench.batches.count == 1)
    }

    /// The answer may have been that of something else on the way.
    @Test func aBackendWithoutTheRouteIsAskedForItAgainLater() async throws {
        let isAway = Lock(true)
        let bench = Bench { _, path, body in
            let isRefused = path == Self.batch && isAway.withLock { $0 }
            return isRefused ? .status(403) : try Self.usual(path, body)
        }
        #expect(try await bench.ask([Self.locate("a"), Self.locate("bb")]) == ["size 1", "size 2"])
        isAway.withLock { $0 = false }
        bench.clock.advance(by: QuestionLine.memory)
        let held = Task { [backend = bench.backend] in try await Self.locate("later")(backend) }
        try await wait(for: "the question") { bench.later.arrivals == 1 }
        let tasks = ["ccc", "d"].map { id in
            Task { [backend = bench.backend] in try await Self.locate(id)(backend) }
        }
        try await wait(for: "two that wait") { bench.waiting == 2 }
        bench.later.open()
        try await wait(forEndOf: held)
        #expect(try await wait(forEndOf: tasks[0]) == "size 3")
        #expect(try await wait(forEndOf: tasks[1]) == "size 1")
        #expect(bench.batches.count == 2)
    }

    @Test(arguments: [
        "", "[]", "{}", #"{"download":[]}"#, #"{"download":{}}"#, #"{"download":[null]}"#,
        #"{"download":[null,null,null]}"#, #"{"download":[null,null]}"#,
        #"{"download":[{"error":"not-uploaded"},{"code":"NOT_UPLOADED"}]}"#,
    ])
    func anAnswerThatIsNotOneForEachIsThatOfABackendWithoutIt(answer: String) async throws {
        let bench = Bench { _, path, body in
            path == Self.batch ? .json(answer) : try Self.usual(path, body)
        }
        #expect(try await bench.ask([Self.locate("a"), Self.locate("bb")]) == ["size 1", "size 2"])
        #expect(try await bench.ask(apart: ["ccc", "d"]) == ["size 3", "size 1"])
        #expect(bench.batches.count == 1)
    }

    @Test func aBackendThatKnowsNoCompletionsInABatchIsAskedForTheOthersTogether() async throws {
        let bench = Bench { _, path, body in
            guard path == Self.batch else { return try Self.usual(path, body) }
            let json = try JSON.parse(body)
            let uploads = json["upload"].map { JSON.object([JSONMember("upload", $0)]) } ?? .object([])
            return try Self.usual(path, uploads.utf8)
        }
        #expect(
            try await bench.ask([Self.upload("a"), Self.complete("c")], behind: Self.complete("first"))
                == ["to a", "complete"])
        let apart = ["c/complete", "upload-url"].map { "/api/v1/attachments/\($0)" }
        #expect(bench.asked.dropFirst().sorted() == apart)
        // A completion that is not answered keeps none waiting, and no other question either.
        let held = Task { [backend = bench.backend] in try await Self.complete("later")(backend) }
        try await wait(for: "the completion") { bench.later.arrivals > 0 }
        #expect(try await Self.complete("d")(bench.backend) == "complete")
        #expect(try await Self.upload("e")(bench.backend) == "to e")
        bench.later.open()
        try await wait(forEndOf: held)
        #expect(bench.batches.count == 1)
    }

    @Test(arguments: [#"{"code":"NOT_STORED"}"#, #"{"error":"no"}"#, "7", #""no""#, "null"])
    func whatLooksLikeAProblemCompletesNothing(answer: String) async throws {
        let bench = Bench { _, path, _ in
            guard path == Self.batch else { return .json(Self.problem(409, "NOT_STORED").text, status: 409) }
            return .json(#"{"complete":[\#(answer),{}]}"#)
        }
        let results = try await bench.ask(
            [Self.complete("a"), Self.complete("b")], behind: Self.complete("first"))
        #expect(results.allSatisfy { $0.hasPrefix("storage: POST ") })
        #expect(bench.asked.count == 3, "both are asked apart")
    }

    @Test func aBackendThatTakesFewerIsSentFewer() async throws {
        let sizes = Lock<[Int]>([])
        let bench = Bench { _, path, body in
            guard path == Self.batch else { return try Self.usual(path, body) }
            let count = try JSON.parse(body)["download"]?.arrayValue?.count ?? 0
            sizes.withLock { $0.append(count) }
            return count > 2 ? .status(413) : try Self.usual(path, body)
        }
        let ids = ["a", "bb", "ccc", "dddd", "eeeee"]
        let expected = ids.map { "size \($0.utf8.count)" }
        #expect(try await bench.ask(ids.map(Self.locate)) == expected)
        #expect(bench.asked.count == 6, "all five are asked apart")
        #expect(sizes.withLock { $0 } == [5])
        #expect(bench.batches.count == 1)
    }

    // MARK: Cancellation

    @Test func whoIsCancelledLeavesTheOthersTheirs() async throws {
        let bench = Bench { try Self.usual($1, $2) }
        let tasks = try await bench.begin(
            ["a", "bb", "ccc"].map(Self.locate), behind: Self.locate("first"))
        tasks[2].cancel()
        #expect(Self.text(await tasks[2].result) == "cancelled")
        bench.gate.open()
        #expect(Self.text(await tasks[1].result) == "size 1")
        #expect(Self.text(await tasks[3].result) == "size 3")
        #expect(bench.batches.map(\.text) == [#"{"download":["a","ccc"]}"#])
    }

    @Test func whoIsCancelledOnTheWayLeavesTheOthersTheirs() async throws {
        let onTheWay = Gate()
        let bench = Bench { _, path, body in
            if path == Self.batch { await onTheWay.pass() }
            return try Self.usual(path, body)
        }
        let tasks = try await bench.begin(["a", "bb"].map(Self.locate), behind: Self.locate("first"))
        bench.gate.open()
        try await wait(for: "the request") { onTheWay.arrivals == 1 }
        tasks[1].cancel()
        #expect(Self.text(await tasks[1].result) == "cancelled", "at once, and not with the answer")
        onTheWay.open()
        #expect(Self.text(await tasks[2].result) == "size 2")
    }

    @Test func aRequestOfWhichNobodyWantsAnAnswerIsCancelled() async throws {
        let (begun, ended) = (AsyncValue(0), AsyncValue(0))
        let never = AsyncValue(false)
        let bench = Bench { _, path, body in
            guard path == Self.batch else { return try Self.usual(path, body) }
            begun.change { $0 += 1 }
            defer { ended.change { $0 += 1 } }
            _ = try await never.wait { $0 }
            return .status(500)
        }
        let tasks = try await bench.begin(["a", "bb"].map(Self.locate), behind: Self.locate("first"))
        bench.gate.open()
        try await wait(for: "the request") { begun.current == 1 }
        tasks[1].cancel()
        #expect(Self.text(await tasks[1].result) == "cancelled")
        #expect(ended.current == 0)
        tasks[2].cancel()
        #expect(Self.text(await tasks[2].result) == "cancelled")
        try await wait(for: "the end of the request") { ended.current == 1 }
        // And the next question finds the way free.
        #expect(try await Self.locate("c")(bench.backend) == "size 1")
    }

    /// As where the app's session hangs.
    @Test func questionsThatIgnoreTheirCancellationHoldUpNoOthers() async throws {
        let bench = Bench { try Self.usual($1, $2) }
        var hanging: [Task<String, any Error>] = []
        for (id, gate) in [("first", bench.gate), ("later", bench.later)] {
            hanging.append(Task { [backend = bench.backend] in try await Self.locate(id)(backend) })
            try await wait(for: "the question") { gate.arrivals == 1 }
            bench.clock.advance(by: QuestionLine.quick)
        }
        let next = Task { [backend = bench.backend] in try await Self.locate("a")(backend) }
        try await wait(for: "the next one") { bench.waiting == 1 }
        for task in hanging { task.cancel() }
        #expect(try await wait(forEndOf: next) == "size 1")
        bench.gate.open()
        bench.later.open()
        for task in hanging { _ = await task.result }
    }

    @Test func aRequestThatIgnoresItsCancellationHoldsUpNoOther() async throws {
        let onTheWay = Gate()
        let bench = Bench { _, path, body in
            if path == Self.batch { await onTheWay.pass() }
            return try Self.usual(path, body)
        }
        let tasks = try await bench.begin(["a", "bb"].map(Self.locate), behind: Self.locate("first"))
        bench.gate.open()
        try await wait(for: "the request") { onTheWay.arrivals == 1 }
        let next = Task { [backend = bench.backend] in try await Self.locate("ccc")(backend) }
        try await wait(for: "the next one") { bench.waiting == 3 }
        for task in tasks.dropFirst() { task.cancel() }
        #expect(try await wait(forEndOf: next) == "size 3")
        onTheWay.open()
        for task in tasks.dropFirst() { #expect(Self.text(await task.result) == "cancelled") }
    }

    @Test func whoIsCancelledAloneLetsTheNextOnesGo() async throws {
        let bench = Bench { _, path, body in
            if path.contains("/hangs/") {
                _ = try await AsyncValue(false).wait { $0 }
            }
            return try Self.usual(path, body)
        }
        let hanging = Task { [backend = bench.backend] in try await Self.locate("hangs")(backend) }
        try await wait(for: "the question") { bench.asked.count == 1 }
        let next = Task { [backend = bench.backend] in try await Self.locate("a")(backend) }
        try await wait(for: "the next one") { bench.waiting == 1 }
        hanging.cancel()
        #expect(Self.text(await hanging.result) == "cancelled")
        #expect(try await wait(forEndOf: next) == "size 1")
    }
}
