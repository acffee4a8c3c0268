import PowerSyncTestSupport
import Testing

/// Random sessions of an app with its photos, in one process or two, over a storage that fails: in the end rows, files and
/// storage agree.
///
/// `POWERSYNC_ATTACHMENT_SEEDS` says how many; `POWERSYNC_SEED` runs a single one.
@Suite(.patient(minutes: 60), .namesSeed)
struct AttachmentRandomTests {
    @Test func inTheEndRowsFilesAndStorageAgree() async throws {
        let count = TestOptions.number("POWERSYNC_ATTACHMENT_SEEDS", standard: 20)
        try await forEachSeed(count) { random in
            var session = try await AttachmentSession(&random)
            for _ in 0..<(10 + random.below(30)) {
                try await session.step(&random)
                try await session.check()
            }
            try await session.end(&random)
        }
    }
}
