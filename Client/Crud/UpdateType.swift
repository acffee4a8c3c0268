/// What a local write did to a row.
public enum UpdateType: String, Codable, Sendable {
    /// The row was inserted or replaced; the entry holds all columns that are not null.
    case put = "PUT"
    /// The row was changed; the entry holds the changed columns.
    case patch = "PATCH"
    /// The row was deleted; the entry holds no columns.
    case delete = "DELETE"
}
