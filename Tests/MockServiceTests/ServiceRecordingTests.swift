import PowerSyncHTTP
import PowerSyncPostgres
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Plays recordings of the real service against ours and compares every line.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct ServiceRecordingTests {
    @Test(arguments: [
        "types-edition-3", "types-more-edition-3", "numbers-in-parameters", "connection-and-jwt-parameters",
        "global-first-sync", "batches-by-bytes", "large-transaction", "same-row-many-times-in-one-tx",
        "rolled-back-and-savepoints", "truncate", "toast-unchanged", "primary-key-changes",
        "replica-identity-full",
        "ddl-add-rename-drop-column", "ddl-create-rename-drop-table", "ddl-replica-identity",
        "real-schema-and-quoted-names", "compaction-everything-removed",
    ])
    func answersAsTheRealServiceDid(_ name: String) async throws {
        let scenario = try ServiceRecordings.scenario(name)
        let seed = (scenario["schema"]?.arrayValue ?? []) + (scenario["seed"]?.arrayValue ?? [])
        try await TestService.run(seed.compactMap(\.stringValue)) { service in
            try await service.start(try #require(scenario["sync_config"]?.stringValue))
            var streams: [String: TestStream] = [:]
            for step in scenario["steps"]?.arrayValue ?? [] {
                // What is behind a compaction is another subject.
                if step["compact"] != nil { break }
                if let name = step["open"]?.stringValue {
                    streams[name] = try await open(step, streams, service)
                } else if let statements = step["tx"]?.arrayValue {
                    try await service.tx(statements.compactMap(\.stringValue))
                } else if step["settle"] != nil {
                    try await settle(step, streams)
                } else if let name = step["close"]?.stringValue {
                    streams[name]?.close()
                }
            }
            for (name, stream) in streams { #expect(stream.model.broken == [], "\(name)") }
        }
    }

    private func open(
        _ step: JSON, _ streams: [String: TestStream], _ service: TestService
    ) async throws -> TestStream {
        var body = try #require(step["sent"])
        if let former = step["positions_of"]?.stringValue, let stream = streams[former] {
            let buckets = stream.model.positions.map { position in
                JSON.object([
                    JSONMember("name", .string(position.name)),
                    JSONMember("after", .string(String(position.after))),
                ])
            }
            body = .object(
                (body.objectMembers ?? []).filter { $0.name != "buckets" } + [
                    JSONMember("buckets", .array(buckets))
                ])
        }
        return try await service.open(
            user: try #require(step["user"]?.stringValue), claims: step["claims"] ?? .object([]), body: body)
    }

    private func settle(_ step: JSON, _ streams: [String: TestStream]) async throws {
        for member in step["lines"]?.objectMembers ?? [] {
            let stream = try #require(streams[member.name])
            let expected = (member.value.arrayValue ?? []).compactMap { $0["line"] }.map(NormalLine.init)
            var got: [String] = []
            try await wait(for: "\(expected.count) lines of \(member.name)") {
                got += stream.takeTexts().filter { !$0.hasPrefix("{\"token_expires_in") }
                return got.count
            } until: {
                $0 >= expected.count
            }
            let lines = try got.map { NormalLine(try ServiceRecordings.parse($0)).text }
            #expect(lines == expected.map(\.text))
        }
    }
}

/// A line without what differs by nature: op ids, positions, ids of source tables, order of buckets.
private struct NormalLine {
    let text: String

    init(_ line: JSON) {
        text = Self.normal(line, "").text
    }

    private static func normal(_ json: JSON, _ key: String) -> JSON {
        switch json {
        case .object(let members):
            let isRemove = json["op"]?.stringValue == "REMOVE"
            return .object(
                members.compactMap { member in
                    switch member.name {
                    case "op_id", "last_op_id", "after", "next_after":
                        return JSONMember(member.name, .string("n"))
                    case "checksum":
                        // Those of REMOVE, and sums with them, contain the source table's id.
                        return isRemove || json["bucket"] != nil ? nil : member
                    case "subkey":
                        let key = member.value.stringValue?.split(separator: "/").last.map(String.init) ?? ""
                        // Version 4 is random.
                        return JSONMember("subkey", .string(key.dropFirst(14).first == "4" ? "random" : key))
                    case "write_checkpoint": return member
                    case "data": return JSONMember("data", data(member.value))
                    default: return JSONMember(member.name, normal(member.value, member.name))
                    }
                })
        case .array(let elements):
            let normal = elements.map { Self.normal($0, key) }
            let isUnordered = ["buckets", "updated_buckets", "removed_buckets"].contains(key)
            return .array(isUnordered ? normal.sorted { $0.text < $1.text } : normal)
        default: return json
        }
    }

    /// A text over 2,000 characters is recorded by its length and digest alone.
    private static func data(_ value: JSON) -> JSON {
        if let members = value.objectMembers, members.contains(where: { $0.name == "bucket" }) {
            return normal(value, "")
        }
        if case .array = value { return normal(value, "data") }
        if value["$long"] != nil { return .string("long") }
        if let text = value.stringValue, text.count > 2000 { return .string("long") }
        return value
    }
}
