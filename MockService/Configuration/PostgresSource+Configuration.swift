import PowerSyncCommandLine
import PowerSyncPostgresSource
import PowerSyncServiceEngine
import PowerSyncSystem

extension PostgresSource {
    /// Makes the source of a configuration, which has connected to nothing yet.
    convenience init(
        _ configuration: MockServiceConfiguration, poller: Poller, log: Log, clock: ServiceClock
    ) {
        self.init(
            configuration.source, times: configuration.linkTimes, slotPrefix: configuration.slotNamePrefix,
            heartbeat: configuration.heartbeat, poller: poller, log: log, random: clock.random)
    }
}
