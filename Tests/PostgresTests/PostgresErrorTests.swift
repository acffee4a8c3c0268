import PowerSyncPostgres
import Testing

struct PostgresErrorTests {
    @Test(arguments: [
        (PostgresError.Code.connectionLost, String?.none, true), (.unavailable, nil, true),
        (.server, "08006", true),
        (.server, "57P01", true), (.unavailable, "57P03", true), (.unavailable, "28P01", false),
        (.server, "23505", false), (.server, "57014", false), (.busy, nil, false), (.timedOut, nil, false),
        (.invalidInput, "22021", false), (.closed, nil, false), (.connectTimedOut, nil, true),
    ])
    func saysWhetherTheConnectionIsGone(code: PostgresError.Code, sqlstate: String?, isLost: Bool) {
        #expect(PostgresError(code, "text", sqlstate: sqlstate).isConnectionLost == isLost)
    }

    @Test(arguments: [
        (PostgresError.Code.connectionLost, String?.none, true), (.timedOut, nil, true), (.closed, nil, true),
        (.malformedMessage, nil, true), (.server, "57P01", true), (.server, "08006", true),
        (.server, "23505", false), (.server, "40001", false), (.unavailable, nil, false),
        (.unavailable, "57P03", false), (.connectTimedOut, nil, false), (.overloaded, nil, false),
        (.busy, nil, false), (.rejectedAddress, nil, false),
    ])
    func saysWhetherWhatWasSentMayHaveBeenDone(code: PostgresError.Code, sqlstate: String?, isUnknown: Bool) {
        #expect(PostgresError(code, "text", sqlstate: sqlstate).isOutcomeUnknown == isUnknown)
    }

    @Test func keepsTheDetailOutOfItsDescription() {
        let error = PostgresError(
            .server, "duplicate key value violates unique constraint", sqlstate: "23505", table: "users",
            constraint: "users_email_key", detail: "Key (email)=(a@example.com) already exists.",
            context: "COPY users, line 1: \"b@example.com\"")
        #expect(error.description == "duplicate key value violates unique constraint (SQLSTATE 23505)")
        #expect("\(error)" == error.description)
        #expect(error.debugDescription.contains("a@example.com"))
        #expect(error.debugDescription.contains("b@example.com"))
        #expect(error.debugDescription.contains("constraint users_email_key"))
    }

    @Test func keepsAValueThatWasRefusedOutOfItsDescription() {
        let error = PostgresError(
            .server, "invalid input syntax for type integer: \"secret\"", sqlstate: "22P02")
        #expect("\(error)" == "a value was refused (SQLSTATE 22P02)")
        #expect(error.debugDescription.contains("SQLSTATE 22P02"))
        #expect(error.message.contains("secret"))
    }
}
