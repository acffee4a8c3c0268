import CPowerSyncEdit

/// The characters of UTF-8 as the C library knows them, whatever the environment says of language and encoding.
final class TextLocale: @unchecked Sendable {
    // Safe because a locale is not changed once it is made, and each thread chooses its own.
    private let locale = ps_edit_locale()

    deinit { ps_edit_free_locale(locale) }

    /// Makes it the locale of a thread while that runs `body`.
    func use(_ body: () -> Void) {
        ps_edit_use_locale(locale)
        body()
        ps_edit_use_locale(nil)
    }

    /// Returns how many columns a character takes (wcwidth); negative for one that is not printed.
    func width(of scalar: Unicode.Scalar) -> Int { Int(ps_edit_width(locale, scalar.value)) }
}
