import PowerSyncBackend
import PowerSyncPostgres
import Testing

struct DatabaseVerdictTests {
    private func verdict(_ sqlstate: String?) -> DatabaseVerdict { DatabaseVerdict(sqlstate: sqlstate) }

    @Test(arguments: [
        ("22001", "INVALID_DATA"), ("22003", "INVALID_DATA"), ("22P02", "INVALID_DATA"),
        ("22P05", "INVALID_DATA"),
        ("23502", "NOT_NULL_VIOLATION"), ("23503", "FOREIGN_KEY_VIOLATION"),
        ("23001", "FOREIGN_KEY_VIOLATION"),
        ("23505", "UNIQUE_VIOLATION"), ("23514", "CHECK_VIOLATION"), ("23P01", "CONSTRAINT_VIOLATION"),
        ("40002", "CONSTRAINT_VIOLATION"), ("428C9", "READ_ONLY_COLUMN"), ("54000", "TOO_LARGE"),
        ("P0001", "BUSINESS_RULE"), ("PS001", "BUSINESS_RULE"), ("0A000", "UNSUPPORTED"),
    ])
    func writesThatCanNeverSucceedAreRejected(sqlstate: String, code: String) {
        #expect(verdict(sqlstate).kind == .rejected)
        #expect(verdict(sqlstate).code == code)
    }

    @Test(arguments: [
        "40001", "40P01", "40003", "55P03", "26000", "42P05", "08006", "57P01", "57P03", "25P03",
    ])
    func passingTroubleIsRetried(sqlstate: String) {
        #expect(verdict(sqlstate).kind == .retry)
    }

    @Test func aLostConnectionIsRetriedOnAnother() {
        #expect(verdict(nil) == verdict("08006"))
        #expect(verdict(nil).dropsConnection)
        #expect(verdict("57P01").dropsConnection)
        #expect(!verdict("40001").dropsConnection)
    }

    /// Nothing is wrong with the write, nor with the connection, which prepares its statements anew.
    @Test func aPreparedStatementThatNoLongerHoldsIsRetried() {
        let changed = DatabaseVerdict(sqlstate: "0A000", function: "RevalidateCachedQuery")
        for verdict in [changed, verdict("26000"), verdict("42P05")] {
            #expect(verdict.kind == .retry && verdict.code == "CONTENTION" && !verdict.dropsConnection)
        }
        #expect(DatabaseVerdict(sqlstate: "0A000", function: "transformWithClause").kind == .rejected)
    }

    @Test(arguments: [
        ("53100", "DATABASE_OVERLOADED"), ("53300", "DATABASE_OVERLOADED"), ("25006", "DATABASE_READ_ONLY"),
        ("PSB04", "LETTER_NOT_OPEN"), ("PSB05", "ACCOUNT_DISABLED"),
    ])
    func whatTheClientMustWaitForIsUnavailable(sqlstate: String, code: String) {
        #expect(verdict(sqlstate).kind == .unavailable)
        #expect(verdict(sqlstate).code == code)
    }

    @Test(arguments: ["28000", "28P01", "3D000", "58030", "XX001"])
    func ourOwnCredentialsAndDisksNeverRejectAWrite(sqlstate: String) {
        #expect(verdict(sqlstate).kind == .misconfigured)
    }

    @Test(arguments: ["42P01", "42703", "42704", "42804", "42883"])
    func aMissingNameMayBeAMigration(sqlstate: String) {
        #expect(verdict(sqlstate).kind == .drift)
    }

    @Test(arguments: ["21000", "25P02", "42601", "42P10", "55000", "P0002"])
    func ourOwnMistakesAreBugs(sqlstate: String) {
        #expect(verdict(sqlstate).kind == .bug)
    }

    @Test(arguments: [("57014", "TIMEOUT"), ("XX000", "UNCLASSIFIED_ERROR"), ("99999", "UNCLASSIFIED_ERROR")])
    func unclearErrorsAreSuspect(sqlstate: String, code: String) {
        #expect(verdict(sqlstate).kind == .suspect)
        #expect(verdict(sqlstate).code == code)
    }

    /// By what no setting of language translates: the words may be those of any.
    @Test(arguments: [
        (
            "neue Zeile verletzt Policy für Sicherheit auf Zeilenebene für Tabelle »t«",
            "ExecWithCheckOptions", true
        ),
        ("only managers may do that", "exec_stmt_raise", true),
        ("permission denied for table t", "aclcheck_error", false),
        ("query would be affected by row-level security policy for table \"t\"", "check_enable_rls", false),
        ("new row violates row-level security policy for table \"t\"", nil, false),
    ])
    func aRefusedRowAndAMissingGrantAreToldApart(message: String, function: String?, isRow: Bool) {
        let verdict = DatabaseVerdict(
            PostgresError(.server, message, sqlstate: "42501", function: function))
        #expect(verdict.kind == (isRow ? .rejected : .bug))
        #expect(verdict.code == (isRow ? "UNAUTHORIZED" : "INTERNAL"))
    }

    /// With the functions of Postgres that we have refuse; what a trigger calls has a context.
    @Test(arguments: [
        ("setseed", nil, "UNAUTHORIZED"), ("Async_Notify", nil, "PARENT_MISSING"),
        ("setseed", "PL/pgSQL function f() line 1 at PERFORM", "INVALID_DATA"),
        ("Async_Notify", "PL/pgSQL function f() line 1 at PERFORM", "INVALID_DATA"),
        ("pg_strtoint32_safe", nil, "INVALID_DATA"), (nil, nil, "INVALID_DATA"),
    ])
    func ourOwnRefusalsAreToldByTheirFunctions(function: String?, context: String?, code: String) {
        let verdict = DatabaseVerdict(
            PostgresError(.server, "", sqlstate: "22023", function: function, context: context))
        #expect(verdict.kind == .rejected)
        #expect(verdict.code == code)
    }

    @Test func onlyATriggersOwnWordsAreShown() {
        #expect(verdict("P0001").sentence(raised: "too many open orders") == "too many open orders")
        #expect(!verdict("22P02").sentence(raised: "invalid input: \"secret\"").contains("secret"))
    }

    @Test func retriesEndByNumberAndByTime() throws {
        let policy = RetryPolicy()
        #expect(policy.delay(after: 1, elapsed: .zero, jitter: 1) == .milliseconds(10))
        #expect(policy.delay(after: 4, elapsed: .zero, jitter: 0.5) == .milliseconds(40))
        #expect(policy.delay(after: 5, elapsed: .zero, jitter: 0) == nil)
        #expect(policy.delay(after: 1, elapsed: .seconds(2), jitter: 1) == nil)
    }

    @Test func poisonTakesManyFailuresOverALongTime() {
        let policy = RetryPolicy()
        #expect(!policy.isPoison(code: "TIMEOUT", attempts: 8, age: .seconds(60)))
        #expect(!policy.isPoison(code: "TIMEOUT", attempts: 7, age: .seconds(10_000)))
        #expect(policy.isPoison(code: "TIMEOUT", attempts: 8, age: .seconds(900)))
        #expect(!policy.isPoison(code: "UNCLASSIFIED_ERROR", attempts: 8, age: .seconds(900)))
        #expect(policy.isPoison(code: "UNCLASSIFIED_ERROR", attempts: 8, age: .seconds(3_600)))
    }
}
