import PowerSyncBackend
import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Who may write what: each user, operation, row and parent, by the map, by row security, by both, and with hidden
/// rows told (backend 2.9).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct PolicyTests {
    /// Who decides.
    enum Rule: String, Sendable, CaseIterable {
        /// The owners and parents of the map; the database has no policies.
        case map
        /// Row security alone; the map names no owner.
        case policies
        /// Both.
        case both
        /// Both, and rows that are hidden are told from missing ones.
        case strict
    }

    /// Whose a row is.
    private enum Target: String, CaseIterable {
        case own, foreign, missing
    }

    private static let users = ["alice", "bob", "carol", "dave"]

    private static let tables = """
        CREATE TABLE lists (id text PRIMARY KEY, owner_id text NOT NULL);
        CREATE TABLE todos (id text PRIMARY KEY, owner_id text NOT NULL, list_id text, body text);
        CREATE POLICY own ON lists USING (owner_id = current_setting('app.user_id', true));
        CREATE POLICY own ON todos USING (owner_id = current_setting('app.user_id', true))
            WITH CHECK (owner_id = current_setting('app.user_id', true)
                AND (list_id IS NULL OR EXISTS (SELECT FROM lists l WHERE l.id = list_id)));
        """

    /// A list and a todo of each user.
    private static let rows = """
        TRUNCATE lists, todos;
        INSERT INTO lists SELECT 'list of ' || u, u FROM unnest(ARRAY['alice', 'bob', 'carol', 'dave']) AS u;
        INSERT INTO todos SELECT 'todo of ' || u, u, 'list of ' || u, 'old'
            FROM unnest(ARRAY['alice', 'bob', 'carol', 'dave']) AS u
        """

    private static func map(_ rule: Rule) -> String {
        guard rule != .policies else { return "tables:\n  lists:\n  todos:\n" }
        return """
            tables:
              lists: { owner: owner_id }
              todos: { owner: owner_id, parents: { list_id: lists } }
            """
    }

    /// A backend that writes as a role which policies hold for, and the superuser's connection.
    private struct Desk {
        let backend: TestBackend
        let superuser: PostgresConnection

        func reset() async throws { try await superuser.script(PolicyTests.rows) }

        /// All todos, those of a user apart.
        func todos(of user: String) async throws -> (own: [String], others: [String]) {
            let result = try await superuser.query(
                """
                SELECT concat_ws(' ', id, owner_id, coalesce(list_id, 'none'), body), owner_id = $1::text
                FROM todos ORDER BY id
                """, [user])
            let rows = (0..<result.rowCount).map { (result[$0, 0] ?? "", result[$0, 1] == "t") }
            return (rows.filter(\.1).map(\.0), rows.filter { !$0.1 }.map(\.0))
        }
    }

    private func with(_ rule: Rule, _ body: (Desk) async throws -> Void) async throws {
        try await TwoRoles.with(tables: Self.tables) { two in
            try await two.migrate { $0.roles = [two.backendRole] }
            let (app, probe) = ("app_of_\(two.backendRole)", "probe_of_\(two.backendRole)")
            try await two.asSuperuser(
                """
                CREATE ROLE \(app); CREATE ROLE \(probe) BYPASSRLS;
                GRANT \(app), \(probe) TO \(two.backendRole);
                ALTER ROLE \(two.backendRole) NOINHERIT;
                REVOKE ALL ON ALL TABLES IN SCHEMA public FROM \(two.backendRole);
                GRANT SELECT, INSERT, UPDATE, DELETE ON lists, todos TO \(app);
                GRANT SELECT, UPDATE (id) ON lists, todos TO \(probe)
                """)
            if rule != .map {
                for table in ["lists", "todos"] {
                    try await two.asOwner("ALTER TABLE \(table) ENABLE ROW LEVEL SECURITY")
                }
            }
            let dropped = "DROP OWNED BY \(app), \(probe) CASCADE; DROP ROLE \(app), \(probe)"
            do {
                try await with(two, rule, app, probe, body)
            } catch {
                try await two.asSuperuser(dropped)
                throw error
            }
            try await two.asSuperuser(dropped)
        }
    }

    private func with(
        _ two: TwoRoles, _ rule: Rule, _ app: String, _ probe: String, _ body: (Desk) async throws -> Void
    ) async throws {
        var roles = RoleSettings()
        roles.roles = [try #require(DatabaseRole(app))]
        if rule == .strict { roles.probe = DatabaseRole(probe) }
        let settings = roles
        try await TestBackend.with(
            schema: "SELECT 1", uri: two.backend, map: Self.map(rule), { $0.roles = settings }
        ) { backend in
            let superuser = try await PostgresConnection.connect(two.superuser, poller: backend.poller)
            do {
                try await body(Desk(backend: backend, superuser: superuser))
            } catch {
                await superuser.close()
                throw error
            }
            await superuser.close()
        }
    }

    /// What becomes of an operation on a todo that names a list.
    private func expected(_ rule: Rule, _ kind: String, _ row: Target, in list: Target?) -> String {
        let isParentBad = kind != "DELETE" && (list == .foreign || list == .missing)
        switch (rule, kind, row) {
        // Policies see the row that would be, if there is one.
        case (.policies, "PUT", _): return isParentBad || row == .foreign ? "UNAUTHORIZED" : "applied"
        case (.policies, _, .own): return isParentBad ? "UNAUTHORIZED" : "applied"
        case (.policies, _, _): return "noop"
        // Whoever may not name the list learns nothing of the row.
        case _ where isParentBad: return "PARENT_MISSING"
        case (_, "PUT", .foreign): return "UNAUTHORIZED"
        case (_, "PUT", _), (_, _, .own): return "applied"
        case (_, _, .missing): return "noop"
        case (_, _, .foreign): return rule == .strict ? "UNAUTHORIZED" : "noop"
        }
    }

    private func id(_ kind: String, _ target: Target, _ user: Int) -> String {
        switch target {
        case .own: "\(kind) of \(Self.users[user])"
        case .foreign: "\(kind) of \(Self.users[(user + 1) % Self.users.count])"
        case .missing: "\(kind) of nobody"
        }
    }

    private func operation(_ kind: String, _ row: Target, in list: Target?, by user: Int) -> String {
        let id = id("todo", row, user)
        guard kind != "DELETE" else { return #"{"op":"DELETE","table":"todos","id":"\#(id)"}"# }
        let name = list.map { JSON.quoted(self.id("list", $0, user)) } ?? "null"
        let data = #"{"owner_id":"\#(Self.users[user])","list_id":\#(name),"body":"new"}"#
        return #"{"op":"\#(kind)","table":"todos","id":"\#(id)","data":\#(data)}"#
    }

    @Test(arguments: Rule.allCases)
    func eachOperationIsDecidedByWhoseItsRowsAre(rule: Rule) async throws {
        try await with(rule) { desk in
            let lists: [Target?] = [.own, .foreign, .missing, nil]
            for (number, user) in Self.users.enumerated() {
                for kind in ["PUT", "PATCH", "DELETE"] {
                    for row in Target.allCases {
                        for list in lists where kind != "DELETE" || list == nil {
                            try await desk.reset()
                            let before = try await desk.todos(of: user)
                            let outcome = try await desk.backend.apply(
                                operation(kind, row, in: list, by: number), user: user)
                            let place = "\(user): \(kind) \(row.rawValue) in \(list?.rawValue ?? "none")"
                            let expected = expected(rule, kind, row, in: list)
                            #expect(outcome == expected, "\(place)")
                            let after = try await desk.todos(of: user)
                            #expect(after.others == before.others, "\(place): rows of others")
                            let name = id("list", list ?? .missing, number)
                            let written =
                                "\(id("todo", row, number)) \(user) \(list == nil ? "none" : name) new"
                            switch (expected, kind, row) {
                            case ("applied", "DELETE", _): #expect(after.own.isEmpty, "\(place)")
                            case ("applied", _, .own): #expect(after.own == [written], "\(place)")
                            case ("applied", _, _):
                                #expect(Set(after.own) == Set(before.own + [written]), "\(place)")
                            default: #expect(after.own == before.own, "\(place)")
                            }
                        }
                    }
                }
            }
        }
    }

    /// A row is given to nobody, and taken from nobody.
    @Test(arguments: Rule.allCases)
    func nobodyWritesInTheNameOfAnother(rule: Rule) async throws {
        try await with(rule) { desk in
            for (number, user) in Self.users.enumerated() {
                let other = Self.users[(number + 1) % Self.users.count]
                for (kind, row) in [("PUT", Target.own), ("PUT", .missing), ("PATCH", .own)] {
                    try await desk.reset()
                    let before = try await desk.todos(of: user)
                    let one =
                        #"{"op":"\#(kind)","table":"todos","id":"\#(id("todo", row, number))","#
                        + #""data":{"owner_id":"\#(other)","body":"new"}}"#
                    let outcome = try await desk.backend.apply(one, user: user)
                    let place = "\(user): \(kind) \(row.rawValue)"
                    #expect(outcome == (rule == .policies ? "UNAUTHORIZED" : "adjusted"), "\(place)")
                    let after = try await desk.todos(of: user)
                    #expect(after.others == before.others, "\(place)")
                    let isNew = row == .missing && rule != .policies
                    #expect(after.own.count == before.own.count + (isNew ? 1 : 0), "\(place)")
                }
            }
        }
    }

    /// Of a transaction that has one bad operation nothing is there, whoever decides.
    @Test(arguments: Rule.allCases)
    func oneBadOperationTakesItsTransactionAlong(rule: Rule) async throws {
        try await with(rule) { desk in
            for (number, user) in Self.users.enumerated() {
                try await desk.reset()
                let before = try await desk.todos(of: user)
                let operations = [
                    operation("PATCH", .own, in: .own, by: number),
                    operation("PUT", .missing, in: .foreign, by: number),
                    operation("DELETE", .own, in: nil, by: number),
                ]
                let answer = try await desk.backend.upload(
                    "{\"batch\":[\(operations.joined(separator: ","))]}", user: user)
                #expect(answer.errorCodes == [expected(rule, "PUT", .missing, in: .foreign)])
                #expect(answer.states == ["skipped", "rejected", "skipped"], "\(answer.json.text)")
                let after = try await desk.todos(of: user)
                #expect(after.own == before.own && after.others == before.others)
            }
        }
    }
}
