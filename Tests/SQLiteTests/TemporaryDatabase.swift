import Foundation

/// A folder of its own for one test's database; removed when the test drops it.
final class TemporaryDatabase: Sendable {
    let folder: String
    var path: String { folder + "/test.db" }

    init() throws {
        folder = FileManager.default.temporaryDirectory.path + "/sqlite-tests-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }
}
