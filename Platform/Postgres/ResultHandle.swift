import CPowerSyncPQ

/// Owns one `PGresult`; the bridge to libpq's functions for results.
///
/// Safe because nothing changes a PGresult after it was received, libpq's accessors only read it, and it is
/// cleared when the last reference is gone.
final class ResultHandle: @unchecked Sendable {
    private let result: OpaquePointer

    init(_ result: OpaquePointer) {
        self.result = result
    }

    deinit {
        PQclear(result)
    }

    var status: ExecStatusType { PQresultStatus(result) }
    var columnCount: Int { Int(PQnfields(result)) }
    var rowCount: Int { Int(PQntuples(result)) }
    var commandTag: String { PQcmdStatus(result).map { String(cString: $0) } ?? "" }
    var affectedRows: Int { PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0 }

    func column(_ index: Int) -> PostgresResult.Column {
        PostgresResult.Column(
            name: PQfname(result, Int32(index)).map { String(cString: $0) } ?? "",
            typeOID: PQftype(result, Int32(index)))
    }

    func value(_ row: Int, _ column: Int) -> String? {
        guard PQgetisnull(result, Int32(row), Int32(column)) == 0,
            let bytes = PQgetvalue(result, Int32(row), Int32(column))
        else { return nil }
        let count = Int(PQgetlength(result, Int32(row), Int32(column)))
        return bytes.withMemoryRebound(to: UInt8.self, capacity: count) {
            String(decoding: UnsafeBufferPointer(start: $0, count: count), as: UTF8.self)
        }
    }

    /// The error of a failed result; without SQLSTATE it is the connection that failed.
    func error() -> PostgresError {
        guard let sqlstate = field("C") else {
            return PostgresError(.connectionLost, oneLine(PQresultErrorMessage(result)))
        }
        return PostgresError(
            .server, field("M") ?? "the server gave no message", sqlstate: sqlstate,
            severity: field("V") ?? field("S"),
            schema: field("s"), table: field("t"), column: field("c"), constraint: field("n"),
            detail: field("D"), function: field("R"), context: field("W"))
    }

    /// A field of the error, by the letter that the protocol (and `PG_DIAG_…`) gives it.
    private func field(_ letter: Unicode.Scalar) -> String? {
        PQresultErrorField(result, Int32(letter.value)).map { String(cString: $0) }
    }
}

/// A message of libpq without the line end that it appends; further lines are joined by "; ".
func oneLine(_ message: UnsafePointer<CChar>?) -> String {
    guard let message else { return "unknown error" }
    let lines = String(cString: message).split(whereSeparator: \.isNewline).map { line in
        line.drop { $0 == " " || $0 == "\t" }
    }
    return lines.isEmpty ? "unknown error" : lines.joined(separator: "; ")
}
