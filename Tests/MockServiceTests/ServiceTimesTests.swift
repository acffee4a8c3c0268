import PowerSyncHTTPServer
import PowerSyncPostgres
import Testing

@testable import PowerSyncMockService
@testable import PowerSyncPostgresSource

struct ServiceTimesTests {
    private let standard = MockServiceConfiguration(
        source: SourceDatabase(uri: ""), statePath: "", syncConfig: "")

    @Test func theTimesOfProductionAreThese() {
        #expect(standard.headerTimeout == .seconds(10) && standard.writeTimeout == .seconds(30))
        #expect(standard.grace == .seconds(2) && standard.heartbeat == .seconds(60))
        let source = standard.source
        #expect(source.connectTimeout == .seconds(10) && source.clientConnectTimeout == .seconds(5))
        #expect(source.clientAcquireTimeout == .seconds(2))
        let link = standard.linkTimes
        #expect(link.statement == .seconds(10) && link.reading == .seconds(30))
        #expect(link.status == .seconds(5) && link.silence == .seconds(15))
        #expect(link.longestSilence == .seconds(900))
        #expect(link.notice == .seconds(10) && link.liveness == .seconds(10))
    }

    @Test func theServerAndThePoolGetTheirTimes() {
        var times = standard
        times.headerTimeout = .seconds(101)
        times.writeTimeout = .seconds(102)
        times.source.clientAcquireTimeout = .seconds(103)
        times.source.clientConnectTimeout = .seconds(104)
        #expect(times.server.headerTimeout == .seconds(101))
        #expect(times.server.writeTimeout == .seconds(102))
        let limits = times.source.poolLimits(patience: .seconds(105))
        #expect(limits.acquireTimeout == .seconds(103) && limits.connectTimeout == .seconds(104))
        #expect(limits.patience == .seconds(105))
    }
}
