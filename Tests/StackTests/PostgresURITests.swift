import Testing

@testable import PowerSyncStack

struct PostgresURITests {
    @Test(arguments: [
        ("postgres://u:p@h:1/a?sslmode=require", "postgres://u:p@h:1/x?sslmode=require"),
        ("postgresql://h", "postgresql://h/x"), ("postgresql:///a", "postgresql:///x"),
        ("postgresql://h?connect_timeout=3", "postgresql://h/x?connect_timeout=3"),
        ("postgresql://h/a?dbname=b&connect_timeout=3", "postgresql://h/x?connect_timeout=3"),
        ("host=h dbname=a", "host=h dbname=a dbname=x"),
    ])
    func theDatabaseIsReplacedInBothForms(uri: String, expected: String) throws {
        #expect(try PostgresURI.replacingDatabase(of: uri, with: "x") == expected)
    }

    @Test func whatIsNoURIIsRefused() {
        #expect(throws: StackError.self) { try PostgresURI.replacingDatabase(of: "postgres:h/a", with: "x") }
    }

    @Test(arguments: [
        ("postgres://h/a", "postgres://h/a?sslmode=prefer"),
        ("postgres://h/a?x=y", "postgres://h/a?x=y&sslmode=prefer"),
        ("postgres://h", "postgres://h?sslmode=prefer"), ("host=h", "host=h sslmode=prefer"),
        ("host=h sslmode = require", "host=h sslmode = require sslmode=prefer"),
    ])
    func aParameterIsAddedBehindAllOthers(uri: String, expected: String) throws {
        #expect(try PostgresURI.adding("sslmode", "prefer", to: uri) == expected)
    }

    @Test(arguments: [
        ("postgres://u:secret@h/a", "postgres://u@h/a"), ("postgres://u@h:5/a", "postgres://u@h:5/a"),
        ("postgres://h:5/a", "postgres://h:5/a"), ("postgres://u:se@cret@h/a", "postgres://u@h/a"),
        ("postgres://u:se/cret@h/a", "postgres://u@h/a"), ("postgres://u:se?cret@h/a", "postgres://u@h/a"),
        ("postgres://h/a?user=u&password=secret&sslmode=require", "postgres://h/a?user=u&sslmode=require"),
        ("postgres://h/a?sslpassword=secret", "postgres://h/a"),
        ("host=h password=secret", "(connection text with a password)"), ("host=h user=u", "host=h user=u"),
    ])
    func noPasswordIsShown(uri: String, expected: String) {
        #expect(PostgresURI.withoutPassword(uri) == expected)
        #expect(!PostgresURI.withoutPassword(uri).contains("cret"))
    }
}
