extension LocalDatabase: CustomReflectable {
    /// Nothing: the statements that may set a key are below, the token in use, and synced rows.
    var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension ConnectionLease: CustomReflectable {
    /// Nothing: the texts of statements are below, which may set a key.
    var customMirror: Mirror { Mirror(self, children: [:]) }
}
