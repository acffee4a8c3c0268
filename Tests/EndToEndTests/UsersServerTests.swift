import Foundation
import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncPostgresServer
import PowerSyncStack
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// However `demo` and `up` end, a server of the user's is afterwards as it was before.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient(minutes: 60))
struct UsersServerTests {
    /// All endings on one server, one after the other, for a role that may create databases and replicate alone.
    ///
    /// `POWERSYNC_ENDINGS` says how often.
    @Test(arguments: ["demo", "up"], 0..<TestOptions.number("POWERSYNC_ENDINGS", standard: 1))
    func nothingOfOursIsLeftOnAUsersServer(command: String, round: Int) async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let users = try await UsersServer.start(poller)
        let environment = ["DATABASE_URI": users.uri]
        // What the user's own database is asked to keep.
        try await EndToEnd.withFolder { _, temporary in
            try await Run.up(
                environment: environment, temporary: temporary, ending: .interrupt, rows: ["first"])
        }
        let before = try await users.catalogs()
        #expect(before.publications == ["theirs/powersync"])
        #expect(before.slots == [] && before.databases == ["postgres", "template0", "template1", "theirs"])
        for ending in command == "demo" ? Ending.allCases : Ending.ofUp {
            try await EndToEnd.withFolder { _, temporary in
                if command == "demo" {
                    // Without REPLICATION a start fails when the demo's database is there already.
                    let uri = ending == .failedStart ? users.uri(role: "unable") : users.uri
                    try await Run.demo(
                        environment: ["DATABASE_URI": uri], temporary: temporary, ending: ending,
                        error: "the role may not replicate")
                } else {
                    try await Run.up(
                        environment: environment, temporary: temporary, ending: ending, rows: ["first"])
                }
                if ending == .killed {
                    #expect(try await users.catalogs() != before, "nothing was there to be left")
                    try await Run.up(
                        environment: environment, temporary: temporary, ending: .terminate,
                        rows: ["first"])
                }
            }
            #expect(try await users.catalogs() == before, "\(command), \(ending)")
        }
        await users.server.stop()
    }

    /// With `--data` the slot stays for the next time, and the user is told how to give it up, as little as the parts log.
    @Test func aKeptSlotIsTold() async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let users = try await UsersServer.start(poller)
        try await EndToEnd.withFolder { folder, temporary in
            let up = try StackProcess(
                ["up", "--backend-port", "0", "--service-port", "0", "--data", folder + "/data"],
                environment: ["DATABASE_URI": users.uri, "LOG_LEVEL": "error"], temporary: temporary)
            _ = try await up.endpoints()
            up.process.signal(SIGINT)
            #expect(try await up.end() == .exited(0))
            let slots = try await users.catalogs().slots
            #expect(slots.count == 1)
            let told = try await up.allErrorLines().last ?? ""
            let advice = try #require(told.firstRange(of: "SELECT pg_drop_replication_slot("))
            try await users.script(String(told[advice.lowerBound...]))
            #expect(try await users.catalogs().slots == [])
        }
        await users.server.stop()
    }

    /// The files of a run without `--data` are gone with it, and the next one begins without them.
    @Test func filesOfARunBeforeKeepNoneFromItsStart() async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let users = try await UsersServer.start(poller)
        for _ in 0..<2 {
            try await EndToEnd.withFolder { _, temporary in
                let up = try StackProcess(
                    ["up", "--backend-port", "0", "--service-port", "0"],
                    environment: ["DATABASE_URI": users.uri], temporary: temporary)
                _ = try await up.endpoints()
                try await users.script(
                    """
                    INSERT INTO psb.attachment_removals (key, size, due_at, last_at)
                    VALUES ('k', 1, '2100-01-01', '2100-01-01') ON CONFLICT DO NOTHING
                    """)
                up.process.signal(SIGINT)
                #expect(try await up.end() == .exited(0))
            }
        }
        await users.server.stop()
    }

    /// Errors of closing are an exit status and a line.
    @Test func aServerThatIsGoneAtTheEndIsTold() async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let users = try await UsersServer.start(poller)
        try await EndToEnd.withFolder { _, temporary in
            let up = try StackProcess(
                ["up", "--backend-port", "0", "--service-port", "0"],
                environment: ["DATABASE_URI": users.uri], temporary: temporary)
            _ = try await up.endpoints()
            await users.server.stop()
            up.process.signal(SIGTERM)
            #expect(try await up.end() == .exited(1))
            let last = try await up.allErrorLines().last
            #expect(last?.hasPrefix("error: ") == true && last?.contains("connect") == true, "\(last ?? "")")
            try await up.leavesNothingBehind()
        }
    }

    /// A run whose connections were all cut by a restart of the server goes on, and a run that starts meanwhile drops
    /// nothing of it.
    @Test func aRestartOfTheServerDisownsNobody() async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let users = try await UsersServer.start(poller)
        let environment = ["DATABASE_URI": users.uri]
        try await EndToEnd.withFolder { _, temporary in
            let first = try StackProcess(
                ["up", "--backend-port", "0", "--service-port", "0"], environment: environment,
                temporary: temporary)
            let places = try await first.endpoints()
            try await users.server.restart()
            // The service is held, so that its slot is inactive: the claim alone speaks for it.
            let service = try first.part(.service)
            kill(service, SIGSTOP)
            defer { kill(service, SIGCONT) }
            try await users.endWalsenders()
            let slots = try await users.catalogs().slots
            #expect(slots.count == 1)
            let second = try StackProcess(
                ["up", "--backend-port", "0", "--service-port", "0"], environment: environment,
                temporary: temporary)
            _ = try await second.endpoints()
            #expect(try await users.catalogs().slots.filter(slots.contains) == slots)
            kill(service, SIGCONT)
            try await SyncedRows.wait(for: ["first"], backend: places.backend, service: places.service)
            for up in [second, first] {
                up.process.signal(SIGINT)
                #expect(try await up.end() == .exited(0))
            }
            #expect(try await users.catalogs().slots == [])
            try await first.leavesNothingBehind()
        }
        await users.server.stop()
    }

    /// A signal that comes while things are being made, at three moments.
    @Test(arguments: ["the claim", "the database", "a slot"])
    func aSignalBeforeEverythingIsUpLeavesNothing(moment: String) async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let users = try await UsersServer.start(poller)
        let before = try await users.catalogs()
        let connection = try await PostgresConnection.connect(users.server.uri(), poller: poller)
        let question =
            switch moment {
            case "the claim":
                "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'powersync-stack/%'"
            case "the database": "SELECT count(*) FROM pg_database WHERE datname LIKE 'powersync_stack_%'"
            default: "SELECT count(*) FROM pg_replication_slots"
            }
        try await EndToEnd.withFolder { _, temporary in
            let demo = try StackProcess(
                ["demo", "--json"], environment: ["DATABASE_URI": users.uri], temporary: temporary)
            try await wait(
                for: moment, read: { try await connection.query(question)[0, 0] }, until: { $0 != "0" })
            demo.process.signal(SIGINT)
            #expect(try await demo.end() == .exited(130))
            try await demo.leavesNothingBehind()
        }
        await connection.close()
        #expect(try await users.catalogs() == before)
        await users.server.stop()
    }

    /// The server does not hear that the statement which makes the database was given up, and goes on with it.
    @Test func aDatabaseThatIsMadeInSpiteOfASignalGoes() async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let users = try await UsersServer.start(poller)
        let before = try await users.catalogs()
        let relay = try PostgresRelay(to: users.server.port, losesCancellations: true)
        let holder = try await PostgresConnection.connect(users.server.uri(), poller: poller)
        try await holder.script("BEGIN; LOCK TABLE pg_database IN SHARE MODE")
        // Within its transaction the holder would see the same sessions again and again.
        let observer = try await PostgresConnection.connect(users.server.uri(), poller: poller)
        let making =
            "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'CREATE DATABASE%' AND state = 'active'"
        try await EndToEnd.withFolder { _, temporary in
            let uri = users.uri.replacing(":\(users.server.port)/", with: ":\(relay.port)/")
            let demo = try StackProcess(
                ["demo", "--json"], environment: ["DATABASE_URI": uri], temporary: temporary)
            try await wait(
                for: "the database to be made",
                read: { try await observer.query(making + " AND wait_event_type = 'Lock'").scalar },
                until: { $0 == "1" })
            demo.process.signal(SIGINT)
            #expect(try await demo.end() == .exited(130))
            try await demo.leavesNothingBehind()
        }
        try await holder.script("COMMIT")
        try await wait(
            for: "the server to have made it", read: { try await observer.query(making).scalar },
            until: { $0 == "0" })
        await holder.close()
        await observer.close()
        #expect(try await users.catalogs() == before)
        await users.server.stop()
    }

    /// The service is killed while its slot waits for a transaction, and its session, named by the user, does not notice.
    @Test func aSlotThatIsBeingMadeGoesWhateverItsSessionIsCalled() async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let users = try await UsersServer.start(poller)
        let writer = try await PostgresConnection.connect(users.uri, poller: poller)
        try await writer.script("BEGIN; SELECT pg_current_xact_id()")
        try await EndToEnd.withFolder { _, temporary in
            let up = try StackProcess(
                ["up", "--backend-port", "0", "--service-port", "0"],
                environment: ["DATABASE_URI": users.uri + "&application_name=mine"], temporary: temporary)
            try await wait(
                for: "a slot", read: { try await users.catalogs().slots }, until: { !$0.isEmpty })
            kill(try up.part(.service), SIGKILL)
            #expect(try await up.end() == .exited(1))
            let errors = try await up.allErrorLines()
            #expect(!errors.contains { $0.contains("replication slots of this run") }, "\(errors.suffix(5))")
            try await up.leavesNothingBehind()
        }
        let left = try await users.catalogs().slots
        #expect(left == [])
        await writer.close()
        await users.server.stop()
    }

    /// A session of somebody else's in the run's database is not ours to end: the database stays, which is told, and
    /// goes with a start that finds it unused.
    @Test func aForeignSessionIsNotCut() async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let users = try await UsersServer.start(poller)
        let before = try await users.catalogs()
        try await EndToEnd.withFolder { _, temporary in
            let demo = try StackProcess(
                ["demo", "--json"], environment: ["DATABASE_URI": users.uri], temporary: temporary)
            try await demo.lines(until: "\"chapter\":2")
            // Held until the guest is there.
            demo.process.signal(SIGSTOP)
            let database = try await users.catalogs().databases.first { $0.hasPrefix("powersync_stack_") }
            let name = try #require(database)
            let guest = try await PostgresConnection.connect(
                users.server.uri(database: name), poller: poller)
            demo.process.signal(SIGCONT)
            #expect(try await demo.end() == .exited(1))
            let last = try await demo.allErrorLines().last
            #expect(last == "error: waited 10 s for nobody to use \(name), which stays")
            #expect(try await guest.query("SELECT 1").scalar == "1")
            let warned = try StackProcess(
                ["demo", "--json"], environment: ["DATABASE_URI": users.uri], temporary: temporary)
            #expect(try await warned.end() == .exited(0))
            #expect(
                try await warned.allErrorLines().contains {
                    $0.contains("\(name), which an earlier run left on the server, is still in use and stays")
                })
            #expect(try await guest.query("SELECT 1").scalar == "1")
            await guest.close()
            try await Run.demo(
                environment: ["DATABASE_URI": users.uri], temporary: temporary, ending: .byItself)
        }
        #expect(try await users.catalogs() == before)
        await users.server.stop()
    }

    @Test func tablesOfTheUsersTemplateDoNotReachTheDemo() async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let users = try await UsersServer.start(poller)
        let template = try await PostgresConnection.connect(
            users.server.uri(database: "template1"), poller: poller)
        try await template.script("CREATE TABLE mine (id int)")
        await template.close()
        try await EndToEnd.withFolder { _, temporary in
            try await Run.demo(
                environment: ["DATABASE_URI": users.uri], temporary: temporary, ending: .byItself)
        }
        await users.server.stop()
    }

    /// Neither the password nor the rows that the backend has refused get out.
    @Test func nothingSecretIsPrintedOrServed() async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let users = try await UsersServer.start(poller)
        let owner = try await PostgresConnection.connect(
            users.server.uri(database: "theirs"), poller: poller)
        try await owner.script("CREATE PUBLICATION powersync FOR ALL TABLES")
        await owner.close()
        let secret = users.server.password
        let shown = users.uri.replacing(":\(secret)@", with: "@")
        try await EndToEnd.withFolder { _, temporary in
            for _ in 0..<2 {
                let up = try StackProcess(
                    ["up", "--backend-port", "0", "--service-port", "0"],
                    environment: ["DATABASE_URI": users.uri], temporary: temporary)
                let places = try await up.endpoints()
                #expect(places.postgres == shown && shown != users.uri)
                up.process.signal(SIGINT)
                #expect(try await up.end() == .exited(0))
                let told = try await up.allErrorLines().joined(separator: "\n")
                #expect(told.contains("SELECT * FROM \"notes\""))
                #expect(!told.contains("FROM \"psb\"") && !told.contains(secret))
            }
        }
        await users.server.stop()
    }
}
