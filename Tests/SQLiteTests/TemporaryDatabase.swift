import PowerSyncSystem

/// A folder of its own for one test's database; removed when the test drops it.
final class TemporaryDatabase: Sendable {
    private let folder: TemporaryDirectory
    var path: String { folder.path + "/test.db" }

    init() throws { folder = try TemporaryDirectory(prefix: "sqlite-tests-") }
}
