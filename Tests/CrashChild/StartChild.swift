import Foundation
import PowerSync

/// A program that opens a database, writes some transactions and ends, as soon as its input ends.
///
/// Arguments: the database, the name of the writer, how many transactions.
enum StartChild {
    static func run(_ arguments: [String]) async throws {
        guard arguments.count == 3, let count = Int64(arguments[2]) else {
            throw Failure(message: "usage: start DATABASE WRITER COUNT")
        }
        // The test ends the inputs of all that are to begin at once.
        var byte: UInt8 = 0
        while read(0, &byte, 1) > 0 {}
        let database = PowerSyncDatabase(
            schema: PairChild.schema, dbFilename: arguments[0], logger: DefaultLogger(minSeverity: .error))
        for number in 0..<count {
            try await PairChild.write(number + 1, of: arguments[1], to: database)
        }
        try await database.close()
    }
}
