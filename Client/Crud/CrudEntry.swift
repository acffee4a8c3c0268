/// One local change that waits for upload.
public struct CrudEntry: Sendable {
    /// The id of the changed row.
    public let id: String
    /// The position in the queue; later changes have greater ones.
    public let clientId: Int64
    /// What was done to the row.
    public let op: UpdateType
    /// The table's name in the schema, also where the view is named otherwise.
    public let table: String
    /// The local transaction that the change was part of.
    public let transactionId: Int64?
    /// The app's text of the write, for tables that track it.
    public let metadata: String?
    /// The columns that the change wrote; nil for a delete.
    public let opDataTyped: JsonParam?
    /// The columns as they were before, for tables that track them.
    public let previousValuesTyped: JsonParam?

    /// The columns as texts: numbers in decimal form, `true` or `false`, nil for null, lists and objects.
    public var opData: [String: String?]? {
        opDataTyped?.mapValues(\.columnText)
    }

    /// The columns before the change as texts.
    public var previousValues: [String: String?]? {
        previousValuesTyped?.mapValues(\.columnText)
    }
}

extension JsonValue {
    /// The value as `opData` shows it (client-api 1.9).
    fileprivate var columnText: String? {
        switch self {
        case .string(let value): value
        case .int(let value): String(value)
        case .double(let value): String(value)
        case .bool(let value): String(value)
        case .null, .array, .object: nil
        }
    }
}
