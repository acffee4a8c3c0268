import Foundation
import PowerSyncHTTP
import PowerSyncHTTPTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Connections that never get to the point, from a process of their own, beside clients that do (backend 7, number 11).
///
/// `POWERSYNC_CROWD` says how many; 5,000 is what is promised.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient(), .serialized)
struct CrowdTests {
    private static let count = TestOptions.number("POWERSYNC_CROWD", standard: 200)
    /// Whether times are compared, which needs a machine that does nothing else.
    private static let isMeasured = count >= 1_000
    private static let phases = isMeasured ? 3 : 1
    private static let requestsInAPhase = isMeasured ? 200 : 50
    private static let users = 40

    // MARK: The crowd

    /// A shell that is the crowd: connects so many times, says that it is there, and then trickles until it is killed.
    ///
    /// A quarter of the connections says nothing, a quarter sends half a head, a quarter announces the largest body that
    /// there may be, a quarter sends chunks where nobody reads them. Whoever is thrown out comes back.
    private static let crowd = """
        port=$1 count=$2 tokens=($3) folder=$4
        ulimit -n "$(ulimit -Hn)"
        trap '' PIPE
        exec 2>/dev/null
        join() {
            exec {descriptor}<>"/dev/tcp/127.0.0.1/$port" || return 1
            members[$1]=$descriptor
            case $(($1 % 4)) in
            1) printf 'POST /api/data HTTP/1.1\\r\\nHost: h\\r\\nX: ' >&"$descriptor" ;;
            2)
                printf 'POST /api/data HTTP/1.1\\r\\nHost: h\\r\\nContent-Type: application/json\\r\\n' >&"$descriptor"
                printf 'Content-Length: 16777216\\r\\nAuthorization: Bearer %s\\r\\n\\r\\n{' \
                    "${tokens[$(($1 / 4 % ${#tokens[@]}))]}" >&"$descriptor"
                ;;
            3)
                printf 'POST /nobody HTTP/1.1\\r\\nHost: h\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\nffff\\r\\n' \
                    >&"$descriptor"
                ;;
            esac
        }
        for ((number = 0; number < count; number++)); do join "$number"; done
        : >"$folder/gathered"
        while sleep 1; do
            for ((number = 0; number < count; number++)); do
                [ $((number % 4)) -eq 0 ] || printf x >&"${members[$number]}" || {
                    descriptor=${members[$number]}
                    exec {descriptor}>&-
                    join "$number"
                }
            done
        done
        """

    /// Does something while a crowd is there.
    private func withCrowd(
        _ port: Int, _ tokens: [String], _ body: () async throws -> [Duration]
    ) async throws -> [Duration] {
        let folder = try TemporaryDirectory(prefix: "crowd-")
        defer { folder.remove() }
        let crowd = try ChildProcess.guarded(
            "/bin/bash",
            [
                "-c", Self.crowd, "crowd", String(port), String(Self.count), tokens.joined(separator: " "),
                folder.path,
            ])
        defer { crowd.signal(SIGKILL) }
        try await wait(for: "the crowd to gather", within: TestOptions.deadline * 4) {
            FileManager.default.fileExists(atPath: folder.path + "/gathered")
        }
        let durations = try await body()
        crowd.signal(SIGKILL)
        try await wait(forEndOf: crowd, called: "the crowd")
        return durations
    }

    // MARK: Those who get to the point

    private static func good(_ client: JSONClient, _ token: String) async throws -> [Duration] {
        var durations: [Duration] = []
        for number in 0..<requestsInAPhase {
            // One for which there is always room, or one that needs some.
            let name = String(repeating: "n", count: number % 10 == 0 ? 100_000 : 1)
            let body =
                #"{"batch":[{"op":"PUT","table":"lists","id":"g\#(number)","data":{"name":"\#(name)"}}]}"#
            let start = ContinuousClock.now
            // A machine that does much else may ask to come again.
            try await wait(
                for: "the upload to be applied",
                read: { try await client.send("POST", "/api/data", body, token: token).status },
                until: { status in
                    try #require(status == 200 || status == 503 && !isMeasured)
                    return status == 200
                })
            durations.append(start.duration(to: .now))
        }
        return durations
    }

    @Test func goodRequestsAreHardlySlowerBesideACrowd() async throws {
        try await BackendProcess.with(schema: TestBackend.demoTables) { process, _ in
            let client = try JSONClient("http://127.0.0.1:\(process.port)")
            func token(_ user: String) async throws -> String {
                let answer = try await client.send("GET", "/api/auth/token?user_id=\(user)")
                let json = try answer.json
                return try #require(json["token"]?.stringValue)
            }
            let own = try await token("good")
            var tokens: [String] = []
            for user in 0..<Self.users { tokens.append(try await token("crowd\(user)")) }
            // The first ones open connections and plan statements.
            _ = try await Self.good(client, own)
            var quiet: [Duration] = []
            var crowded: [Duration] = []
            for _ in 0..<Self.phases {
                quiet += try await Self.good(client, own)
                crowded += try await withCrowd(process.port, tokens) { try await Self.good(client, own) }
            }
            let (without, with) = (quiet.percentile99, crowded.percentile99)
            print("uploads: p99 \(without) without a crowd, \(with) beside \(Self.count) connections")
            #expect(!Self.isMeasured || with <= without.doubled)
        }
    }
}
