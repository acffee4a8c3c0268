import Foundation
import PowerSync
import Testing

struct ConnectorTypesTests {
    @Test func credentialsAreCodedByTwoNamesAndNeverShowTheToken() throws {
        let credentials = try JSONDecoder().decode(
            PowerSyncCredentials.self,
            from: Data(#"{"endpoint":"https://a.example/base/","token":"secret"}"#.utf8))
        #expect(credentials.token == "secret")
        #expect(credentials.endpointUri(path: "sync/stream") == "https://a.example/base/sync/stream")
        #expect(credentials.description == "PowerSyncCredentials<endpoint: https://a.example/base/)>")
        #expect(!shownTexts(of: credentials).contains("secret"))
        #expect(!shownTexts(of: [credentials]).contains("secret"))
        #expect(shownTexts(of: credentials).contains("https://a.example/base/"))
        let signedIn = PowerSyncCredentials(endpoint: "https://user:secret@a.example", token: "secret")
        #expect(!shownTexts(of: signedIn).contains("secret"))
        let encoded = try JSONSerialization.jsonObject(with: try JSONEncoder().encode(credentials))
        #expect((encoded as? [String: String])?.keys.sorted() == ["endpoint", "token"])
    }

    @Test func optionsHaveTheDefaultsOfTheOfficialClient() {
        let options = ConnectOptions()
        #expect(options.crudThrottle == 1)
        #expect(options.retryDelay == 5)
        #expect(options.params.isEmpty)
        #expect(options.appMetadata.isEmpty)
        #expect(options.clientConfiguration == nil)
        #expect(options.includeDefaultStreams)
        #expect(ConnectOptions.DefaultCrudThrottle == 1)
        #expect(ConnectOptions.DefaultRetryDelay == 5)
    }

    @Test func errorsReadAsTheOfficialOnes() {
        #expect(PowerSyncError.operationFailed().errorDescription == "An unknown error occurred.")
        #expect(PowerSyncError.operationFailed(message: "a").errorDescription == "a")
        #expect(
            PowerSyncError.operationFailed(
                message: "a", underlyingError: PowerSyncError.operationFailed(message: "b")
            )
            .errorDescription == "a: b")
        #expect(
            PowerSyncError.operationFailed(underlyingError: PowerSyncError.operationFailed(message: "b"))
                .errorDescription == "b")
        #expect(
            PowerSyncError.sqliteError(extendedResultCode: 5).errorDescription == "SQLite failure (code 5)")
        #expect(
            PowerSyncError.sqliteError(
                extendedResultCode: 1, offset: 7, message: "near x", errorString: "SQL logic error",
                sql: "SELECT x"
            ).errorDescription
                == "SQLite failure (code 1): SQL logic error at offset 7, near x for SQL: SELECT x")
    }
}
