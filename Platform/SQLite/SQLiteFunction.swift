import CPowerSyncSQLite

/// What SQLite may assume of a function.
package struct SQLiteFunctionFlags: OptionSet, Sendable {
    /// The bits of sqlite3.h.
    package let rawValue: Int32

    /// Creates flags from SQLite's bits.
    package init(rawValue: Int32) { self.rawValue = rawValue }

    /// Same arguments, same result.
    package static let deterministic = SQLiteFunctionFlags(rawValue: SQLITE_DETERMINISTIC)
    /// Not callable from views, triggers and the like.
    package static let directOnly = SQLiteFunctionFlags(rawValue: SQLITE_DIRECTONLY)
    /// Harmless wherever it is called.
    package static let innocuous = SQLiteFunctionFlags(rawValue: SQLITE_INNOCUOUS)
    /// Looks at the subtype of its arguments.
    package static let readsSubtype = SQLiteFunctionFlags(rawValue: SQLITE_SUBTYPE)
    /// Sets a subtype on its result; SQLITE_RESULT_SUBTYPE, which headers before 3.45 lack.
    package static let setsSubtype = SQLiteFunctionFlags(rawValue: 0x100_0000)
}

/// One call of a function written in Swift; valid while the function runs.
package struct SQLiteFunctionCall {
    /// The number of arguments.
    package let count: Int
    /// The subtype that the result gets, for instance 74 ("J") for JSON.
    package var resultSubtype: UInt32 = 0
    fileprivate let arguments: UnsafeMutablePointer<OpaquePointer?>?

    /// Returns an argument.
    package subscript(_ index: Int) -> SQLiteValue { value(of: argument(index)) }

    /// Returns an argument as text, nil for NULL; converts as SQLite does.
    package func text(_ index: Int) -> String? { PowerSyncSQLite.text(of: argument(index)) }

    /// Returns the bytes of an argument that is text, whether or not they are UTF-8; nil for anything else.
    package func utf8(_ index: Int) -> [UInt8]? {
        guard isText(index), let start = sqlite3_value_text(argument(index)) else { return nil }
        return [UInt8](UnsafeBufferPointer(start: start, count: Int(sqlite3_value_bytes(argument(index)))))
    }

    /// Lends the bytes of an argument as text in UTF-8; converts as SQLite does.
    ///
    /// - Parameters:
    ///   - index: The argument, from 0.
    ///   - body: The use; nil for NULL. SQLite does not check that text is UTF-8.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    package func withText<Result, Failure: Error>(
        _ index: Int, _ body: (UnsafeBufferPointer<UInt8>?) throws(Failure) -> Result
    ) throws(Failure) -> Result { try PowerSyncSQLite.withText(of: argument(index), body) }

    /// Whether an argument is text.
    package func isText(_ index: Int) -> Bool { sqlite3_value_type(argument(index)) == SQLITE_TEXT }

    /// Whether an argument is a double.
    package func isReal(_ index: Int) -> Bool { sqlite3_value_type(argument(index)) == SQLITE_FLOAT }

    /// Returns the subtype of an argument, 0 without one.
    package func subtype(_ index: Int) -> UInt32 { sqlite3_value_subtype(argument(index)) }

    fileprivate func argument(_ index: Int) -> OpaquePointer? {
        precondition(index >= 0 && index < count, "argument \(index) of \(count)")
        return arguments?[index]
    }
}

private final class FunctionBox {
    let body: (inout SQLiteFunctionCall) throws -> SQLiteFunctionResult
    init(_ body: @escaping (inout SQLiteFunctionCall) throws -> SQLiteFunctionResult) { self.body = body }
}

/// What a function returns: a value, text as bytes, or one of its arguments without copying it into Swift.
package enum SQLiteFunctionResult {
    /// A value.
    case value(SQLiteValue)
    /// Text in UTF-8.
    case utf8([UInt8])
    /// The argument with this index; its subtype is replaced by `resultSubtype`.
    case argument(Int)
}

extension SQLiteConnection {
    /// Registers a scalar function written in Swift.
    ///
    /// - Parameters:
    ///   - name: Its SQL name.
    ///   - argumentCount: How many arguments it takes, -1 for any number.
    ///   - flags: What SQLite may assume.
    ///   - body: Computes the result. A thrown `SQLiteError` reaches SQL with its code and message. It must
    ///     not hold the connection strongly.
    /// - Throws: SQLite's error, for instance for a name that is too long.
    package func createFunction(
        _ name: String, argumentCount: Int, flags: SQLiteFunctionFlags = [],
        body: @escaping (inout SQLiteFunctionCall) throws -> SQLiteValue
    ) throws(SQLiteError) {
        try createForwardingFunction(name, argumentCount: argumentCount, flags: flags) {
            .value(try body(&$0))
        }
    }

    /// Registers a function that may return one of its arguments as it is.
    ///
    /// - Parameters:
    ///   - name: Its SQL name.
    ///   - argumentCount: How many arguments it takes, -1 for any number.
    ///   - flags: What SQLite may assume.
    ///   - body: Computes the result, as for `createFunction`.
    /// - Throws: SQLite's error.
    package func createForwardingFunction(
        _ name: String, argumentCount: Int, flags: SQLiteFunctionFlags = [],
        body: @escaping (inout SQLiteFunctionCall) throws -> SQLiteFunctionResult
    ) throws(SQLiteError) {
        try register(name, argumentCount, flags, FunctionBox(body), callFunction)
    }

    /// Registers a function of one argument that returns it without its subtype, doubles alone in another form.
    ///
    /// It costs little enough to be called for every column of every row: only doubles come to Swift.
    ///
    /// - Parameters:
    ///   - name: Its SQL name.
    ///   - flags: What SQLite may assume.
    ///   - subtype: The subtype that the text of a double gets.
    ///   - spelling: Returns the text of a double.
    /// - Throws: SQLite's error.
    package func createStrippingFunction(
        _ name: String, flags: SQLiteFunctionFlags, subtype: UInt32, spelling: @escaping (Double) -> String
    ) throws(SQLiteError) {
        let box = FunctionBox { call in
            call.resultSubtype = subtype
            guard case .real(let double) = call[0] else { return .argument(0) }
            return .value(.text(spelling(double)))
        }
        try register(name, 1, flags, box) { context, count, arguments in
            guard let context, let arguments else { return }
            guard sqlite3_value_type(arguments[0]) == SQLITE_FLOAT else {
                sqlite3_result_value(context, arguments[0])
                // The value brings its subtype along.
                return sqlite3_result_subtype(context, 0)
            }
            callFunction(context, count, arguments)
        }
    }

    private func register(
        _ name: String, _ argumentCount: Int, _ flags: SQLiteFunctionFlags, _ box: FunctionBox,
        _ function:
            @escaping @convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void
    ) throws(SQLiteError) {
        try checkOpen()
        // SQLite releases the box when the function goes, also when this call fails.
        let result = sqlite3_create_function_v2(
            pointer, name, Int32(argumentCount), SQLITE_UTF8 | flags.rawValue,
            Unmanaged.passRetained(box).toOpaque(), function, nil, nil,
            { data in
                guard let data else { return }
                Unmanaged<FunctionBox>.fromOpaque(data).release()
            })
        if result != SQLITE_OK { throw lastError(result, sql: nil) }
    }
}

private func callFunction(
    _ context: OpaquePointer?, _ count: Int32, _ arguments: UnsafeMutablePointer<OpaquePointer?>?
) {
    guard let context, let data = sqlite3_user_data(context) else { return }
    let box = Unmanaged<FunctionBox>.fromOpaque(data).takeUnretainedValue()
    var call = SQLiteFunctionCall(count: Int(count), arguments: arguments)
    do {
        switch try box.body(&call) {
        case .argument(let index): sqlite3_result_value(context, call.argument(index))
        case .utf8(let bytes): setResult(context, utf8: bytes)
        case .value(.null): sqlite3_result_null(context)
        case .value(.integer(let integer)): sqlite3_result_int64(context, integer)
        case .value(.real(let double)): sqlite3_result_double(context, double)
        case .value(.text(let text)): setResult(context, text: text)
        case .value(.blob(let bytes)):
            if bytes.isEmpty {
                sqlite3_result_zeroblob(context, 0)
            } else {
                bytes.withUnsafeBytes {
                    sqlite3_result_blob64(context, $0.baseAddress, UInt64($0.count), transient)
                }
            }
        }
        sqlite3_result_subtype(context, call.resultSubtype)
    } catch {
        let (code, message) = report(error)
        sqlite3_result_error(context, message, -1)
        sqlite3_result_error_code(context, code)
    }
}
