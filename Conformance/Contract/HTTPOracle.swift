import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncWire

/// Reads rows from a small server of the team's: `GET URL/rows/TABLE/ID` is the row as an object, or 404; `GET
/// URL/letters/USER` is a number, or 404 where nobody can tell.
package struct HTTPOracle: ContractOracle {
    private let url: String
    private let client: HTTPClient

    /// Makes an oracle.
    ///
    /// - Parameter url: What the URLs begin with.
    /// - Throws: `HTTPClientError`.
    package init(url: String) throws {
        self.url = url
        client = try HTTPClient()
    }

    /// Reads a row.
    package func row(_ table: String, _ id: String) async throws -> [String: JSON]? {
        guard let answer = try await answer("rows", [table, id]) else { return nil }
        guard let members = answer.objectMembers else {
            throw ContractError(.oracle, "the oracle's row of \(table) is no object")
        }
        return Dictionary(members.map { ($0.name, $0.value) }) { $1 }
    }

    /// Counts dead letters.
    package func letters(of user: String) async throws -> Int? {
        guard let answer = try await answer("letters", [user]) else { return nil }
        guard let count = answer.int64Value else {
            throw ContractError(.oracle, "the oracle's count of letters is no number")
        }
        return Int(count)
    }

    private func answer(_ kind: String, _ names: [String]) async throws -> JSON? {
        let path = ([kind] + names.map { PercentEncoding.encode($0) }).joined(separator: "/")
        let answer = try await client.send(
            HTTPClientRequest(url: url + "/" + path, totalTimeout: .seconds(60)))
        switch answer.status {
        case 200: return try JSON.parse(answer.body)
        case 404: return nil
        default: throw ContractError(.oracle, "the oracle answers \(answer.status) to GET \(path)")
        }
    }
}
