/// What the real service's admin routes say of something that ours says otherwise (service 1.10, 3.14).
package struct Recorded: Sendable, Hashable {
    /// Where and whether they have it.
    package enum Form: Sendable, Hashable {
        /// They have it, with this message and place; nil for a place means none.
        case text(String, TextRange?)
        /// They do not say it.
        case silent
    }

    /// What they say.
    package let form: Form
    /// Whether they alone say it: command and log have another diagnostic in its place, or none.
    package let isOnlyThere: Bool

    /// Makes a form.
    package init(_ form: Form, isOnlyThere: Bool = false) {
        self.form = form
        self.isOnlyThere = isOnlyThere
    }
}

extension Diagnostic {
    /// What the admin routes say of it, and where; nil if they are silent.
    package var asRecorded: (message: String, range: TextRange?)? {
        switch recorded?.form {
        case nil: return (message, range)
        case .silent?: return nil
        case .text(let message, let range)?: return (message, range)
        }
    }
}
