import PowerSyncPostgres
import Testing

struct PostgresErrorTests {
    @Test(arguments: [
        (PostgresError.Code.connectionLost, String?.none, true), (.unavailable, nil, true),
        (.server, "08006", true),
        (.server, "57P01", true), (.unavailable, "57P03", true), (.unavailable, "28P01", false),
        (.server, "23505", false), (.server, "57014", false), (.busy, nil, false), (.timedOut, nil, false),
        (.invalidInput, "22021", false), (.closed, nil, false),
    ])
    func saysWhetherTheConnectionIsGone(code: PostgresError.Code, sqlstate: String?, isLost: Bool) {
        #expect(PostgresError(code, "text", sqlstate: sqlstate).isConnectionLost == isLost)
    }

    @Test func keepsTheDetailOutOfItsDescription() {
        let error = PostgresError(
            .server, "duplicate key value violates unique constraint", sqlstate: "23505", table: "users",
            constraint: "users_email_key", detail: "Key (email)=(a@example.com) already exists.")
        #expect(error.description == "duplicate key value violates unique constraint (SQLSTATE 23505)")
        #expect("\(error)" == error.description)
        #expect(error.debugDescription.contains("a@example.com"))
        #expect(error.debugDescription.contains("constraint users_email_key"))
    }
}
