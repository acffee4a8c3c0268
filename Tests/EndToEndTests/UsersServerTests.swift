import Foundation
import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncStack
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// However `demo` and `up` end, a server of the user's is afterwards as it was before.
@Suite(.enabled(if: TestOptions.hasDatabase), .timeLimit(.minutes(10)))
struct UsersServerTests {
    /// All endings on one server, one after the other, for a role that may create databases and replicate alone.
    ///
    /// `POWERSYNC_ENDINGS` says how often.
    @Test(arguments: ["demo", "up"])
    func nothingOfOursIsLeftOnAUsersServer(command: String) async throws {
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
        for _ in 0..<TestOptions.number("POWERSYNC_ENDINGS", standard: 1) {
            for ending in command == "demo" ? Ending.allCases : Ending.ofUp {
                try await EndToEnd.withFolder { _, temporary in
                    if command == "demo" {
                        // Without REPLICATION the service cannot make its slot, when all the rest is there.
                        let uri = ending == .failedStart ? users.uri(role: "unable") : users.uri
                        try await Run.demo(
                            environment: ["DATABASE_URI": uri], temporary: temporary, ending: ending)
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
        }
        await users.server.stop()
    }

    /// With `--data` the slot stays for the next time, and the user is told how to give it up.
    @Test func aKeptSlotIsTold() async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let users = try await UsersServer.start(poller)
        try await EndToEnd.withFolder { folder, temporary in
            let up = try StackProcess(
                ["up", "--backend-port", "0", "--service-port", "0", "--data", folder + "/data"],
                environment: ["DATABASE_URI": users.uri], temporary: temporary)
            _ = try await up.endpoints()
            up.process.signal(SIGINT)
            #expect(await up.process.wait() == .exited(0))
            let slots = try await users.catalogs().slots
            #expect(slots.count == 1)
            let told = try await up.allErrorLines().last ?? ""
            let advice = try #require(told.firstRange(of: "SELECT pg_drop_replication_slot("))
            try await users.script(String(told[advice.lowerBound...]))
            #expect(try await users.catalogs().slots == [])
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
            #expect(await up.process.wait() == .exited(1))
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
            try await users.endWalsenders()
            let slots = try await users.catalogs().slots
            #expect(slots.count == 1)
            let second = try StackProcess(
                ["up", "--backend-port", "0", "--service-port", "0"], environment: environment,
                temporary: temporary)
            _ = try await second.endpoints()
            #expect(try await users.catalogs().slots.filter(slots.contains) == slots)
            kill(service, SIGCONT)
            #expect(try await SyncedRows.ids(backend: places.backend, service: places.service) == ["first"])
            for up in [second, first] {
                up.process.signal(SIGINT)
                #expect(await up.process.wait() == .exited(0))
            }
            #expect(try await users.catalogs().slots == [])
            try await first.leavesNothingBehind()
        }
        await users.server.stop()
    }
}
