import PowerSyncPostgres
import PowerSyncWire

/// Tells rows that policies hide from rows that are missing, for teams that want to be told of the first (`RLS_STRICT`, backend
/// 2.9): a role that sees all looks before a run which of its rows are there, and the run fails if it did not find one of them.
///
/// What is there is locked, as by a foreign key: a row that somebody deletes in between was not refused.
struct StrictProbe: Sendable {
    /// Where the places of rows that are there, from 1, are kept between two statements.
    private static let place = "psb.there"

    private let probe: DatabaseRole
    private let role: DatabaseRole?

    /// Makes a probe.
    ///
    /// - Parameters:
    ///   - probe: the role that sees all rows.
    ///   - role: the role that writes; nil for who has logged in.
    init(_ probe: DatabaseRole, role: DatabaseRole?) {
        self.probe = probe
        self.role = role
    }

    /// Returns the statements before a run; none where no policy hides anything from it, or it makes its rows itself.
    func questions(
        before run: UploadRun
    ) -> [(statement: PostgresStatement, part: AttemptPlan.Step.Part)] {
        let first = run.operations[0]
        guard first.table.hasRowSecurity, first.kind != .put else { return [] }
        let id = "p.\(first.table.id.quoted) = \(first.table.id.expression("u.k"))"
        let there = PostgresStatement(
            """
            SELECT pg_catalog.set_config('\(Self.place)', coalesce((SELECT pg_catalog.string_agg(u.o::text, ',')
                FROM pg_catalog.unnest($1::text[]) WITH ORDINALITY AS u(k, o)
                CROSS JOIN LATERAL (SELECT FROM \(first.table.quoted) AS p WHERE \(id) FOR KEY SHARE) AS e), ''), true)
            """, [arrayLiteral(run.operations.map(\.id))], keepsRows: false)
        return [
            (RoleStatements.take(probe), .takingRole), (there, .asking),
            (RoleStatements.take(role), .takingRole),
        ]
    }

    /// Returns a statement that fails if a row that is there was not found.
    ///
    /// A row that a trigger has left alone was found: where there may be such a trigger, one that the role sees is not refused.
    ///
    /// - Parameters:
    ///   - change: a PATCH or DELETE of several rows, without RETURNING, whose rows are `u(k, …, o)`; `$1` has the ids.
    ///   - table: the table.
    ///   - condition: what a row `t` must be besides, to be found.
    /// - Returns: the statement, whose rows are the places of those that were found.
    static func refusing(_ change: String, _ table: UploadTable, _ condition: String) -> String {
        let id = "t.\(table.id.quoted) = \(table.id.expression("q.k"))"
        return """
            WITH done AS (\(change) RETURNING u.o::text AS o)
            SELECT d.o FROM done AS d
            UNION ALL
            SELECT NULL
            FROM pg_catalog.unnest(pg_catalog.string_to_array(pg_catalog.current_setting('\(place)'), ',')) AS p(o)
            WHERE CASE WHEN p.o IN (SELECT d.o FROM done AS d) THEN false
                WHEN EXISTS (SELECT FROM pg_catalog.pg_trigger AS g
                        WHERE g.tgrelid = \(quoteLiteral(table.quoted))::pg_catalog.regclass AND g.tgtype & 3 = 3
                            AND NOT g.tgisinternal)
                    AND EXISTS (SELECT FROM pg_catalog.unnest($1::text[]) WITH ORDINALITY AS q(k, o)
                        JOIN \(table.quoted) AS t ON \(id)\(condition) WHERE q.o::text = p.o) THEN false
                ELSE \(SQLRefusal.otherOwner) END
            """
    }
}
