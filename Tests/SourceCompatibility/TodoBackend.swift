import PowerSync

/// What the app's own backend knows of whoever is signed in.
struct SignedInUser: Sendable {
    /// The address of the PowerSync service.
    let endpoint: String
    /// A token for it.
    let token: String
}

/// A change of a row, as the app's own backend takes it.
struct Change: Encodable, Hashable, Sendable {
    let op: UpdateType
    let table: String
    let id: String
    let data: JsonParam?
}

/// The app's own backend.
protocol TodoBackend: Sendable {
    /// Returns whoever is signed in, with a fresh token; nil while nobody is.
    func signedInUser() async throws -> SignedInUser?

    /// Applies changes, all or none.
    func apply(_ changes: [Change]) async throws
}

/// What goes wrong in the app.
enum TodoError: Error, Equatable {
    /// The list is not there any more.
    case noSuchList
    /// The backend will never take the changes.
    case refused
}
