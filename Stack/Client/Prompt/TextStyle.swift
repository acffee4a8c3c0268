import PowerSyncTerminal

/// How texts stand out on a terminal; not at all where that is not wanted.
package struct TextStyle: Sendable {
    /// Whether texts stand out.
    package let isColored: Bool

    /// Makes a style.
    package init(isColored: Bool) { self.isColored = isColored }

    /// Returns the style of a terminal: `NO_COLOR` (no-color.org) and terminals that know no escapes are respected.
    ///
    /// - Parameter environment: the environment.
    /// - Returns: the style.
    package static func ofTerminal(_ environment: [String: String]) -> TextStyle {
        let isUnwanted = environment["NO_COLOR"]?.isEmpty == false
        return TextStyle(isColored: !isUnwanted && !Terminal.isDumb(environment["TERM"] ?? ""))
    }

    /// Returns a text that stands back.
    package func dim(_ text: String) -> String { styled(text, "2") }

    /// Returns a text that stands out.
    package func bold(_ text: String) -> String { styled(text, "1") }

    /// Returns a text that tells of a failure.
    package func failure(_ text: String) -> String { styled(text, "31") }

    private func styled(_ text: String, _ code: String) -> String {
        isColored ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}
