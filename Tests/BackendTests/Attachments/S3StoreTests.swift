import PowerSyncHTTPClient
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSyncBackend

/// The S3 store against a server that checks signatures, expiry, lengths and checksums (backend 10.4).
@Suite(
    .enabled(if: TestOptions.hasDatabase),
    .enabled(if: SwiftPeer.isWanted, "OpenStack Swift is not there; make peers installs it"), .patient())
struct S3StoreTests {
    private static let now: @Sendable () -> Int64 = { WallClock.microseconds() / 1_000_000 }

    @Test(arguments: ObjectStoreConformance.Check.allCases)
    func doesWhatEveryStoreMust(_ check: ObjectStoreConformance.Check) async throws {
        let client = try HTTPClient()
        defer { client.close() }
        let store = S3Store(try await SwiftPeer.configuration(), client: client)
        try await ObjectStoreConformance(store: store, client: client, now: Self.now).run(check)
    }

    @Test func aPrefixKeepsStoresOfOneBucketApart() async throws {
        let client = try HTTPClient()
        defer { client.close() }
        var configuration = try await SwiftPeer.configuration()
        configuration.prefix = "one/part"
        let store = S3Store(configuration, client: client)
        let checks = ObjectStoreConformance(store: store, client: client, now: Self.now)
        try await checks.run(.whatIsStoredComesBack)
        try await checks.run(.anUploadIsCompletedOnce)
    }

    @Test func wrongKeysAndBucketsAreTheOperatorsToChange() async throws {
        let client = try HTTPClient()
        defer { client.close() }
        let right = try await SwiftPeer.configuration()
        var configurations = [right, right, right]
        configurations[0].credentials.secretKey += "x"
        configurations[1].credentials.accessKey = "test:nobody"
        configurations[2].bucket = "no-such-bucket"
        for configuration in configurations {
            let store = S3Store(configuration, client: client)
            let error = await #expect(throws: ObjectStoreError.self) {
                _ = try await store.createMultipart(key: "a", contentType: "image/png")
            }
            #expect(error?.kind == .refused)
            #expect(error?.message.contains(right.credentials.secretKey) == false)
        }
    }
}
