#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What the backend takes from outside beside its configuration: the time, chance and files of keys.
package struct BackendEnvironment: Sendable {
    /// Seconds since 1970.
    package var now: @Sendable () -> Double
    /// A number from 0 to 1.
    package var random: @Sendable () -> Double
    /// A name that nothing else has, a UUID in lower case.
    package var uniqueName: @Sendable () -> String
    /// How files in the folder of keys are read.
    package var readKeyFile = KeyFolder.readFile

    /// Makes an environment of its sources; the defaults are the system's.
    package init(
        now: @escaping @Sendable () -> Double = { Date().timeIntervalSince1970 },
        random: @escaping @Sendable () -> Double = { Double.random(in: 0...1) },
        uniqueName: @escaping @Sendable () -> String = { UUID().uuidString.lowercased() }
    ) {
        self.now = now
        self.random = random
        self.uniqueName = uniqueName
    }
}
