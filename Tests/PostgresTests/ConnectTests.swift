import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite(.patient())
struct ConnectTests {
    let poller: Poller

    init() throws {
        poller = try Poller()
    }

    @Test func aMalformedURIIsNotQuoted() async throws {
        for uri in ["postgres://user:secret@[host/db", "secret", "postgres://u:secret@h/db?sslmod=x", "a\0b"]
        {
            let error = await #expect(throws: PostgresError.self) {
                _ = try await PostgresConnection.connect(uri, poller: poller)
            }
            #expect(error?.code == .invalidInput)
            #expect(error?.description.contains("secret") == false)
        }
    }

    @Test func aServerThatSaysNothingTimesOut() async throws {
        let server = try RawServer { $0.waitForHangUp() }
        let error = await #expect(throws: PostgresError.self) {
            _ = try await PostgresConnection.connect(
                "postgres://u@127.0.0.1:\(server.port)/d", poller: poller, deadline: .milliseconds(100))
        }
        #expect(error?.code == .connectTimedOut)
    }

    @Test func connectingCanBeCancelled() async throws {
        let (asked, left) = (Lock(false), Lock(false))
        let server = try RawServer { connection in
            asked.withLock { $0 = connection.receive() != nil }
            connection.waitForHangUp()
            left.withLock { $0 = true }
        }
        let task = Task {
            _ = try await PostgresConnection.connect(
                "postgres://u@127.0.0.1:\(server.port)/d", poller: poller, deadline: .seconds(3600))
        }
        try await wait(for: "the first message") { asked.withLock { $0 } }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await wait(for: "the connection to be closed") { left.withLock { $0 } }
    }

    /// Connects by names that only the test knows, and returns why that failed.
    private func connect(
        _ uri: String, parameters: [String: String] = [:], rejected: IPRanges = IPRanges(),
        within deadline: Duration = TestOptions.deadline, names: @escaping NameLookup.Resolver
    ) async -> PostgresError? {
        await #expect(throws: PostgresError.self) {
            let poller = try Poller(names: NameLookup(resolver: names))
            defer { poller.stop() }
            let connection = try await PostgresConnection.connect(
                uri, parameters: parameters, addresses: PostgresAddressRules(rejected: rejected),
                poller: poller, deadline: deadline)
            await connection.close()
        }
    }

    /// Does so with times that double until the reason is the right one.
    ///
    /// On a busy machine the time may be over before what the test is about.
    private func connect(
        _ uri: String, until isRight: (PostgresError) -> Bool, names: @escaping NameLookup.Resolver
    ) async -> PostgresError? {
        var time = Duration.seconds(1)
        while true {
            let failure = await connect(uri, within: time, names: names)
            guard let error = failure, !isRight(error), time < TestOptions.deadline else { return failure }
            time *= 2
        }
    }

    private static func addresses(_ texts: String...) -> [IPAddress] { texts.compactMap { IPAddress($0) } }

    /// A server that hangs up at once.
    private func server() throws -> RawServer { try RawServer { _ = $0.receive() } }

    @Test func aLookUpThatDoesNotEndIsGivenUp() async throws {
        let gate = BlockingGate()
        defer { gate.open() }
        let error = await connect(
            "postgres://u@slow.test/d", until: { $0.message.contains("slow.test") },
            names: { _ in
                gate.wait()
                return .success([])
            })
        #expect(error?.code == .connectTimedOut)
        #expect(error?.message.contains("slow.test") == true)
    }

    @Test func aNameThatNobodyHasIsSaidSo() async throws {
        let error = await connect("postgres://u@nowhere.test/d") { _ in
            .failure(SystemError(.nameLookup, "Name or service not known"))
        }
        #expect(
            error?.message
                == #"could not translate host name "nowhere.test" to address: Name or service not known"#)
        #expect(error?.code == .unavailable && error?.isConnectionLost == true)
    }

    /// A second look-up, by libpq, could find another address than the one that was checked; it would find none for this name.
    @Test func whatWasLookedUpIsWhatIsConnectedTo() async throws {
        let server = try server()
        let lookups = Lock(0)
        let error = await connect("postgres://u@db.test:\(server.port)/d") { _ in
            lookups.withLock { $0 += 1 }
            return .success(Self.addresses("127.0.0.1"))
        }
        #expect(error?.code == .unavailable)
        #expect(server.connections >= 1 && lookups.withLock { $0 } == 1)
    }

    @Test func rejectedAddressesAreNotConnectedTo() async throws {
        let server = try server()
        // However it is written: an address, a name, a form that only the system knows, an address beside a name.
        for uri in [
            "postgres://u@127.0.0.1:\(server.port)/d", "postgres://u@db.test:\(server.port)/d",
            "postgres://u@2130706433:\(server.port)/d", "postgres://u@[::ffff:127.0.0.1]:\(server.port)/d",
            "postgres://u@db.test:\(server.port)/d?hostaddr=127.0.0.1", "host=/tmp port=\(server.port)",
        ] {
            let error = await connect(uri, rejected: .local) { name in
                name == "db.test" ? .success(Self.addresses("::1", "127.0.0.1")) : NameLookup.system(name)
            }
            #expect(error?.code == .rejectedAddress, "\(uri): \(error as Any)")
            #expect(error?.isConnectionLost == false)
        }
        let parameters = await connect(
            "postgres://u@db.test:\(server.port)/d", parameters: ["hostaddr": "127.0.0.1"], rejected: .local
        ) { _ in .success(Self.addresses("192.0.2.1")) }
        #expect(parameters?.code == .rejectedAddress)
        let form = await connect(
            "postgres://u@db.test:\(server.port)/d", parameters: ["hostaddr": "127.1"], rejected: .local
        ) { _ in .success(Self.addresses("192.0.2.1")) }
        #expect(form?.code == .invalidInput)
        #expect(server.connections == 0)
    }

    /// Of several addresses, those that may be connected to are.
    @Test func theOtherAddressesOfANameAreTried() async throws {
        let server = try server()
        let error = await connect(
            "postgres://u@db.test:\(server.port)/d",
            rejected: IPRanges([try #require(IPRange("192.0.2.0/24"))])
        ) { _ in .success(Self.addresses("192.0.2.1", "127.0.0.1")) }
        #expect(error?.code == .unavailable && server.connections >= 1)
    }

    @Test func aHostWithoutAddressIsPassedOver() async throws {
        let server = try server()
        let gate = BlockingGate()
        defer { gate.open() }
        let error = await connect(
            "host=slow.test,gone.test,db.test port=1,2,\(server.port)", until: { $0.code == .unavailable },
            names: { name in
                switch name {
                case "slow.test":
                    gate.wait()
                    return .success([])
                case "gone.test": return .failure(SystemError(.nameLookup, "Name or service not known"))
                default: return .success(Self.addresses("127.0.0.1"))
                }
            })
        #expect(error?.code == .unavailable && server.connections >= 1)
    }

    @Test(arguments: ["host=a.test,b.test port=1,2,3", "host=a.test,b.test hostaddr=127.0.0.1"])
    func hostsAddressesAndPortsMustBeEquallyMany(_ uri: String) async {
        let error = await connect(uri) { _ in .success([]) }
        #expect(error?.code == .invalidInput)
    }

    @Test(arguments: [
        ("postgres://u:p@h:1/d?sslmode=require", ["sslmode": "require", "host": "h", "port": "1"]),
        ("postgres://u:sslmode=require@h/d", ["password": "sslmode=require", "user": "u"]),
        ("postgres://h/d?ssl=true", ["sslmode": "require", "dbname": "d"]),
        ("host=h sslmode = 'verify-ca'", ["sslmode": "verify-ca", "host": "h"]),
    ])
    func libpqSaysWhatATextSets(_ text: String, _ expected: [String: String]) throws {
        let named = try ConnectionOptions.named(in: text)
        #expect(expected.allSatisfy { named[$0.key] == $0.value })
        #expect((named["sslmode"] == nil) == (expected["sslmode"] == nil))
    }

    @Test(.enabled(if: TestOptions.hasDatabase))
    func saysWhatTheServerRefused() async throws {
        let server = try await TestPostgres.server()
        let database = await #expect(throws: PostgresError.self) {
            _ = try await PostgresConnection.connect(server.uri(database: "nowhere"), poller: poller)
        }
        #expect(database?.code == .unavailable)
        #expect(database?.sqlstate == "3D000")
        #expect(database?.isConnectionLost == false)
        #expect(database?.message.contains(#"database "nowhere" does not exist"#) == true)
        #expect(database?.message.contains("LOCATION") == false)
        let user = await #expect(throws: PostgresError.self) {
            _ = try await PostgresConnection.connect(
                server.uri(), parameters: ["user": "nobody_here"], poller: poller)
        }
        // As for a wrong password: whether there is such a role is told to nobody.
        #expect(user?.sqlstate == "28P01")
        let option = await #expect(throws: PostgresError.self) {
            _ = try await PostgresConnection.connect(
                server.uri(), parameters: ["no_such": "1"], poller: poller)
        }
        #expect(option?.code == .unavailable)
    }
}
