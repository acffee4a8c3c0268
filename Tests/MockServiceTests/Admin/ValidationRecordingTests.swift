import PowerSyncHTTPClient
import PowerSyncMockService
import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What the real service's route `validate` said of 81 configurations (service 6.11).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct ValidationRecordingTests {
    /// What is validated has nothing to do with what is served.
    private static let config = """
        config: {edition: 3}
        streams:
          lists:
            query: SELECT * FROM lists

        """

    private func schema(_ scenario: JSON) -> [String] {
        ((scenario["schema"]?.arrayValue ?? []) + (scenario["seed"]?.arrayValue ?? [])).compactMap(
            \.stringValue)
    }

    @Test func validateSaysWhatIsRecorded() async throws {
        let scenarios = try ServiceRecordings.scenarios().filter { scenario in
            scenario.name == "validation-messages" || scenario.name.hasPrefix("invalid-")
        }
        let tables = schema(try #require(scenarios.first?.json))
        #expect(scenarios.count == 13 && scenarios.allSatisfy { schema($0.json) == tables })
        try await TestService.run(tables) { service in
            try await service.start(Self.config) { $0.apiTokens = ["admin"] }
            var compared = 0
            for (name, scenario) in scenarios {
                for step in scenario["steps"]?.arrayValue ?? [] {
                    let body = try #require(step["http"]?["body"])
                    let recorded = try #require(step["answer"]?["body"])
                    let got = try await service.admin("validate", body)
                    #expect(got.status == 200 && step["answer"]?["status"] == .integer(200))
                    // A text of several lines is that of a parser of the real service, which shows the place.
                    let isOfParser = recorded.text.contains("\\n")
                    func comparable(_ json: JSON) -> String {
                        AdminAnswer.comparable(json, hidesMessages: isOfParser).text
                    }
                    #expect(
                        comparable(try JSON.parse(got.body)) == comparable(recorded), "\(name): \(body.text)")
                    compared += 1
                }
            }
            #expect(compared == 81)
        }
    }

    /// Places are those of JavaScript: of a sign outside the basic plane two units.
    @Test func placesAreCountedInUnitsOfUTF16() async throws {
        try await TestService.run(["CREATE TABLE lists(id text PRIMARY KEY)"]) { service in
            try await service.start(Self.config) { $0.apiTokens = ["admin"] }
            let text = "# \u{1F600} \u{E9}\n\(Self.config)".replacing("*", with: "id, nope")
            let answer = try await service.administered(
                "validate", .object([JSONMember("sync_rules", .string(text))]))
            let place = try #require(text.firstRange(of: "nope")?.lowerBound)
            let start = text.utf16.distance(from: text.startIndex, to: place)
            #expect(start == Array(text.utf8).firstRange(of: Array("nope".utf8)).map { $0.lowerBound - 3 })
            let told = try #require(answer["errors"]?.arrayValue)
            #expect(told.count == 1 && told[0]["message"] == .string("Column not found."))
            #expect(told[0]["location"]?["start_offset"] == .integer(start))
            #expect(told[0]["location"]?["end_offset"] == .integer(start + 4))
        }
    }

    /// What this service alone refuses is told although the real one says nothing of it.
    @Test func whatOnlyThisServiceRefusesIsTold() {
        let text = Self.config.replacing("* FROM lists", with: "lists.* FROM lists, nosuch(1) AS n")
        let config = SyncConfig.compile(text)
        #expect(config.plan == nil)
        let wanted = AdminMessage(level: .fatal, message: "Unknown function", time: 1)
        #expect(AdminMessage.all(of: config, at: 1) == [wanted])
    }
}
